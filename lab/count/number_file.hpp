// SPDX-License-Identifier: BSD-3-Clause
// NumberFile: a file of 64-bit numbers, the first of which identifies the kind of file. The Python
// programs write workloads in this form. Errors are std::runtime_error with a sentence for the
// user.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace oratorio::count {

class NumberFile {
  public:
    /// `what` names the kind of file in error messages.
    NumberFile(const std::string& path, std::int64_t magic, std::string what);

    [[nodiscard]] static bool begins_with(const std::string& path, std::int64_t magic);

    std::int64_t number();
    std::vector<std::int64_t> numbers(std::int64_t count);

  private:
    void read(std::int64_t* into, std::int64_t count);

    std::string what_;
    std::ifstream in_;
    std::int64_t left_ = 0;
};

}  // namespace oratorio::count
