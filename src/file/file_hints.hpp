// SPDX-License-Identifier: BSD-3-Clause
// FileHints: the hints of an open file, equal on all ranks, and the planner's configuration made
// from them. Private to src/file.
#pragma once

#include <memory>

#include "comm/transport.hpp"
#include "file/opened_file.hpp"
#include "file/user_messages.hpp"
#include "plan/options.hpp"

namespace oratorio {

class FileHints {
  public:
    [[nodiscard]] const Agreed<Hints>& agreed() const { return hints_; }
    const Hints& operator*() const { return *hints_; }
    const Hints* operator->() const { return &*hints_; }

    /// Collective. Applies rank 0's hints over those in use; warns about malformed values, and
    /// about ranks that passed other hints than rank 0. After an error the hints are unchanged.
    /// Returns the learned times that rank 0 passed.
    Result<std::string> take(Transport& ranks, const HintMap& mine, const HintOrigins& origins,
                             const OpenedFile& file, UserMessages& messages,
                             const std::string& learned);
    /// Turns atomic mode on, or off if `atomic` is 0.
    void set_atomic(const Agreed<std::uint64_t>& atomic);
    /// Returns the planner's configuration for the hints in use. Makes it in the first call after a
    /// change of hints. REQUIRES: the arguments are the same in all calls for a file.
    [[nodiscard]] std::shared_ptr<const Agreed<PlanConfig>> config(
        const Agreed<FileFindings>& found, const Transport& ranks, const Agreed<AgentFacts>& agents,
        const Agreed<const LearnedTimes*>& learned);

  private:
    Agreed<Hints> hints_ = agreed_from([] { return Hints{}; });
    std::shared_ptr<const Agreed<PlanConfig>> config_;  ///< null after a change of hints
};

}  // namespace oratorio
