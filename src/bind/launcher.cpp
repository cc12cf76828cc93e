// SPDX-License-Identifier: BSD-3-Clause
#include "bind/launcher.hpp"

#include <array>
#include <cstdlib>

#include "mpi/comm.hpp"

namespace oratorio::bind {

namespace {

/// The variables that a launcher sets to the number of processes and to the process's own number.
struct Variables {
    const char* processes;
    const char* number;
};
constexpr std::array kLaunchers{
    Variables{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    Variables{"PMI_SIZE", "PMI_RANK"},
    Variables{"SLURM_STEP_NUM_TASKS", "SLURM_PROCID"},
};

/// Returns the number in a variable; -1 if it isn't set.
int number_in(const char* variable) {
    const char* const text = secure_getenv(variable);
    return text != nullptr ? std::atoi(text) : -1;
}

}  // namespace

std::string wrong_launcher() {
    int ranks = 0;
    if (!world_exists() || host().Comm_size(MPI_COMM_WORLD, &ranks) != MPI_SUCCESS || ranks != 1)
        return "";
    for (const Variables& variables : kLaunchers) {
        const int processes = number_in(variables.processes);
        if (processes < 2 || number_in(variables.number) != 0) continue;
        const std::string version = library_version();
        return "each process runs alone: the launcher has started " + std::to_string(processes) +
               " (" + variables.processes +
               "), but MPI_COMM_WORLD has 1 rank; use the mpiexec of the MPI that the program is "
               "linked to (" +
               version.substr(0, version.find_first_of(",\n")) + ")";
    }
    return "";
}

}  // namespace oratorio::bind
