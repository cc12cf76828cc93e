// SPDX-License-Identifier: BSD-3-Clause
// AccessExplainer: explains one access, if the user asked for explanations: how it was done, why,
// and how fast. It observes the access, and passes its plans to the trace. Private to src/file.
#pragma once

#include <string>

#include "file/file_trace.hpp"
#include "file/opened_file.hpp"
#include "file/user_messages.hpp"
#include "stats/recorder.hpp"

namespace oratorio {

/// A call whose access is explained.
struct ExplainedCall {
    Nanoseconds begin = 0;
    Bytes asked = 0;  ///< data bytes of this rank; 0: unknown
    /// Nonblocking or split: the call only starts the access, which ends while the program runs on.
    bool started = false;
};

class AccessExplainer final : public OperationObserver {
  public:
    /// All references outlive the explainer. `view` is the view of the access.
    AccessExplainer(const OpenedFile& file, const View& view, UserMessages& messages,
                    FileTrace& trace, const ExplainedCall& call)
        : file_(file), view_(view), messages_(messages), trace_(trace), call_(call) {}

    void planned(const Plan& plan) override;
    void dropped() override;
    void remark(const std::string& sentence) override { messages_.warn(sentence); }
    /// Explains the access, unless it had no plan.
    void ended(const Outcome& outcome) override;
    /// Explains an access of one piece that this rank moved without a plan.
    void moved_at_once(Direction direction, bool collective, const Outcome& outcome);

  private:
    [[nodiscard]] Explanation explanation_of(const Plan& plan) const;
    void tell_end(const Outcome& outcome);

    const OpenedFile& file_;
    const View& view_;
    UserMessages& messages_;
    FileTrace& trace_;
    ExplainedCall call_;
    /// How the access ended; `bytes` are those of all plans that were used.
    ExplainedEnd end_;
    Explanation explanation_;  ///< explanation of the first plan with data
    Bytes last_ = 0;           ///< data bytes of the last plan
};

}  // namespace oratorio
