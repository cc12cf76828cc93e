// SPDX-License-Identifier: BSD-3-Clause
// oratorio_counts TOPIC [RANKS]: prints the facts of a topic, one per line: what, counted,
// relation, claimed, whose, with tabs between them. Without arguments it prints the topics.
// `oratorio count` runs it.
#include <charconv>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "count/facts.hpp"

using namespace oratorio::count;

namespace {

const char* word_of(Relation relation) {
    constexpr const char* kWords[] = {"", "=", "<="};
    return kWords[static_cast<int>(relation)];
}

/// Prints the facts of a topic. Returns the exit code: 2 if the topic refuses the number of ranks.
int tell(const Topic& topic, int ranks) {
    try {
        for (const Fact& fact : topic.count(ranks)) {
            std::printf("%s\t%lld\t%s\t%lld\t%s\n", fact.what.c_str(),
                        static_cast<long long>(fact.counted), word_of(fact.relation),
                        static_cast<long long>(fact.claimed), fact.whose.c_str());
        }
    } catch (const std::invalid_argument& refused) {
        std::fprintf(stderr, "%s\n", refused.what());
        return 2;
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        for (const Topic& topic : topics())
            std::printf("%s\t%s\t%s\n", topic.name, topic.paper, topic.what);
        return 0;
    }
    int ranks = 0;
    if (argc > 2) std::from_chars(argv[2], argv[2] + std::strlen(argv[2]), ranks);
    for (const Topic& topic : topics()) {
        if (std::strcmp(topic.name, argv[1]) == 0) return tell(topic, ranks);
    }
    std::fprintf(stderr, "no topic %s\n", argv[1]);
    return 2;
}
