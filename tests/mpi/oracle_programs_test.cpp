// SPDX-License-Identifier: BSD-3-Clause
// Runs the random programs of the consistency oracle (docs/internals/oracle.md) under a real MPI,
// with the ranks of the job, each of which is late now and then. Rank 0 judges what all ranks read,
// and the file's final bytes, by the rules of the simulation. Of a program's setting, only the
// file's old bytes, the store, failing requests and Beside::nothing apply here. Nodes, helper
// threads and the ranks' pace are the job's own.
//
// The file lies in the folder of --folder, which may be two mounts of one file system on two nodes.
// Its final bytes are compared with a third view if there is one: --third names a folder of rank
// 0's node that shows the same files, such as what the server exports. --copies leaves the files
// where they are and puts what rank 0 has read of them into another folder, for a comparison when
// the job is over (`diff -r`). The exit code is 0 only if everything is allowed.
#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>

#include "mpi/io_faults.hpp"
#include "mpi/oracle_performer.hpp"

namespace oratorio::oracle {
namespace {

constexpr int kToldMost = 3;  // number of programs printed in full

long long failed_requests = 0;  // storage requests that were made to fail on this rank

struct Options {
    std::uint64_t first = 1;
    std::uint64_t count = 40;
    unsigned patience = 60;  ///< seconds that a program may take
    Features features;
    /// Folder of the file; "": TMPDIR. In a named folder the file system's default store opens it.
    std::string folder;
    std::string third;   ///< folder of the third view; "": there is none
    std::string copies;  ///< folder for copies of the files; "": no copies
};

using Words = std::vector<char>;

void append(Words& words, const void* data, std::size_t bytes) {
    const auto* const from = static_cast<const char*>(data);
    words.insert(words.end(), from, from + bytes);
}

const Step& step_of(const Program& program, int id) {
    return *std::ranges::find(program.steps, id, &Step::id);
}

/// Returns true if the call moves data; rank 0 is then sent the buffer of the call.
bool has_data(const Program& program, const Told& told) {
    return told.part >= 0 && step_of(program, told.step).kind != Kind::get_size;
}

/// Packs what a rank sends to rank 0: the results of its calls, and the buffers of data accesses.
Words packed(const Program& program, Outcomes& outcomes, const std::vector<Told>& all) {
    Words words;
    for (const Told& told : all) {
        append(words, &told, sizeof told);
        if (!has_data(program, told)) continue;
        const auto& buffer =
            outcomes.buffer(step_of(program, told.step), static_cast<std::size_t>(told.part));
        append(words, buffer.data(), buffer.size());
    }
    return words;
}

/// Returns the kind of error for a class. Each class of storage errors has a kind of its own; all
/// other classes share one.
ErrorKind kind_of_class(int error_class) {
    switch (error_class) {
        case MPI_ERR_IO:
            return ErrorKind::io;
        case MPI_ERR_NO_SPACE:
            return ErrorKind::no_space;
        case MPI_ERR_QUOTA:
            return ErrorKind::quota;
        case MPI_ERR_NO_MEM:
            return ErrorKind::no_memory;
        default:
            return ErrorKind::other;
    }
}

Error error_of(const Told& told, Rank rank) {
    if (told.error_class == MPI_SUCCESS) return {};
    char text[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    MPI_Error_string(told.error_class, text, &length);
    Error error = Error::make(kind_of_class(told.error_class), text);
    error.rank = rank;
    return error;
}

void unpack(const Program& program, Rank rank, std::span<const char> words, Outcomes& outcomes) {
    while (!words.empty()) {
        Told told;
        std::memcpy(&told, words.data(), sizeof told);
        words = words.subspan(sizeof told);
        const Step& step = step_of(program, told.step);
        const Error error = error_of(told, rank);
        if (!has_data(program, told)) {
            outcomes.note(step, rank, error);
            if (told.part >= 0 && error.kind == ErrorKind::none)
                outcomes.told_size(step, static_cast<std::size_t>(told.part), told.bytes);
            continue;
        }
        auto& buffer = outcomes.buffer(step, static_cast<std::size_t>(told.part));
        std::memcpy(buffer.data(), words.data(), buffer.size());
        words = words.subspan(buffer.size());
        outcomes.done(step, static_cast<std::size_t>(told.part), {told.bytes, error});
    }
}

/// Collective. Adds the outcomes of all ranks to `outcomes` on rank 0.
void gather(const Program& program, Outcomes& outcomes, const std::vector<Told>& told) {
    const Words mine = packed(program, outcomes, told);
    const int bytes = static_cast<int>(mine.size());
    const auto ranks = static_cast<std::size_t>(program.ranks);
    std::vector<int> counts(ranks);
    std::vector<int> places(ranks);
    MPI_Gather(&bytes, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (std::size_t r = 1; r < ranks; ++r) places[r] = places[r - 1] + counts[r - 1];
    Words all(static_cast<std::size_t>(places.back() + counts.back()));
    MPI_Gatherv(mine.data(), bytes, MPI_BYTE, all.data(), counts.data(), places.data(), MPI_BYTE, 0,
                MPI_COMM_WORLD);
    if (test::rank_of_world() != 0) return;
    for (std::size_t r = 0; r < ranks; ++r) {
        const std::span words(all.data() + places[r], static_cast<std::size_t>(counts[r]));
        unpack(program, static_cast<Rank>(r), words, outcomes);
    }
}

void put_old_bytes(const Program& program, const Rules& rules, const std::string& path) {
    ::unlink(path.c_str());
    if (program.setting.prefill == 0) return;
    std::ofstream file(path, std::ios::binary);
    for (Offset at = 0; at < program.setting.prefill; ++at)
        file.put(static_cast<char>(rules.old_value(at)));
}

/// Returns the content of the file, or none if it can't be opened.
std::optional<std::vector<char>> contents_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return std::nullopt;
    return std::vector<char>{std::istreambuf_iterator<char>(file), {}};
}

/// Compares the file `third` with `contents`. Returns the first difference; "" if there is none.
std::string compare_with(const std::string& third, const std::vector<char>& contents) {
    const auto seen = contents_of(third);
    if (!seen) return "third: can't be opened: " + third;
    if (seen->size() != contents.size())
        return "third: the file has " + std::to_string(contents.size()) + " bytes, and " +
               std::to_string(seen->size()) + " as " + third;
    const auto [here, there] = std::ranges::mismatch(contents, *seen);
    if (here == contents.end()) return "";
    return "third: byte " + std::to_string(here - contents.begin()) + " is " +
           std::to_string(static_cast<unsigned char>(*here)) + ", and " +
           std::to_string(static_cast<unsigned char>(*there)) + " in " + third;
}

/// Judges the outcomes on rank 0. Returns "" if everything is allowed.
std::string judge(Outcomes& outcomes, const std::string& path, const Options& options) {
    const auto contents = contents_of(path);
    if (!contents) return "file: can't be opened: " + path;
    const std::string name = path.substr(path.rfind('/'));
    if (!options.copies.empty()) {
        std::ofstream copy(options.copies + name, std::ios::binary);
        copy.write(contents->data(), std::ssize(*contents));
        copy.close();
        if (!copy) return "copy: can't be written: " + options.copies + name;
    }
    test::MemoryDisk disk;
    disk.write(0, std::as_bytes(std::span(*contents)));
    const std::string wrong = outcomes.judge(disk);
    if (options.third.empty()) return wrong;
    const std::string differs = compare_with(options.third + name, *contents);
    if (wrong.empty()) return differs;
    return wrong + (differs.empty() ? "\nthe third view has the same bytes" : "\n" + differs);
}

void set_fault(const Setting& setting, const std::string& path) {
    test::IoFault fault;
    if (setting.fault_rank == test::rank_of_world()) {
        fault = {.kind = test::IoFault::Kind::fails,
                 .reads = setting.fault.reads,
                 .writes = setting.fault.writes,
                 .end = LONG_MAX,
                 .system_errno = setting.fault.system_errno,
                 .nth = setting.fault.nth,
                 .file = path.c_str()};
    }
    test::set_io_fault(fault);
}

/// Collective. Returns a description of what is wrong on rank 0, or ""; other ranks return "".
std::string run(const Program& program, const Options& options) {
    Rules rules(program);
    Outcomes outcomes(program, rules);
    const std::string path = options.folder.empty()
                                 ? test::shared_name()
                                 : options.folder + "/oracle-" + std::to_string(program.seed);
    const bool first = test::rank_of_world() == 0;
    if (first) put_old_bytes(program, rules, path);
    MPI_Barrier(MPI_COMM_WORLD);
    set_fault(program.setting, path);
    const auto told = Performer(program, outcomes, path, options.patience).run();
    failed_requests += test::io_faults_met();
    test::set_io_fault({});
    gather(program, outcomes, told);
    if (!first) return "";
    const std::string wrong = judge(outcomes, path, options);
    if (options.copies.empty()) ::unlink(path.c_str());
    return wrong;
}

void run_all(const Options& options, const char* program_name) {
    std::vector<std::uint64_t> failed;
    long long accesses = 0;
    for (std::uint64_t seed = options.first; seed < options.first + options.count; ++seed) {
        Program program = make_program(seed, options.features);
        // Files in a named folder use the default store: io_uring, which some programs request,
        // doesn't bypass a client's cache.
        for (Handle& handle : program.handles)
            if (!options.folder.empty()) handle.hints.erase("oratorio_store");
        accesses += program.accesses();
        const std::string wrong = run(program, options);
        if (wrong.empty()) continue;
        failed.push_back(seed);
        std::fprintf(stderr, "seed %llu: %s\n", static_cast<unsigned long long>(seed),
                     wrong.c_str());
        if (std::ssize(failed) <= kToldMost)
            std::fprintf(stderr, "the program:\n%s\n", describe(program).c_str());
    }
    test::failures += static_cast<int>(failed.size());
    long long made_to_fail = 0;
    MPI_Reduce(&failed_requests, &made_to_fail, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (test::rank_of_world() != 0) return;
    if (options.features.faults) std::printf("%lld requests were made to fail\n", made_to_fail);
    std::printf("seeds %llu to %llu: %llu programs with %lld accesses, %zu failed\n",
                static_cast<unsigned long long>(options.first),
                static_cast<unsigned long long>(options.first + options.count - 1),
                static_cast<unsigned long long>(options.count), accesses, failed.size());
    for (const auto seed : failed)
        std::printf("to run it again: %s --first %llu --count 1%s%s\n", program_name,
                    static_cast<unsigned long long>(seed),
                    options.features.faults ? " --faults" : "",
                    options.folder.empty() ? "" : (" --folder " + options.folder).c_str());
}

bool parse(std::span<char*> words, Options& options) {
    const auto number = [](const char* word) { return std::strtoull(word, nullptr, 10); };
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::string word = words[i];
        if (word == "--faults") {
            options.features.faults = true;
            continue;
        }
        if (++i == words.size()) return false;
        if (word == "--first") {
            options.first = number(words[i]);
        } else if (word == "--count") {
            options.count = number(words[i]);
        } else if (word == "--patience") {
            options.patience = static_cast<unsigned>(number(words[i]));
        } else if (word == "--method") {
            options.features.method = words[i];
        } else if (word == "--folder") {
            options.folder = words[i];
        } else if (word == "--third") {
            options.third = words[i];
        } else if (word == "--copies") {
            options.copies = words[i];
        } else {
            return false;
        }
    }
    options.features.ranks = test::size_of_world();
    options.features.routines = true;
    const bool kept = options.third.empty() && options.copies.empty();
    const bool fits = options.features.ranks >= 2 && options.features.ranks <= kRanksMax;
    return fits && (kept || !options.folder.empty());
}

constexpr const char* kUsage =
    "oracle_programs [--first SEED] [--count N] [--method NAME] [--faults] [--patience SECONDS]\n"
    "                [--folder DIR [--third DIR] [--copies DIR]], of two to six ranks\n";

}  // namespace
}  // namespace oratorio::oracle

int main(int argc, char** argv) {
    using namespace oratorio;
    MPI_Init(&argc, &argv);
    oracle::Options options;
    if (oracle::parse({argv + 1, argv + argc}, options)) {
        oracle::run_all(options, argv[0]);
    } else {
        ++test::failures;
        if (test::rank_of_world() == 0) std::fputs(oracle::kUsage, stderr);
    }
    const int result = test::verdict("oracle_programs");
    MPI_Finalize();
    return result;
}
