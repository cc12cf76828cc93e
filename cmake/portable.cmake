# SPDX-License-Identifier: BSD-3-Clause
# Links the libraries a second time, for every machine with glibc 2.28 (RHEL 8) or newer, whatever glibc this machine
# has: the same objects, linked against stubs of that glibc. The target `portable` puts them into portable/, from where
# they go into the wheel.
set(stub_folder ${PROJECT_BINARY_DIR}/portable/stubs)
set(stub_table ${PROJECT_SOURCE_DIR}/dev/release/glibc-2.28-${CMAKE_SYSTEM_PROCESSOR}.txt)
set(stub_maker ${PROJECT_SOURCE_DIR}/dev/release/stubs.py)
add_custom_command(
  OUTPUT ${stub_folder}/stamp
  COMMAND Python3::Interpreter ${stub_maker} ${stub_table} --cc ${CMAKE_C_COMPILER} --out ${stub_folder}
  COMMAND ${CMAKE_COMMAND} -E touch ${stub_folder}/stamp
  DEPENDS ${stub_table} ${stub_maker}
  COMMENT "Making stubs of glibc 2.28")
add_custom_target(portable_stubs DEPENDS ${stub_folder}/stamp)
add_custom_target(portable)

# The libraries that the compiler would link by itself, with the stubs in place of this machine's glibc. They must come
# after the rooms' archives, so the lowest room links them.
set(loader_x86_64 ld-linux-x86-64.so.2)
set(loader_aarch64 ld-linux-aarch64.so.1)
add_library(portable_system INTERFACE)
target_link_libraries(portable_system INTERFACE -Wl,--start-group -l:libstdc++.a -Wl,--as-needed -L${stub_folder}
                      -l:libc.so.6 -l:libm.so.6 -l:libpthread.so.0 -l:libdl.so.2 -l:librt.so.1 -l:${loader_${CMAKE_SYSTEM_PROCESSOR}}
                      -lgcc_s -lgcc -Wl,--end-group)
target_link_libraries(oratorio_base INTERFACE $<$<BOOL:$<TARGET_PROPERTY:ORATORIO_PORTABLE>>:portable_system>)

# oratorio_portable(TARGET VERSION_SCRIPT LIBRARY...): links the shared library TARGET a second time, with LIBRARY....
function(oratorio_portable target version_script)
  set(portable ${target}-portable)
  add_library(${portable} SHARED EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${target}> ${PROJECT_SOURCE_DIR}/dev/release/compat.c)
  set_target_properties(${portable} PROPERTIES OUTPUT_NAME ${target} LINKER_LANGUAGE CXX ORATORIO_PORTABLE ON
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/portable LINK_DEPENDS ${stub_folder}/stamp)
  add_dependencies(${portable} portable_stubs oratorio_bindings)
  target_link_libraries(${portable} PRIVATE ${ARGN})
  target_link_options(${portable} PRIVATE -nodefaultlibs LINKER:--exclude-libs,ALL LINKER:--no-undefined
                      LINKER:--version-script=${generated}/${version_script} LINKER:-z,lazy LINKER:-z,nodelete)
  add_dependencies(portable ${portable})
endfunction()
