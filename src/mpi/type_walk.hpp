// SPDX-License-Identifier: BSD-3-Clause
// Type walk: computes a value of a datatype from the values of its member types. It uses no
// recursion, because programs nest datatypes as deeply as they like, and threads' stacks may be
// small.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "mpi/datatype_contents.hpp"

namespace oratorio {

/// Returns the value of `type`. `known(type)` returns a Result of an optional value, which is empty
/// for a datatype with members that must be visited first. `make(type, contents, values)` then
/// receives the values of the members, in the order of contents.members(), and returns a Result of
/// a value. Long lists are allocated from `memory`, which may be null.
template <class Value, class Known, class Make>
Result<Value> walk_datatype(MPI_Datatype type, const Known& known, const Make& make,
                            const std::shared_ptr<BlockCache>& memory = nullptr) {
    struct Level {
        MPI_Datatype type;
        DatatypeContents contents;
        std::vector<Value> values;
    };
    std::vector<Level> levels;
    for (MPI_Datatype next = type;;) {
        Result<std::optional<Value>> found = known(next);
        if (!found) return found.error();
        if (!*found) {
            auto contents = DatatypeContents::of(next, memory);
            if (!contents) return contents.error();
            levels.push_back({next, std::move(*contents), {}});
        } else if (levels.empty()) {
            return std::move(**found);
        } else {
            levels.back().values.push_back(std::move(**found));
        }
        while (levels.back().values.size() == levels.back().contents.members().size()) {
            Level& level = levels.back();
            Result<Value> made = make(level.type, level.contents, level.values);
            if (!made || levels.size() == 1) return made;
            levels.pop_back();
            levels.back().values.push_back(std::move(*made));
        }
        const Level& level = levels.back();
        next = level.contents.members()[level.values.size()];
    }
}

}  // namespace oratorio
