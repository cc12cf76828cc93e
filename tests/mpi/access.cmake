# Tests of data access: plain MPI programs under the preload library, whose files are looked at without MPI.
set(all_ranks RANKS 1 2 3 4 7 8 OTHER_RANKS 2)

oratorio_mpi_test(differential PRELOAD ${all_ranks} SOURCES differential_test.cpp random_view.cpp mapped_type.cpp)
oratorio_mpi_test(datarep PRELOAD RANKS 1 3 OTHER_RANKS 2 SOURCES datarep_test.cpp)
oratorio_mpi_test(holes PRELOAD ${all_ranks} SOURCES holes_test.cpp)
oratorio_mpi_test(modes PRELOAD ${all_ranks} SOURCES modes_test.cpp)
oratorio_mpi_test(faults PRELOAD EXPORTS ${all_ranks} SOURCES faults_test.cpp io_faults.cpp)
oratorio_mpi_test(faults_under_way PRELOAD EXPORTS ${all_ranks} SOURCES faults_under_way_test.cpp io_faults.cpp)
oratorio_mpi_test(faults_under_way_threads PRELOAD EXPORTS RANKS 4 OTHER_RANKS 2 ARGUMENTS thread
                  SOURCES faults_under_way_test.cpp io_faults.cpp)
oratorio_mpi_test(faults_under_way_nodes PRELOAD EXPORTS RANKS 4 OTHER_RANKS 3 ENVIRONMENT ORATORIO_RANKS_PER_NODE=2
                  SOURCES faults_under_way_test.cpp io_faults.cpp)
oratorio_mpi_test(faults_under_way_calls PRELOAD EXPORTS RANKS 3 OTHER_RANKS 2
                  ENVIRONMENT ORATORIO_HINTS=oratorio_progress=calls
                  SOURCES faults_under_way_test.cpp io_faults.cpp)
oratorio_mpi_test(large PRELOAD EXPORTS RANKS 1 3 OTHER_RANKS 2 SOURCES large_test.cpp io_faults.cpp)
oratorio_mpi_test(full_disk PRELOAD RANKS 1 3 8 OTHER_RANKS 2 SOURCES full_disk_test.cpp
                  WRAPPER ${oratorio_SOURCE_DIR}/tests/support/with_small_disk.sh)
oratorio_mpi_test(fallback PRELOAD EXPORTS RANKS 3 8 OTHER_RANKS 2 SOURCES fallback_test.cpp)
oratorio_mpi_test(kept PRELOAD EXPORTS RANKS 1 4 OTHER_RANKS 2 SOURCES kept_test.cpp TIMEOUT 300)
oratorio_mpi_test(kept_by_threads PRELOAD EXPORTS RANKS 4 OTHER_RANKS 3 SOURCES kept_test.cpp ARGUMENTS threads)
oratorio_mpi_test(kept_on_nodes PRELOAD EXPORTS RANKS 4 OTHER_RANKS 3 SOURCES kept_test.cpp TIMEOUT 300
                  ENVIRONMENT ORATORIO_RANKS_PER_NODE=2)
oratorio_mpi_test(peak_memory PRELOAD RANKS 4 SOURCES peak_memory_test.cpp)
oratorio_mpi_test(unsynchronised PRELOAD RANKS 4 OTHER_RANKS 3 SOURCES unsynchronised_test.cpp)
oratorio_mpi_test(unsynchronised_nodes PRELOAD RANKS 4 OTHER_RANKS 3 SOURCES unsynchronised_test.cpp
                  ENVIRONMENT ORATORIO_RANKS_PER_NODE=2)
oratorio_mpi_test(unsynchronised_calls PRELOAD RANKS 2 SOURCES unsynchronised_test.cpp
                  ENVIRONMENT ORATORIO_HINTS=oratorio_progress=calls)
