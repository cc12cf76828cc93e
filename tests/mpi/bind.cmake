# SPDX-License-Identifier: BSD-3-Clause
# Tests of src/bind: plain MPI programs under the preload library, and tests of what the libraries export.
oratorio_mpi_test(bind_routines SHORT 3 PRELOAD SOURCES bind_routines_test.cpp RANKS 1 3)
oratorio_mpi_test(workspaces INTERNAL LINK oratorio_file RANKS 1 2 4 OTHER_RANKS 3
                  SOURCES workspaces_test.cpp ${oratorio_SOURCE_DIR}/src/bind/workspaces.cpp)
oratorio_mpi_test(workspaces_at_once SHORT 2 INTERNAL LINK oratorio_file RANKS 2 TIMEOUT 60
                  SOURCES workspaces_at_once_test.cpp ${oratorio_SOURCE_DIR}/src/bind/workspaces.cpp)
# The library's objects are linked into the program, so that it can replace their calls to the host.
foreach(host mpich5:mpich ompi5:ompi)
  string(REPLACE ":" ";" host "${host}")
  list(GET host 0 name)
  list(GET host 1 flavour)
  if(TARGET oratorio-${flavour})
    oratorio_mpi_test(given_back SHORT 2 HOSTS ${name} RANKS 1 2 LINK oratorio_mpi_${flavour} oratorio_calibrate oratorio_file
                      SOURCES given_back_test.cpp $<TARGET_OBJECTS:oratorio-${flavour}>)
  endif()
endforeach()
oratorio_mpi_test(bind_views SHORT 2 PRELOAD SOURCES bind_views_test.cpp RANKS 1 2)
oratorio_mpi_test(bind_arguments SHORT 2 PRELOAD SOURCES bind_arguments_test.cpp RANKS 2 3)
oratorio_mpi_test(bind_inner_errors SHORT 2 PRELOAD SOURCES bind_inner_errors_test.cpp RANKS 2)
oratorio_mpi_test(bind_refused SHORT 3 PRELOAD SOURCES bind_refused_test.cpp RANKS 3 OTHER_RANKS 2)
oratorio_mpi_test(bind_errhandlers SHORT 2 PRELOAD OWN_PROGRAMS SOURCES bind_errhandlers_test.cpp RANKS 1 2)
oratorio_mpi_test(bind_handles PRELOAD SOURCES bind_handles_test.cpp RANKS 1 TIMEOUT 400)
oratorio_mpi_test(bind_shared_pointer SHORT 3 PRELOAD SOURCES bind_shared_pointer_test.cpp RANKS 1 2 3 4 7 8 OTHER_RANKS 4)
oratorio_mpi_test(bind_shared_pointer_nodes SHORT 4 PRELOAD SOURCES bind_shared_pointer_test.cpp RANKS 4 7
                  ENVIRONMENT ORATORIO_RANKS_PER_NODE=2)
oratorio_mpi_test(bind_nonblocking SHORT 3 PRELOAD SOURCES bind_nonblocking_test.cpp RANKS 1 2 3 4 7 8 OTHER_RANKS 4)
oratorio_mpi_test(bind_nonblocking_threads SHORT 4 PRELOAD SOURCES bind_nonblocking_test.cpp RANKS 1 4 ARGUMENTS thread OTHER_RANKS 4)
oratorio_mpi_test(bind_nonblocking_threads_nodes SHORT 4 PRELOAD SOURCES bind_nonblocking_test.cpp RANKS 4 ARGUMENTS thread
                  ENVIRONMENT ORATORIO_RANKS_PER_NODE=2)
oratorio_mpi_test(bind_nonblocking_raised SHORT 4 PRELOAD SOURCES bind_nonblocking_test.cpp RANKS 4
                  ENVIRONMENT ORATORIO_RANKS_PER_NODE=2 ORATORIO_HINTS=oratorio_progress=thread)
