// SPDX-License-Identifier: BSD-3-Clause
// Measures one workload with several arms in one process, interleaved and repeated. Every pass is
// checked byte by byte: a written file is read with pread, a read buffer is compared with the
// pattern. `oratorio bench` builds and starts this program; README.md describes the options.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <optional>
#include <stdexcept>

#include "clock.hpp"
#include "options.hpp"
#include "pattern.hpp"
#include "report.hpp"

namespace bench {

namespace {

std::uint64_t reduced(std::uint64_t value, MPI_Op op) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, op, MPI_COMM_WORLD);
    return value;
}

/// An access of this rank, together with totals of all ranks.
struct Job {
    Access access;
    std::uint64_t bytes = 0;       ///< data of all ranks
    std::uint64_t file_bytes = 0;  ///< end of the last piece of any rank
    std::uint64_t pieces = 0;
};

Job make_job(Access access) {
    Job job;
    access.for_each_piece([&](const Piece& piece) {
        job.bytes += piece.bytes;
        job.file_bytes = std::max(job.file_bytes, piece.file + piece.bytes);
        ++job.pieces;
    });
    job.access = std::move(access);
    job.bytes = reduced(job.bytes, MPI_SUM);
    job.file_bytes = reduced(job.file_bytes, MPI_MAX);
    job.pieces = reduced(job.pieces, MPI_SUM);
    return job;
}

