# SPDX-License-Identifier: BSD-3-Clause
# Tests of data access: plain MPI programs under the preload library; the tests examine their files without MPI.
set(all_ranks RANKS 1 2 3 4 7 8 OTHER_RANKS 2)

oratorio_mpi_test(differential SHORT 3 PRELOAD ${all_ranks} SOURCES differential_test.cpp random_view.cpp mapped_type.cpp)
oratorio_mpi_test(differential_nodes SHORT 7 PRELOAD RANKS 7 HOSTS mpich5 ompi5 ENVIRONMENT ORATORIO_RANKS_PER_NODE=3
                  SOURCES differential_test.cpp random_view.cpp mapped_type.cpp)
oratorio_mpi_test(datarep SHORT 3 PRELOAD RANKS 1 3 OTHER_RANKS 2 SOURCES datarep_test.cpp)
oratorio_mpi_test(holes SHORT 3 PRELOAD ${all_ranks} SOURCES holes_test.cpp)
oratorio_mpi_test(sparse SHORT 4 PRELOAD RANKS 1 4 7 OTHER_RANKS 2 SOURCES sparse_test.cpp)
oratorio_mpi_test(sparse_on_nodes SHORT 6 PRELOAD RANKS 6 HOSTS mpich5 ompi5 ENVIRONMENT ORATORIO_RANKS_PER_NODE=2
                  SOURCES sparse_test.cpp)
oratorio_mpi_test(modes SHORT 3 PRELOAD ${all_ranks} SOURCES modes_test.cpp)
oratorio_mpi_test(faults SHORT 3 PRELOAD EXPORTS ${all_ranks} SOURCES faults_test.cpp io_faults.cpp)
oratorio_mpi_test(faults_under_way SHORT 2 PRELOAD EXPORTS ${all_ranks} SOURCES faults_under_way_test.cpp io_faults.cpp)
oratorio_mpi_test(faults_under_way_threads PRELOAD EXPORTS RANKS 4 OTHER_RANKS 2 ARGUMENTS thread
                  SOURCES faults_under_way_test.cpp io_faults.cpp)
oratorio_mpi_test(faults_under_way_nodes PRELOAD EXPORTS RANKS 4 OTHER_RANKS 3 ENVIRONMENT ORATORIO_RANKS_PER_NODE=2
                  SOURCES faults_under_way_test.cpp io_faults.cpp)
oratorio_mpi_test(faults_under_way_calls PRELOAD EXPORTS RANKS 3 OTHER_RANKS 2
                  ENVIRONMENT ORATORIO_HINTS=oratorio_progress=calls
                  SOURCES faults_under_way_test.cpp io_faults.cpp)
oratorio_mpi_test(beside PRELOAD RANKS 2 HOSTS mpich5 ompi5 SOURCES beside_test.cpp)
oratorio_mpi_test(beside_threads SHORT 2 PRELOAD RANKS 2 HOSTS mpich5 ompi5 SOURCES beside_test.cpp ARGUMENTS multiple)
oratorio_mpi_test(let_in SHORT 2 ${let_in})
oratorio_mpi_test(let_in_nodes SHORT 2 ${let_in} ENVIRONMENT ORATORIO_RANKS_PER_NODE=1)
oratorio_mpi_test(large PRELOAD EXPORTS RANKS 1 3 OTHER_RANKS 2 SOURCES large_test.cpp io_faults.cpp)
oratorio_mpi_test(full_disk PRELOAD RANKS 1 3 8 OTHER_RANKS 2 SOURCES full_disk_test.cpp
                  WRAPPER ${oratorio_SOURCE_DIR}/tests/support/with_small_disk.sh)
oratorio_mpi_test(fallback SHORT 3 PRELOAD EXPORTS RANKS 3 8 OTHER_RANKS 2 SOURCES fallback_test.cpp)
oratorio_mpi_test(kept PRELOAD EXPORTS RANKS 1 4 OTHER_RANKS 2 SOURCES kept_test.cpp TIMEOUT 300)
oratorio_mpi_test(kept_by_threads PRELOAD EXPORTS RANKS 4 OTHER_RANKS 3 SOURCES kept_test.cpp ARGUMENTS threads)
oratorio_mpi_test(kept_on_nodes SHORT 4 PRELOAD EXPORTS RANKS 4 OTHER_RANKS 3 SOURCES kept_test.cpp TIMEOUT 300
                  ENVIRONMENT ORATORIO_RANKS_PER_NODE=2)
