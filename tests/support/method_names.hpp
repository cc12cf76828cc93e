// SPDX-License-Identifier: BSD-3-Clause
// The methods' names, as the table of methods has them, for suites that try every one.
#pragma once

#include <string>
#include <vector>

#include "plan/methods.hpp"

namespace oratorio::test {

/// And "auto", the first of them.
inline std::vector<std::string> method_names() {
    std::vector<std::string> names{"auto"};
    for (const Method& method : methods()) names.emplace_back(method.name);
    return names;
}

}  // namespace oratorio::test
