// SPDX-License-Identifier: BSD-3-Clause
// The direct transfer of an access that is one piece in memory and in the file. Many collective
// calls on small records consist of one such piece per rank.
#include "engine/work.hpp"
#include "plan/plan.hpp"

namespace oratorio {

namespace {

class PieceWork final : public Work {
  public:
    PieceWork(const WorkContext& context, const Plan& plan, const Access& access)
        : context_(context), plan_(plan), access_(access) {}

    Result<Step> step() override {
        if (done_) return Step::idle;
        done_ = true;
        RangeLock held;
        if (access_.direction == Direction::write && !plan_.atomic) {
            auto shared =
                context_.file.lock_policy.share(context_.store, plan_.hull, plan_.collective);
            if (!shared) {
                note(shared.error());
                return Step::progressed;
            }
            held = std::move(*shared);
        }
        const iovec memory{access_.buffer + access_.memory.origin,
                           static_cast<std::size_t>(access_.bytes())};
        const Transferred moved = transfer(context_.store, &context_.file.stats, access_.direction,
                                           access_.file.origin + access_.from, {&memory, 1});
        moved_ = moved.bytes;
        note(moved.error);
        if (const auto unlocked = held.give_back(); !unlocked) note(unlocked.error());
        return Step::progressed;
    }
    [[nodiscard]] bool done() const override { return done_; }
    [[nodiscard]] const Error& noted() const override { return noted_; }
    [[nodiscard]] Bytes moved() const override { return moved_; }

  private:
    void note(const Error& error) {
        if (error.kind == ErrorKind::none || noted_.kind != ErrorKind::none) return;
        noted_ = error.on(context_.file.transport.topology().rank);
    }

    WorkContext context_;
    const Plan& plan_;
    const Access& access_;
    bool done_ = false;
    Bytes moved_ = 0;
    Error noted_;
};

}  // namespace

std::unique_ptr<Work> make_piece_work(const WorkContext& context, const Plan& plan,
                                      const Access& access) {
    return std::make_unique<PieceWork>(context, plan, access);
}

}  // namespace oratorio