oratorio_mpi_test(waiting SHORT 2 PRELOAD RANKS 2 4 OTHER_RANKS 2 SOURCES waiting_test.cpp TIMEOUT 60)
oratorio_mpi_test(waiting_notice SHORT 3 PRELOAD RANKS 3 OTHER_RANKS 2 SOURCES waiting_test.cpp ARGUMENTS late
                  ENVIRONMENT ORATORIO_WAIT_NOTICE=1)
foreach(host ${ORATORIO_MPI_HOSTS})
  set(ranks 2)
  if(host MATCHES "^(mpich5|ompi5)$")
    set(ranks 3)
  endif()
  # A waiting rank must print the notice, but not the last rank, which is late.
  math(EXPR last "${ranks} - 1")
  set_tests_properties(mpi.waiting_notice.${host}.${ranks} PROPERTIES
    PASS_REGULAR_EXPRESSION "rank 0 has waited 1 s in MPI_File_write_at_all: /[^\n]*other ranks" FAIL_REGULAR_EXPRESSION "rank ${last} has")
endforeach()
oratorio_mpi_test(attended SHORT 2 PRELOAD EXPORTS RANKS 2 SOURCES attended_test.cpp)
oratorio_mpi_test(attended_nodes SHORT 2 PRELOAD EXPORTS RANKS 2 SOURCES attended_test.cpp ARGUMENTS nodes
                  ENVIRONMENT ORATORIO_RANKS_PER_NODE=1)
oratorio_mpi_test(first_open SHORT 4 PRELOAD RANKS 2 4 HOSTS mpich5 abi SOURCES first_open_test.cpp)
oratorio_mpi_test(small_calls SHORT 2 PRELOAD EXPORTS RANKS 1 2 SOURCES small_calls_test.cpp)
foreach(driver cuda hip)
  oratorio_mpi_test(device_of_${driver} SHORT 4 PRELOAD RANKS 1 4 OTHER_RANKS 2 SOURCES device_test.cpp
                    ARGUMENTS $<TARGET_FILE:${driver}_stand_in>)
endforeach()
foreach(host ${ORATORIO_MPI_HOSTS})
  if(TARGET mpi_device_${host})
    add_dependencies(mpi_device_${host} cuda_stand_in hip_stand_in)
  endif()
endforeach()
oratorio_mpi_test(many_ranks PRELOAD RANKS 64 OTHER_RANKS 16 SOURCES many_ranks_test.cpp)
# Open MPI is left out: its MPI_Init may hang with 128 ranks if the machine is busy.
oratorio_mpi_test(very_many_ranks PRELOAD HOSTS mpich5 RANKS 128 SOURCES many_ranks_test.cpp ARGUMENTS two_phase auto)
oratorio_mpi_test(peak_memory PRELOAD RANKS 4 SOURCES peak_memory_test.cpp)
oratorio_mpi_test(unsynchronised SHORT 4 PRELOAD RANKS 4 OTHER_RANKS 3 SOURCES unsynchronised_test.cpp)
oratorio_mpi_test(unsynchronised_nodes PRELOAD RANKS 4 OTHER_RANKS 3 SOURCES unsynchronised_test.cpp
                  ENVIRONMENT ORATORIO_RANKS_PER_NODE=2)
# The next two tests use the job's locks, with each rank on a node of its own.
oratorio_mpi_test(unsynchronised_job_locks SHORT 4 PRELOAD RANKS 4 OTHER_RANKS 3 SOURCES unsynchronised_test.cpp
                  ARGUMENTS list_io two_phase sieve mmap sparse
                  ENVIRONMENT ORATORIO_RANKS_PER_NODE=1 ORATORIO_HINTS=oratorio_locks=job)
oratorio_mpi_test(modes_job_locks PRELOAD RANKS 4 HOSTS mpich5 ompi5 SOURCES modes_test.cpp
                  ENVIRONMENT ORATORIO_RANKS_PER_NODE=1 ORATORIO_HINTS=oratorio_locks=job)
oratorio_mpi_test(unsynchronised_calls PRELOAD RANKS 2 SOURCES unsynchronised_test.cpp
                  ENVIRONMENT ORATORIO_HINTS=oratorio_progress=calls)
set(oracle_programs PRELOAD EXPORTS RANKS 4 LINK oratorio_oracle
    SOURCES oracle_programs_test.cpp oracle_performer.cpp io_faults.cpp)
oratorio_mpi_test(oracle_programs SHORT 4 ${oracle_programs} HOSTS mpich5 ompi5 ARGUMENTS --count 30)
oratorio_mpi_test(oracle_programs_nodes SHORT 4 ${oracle_programs} HOSTS mpich5 mpich4 ARGUMENTS --first 1001 --count 30
                  ENVIRONMENT ORATORIO_RANKS_PER_NODE=2)
