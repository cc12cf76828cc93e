// SPDX-License-Identifier: BSD-3-Clause
// Voice: what an open file says to the user. Private to src/file.
#pragma once

#include <map>
#include <set>
#include <string>

#include "file/file.hpp"

namespace oratorio {

/// Speaks for rank 0 only, and says each sentence once per open file.
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
    /// What is done to data of the file, with a number. One that is alike to another is only
    /// counted.
    void say_done(const std::string& path, const std::string& text, const std::string& likeness);
    /// How often each was done again.
    void tell_repeated(const std::string& path);

  private:
    struct Done {
        int number = 0;
        int again = 0;
    };
    static constexpr std::size_t kKept = 256;  ///< more are told once more when they come again

    Narrator narrate_;
    std::set<std::string> said_;
    std::map<std::string, Done> done_;  ///< by likeness
    int numbers_ = 0;
};

}  // namespace oratorio
