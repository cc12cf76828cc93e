// SPDX-License-Identifier: BSD-3-Clause
// Performer: one rank's part of a program of the consistency oracle, done with the routines of the
// chapter. It is late at random places, so that the ranks meet in another way each time.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "mpi/bind_support.hpp"
#include "oracle/outcome.hpp"

namespace oratorio::oracle {

/// What a call gave. Travels as bytes.
struct Told {
    int step = 0;         ///< id
    int part = 0;         ///< of a data access or a query of the size; -1 for any other call
    int error_class = 0;  ///< MPI_SUCCESS or what the routine returned
    long long bytes = 0;  ///< of a data access; the size that MPI_File_get_size gave
};

class Performer {
  public:
    /// Collective over MPI_COMM_WORLD. What is read lands in the buffers of `outcomes`. A program
    /// may take `patience` seconds.
    Performer(const Program& program, Outcomes& outcomes, const std::string& path,
              unsigned patience);
    ~Performer();
    Performer(const Performer&) = delete;
    Performer& operator=(const Performer&) = delete;

    /// Collective: all steps, each rank its own. In the order in which the calls were over.
    std::vector<Told> run();

  private:
    struct Started {
        const Step* step = nullptr;
        std::size_t part = 0;
        MPI_Request request = MPI_REQUEST_NULL;
        bool over = false;  ///< a test has found it done
    };
    struct Opened {
        MPI_Comm members = MPI_COMM_NULL;
        MPI_File file = MPI_FILE_NULL;
        std::map<int, Started> started;  ///< by id of the step
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
    std::vector<Opened> opened_;  ///< by handle
    std::vector<Told> told_;
};

}  // namespace oratorio::oracle
