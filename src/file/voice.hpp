// SPDX-License-Identifier: BSD-3-Clause
// Voice: warnings and explanations of an open file for the user. Private to src/file.
#pragma once

#include <map>
#include <set>
#include <string>

#include "file/file.hpp"

namespace oratorio {

/// Speaks on rank 0 only, and gives each warning once per open file.
class Voice {
  public:
    Voice() = default;
    Voice(Narrator narrate, Rank rank) : narrate_(rank == 0 ? std::move(narrate) : Narrator{}) {}

    void say(const std::string& text) const {
        if (narrate_) narrate_(text);
    }
    void warn(const std::string& sentence) {
        if (said_.insert(sentence).second) say(sentence);
    }
    /// Explains what is done with data of the file, under a number. A text with a `likeness` that
    /// was explained before is only counted.
    void say_done(const std::string& path, const std::string& text, const std::string& likeness);
    /// Reports how often each was repeated, and forgets them all.
    void tell_repeated(const std::string& path);

  private:
    struct Done {
        int number = 0;
        int again = 0;
    };
    /// Explanations remembered. When there are more, all are forgotten and explained in full again.
    static constexpr std::size_t kKept = 256;

    Narrator narrate_;
    std::set<std::string> said_;
    std::map<std::string, Done> done_;  ///< keyed by likeness
    int numbers_ = 0;
};

}  // namespace oratorio