# The folder is its own third view; in the last test the third view is another folder, which the program must notice.
set(oracle_folder ${CMAKE_CURRENT_BINARY_DIR}/oracle)
file(MAKE_DIRECTORY ${oracle_folder}/empty ${oracle_folder}/mpich5 ${oracle_folder}/ompi5 ${oracle_folder}/notice)
foreach(host mpich5 ompi5)
  oratorio_mpi_test(oracle_programs_faults SHORT 4 ${oracle_programs} HOSTS ${host} ENVIRONMENT ORATORIO_RANKS_PER_NODE=2
                    ARGUMENTS --faults --first 2001 --count 30 --folder ${oracle_folder}/${host}
                    --third ${oracle_folder}/${host})
endforeach()
oratorio_mpi_test(oracle_programs_notice ${oracle_programs} HOSTS mpich5
                  ARGUMENTS --count 1 --folder ${oracle_folder}/notice --third ${oracle_folder}/empty)
if(TEST mpi.oracle_programs_notice.mpich5.4)
  set_tests_properties(mpi.oracle_programs_notice.mpich5.4 PROPERTIES
                       PASS_REGULAR_EXPRESSION "seed 1: third: can't be opened.*to run it again:.*FAILED .1 failures")
endif()

# Sets variables of docs/user/environment.md on one rank only: on the first of the communicator, and on another.
set(settings_quiet ORATORIO_QUIET=1 ROMIO_PRINT_HINTS=1 ORATORIO_EXPLAIN=%s/told ORATORIO_COSTS=%s
    ORATORIO_HINTS=cb_nodes=1 ROMIO_HINTS=%s MPICH_MPIIO_HINTS=*:cb_buffer_size=70000 ORATORIO_PRELOAD=/nowhere)
set(settings_site MPICH_MPIIO_STATS=1 MPICH_MPIIO_HINTS_DISPLAY=1 MPICH_MPIIO_CB_ALIGN=2 ROMIO_FSTYPE_FORCE=nfs:
    OMPI_MCA_fcoll=individual OMPI_MCA_io_ompio_num_aggregators=1)
set(settings_home HOME=%s XDG_CACHE_HOME=%s)
# MPICH 5 itself hangs if the ranks initialise MPI with different levels of thread support.
set(settings_thread ORATORIO_HINTS=oratorio_progress=thread)
set(settings_nodes ORATORIO_RANKS_PER_NODE=1)
set(settings_method ORATORIO_METHOD=two_phase)
set(settings_host ORATORIO_METHOD=host)
set(settings_off ORATORIO_DISABLE=1)
oratorio_mpi_test(settings SHORT 3 PRELOAD SOURCES settings_test.cpp RANKS 3)
foreach(host mpich5 ompi5)
  if(NOT TARGET mpi_settings_${host})
    continue()
  endif()
  foreach(rank 0 1)
    foreach(group quiet site home nodes method host off thread)
      if(host STREQUAL mpich5 AND group STREQUAL thread)
        continue()
      endif()
      set(test_name mpi.settings_${group}_of_${rank}.${host}.3)
      add_test(NAME ${test_name} COMMAND timeout -k 5 60 ${ORATORIO_MPIEXEC_${host}} -n 3
               env LD_PRELOAD=${ORATORIO_PRELOAD_LIBRARY} $<TARGET_FILE:mpi_settings_${host}> ${rank} ${settings_${group}})
      set_tests_properties(${test_name} PROPERTIES LABELS mpi TIMEOUT 90 PROCESSORS 3
                           ENVIRONMENT "${ORATORIO_MPI_ENVIRONMENT_${host}}")
    endforeach()
  endforeach()
endforeach()

foreach(what memory threads)
  oratorio_mpi_test(scarcity_of_${what} PRELOAD EXPORTS RANKS 3 SOURCES scarcity_test.cpp scarcity.cpp ARGUMENTS ${what})
endforeach()
# MPICH 4 is left out: it makes no progress while it waits, so without a thread each start ends before the next begins.
oratorio_mpi_test(scarcity_to_the_end PRELOAD EXPORTS RANKS 2 HOSTS mpich5 ompi5 ARGUMENTS end
                  SOURCES scarcity_test.cpp scarcity.cpp)
foreach(host mpich5 ompi5)
  if(TEST mpi.scarcity_to_the_end.${host}.2)
    set_tests_properties(mpi.scarcity_to_the_end.${host}.2 PROPERTIES
      PASS_REGULAR_EXPRESSION "oratorio: aborting the job" FAIL_REGULAR_EXPRESSION "still running")
  endif()
endforeach()
