// SPDX-License-Identifier: BSD-3-Clause
// method_names: the names of all methods of the library, for suites that try every method.
#pragma once

#include <string>
#include <vector>

#include "plan/methods.hpp"

namespace oratorio::test {

/// Returns "auto", then the name of every method.
inline std::vector<std::string> method_names() {
    std::vector<std::string> names{"auto"};
    for (const Method& method : methods()) names.emplace_back(method.name);
    return names;
}

}  // namespace oratorio::test
