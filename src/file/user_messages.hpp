// SPDX-License-Identifier: BSD-3-Clause
// UserMessages: warnings and explanations of an open file for the user. Private to src/file.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "file/explain_lines.hpp"
#include "file/file.hpp"

namespace oratorio {

/// Passes messages on to the user at rank 0 only, and each warning once per open file.
class UserMessages {
  public:
    UserMessages() = default;
    UserMessages(const OpenCall& call, Rank rank)
        : explains_(call.explain),
          narrate_(rank == 0 ? call.narrate : Narrator{}),
          record_(rank == 0 ? call.record : Narrator{}) {}

    /// Returns true if the user asked for explanations, which callers make only then.
    [[nodiscard]] bool explains() const { return explains_; }

    /// Passes an explanation on, as text or as a JSON line. Kind and members are for the JSON line
    /// (file/explain_lines.hpp).
    void say(const std::string& text, std::string_view kind = "remark",
             const JsonMembers& members = {}) const {
        if (record_) return record_(explain_line(text, kind, members));
        if (narrate_) narrate_(text);
    }
    void warn(const std::string& sentence, std::string_view kind = "remark",
              const JsonMembers& members = {}) {
        if (said_.insert(sentence).second) say(sentence, kind, members);
    }
    /// One way to access data of the file, as text and as members of a JSON object.
    struct Access {
        std::string text;
        std::string fingerprint;
        JsonMembers members;
    };
    /// Explains an access to data of the file, under a number. An access with a `fingerprint` that
    /// was explained before is only counted.
    void say_done(const std::string& path, const Access& access);
    /// Reports how often each explained access was repeated, and forgets all explanations.
    void tell_repeated(const std::string& path);

  private:
    struct Done {
        int number = 0;
        int again = 0;
    };
    /// The most explanations remembered. When there are more, all are forgotten, and later accesses
    /// are explained in full again.
    static constexpr std::size_t kKept = 256;

    bool explains_ = false;
    Narrator narrate_;
    Narrator record_;
    std::set<std::string> said_;
    std::map<std::string, Done> done_;  ///< keyed by fingerprint
    int numbers_ = 0;
};

}  // namespace oratorio