oratorio_mpi_test(bind_nonblocking_calls SHORT 3 PRELOAD SOURCES bind_nonblocking_test.cpp RANKS 3
                  ENVIRONMENT ORATORIO_HINTS=oratorio_progress=calls)
oratorio_mpi_test(bind_nonblocking_calls_threads SHORT 4 PRELOAD SOURCES bind_nonblocking_test.cpp RANKS 4 ARGUMENTS thread
                  ENVIRONMENT ORATORIO_RANKS_PER_NODE=2 ORATORIO_HINTS=oratorio_progress=calls)
oratorio_mpi_test(bind_nonblocking_start SHORT 3 PRELOAD SOURCES bind_nonblocking_test.cpp RANKS 3
                  ENVIRONMENT ORATORIO_HINTS=oratorio_progress=start)
foreach(when before after first)
  oratorio_mpi_test(bind_finalize_${when} SHORT 2 PRELOAD SOURCES bind_finalize_test.cpp RANKS 2 ARGUMENTS ${when})
endforeach()
oratorio_mpi_test(bind_finalize_threads PRELOAD SOURCES bind_finalize_test.cpp RANKS 2 HOSTS mpich5 ompi5
                  ARGUMENTS after multiple)
oratorio_mpi_test(bind_finalize_nodes SHORT 2 PRELOAD SOURCES bind_finalize_test.cpp RANKS 2 HOSTS mpich5 ompi5
                  ARGUMENTS after ENVIRONMENT ORATORIO_RANKS_PER_NODE=1)
oratorio_mpi_test(few_descriptors PRELOAD SOURCES few_descriptors_test.cpp RANKS 3 TIMEOUT 60)
oratorio_mpi_test(few_descriptors_nodes PRELOAD SOURCES few_descriptors_test.cpp RANKS 3 TIMEOUT 60
                  ENVIRONMENT ORATORIO_RANKS_PER_NODE=2)
oratorio_mpi_test(bind_disabled SHORT 2 PRELOAD SOURCES bind_host_test.cpp RANKS 1 2 ARGUMENTS all
                  ENVIRONMENT ORATORIO_DISABLE=1)
oratorio_mpi_test(bind_host_method SHORT 2 PRELOAD SOURCES bind_host_test.cpp RANKS 1 2 ARGUMENTS all
                  ENVIRONMENT ORATORIO_METHOD=host)
oratorio_mpi_test(bind_host_hint SHORT 2 PRELOAD SOURCES bind_host_test.cpp RANKS 1 2 ARGUMENTS hinted)
oratorio_mpi_test(bind_fatal SHORT 1 PRELOAD SOURCES bind_fatal_test.cpp RANKS 1)
set(with_abort mpich5 abi ompi5 mpich4)  # MPI_ERRORS_ABORT is new in MPI 4
oratorio_mpi_test(bind_abort SHORT 2 PRELOAD SOURCES bind_abort_test.cpp RANKS 2 HOSTS ${with_abort})
foreach(host ${ORATORIO_MPI_HOSTS})
  set_tests_properties(mpi.bind_fatal.${host}.1 PROPERTIES
    PASS_REGULAR_EXPRESSION "oratorio: [^\n]*no such file" FAIL_REGULAR_EXPRESSION "still running")
endforeach()
foreach(host ${ORATORIO_MPI_HOSTS})
  if(host IN_LIST with_abort)
    set_tests_properties(mpi.bind_abort.${host}.2 PROPERTIES
      PASS_REGULAR_EXPRESSION "oratorio: [^\n]*seek" FAIL_REGULAR_EXPRESSION "still running|COMM_SELF")
  endif()
endforeach()

find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME bind.exports COMMAND Python3::Interpreter ${CMAKE_CURRENT_LIST_DIR}/bind_exports_test.py
         ${oratorio_BINARY_DIR}/lib ${ORATORIO_MPI_INCLUDES})
set_tests_properties(bind.exports PROPERTIES LABELS "mpi;short" TIMEOUT 60)
