// SPDX-License-Identifier: BSD-3-Clause
// Helpers that run traced accesses and read their trace.
#pragma once

#include <nlohmann/json.hpp>

#include "file/tracing.hpp"
#include "sim/file_ranks.hpp"

namespace oratorio::test {

constexpr Bytes kBlock = 64;

inline OpenCall traced(const Folder& folder, const std::string& trace, HintMap info = {}) {
    OpenCall call = call_of(folder.file("data"), kCreate, std::move(info));
    call.trace.path = trace;
    return call;
}

/// Sets a view of blocks of 64 bytes that belong to the ranks in turn.
inline void set_interleaved_view(File& file, Rank rank, int ranks) {
    const auto view =
        View::make(kBlock * rank, 1, Shape::run(kBlock), kBlock * ranks, true, "native");
    ASSERT_EQ(kind_of(file.set_view(view, {})), ErrorKind::none);
}

inline void move(File& file, Direction direction, bool collective, Bytes bytes, Offset offset) {
    std::vector<std::byte> mine(static_cast<std::size_t>(bytes), std::byte{'x'});
    const auto call = call_for(direction, mine, collective, Positioning::explicit_offset, offset);
    EXPECT_EQ(file.access(call).bytes, bytes);
}

using Json = nlohmann::json;
using Events = std::vector<Json>;

inline Json read_trace(const Folder& folder) {
    return Json::parse(folder.read("trace"));
}

inline Events events_of(const Json& trace, const std::string& key, const std::string& value) {
    Events found;
    for (const Json& event : trace.at("traceEvents"))
        if (event.contains(key) && event.at(key).get<std::string>() == value)
            found.push_back(event);
    return found;
}

}  // namespace oratorio::test
