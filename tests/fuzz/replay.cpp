// SPDX-License-Identifier: BSD-3-Clause
// Runs a fuzzer on every file of its corpus, and on seeded random mutations of them. Unlike
// libFuzzer, this needs no clang.
//
// usage: replay_NAME FOLDER MUTATIONS   the corpus, then MUTATIONS mutations of it
//        replay_NAME FILE               only that input
#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz.hpp"
#include "support/random.hpp"

namespace oratorio::test {
namespace {

using Input = std::vector<std::uint8_t>;

constexpr std::size_t kLongest = 4096;

char now[256] = "";  ///< the input being tried

extern "C" void tell(int signal) {
    std::fprintf(stderr, "fuzz: the input was %s\n", now);
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

Input read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::filesystem::path> files_of(const std::filesystem::path& folder) {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        files.push_back(entry.path());
    // Sorting makes a mutation depend on the seed only, not on the file system's order.
    std::ranges::sort(files);
    return files;
}

std::ptrdiff_t place_in(const Input& input, Random& random) {
    return static_cast<std::ptrdiff_t>(random.below(input.size() + 1));
}

void mutate(Input& input, const Input& other, Random& random) {
    const auto at = place_in(input, random);
    const auto left = static_cast<std::uint64_t>(std::ssize(input) - at);
    switch (random.below(left > 0 ? 6 : 2)) {
        case 0: {
            const auto from = place_in(other, random);
            input.insert(input.begin() + at, other.begin() + from, other.end());
            break;
        }
        case 1:
            input.insert(input.begin() + at, static_cast<std::uint8_t>(random.next()));
            break;
        case 2:
            input[at] ^= static_cast<std::uint8_t>(1U << random.below(8));
            break;
        case 3:
            input[at] = static_cast<std::uint8_t>(random.next());
            break;
        case 4:
            input.erase(input.begin() + at,
                        input.begin() + at + static_cast<std::ptrdiff_t>(random.below(left) + 1));
            break;
        default:  // extreme values of numbers
            std::fill_n(input.begin() + at, random.below(left) + 1,
                        static_cast<std::uint8_t>(random.chance(50) ? 0xff : 0x80));
    }
    if (input.size() > kLongest) input.resize(kLongest);
}

void run(const Input& input) {
    LLVMFuzzerTestOneInput(input.data(), input.size());
}

int replay(const std::filesystem::path& folder, std::uint64_t mutations) {
    std::vector<Input> corpus;
    for (const auto& file : files_of(folder)) {
        std::snprintf(now, sizeof now, "%s", file.c_str());
        run(corpus.emplace_back(read(file)));
    }
    claim(!corpus.empty(), "there is a corpus");
    for (std::uint64_t seed = 0; seed < mutations; ++seed) {
        std::snprintf(now, sizeof now, "mutation %lu of %.200s", static_cast<unsigned long>(seed),
                      folder.c_str());
        Random random(seed);
        Input input = corpus[random.below(corpus.size())];
        const Input& other = corpus[random.below(corpus.size())];
        for (std::uint64_t i = random.below(4); i < 4; ++i) mutate(input, other, random);
        run(input);
    }
    std::printf("%zu inputs and %lu mutations\n", corpus.size(),
                static_cast<unsigned long>(mutations));
    return 0;
}

}  // namespace
}  // namespace oratorio::test

int main(int count, char** arguments) {
    using namespace oratorio::test;
    for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE}) std::signal(signal, tell);
    if (count == 2) {
        run(read(arguments[1]));
        return 0;
    }
    if (count != 3) {
        std::fprintf(stderr, "usage: %s FOLDER MUTATIONS, or FILE\n", arguments[0]);
        return 2;
    }
    return replay(arguments[1], std::strtoull(arguments[2], nullptr, 10));
}
