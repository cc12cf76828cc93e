// SPDX-License-Identifier: BSD-3-Clause
#include "memory/machine_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

namespace oratorio {
namespace {

constexpr Bytes kMost = Bytes{1} << 50;
constexpr int kAggregators = 8;  // maximum per node, unless hints or the method want more

Bytes limit_of(decltype(RLIMIT_AS) what) {
    rlimit limit{};
    if (::getrlimit(what, &limit) != 0 || limit.rlim_cur >= static_cast<rlim_t>(kMost))
        return kMost;
    return static_cast<Bytes>(limit.rlim_cur);
}

}  // namespace

Bytes buffer_bytes_most(int ranks) {
    const Bytes pages = std::max<Bytes>(::sysconf(_SC_PHYS_PAGES), 1);
    const Bytes memory = std::min(pages, kMost / page_bytes()) * page_bytes();
    const Bytes all = std::min({memory, limit_of(RLIMIT_AS), limit_of(RLIMIT_DATA)});
    return all / 4 / std::clamp(ranks, 1, kAggregators);
}

Bytes page_bytes() {
    static const Bytes bytes = ::sysconf(_SC_PAGESIZE);
    return bytes;
}

}  // namespace oratorio
