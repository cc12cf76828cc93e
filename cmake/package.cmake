# SPDX-License-Identifier: BSD-3-Clause
# Installs everything but the libraries, and lets other projects find Oratorio, installed or in the build folder: by
# find_package(oratorio) and pkg-config oratorio.
include(CMakePackageConfigHelpers)

# These files find the libraries relative to themselves, so they serve an installation and the build folder.
set(package_dir ${PROJECT_BINARY_DIR}/lib/cmake/oratorio)
configure_file(${PROJECT_SOURCE_DIR}/cmake/oratorioConfig.cmake.in ${package_dir}/oratorioConfig.cmake COPYONLY)
write_basic_package_version_file(${package_dir}/oratorioConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(DIRECTORY ${package_dir} DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake)

set(pkgconfig_dir ${PROJECT_BINARY_DIR}/lib/pkgconfig)
configure_file(${PROJECT_SOURCE_DIR}/cmake/oratorio.pc.in ${pkgconfig_dir}/oratorio.pc @ONLY)
install(FILES ${pkgconfig_dir}/oratorio.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# The command: a script in bin and the modules that it needs.
set(python_dir ${CMAKE_INSTALL_DATADIR}/oratorio/python)
file(RELATIVE_PATH to_python /prefix/${CMAKE_INSTALL_BINDIR} /prefix/${python_dir})
file(RELATIVE_PATH to_libraries /prefix/${python_dir}/oratorio /prefix/${CMAKE_INSTALL_LIBDIR})
configure_file(${PROJECT_SOURCE_DIR}/cmake/oratorio.in ${PROJECT_BINARY_DIR}/installed/oratorio @ONLY)
install(PROGRAMS ${PROJECT_BINARY_DIR}/installed/oratorio DESTINATION ${CMAKE_INSTALL_BINDIR})
install(CODE "execute_process(COMMAND \"${Python3_EXECUTABLE}\" \"${PROJECT_SOURCE_DIR}/dev/release/package.py\"
  --libraries \"${to_libraries}\" \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${python_dir}\" COMMAND_ERROR_IS_FATAL ANY)")

# A test of the installation: share/oratorio/smoke.sh bin/oratorio mpicc mpiexec -n 2
install(PROGRAMS ${PROJECT_SOURCE_DIR}/packaging/smoke.sh DESTINATION ${CMAKE_INSTALL_DATADIR}/oratorio)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/smoke.c DESTINATION ${CMAKE_INSTALL_DATADIR}/oratorio)
install(FILES ${PROJECT_SOURCE_DIR}/packaging/reframe/oratorio.py DESTINATION ${CMAKE_INSTALL_DATADIR}/oratorio/reframe)

install(FILES ${PROJECT_SOURCE_DIR}/docs/user/man/oratorio.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
foreach(name README.md CHANGELOG.md CITATION.cff LICENSE SECURITY.md CODE_OF_CONDUCT.md CONTRIBUTING.md)
  install(FILES ${PROJECT_SOURCE_DIR}/${name} DESTINATION ${CMAKE_INSTALL_DOCDIR})
endforeach()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/licenses ${PROJECT_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR}
        PATTERN man EXCLUDE PATTERN "*.py" EXCLUDE)
