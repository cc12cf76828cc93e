// SPDX-License-Identifier: BSD-3-Clause
// Performer: runs one rank's part of a program of the consistency oracle with the MPI-IO routines.
// It waits at random places, so that the ranks interleave in a different way each time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "mpi/bind_support.hpp"
#include "oracle/outcome.hpp"

namespace oratorio::oracle {

/// The result of a call, sent between ranks as bytes.
struct Told {
    int step = 0;  ///< id of the step
    int part = 0;  ///< part of a data access or of a query of the size; -1 for any other call
    int error_class = 0;  ///< what the routine returned
    /// Bytes of a data access, or the size that MPI_File_get_size returned.
    long long bytes = 0;
};

class Performer {
  public:
    /// Collective over MPI_COMM_WORLD. Data that is read goes into the buffers of `outcomes`. A
    /// program may take `patience` seconds.
    Performer(const Program& program, Outcomes& outcomes, const std::string& path,
              unsigned patience);
    ~Performer();
    Performer(const Performer&) = delete;
    Performer& operator=(const Performer&) = delete;

    /// Collective. Runs this rank's part of all steps. Returns the results in the order in which
    /// the calls ended.
    std::vector<Told> run();

  private:
    struct Started {
        const Step* step = nullptr;
        std::size_t part = 0;
        MPI_Request request = MPI_REQUEST_NULL;
        bool over = false;  ///< a testing call has completed the request
    };
    struct Opened {
        MPI_Comm members = MPI_COMM_NULL;
        MPI_File file = MPI_FILE_NULL;
        std::map<int, Started> started;  ///< key: id of the step
    };

    void pause();
    void take(const Step& step, std::size_t part);
    int open(const Step& step);
    void access(const Step& step, std::size_t part);
    void start(const Step& step, std::size_t part);
    void finish(const Step& step);
    void poll();
    int set_view(MPI_File file, const Tiles& view);
    int manage(Opened& one, const Step& step, std::size_t part);
    void seek(const Step& step, std::size_t part);
    void done(const Step& step, std::size_t part, int code, const MPI_Status& status);
    [[nodiscard]] Opened& opened(const Step& step) {
        return opened_[static_cast<std::size_t>(step.handle)];
    }

    const Program& program_;
    Outcomes& outcomes_;
    std::string path_;
    unsigned patience_;
    int rank_;
    test::Random random_;
    int pause_percent_;
    std::vector<Opened> opened_;  ///< key: number of the handle
    std::vector<Told> told_;
};

}  // namespace oratorio::oracle
