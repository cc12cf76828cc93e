// SPDX-License-Identifier: BSD-3-Clause
#include "account.hpp"

#include <cstdlib>
#include <fstream>

namespace bench {

Account::Account() {
    const char* const path = std::getenv("ORATORIO_EXPLAIN");
    if (path == nullptr || path[0] != '/') return;
    path_ = path;
    std::ifstream in(path_, std::ios::ate);
    if (in) begin_ = static_cast<long>(in.tellg());
}

std::string Account::text() const {
    std::ifstream in(path_);
    in.seekg(begin_);
    std::string rows;
    bool inside = false;
    for (std::string line; std::getline(in, line);) {
        if (!inside) {
            inside = line.find(": closed; totals") != std::string::npos;
        } else if (line.rfind("  ", 0) == 0) {
            rows += line.substr(1);
        } else {
            break;
        }
    }
    return rows;
}

}  // namespace bench
