// Measures one workload with several arms in one process, interleaved and repeated. Every pass
// is checked byte by byte: a written file is read with pread, a read buffer is compared with the
// pattern. `oratorio bench` builds and starts this program; README.md says the options.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <iostream>
#include <stdexcept>

#include "pattern.hpp"
#include "report.hpp"

namespace bench {

namespace {

struct Options {
    std::string workload;
    Params params;
    std::vector<Arm> arms;
    std::vector<Direction> directions{Direction::write, Direction::read};
    int repeats = 5;
    std::string dir = ".";
    std::string out;
    bool overwrite = false;
    bool sync = false;
};

std::pair<std::string, std::string> split(const std::string& text, char at) {
    const std::size_t found = text.find(at);
    if (found == std::string::npos) throw std::invalid_argument("wrong option value: " + text);
    return {text.substr(0, found), text.substr(found + 1)};
}

void add_hint(std::vector<Arm>& arms, const std::string& text) {
    const auto [name, hint] = split(text, ':');
    for (Arm& arm : arms) {
        if (arm.name == name) {
            arm.hints.insert(split(hint, '='));
            return;
        }
    }
    throw std::invalid_argument("a hint for an arm that is not run: " + text);
}

Options parse(int count, char** words) {
    Options options;
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        if (word == "--overwrite") {
            options.overwrite = true;
        } else if (word == "--sync") {
            options.sync = true;
        } else if (++i == count) {
            throw std::invalid_argument("option without a value: " + word);
        } else if (word == "--workload") {
            options.workload = words[i];
        } else if (word == "--param") {
            const auto [key, value] = split(words[i], '=');
            options.params.set(key, value);
        } else if (word == "--arm") {
            options.arms.push_back({words[i], {}});
        } else if (word == "--hint") {
            add_hint(options.arms, words[i]);
        } else if (word == "--only") {
            const bool write = std::string(words[i]) == "write";
            options.directions = {write ? Direction::write : Direction::read};
        } else if (word == "--repeats") {
            options.repeats = std::stoi(words[i]);
        } else if (word == "--dir") {
            options.dir = words[i];
        } else if (word == "--out") {
            options.out = words[i];
        } else {
            throw std::invalid_argument("no option " + word);
        }
    }
    return options;
}

std::uint64_t reduced(std::uint64_t value, MPI_Op op) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, op, MPI_COMM_WORLD);
    return value;
}

/// An access together with what all ranks know of it.
struct Job {
    Access access;
    std::uint64_t bytes = 0;       ///< of all ranks
    std::uint64_t file_bytes = 0;  ///< end of the last piece
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

/// The same bytes per rank as `access`, contiguous, in rank order.
Access contiguous_like(const Access& access) {
    std::uint64_t mine = 0;
    access.for_each_piece([&](const Piece& piece) { mine += piece.bytes; });
    std::uint64_t end = 0;
    MPI_Scan(&mine, &end, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    Access raw;
    raw.buffer_bytes = mine;
    raw.for_each_piece = [=](const PieceVisitor& visit) { visit({0, end - mine, mine}); };
    return raw;
}

/// What is wrong on any rank, or "". Collective.
std::string agreed_problem(std::optional<std::uint64_t> wrong_at, const char* what) {
    const std::uint64_t none = gap_changed - 1;
    const bool gap_here = wrong_at == gap_changed;
    const std::uint64_t first = reduced(gap_here ? none : wrong_at.value_or(none), MPI_MIN);
    const bool gap = reduced(gap_here ? 1 : 0, MPI_MAX) != 0;
    if (first != none) return std::string(what) + " wrong at file offset " + std::to_string(first);
    return gap ? "bytes between the pieces in memory were changed" : "";
}

class Bench {
  public:
    Bench(Options options, Place place)
        : options_(std::move(options)),
          place_(place),
          report_(place.rank == 0 ? options_.out : ""),
          job_(make_job(make_access(options_.workload, options_.params, place))),
          raw_(make_job(contiguous_like(job_.access))),
          buffer_(job_.access.buffer_bytes) {
        if (options_.overwrite) job_.access.holes.content = std::byte{0x5a};
    }

    void run() {
        tell_setup();
        const int arms = static_cast<int>(options_.arms.size());
        for (const Arm& arm : options_.arms) {
            remove_file(arm);
            if (options_.overwrite) make_file(arm, arm.raw() ? raw_ : job_, 0);
        }
        for (int repeat = -1; repeat < options_.repeats; ++repeat) {
            for (int turn = 0; turn < arms; ++turn) {
                const int index = (turn + repeat + 1) % arms;  // no arm is always the first
                pass(options_.arms[static_cast<std::size_t>(index)], repeat,
                     static_cast<std::uint64_t>((repeat + 2) * arms + index));
            }
        }
        for (const Arm& arm : options_.arms) remove_file(arm);
    }

  private:
    std::string path_of(const Arm& arm) const { return options_.dir + "/" + arm.name + ".bin"; }

    void remove_file(const Arm& arm) {
        if (place_.rank == 0) unlink(path_of(arm).c_str());
        MPI_Barrier(MPI_COMM_WORLD);
    }

    /// The file of `key` as it should be, made without MPI.
    void make_file(const Arm& arm, const Job& job, std::uint64_t key) {
        const std::string path = path_of(arm);
        if (!write_image(path.c_str(), job.file_bytes, place_, key, job.access.holes)) {
            throw std::runtime_error("can't write " + path);
        }
    }

    void tell_setup() {
        if (place_.rank != 0) return;
        Dl_info about{};
        const void* open = dlsym(RTLD_DEFAULT, "MPI_File_open");
        const bool known = open != nullptr && dladdr(open, &about) != 0;
        report_.setup({options_.workload, place_.ranks, job_.bytes, job_.file_bytes, job_.pieces,
                       known ? about.dli_fname : ""});
        if (!report_.good()) throw std::invalid_argument("can't write " + options_.out);
    }

    /// The directions of one arm in one repeat.
    void pass(const Arm& arm, int repeat, std::uint64_t key) {
        const Job& job = arm.raw() ? raw_ : job_;
        bool file_is_right = false;
        for (const Direction direction : options_.directions) {
            const bool write = direction == Direction::write;
            const std::string problem = write ? write_once(arm, job, repeat, key)
                                              : read_once(arm, job, repeat, key, file_is_right);
            file_is_right = problem.empty();
        }
        if (!options_.overwrite) remove_file(arm);
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

    std::string read_once(const Arm& arm, const Job& job, int repeat, std::uint64_t key,
                          bool file_is_right) {
        if (!file_is_right) make_file(arm, job, key);
        fill_buffer(buffer_, job.access, std::nullopt);
        const Sample sample = run_pass(arm, Direction::read, path_of(arm), job.access,
                                       options_.sync, buffer_, MPI_COMM_WORLD);
        const std::string found =
            agreed_problem(first_wrong_in_buffer(buffer_, job.access, key), "the data read is");
        return tell(arm, Direction::read, job, repeat, sample, found);
    }

    /// Reports the pass and returns its problem: an error if there was one, else wrong bytes.
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
    Job job_;
    Job raw_;
    std::vector<std::byte> buffer_;
};

}  // namespace

}  // namespace bench

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    bench::Place place{};
    MPI_Comm_rank(MPI_COMM_WORLD, &place.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &place.ranks);
    try {
        bench::Bench(bench::parse(argc, argv), place).run();
    } catch (const std::exception& error) {
        std::cerr << "bench: " << error.what() << std::endl;
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Finalize();
    return 0;
}
