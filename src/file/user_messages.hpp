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

/// Passes messages to the user, on rank 0 only, and each warning once per open file.
class UserMessages {
  public:
    UserMessages() = default;
    UserMessages(const OpenCall& call, Rank rank)
        : explains_(rank == 0 && call.explain && (call.narrate || call.record)),
          asks_all_(explains_ && call.explain_all && !call.record),
          narrate_(rank == 0 ? call.narrate : Narrator{}),
          summarize_(rank == 0 && call.summarize ? call.summarize : narrate_),
          record_(rank == 0 ? call.record : Narrator{}) {}

    /// Returns true if this rank explains accesses to the user. Callers make explanations only
    /// then.
    [[nodiscard]] bool explains() const { return explains_; }
    /// Returns true if the user asked for everything, including each plan as soon as it is made.
    [[nodiscard]] bool asks_all() const { return asks_all_; }

    /// Passes on an explanation, as text or as a JSON line. Kind and members are for the JSON line
    /// (file/explain_lines.hpp).
    void say(const std::string& text, std::string_view kind = "remark",
             const JsonMembers& members = {}) const {
        if (record_) return record_(explain_line(text, kind, members));
        if (narrate_) narrate_(text);
    }
    /// Passes on a part of the summary at close, as say() does.
    void sum_up(const std::string& text, std::string_view kind, const JsonMembers& members) const {
        if (record_) return say(text, kind, members);
        if (summarize_) summarize_(text);
    }
    void warn(const std::string& sentence, std::string_view kind = "remark",
              const JsonMembers& members = {}) {
        if (said_.insert(sentence).second) say(sentence, kind, members);
    }
    /// Returns true if an access with this fingerprint was explained before.
    [[nodiscard]] bool knows(const std::string& fingerprint) const {
        return done_.contains(fingerprint);
    }
    /// Passes on the full explanation of an access, with its number, if the user asked for
    /// everything and the fingerprint is new.
    void tell_plan(const std::string& path, const Explanation& explanation);
    /// Explains an access that has ended, with its number. An access with a fingerprint that was
    /// explained before is only counted.
    void tell_end(const std::string& path, const Explanation& explanation, const ExplainedEnd& end);
    /// Reports how often each explained access was repeated, and forgets all explanations.
    void tell_repeated(const std::string& path);

  private:
    struct Done {
        int number = 0;
        bool told = false;  ///< the first access with the fingerprint was explained
        Repeated again{};
    };
    Done& done_of(const std::string& path, const Explanation& explanation);

    /// Maximum number of explanations remembered. When there are more, all are forgotten, and later
    /// accesses are explained in full again.
    static constexpr std::size_t kKept = 256;

    bool explains_ = false;
    bool asks_all_ = false;
    Narrator narrate_;
    Narrator summarize_;
    Narrator record_;
    std::set<std::string> said_;
    std::map<std::string, Done> done_;  ///< keyed by fingerprint
    int numbers_ = 0;
};

}  // namespace oratorio
