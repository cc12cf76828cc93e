// SPDX-License-Identifier: BSD-3-Clause
// oracle_soak: runs the programs of a range of seeds and reports the ones that were judged wrong.
// `oratorio soak` runs one such process on each core.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "oracle/execute.hpp"
#include "oracle/shrink.hpp"

namespace oratorio::oracle {
namespace {

struct Options {
    std::uint64_t first = 1;
    std::uint64_t count = 1000;
    std::uint64_t every = 1;  ///< difference between one seed and the next
    Features features;
    bool list = false;   ///< print every failing seed on a line
    bool show = false;   ///< print the programs, too
    bool shrink = true;  ///< shrink the first failure of each kind
    bool go_on = false;  ///< continue after a failure
    std::string only;    ///< kind of failure that counts; "" counts all kinds
};

int usage() {
    std::fputs(
        "oracle_soak [--first S] [--count N] [--every K] [--ranks R] [--method NAME] [--faults] "
        "[--only-faults]\n"
        "            [--atomic] [--deaths] [--scarce] [--clients] [--client KIND] [--locks WHOSE] "
        "[--plain-clients] [--partial-handles] "
        "[--fresh-views] "
        "[--only KIND] "
        "[--go-on] "
        "[--no-shrink] [--list] [--show]\n",
        stderr);
    return 2;
}

bool parse(int argc, char** argv, Options& options) {
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const bool more = i + 1 < argc;
        if (word == "--show") {
            options.show = true;
        } else if (word == "--list") {
            options.list = true;
        } else if (word == "--go-on") {
            options.go_on = true;
        } else if (word == "--no-shrink") {
            options.shrink = false;
        } else if (word == "--faults") {
            options.features.faults = true;
        } else if (word == "--only-faults") {
            options.features.only_faults = true;
        } else if (word == "--atomic") {
            options.features.atomic = true;
        } else if (word == "--deaths") {
            options.features.deaths = true;
        } else if (word == "--scarce") {
            options.features.scarce = true;
        } else if (word == "--clients") {
            options.features.clients = true;
        } else if (word == "--client" && more) {
            options.features.client = client_of(argv[++i]);
            if (options.features.client == ClientKind::none) return false;
        } else if (word == "--plain-clients") {
            options.features.plain_clients = true;
        } else if (word == "--fresh-views") {
            options.features.fresh_views = true;
        } else if (word == "--partial-handles") {
            options.features.partial_handles = true;
        } else if (word == "--method" && more) {
            options.features.method = argv[++i];
        } else if (word == "--locks" && more) {
            options.features.locks = argv[++i];
        } else if (word == "--only" && more) {
            options.only = argv[++i];
        } else if (word == "--ranks" && more) {
            options.features.ranks = std::clamp(std::atoi(argv[++i]), 1, kRanksMax);
        } else if (word == "--first" && more) {
            options.first = std::strtoull(argv[++i], nullptr, 10);
        } else if (word == "--count" && more) {
            options.count = std::strtoull(argv[++i], nullptr, 10);
        } else if (word == "--every" && more) {
            options.every = std::strtoull(argv[++i], nullptr, 10);
        } else {
            return false;
        }
    }
    return true;
}

/// Prints "progress DONE FAILED" at most once a second, for a process that reads the output.
class Teller {
  public:
    void tell(std::uint64_t done, std::uint64_t failed, bool last) {
        const auto now = std::chrono::steady_clock::now();
        if (!last && now - told_ < std::chrono::seconds(1)) return;
        told_ = now;
        std::printf("progress %llu %llu\n", static_cast<unsigned long long>(done),
                    static_cast<unsigned long long>(failed));
        std::fflush(stdout);
    }

  private:
    std::chrono::steady_clock::time_point told_ = std::chrono::steady_clock::now();
};

void tell_failure(const Program& program, const Verdict& verdict, const Options& options,
                  Stacks& stacks) {
    const auto seed = static_cast<unsigned long long>(program.seed);
    std::printf("seed %llu: %s\n", seed, verdict.wrong.c_str());
    if (!options.shrink) return;
    const Shrunk shrunk = shrink(program, verdict, stacks);
    std::printf("the shortest program that fails in the same way (of seed %llu, %d runs):\n%s%s\n",
                seed, shrunk.runs, describe(shrunk.program).c_str(), shrunk.verdict.wrong.c_str());
    std::fflush(stdout);
}

int soak(const Options& options) {
    Stacks stacks;
    Teller teller;
    // Number of failures and first failing seed, by kind of failure.
    std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> kinds;
    std::uint64_t failed = 0;
    std::uint64_t accesses = 0;
    std::uint64_t overslept = 0;
    std::uint64_t job_locks = 0;
    std::uint64_t done = 0;
    for (; done < options.count; ++done) {
        const std::uint64_t seed = options.first + done * options.every;
        const Program program = make_program(seed, options.features);
        accesses += static_cast<std::uint64_t>(program.accesses());
        if (options.show)
            std::printf("seed %llu\n%s", static_cast<unsigned long long>(seed),
                        describe(program).c_str());
        const Verdict verdict = execute(program, stacks);
        overslept += static_cast<std::uint64_t>(verdict.overslept);
        job_locks += static_cast<std::uint64_t>(verdict.job_locks);
        if (options.show && verdict.overslept > 0) std::printf("overslept %d\n", verdict.overslept);
        teller.tell(done + 1, failed, false);
        if (verdict.ok() || (!options.only.empty() && verdict.kind() != options.only)) continue;
        ++failed;
        if (options.list)
            std::printf("failed %llu %s\n", static_cast<unsigned long long>(seed),
                        verdict.kind().c_str());
        const bool first = kinds.emplace(verdict.kind(), std::pair(0, seed)).second;
        ++kinds[verdict.kind()].first;
        if (first || options.show) tell_failure(program, verdict, options, stacks);
        if (!options.go_on) break;
    }
    teller.tell(done, failed, true);
    std::printf("accesses %llu\noverslept %llu\njob_locks %llu\n",
                static_cast<unsigned long long>(accesses),
                static_cast<unsigned long long>(overslept),
                static_cast<unsigned long long>(job_locks));
    for (const auto& [kind, found] : kinds)
        std::printf("kind %s %llu first %llu\n", kind.c_str(),
                    static_cast<unsigned long long>(found.first),
                    static_cast<unsigned long long>(found.second));
    return failed > 0 ? 1 : 0;
}

}  // namespace
}  // namespace oratorio::oracle

int main(int argc, char** argv) {
    oratorio::oracle::Options options;
    if (!oratorio::oracle::parse(argc, argv, options)) return oratorio::oracle::usage();
    return oratorio::oracle::soak(options);
}