/// Collective. Returns a contiguous access with as many bytes per rank as `access`, rounded up to
/// `unit`. The ranks' data lies in rank order.
Access contiguous_like(const Access& access, std::uint64_t unit) {
    std::uint64_t mine = 0;
    access.for_each_piece([&](const Piece& piece) { mine += piece.bytes; });
    mine = (mine + unit - 1) / unit * unit;
    std::uint64_t end = 0;
    MPI_Scan(&mine, &end, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    Access raw;
    raw.buffer_bytes = mine;
    raw.for_each_piece = [=](const PieceVisitor& visit) { visit({0, end - mine, mine}); };
    return raw;
}

/// The accesses of each kind of arm in one direction. The constructor is collective.
struct Jobs {
    Job mpi;
    Job raw;
    Job raw_direct;

    Jobs(const Options& options, Access access)
        : mpi(make_job(std::move(access))),
          raw(make_job(contiguous_like(mpi.access, 1))),
          raw_direct(make_job(contiguous_like(mpi.access, page_bytes))) {
        // A file that is overwritten has content in its holes.
        if (options.overwrite) mpi.access.holes.content = std::byte{0x5a};
    }
    const Job& of(const Arm& arm) const {
        if (arm.direct()) return raw_direct;
        return arm.raw() ? raw : mpi;
    }
    /// Returns the size of a buffer that is large enough for all arms.
    std::size_t buffer_bytes() const {
        return std::max(mpi.access.buffer_bytes, raw_direct.access.buffer_bytes);
    }
};

/// Collective. Returns a description of what is wrong on any rank, or "".
std::string agreed_problem(std::optional<std::uint64_t> wrong_at, const char* what) {
    const std::uint64_t none = gap_changed - 1;
    const bool gap_here = wrong_at == gap_changed;
    const std::uint64_t first = reduced(gap_here ? none : wrong_at.value_or(none), MPI_MIN);
    const bool gap = reduced(gap_here ? 1 : 0, MPI_MAX) != 0;
    if (first != none) return std::string(what) + " wrong at file offset " + std::to_string(first);
    return gap ? "bytes between the pieces in memory were changed" : "";
}

/// Writes a file to storage and drops it from the page cache, so that the next read is cold.
bool drop_cached(const char* path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    const bool dropped = fsync(fd) == 0 && posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0;
    return close(fd) == 0 && dropped;
}

/// What the command line asks this rank to do.
struct Task {
    Options options;
    Access write;
    Access read;

    Task(int argc, char** argv, Place place)
        : options(parse_options(argc, argv)),
          write(make_access(options.workload, options.params, place, Direction::write)),
          read(make_access(options.workload, options.params, place, Direction::read)) {}
};

class Bench {
  public:
    Bench(Task task, Place place)
        : options_(std::move(task.options)),
          place_(place),
          report_(place.rank == 0 ? options_.out : ""),
          write_(options_, std::move(task.write)),
          read_(options_, std::move(task.read)),
          buffer_(std::max(write_.buffer_bytes(), read_.buffer_bytes()),
                  PageAllocator<std::byte>{options_.malloc ? malloc_behind : 0}) {}

    void run() {
        tell_setup();
        warm_up();
        const int arms = static_cast<int>(options_.arms.size());
        for (const Arm& arm : options_.arms) {
            remove_file(path_of(arm));
            if (options_.overwrite) make_file(path_of(arm), write_.of(arm), 0);
        }
        for (const Arm& arm : options_.arms) {
            for (int left = arm.passes_ahead; left > 0; --left) passes(arm, -1 - left);
        }
        for (int repeat = -1; repeat < options_.repeats; ++repeat) {
            const int round = repeat + 1;
            for (int turn = 0; turn < arms; ++turn) {
                // The order is reversed in every other round, and then begins with the next arm, so
                // that no arm is always the first or always follows the same one.
                const int place = (turn + round / 2) % arms;
                const int index = round % 2 == 0 ? place : arms - 1 - place;
                passes(options_.arms[static_cast<std::size_t>(index)], repeat);
            }
        }
        for (const Arm& arm : options_.arms) remove_file(path_of(arm));
    }

  private:
    std::string path_of(const Arm& arm) const { return options_.dir + "/" + arm.name + ".bin"; }

    void remove_file(const std::string& path) {
        if (place_.rank == 0) unlink(path.c_str());
        MPI_Barrier(MPI_COMM_WORLD);
    }

    /// Collective. Makes the expected file of `key`, without MPI-IO.
    void make_file(const std::string& path, const Job& job, std::uint64_t key) {
        if (!write_image(path.c_str(), job.file_bytes, place_, key, job.access.holes)) {
            throw std::runtime_error("can't write " + path);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }

    /// Collective. Writes as many bytes as all test files that exist at the same time have, because
    /// memory that a virtual machine has never used before is slow at first.
    void warm_up() {
        const std::uint64_t files = options_.overwrite ? options_.arms.size() : 1;
        const std::string path = options_.dir + "/warm.bin";
        Job job;
        job.file_bytes = 0;
        for (const Jobs* jobs : {&write_, &read_}) {
            for (const Job* each : {&jobs->mpi, &jobs->raw_direct}) {
                job.file_bytes = std::max(job.file_bytes, files * each->file_bytes);
            }
        }
        make_file(path, job, 0);
        remove_file(path);
    }

    void tell_setup() {
        const int nodes = nodes_of(MPI_COMM_WORLD);
        if (place_.rank != 0) return;
        Dl_info about{};
        const void* open = dlsym(RTLD_DEFAULT, "MPI_File_open");
        const bool known = open != nullptr && dladdr(open, &about) != 0;
        const Job& first = (options_.directions.front() == Direction::write ? write_ : read_).mpi;
        report_.setup({options_.workload, place_.ranks, nodes, first.bytes, first.file_bytes,
                       first.pieces, known ? about.dli_fname : ""});
        if (!report_.good()) throw std::invalid_argument("can't write " + options_.out);
    }

    /// Collective. Makes one pass of an arm in each direction, with data that no earlier pass had.
    void passes(const Arm& arm, int repeat) {
        const std::uint64_t key = ++key_;
        // The size of the file if it holds the content of `key`, or else 0.
        std::uint64_t right_bytes = 0;
        for (const Direction direction : options_.directions) {
            if (place_.rank == 0) report_.begin(arm, direction, repeat);
            if (direction == Direction::write) {
                const Job& job = write_.of(arm);
                right_bytes = write_once(arm, job, repeat, key).empty() ? job.file_bytes : 0;
            } else {
                const Job& job = read_.of(arm);
                if (right_bytes != job.file_bytes || job.access.own_file)
                    make_file(path_of(arm), job, key);
                read_once(arm, job, repeat, key);
                const bool resized =
                    options_.overwrite && job.file_bytes != write_.of(arm).file_bytes;
                if (resized) make_file(path_of(arm), write_.of(arm), key);
            }
        }
        if (!options_.overwrite) remove_file(path_of(arm));
    }

    std::string write_once(const Arm& arm, const Job& job, int repeat, std::uint64_t key) {
        fill_buffer(buffer_, job.access, key);
        Sample sample = run_pass(arm, Direction::write, path_of(arm), job.access, options_.sync,
                                 buffer_, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        const FileCheck check =
            check_file(path_of(arm).c_str(), job.file_bytes, place_, key, job.access.holes);
        sample.holes_kept = reduced(check.holes_kept ? 1 : 0, MPI_MIN) != 0;
        const std::string found = agreed_problem(check.wrong_at, "the file is");
        return tell(arm, Direction::write, job, repeat, sample, found);
    }

    void read_once(const Arm& arm, const Job& job, int repeat, std::uint64_t key) {
        fill_buffer(buffer_, job.access, std::nullopt);
        MPI_Barrier(MPI_COMM_WORLD);
        if (options_.cold && place_.rank == 0 && !drop_cached(path_of(arm).c_str())) {
            throw std::runtime_error("can't drop the cached pages of " + path_of(arm));
        }
        const Sample sample = run_pass(arm, Direction::read, path_of(arm), job.access,
                                       options_.sync, buffer_, MPI_COMM_WORLD);
        const std::string found =
            agreed_problem(first_wrong_in_buffer(buffer_, job.access, key), "the data read is");
        tell(arm, Direction::read, job, repeat, sample, found);
    }

    /// Reports the pass and returns its problem: the error of the sample if there is one, or else
    /// `found`.
    std::string tell(const Arm& arm, Direction direction, const Job& job, int repeat,
                     const Sample& sample, const std::string& found) {
        const std::string problem = sample.error.empty() ? found : sample.error;
        if (place_.rank == 0) {
            report_.sample(arm, direction, repeat, job.bytes, sample, problem);
        }
        return problem;
    }

    Options options_;
    Place place_;
    Report report_;
    Jobs write_;
    Jobs read_;
    Buffer buffer_;
    std::uint64_t key_ = 0;  ///< selects the data of the current pass
};

void complain(const std::string& problem) {
    // The message is one write, because another rank may already be ending the job.
    std::cerr << "bench: " + problem + "\n" << std::flush;
}

/// Collective. Returns the exit code.
int run(int argc, char** argv) {
    Place place{};
    MPI_Comm_rank(MPI_COMM_WORLD, &place.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &place.ranks);
    std::optional<Task> task;
    try {
        task.emplace(argc, argv, place);
    } catch (const std::exception& error) {
        complain(error.what());
    }
    // No rank waits for another yet, so a wrong parameter needs no abort.
    if (reduced(task ? 1 : 0, MPI_MIN) == 0) return 2;
    try {
        Bench(std::move(*task), place).run();
    } catch (const std::exception& error) {
        complain(error.what());
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return 0;
}

}  // namespace

}  // namespace bench

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int code = bench::run(argc, argv);
    MPI_Finalize();
    return code;
}
