// SPDX-License-Identifier: BSD-3-Clause
// Outcomes: the results of a program's run, to be judged when it is over.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "oracle/rules.hpp"

namespace oratorio::oracle {

class Outcomes {
  public:
    Outcomes(const Program& program, Rules& rules);

    /// Returns the user's buffer of an access: the data to write, or room for the data to read.
    std::vector<std::byte>& buffer(const Step& step, std::size_t part);
    void done(const Step& step, std::size_t part, const Outcome& outcome);
    /// Records the result of a call that moves no data.
    void note(const Step& step, Rank rank, const Error& error);
    /// Records the size that a rank gets in a step of Kind::get_size.
    void told_size(const Step& step, std::size_t part, Bytes size);
    /// Returns "" if all results are allowed.
    std::string judge(const test::MemoryDisk& disk);

  private:
    struct Done {
        std::vector<std::byte> buffer;
        bool over = false;
        Outcome outcome;
    };
    void note_undone();
    [[nodiscard]] bool is_sparse(const Step& step) const;
    [[nodiscard]] bool may_differ(const Step& step, ErrorKind one, ErrorKind other) const;
    /// For each step, the errors of its ranks.
    using Notes = std::map<int, std::map<Rank, Error>>;

    [[nodiscard]] std::string judge_errors() const;
    [[nodiscard]] std::string judge_late_failure(const Step& read, const Notes& all) const;
    [[nodiscard]] std::string judge_read(int access) const;
    [[nodiscard]] std::string judge_sizes() const;
    [[nodiscard]] std::string judge_records(const std::vector<std::byte>& log) const;
    [[nodiscard]] std::string judge_written(const std::vector<std::byte>& contents) const;
    [[nodiscard]] const Step& step_of(const Access& access) const;

    const Program& program_;
    Rules& rules_;
    std::vector<Done> done_;  ///< index: access
    Notes notes_;
    std::map<int, std::map<std::size_t, Bytes>> sizes_;  ///< sizes reported to ranks, by step of
                                                         ///< Kind::get_size, and part
};

}  // namespace oratorio::oracle
