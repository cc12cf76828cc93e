// SPDX-License-Identifier: BSD-3-Clause
// AccessExplainer: explains the accesses of an open file to the user who asked for that, and passes
// their plans to the trace. Private to src/file.
#pragma once

#include <string>

#include "engine/run_context.hpp"
#include "file/file_trace.hpp"
#include "file/opened_file.hpp"
#include "file/user_messages.hpp"

namespace oratorio {

class AccessExplainer final : public PlanObserver {
  public:
    /// All arguments outlive the explainer. `view` is the view in use; it may change.
    AccessExplainer(const OpenedFile& file, const View& view, UserMessages& messages,
                    FileTrace& trace)
        : file_(file), view_(view), messages_(messages), trace_(trace) {}

    void planned(const Plan& plan) override;
    void remark(const std::string& sentence) override { messages_.warn(sentence); }
    /// Explains an access that needs no plan.
    void moved_at_once(Direction direction, bool collective) {
        if (messages_.explains()) explain_unplanned(direction, collective);
    }

  private:
    void explain_unplanned(Direction direction, bool collective);

    const OpenedFile& file_;
    const View& view_;
    UserMessages& messages_;
    FileTrace& trace_;
};

}  // namespace oratorio
