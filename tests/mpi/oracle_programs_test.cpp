// SPDX-License-Identifier: BSD-3-Clause
// The random programs of the consistency oracle (docs/oracle.md) under a real MPI: as many ranks as
// the job has, each late now and then; what they read and the file's last bytes are judged by the
// same rules. Of a program's setting only the file's old bytes, the store and "nothing beside" are
// made true here: nodes, helper threads and the pace of the ranks are what they are.
//
//   oracle_programs [first seed] [seeds] [method]
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>

#include "mpi/oracle_performer.hpp"

namespace oratorio::oracle {
namespace {

constexpr int kToldMost = 3;  // programs that are printed whole

using Words = std::vector<char>;

void append(Words& words, const void* data, std::size_t bytes) {
    const auto* const from = static_cast<const char*>(data);
    words.insert(words.end(), from, from + bytes);
}

const Step& step_of(const Program& program, int id) {
    return *std::ranges::find(program.steps, id, &Step::id);
}

/// What a rank has to tell rank 0: each call, and what was read.
Words packed(const Program& program, Outcomes& outcomes, const std::vector<Told>& all) {
    Words words;
    for (const Told& told : all) {
        append(words, &told, sizeof told);
        if (told.part < 0) continue;
        const auto& buffer =
            outcomes.buffer(step_of(program, told.step), static_cast<std::size_t>(told.part));
        append(words, buffer.data(), buffer.size());
    }
    return words;
}

void unpack(const Program& program, Rank rank, const char* at, const char* end,
            Outcomes& outcomes) {
    while (at < end) {
        Told told;
        std::memcpy(&told, at, sizeof told);
        at += sizeof told;
        const Step& step = step_of(program, told.step);
        Error error;
        if (told.error_class != MPI_SUCCESS) {
            char text[MPI_MAX_ERROR_STRING] = {};
            int length = 0;
            MPI_Error_string(told.error_class, text, &length);
            error = Error::make(ErrorKind::other, text);
            error.rank = rank;
        }
        if (told.part < 0) {
            outcomes.note(step, rank, error);
            continue;
        }
        auto& buffer = outcomes.buffer(step, static_cast<std::size_t>(told.part));
        std::memcpy(buffer.data(), at, buffer.size());
        at += buffer.size();
        outcomes.done(step, static_cast<std::size_t>(told.part), {told.bytes, error});
    }
}

/// Collective. On rank 0 afterwards, `outcomes` has those of all ranks.
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
        const char* const from = all.data() + places[r];
        unpack(program, static_cast<Rank>(r), from, from + counts[r], outcomes);
    }
}

void put_old_bytes(const Program& program, const Rules& rules, const std::string& path) {
    if (program.setting.prefill == 0) return;
    std::ofstream file(path, std::ios::binary);
    for (Offset at = 0; at < program.setting.prefill; ++at)
        file.put(static_cast<char>(rules.old_value(at)));
}

std::string judge(Outcomes& outcomes, const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> contents{std::istreambuf_iterator<char>(file), {}};
    test::MemoryDisk disk;
    disk.write(0, std::as_bytes(std::span(contents)));
    return outcomes.judge(disk);
}

/// Collective. Data accesses of the program.
int run(std::uint64_t seed, const Features& features) {
    const Program program = make_program(seed, features);
    Rules rules(program);
    Outcomes outcomes(program, rules);
    const std::string path = test::shared_name();
    if (test::rank_of_world() == 0) put_old_bytes(program, rules, path);
    MPI_Barrier(MPI_COMM_WORLD);
    gather(program, outcomes, Performer(program, outcomes, path).run());
    if (test::rank_of_world() != 0) return program.accesses();
    const std::string wrong = judge(outcomes, path);
    ::unlink(path.c_str());
    if (wrong.empty()) return program.accesses();
    ++test::failures;
    std::fprintf(stderr, "seed %llu: %s\n", static_cast<unsigned long long>(seed), wrong.c_str());
    if (test::failures <= kToldMost)
        std::fprintf(stderr, "the program:\n%s\n", describe(program).c_str());
    return program.accesses();
}

void run_all(int argc, char** argv) {
    Features features;
    features.ranks = test::size_of_world();
    features.routines = true;
    if (argc > 3) features.method = argv[3];
    CHECK(features.ranks >= 2 && features.ranks <= kRanksMax);
    if (test::failures > 0) return;
    const std::uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1;
    const std::uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 40;
    long long accesses = 0;
    for (std::uint64_t seed = first; seed < first + count; ++seed) accesses += run(seed, features);
    if (test::rank_of_world() == 0)
        std::printf("%llu programs with %lld accesses\n", static_cast<unsigned long long>(count),
                    accesses);
}

}  // namespace
}  // namespace oratorio::oracle

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    oratorio::oracle::run_all(argc, argv);
    const int result = oratorio::test::verdict("oracle_programs");
    MPI_Finalize();
    return result;
}
