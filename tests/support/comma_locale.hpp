// SPDX-License-Identifier: BSD-3-Clause
// CommaLocale: while the object lives, the process has a locale with a decimal comma in which 'I'
// is not the capital of 'i', as in Turkish.
#pragma once

#include <stdlib.h>

#include <clocale>

#include "support/temporary_folder.hpp"

namespace oratorio::test {

class CommaLocale {
  public:
    CommaLocale() {
        constexpr const char* kSource =
            "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\ngrouping 3\nEND LC_NUMERIC\n"
            "LC_CTYPE\nupper <A>;<I>\nlower <a>;<i>\ntoupper (<a>,<A>)\ntolower (<A>,<a>)\n"
            "END LC_CTYPE\n";
        // localedef exits with 1, because the source has no other categories.
        const std::string command = "localedef -c -i " + folder_.make("source", kSource) + " " +
                                    folder_.file("comma") + " >/dev/null 2>&1";
        if (::system(command.c_str()) == -1) return;
        ::setenv("LOCPATH", folder_.path().c_str(), 1);
        in_use_ = std::setlocale(LC_ALL, "comma") != nullptr;
    }
    ~CommaLocale() {
        std::setlocale(LC_ALL, "C");
        ::unsetenv("LOCPATH");
    }
    CommaLocale(const CommaLocale&) = delete;
    CommaLocale& operator=(const CommaLocale&) = delete;

    /// Returns false on systems that can't make locales.
    [[nodiscard]] bool in_use() const { return in_use_; }

  private:
    TemporaryFolder folder_;
    bool in_use_ = false;
};

}  // namespace oratorio::test
