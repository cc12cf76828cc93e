// SPDX-License-Identifier: BSD-3-Clause
// Forked: helper processes, and memory that they share with their parent.
#pragma once

#include <sys/mman.h>
#include <sys/types.h>

#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <utility>

#include "base/result.hpp"
#include "comm/transport.hpp"

namespace oratorio::calibrate {

/// A child process, which runs `body`. It is killed when this object is destroyed or the parent
/// ends.
class Forked {
  public:
    static Result<Forked> start(const std::function<void()>& body);
    Forked(Forked&& other) noexcept : process_(std::exchange(other.process_, -1)) {}
    Forked& operator=(Forked&&) = delete;
    ~Forked();

    [[nodiscard]] pid_t process() const { return process_; }

  private:
    explicit Forked(pid_t process) : process_(process) {}
    pid_t process_;
};

/// An object that is shared with processes that are forked later. Null if there is no memory for
/// it.
template <class T>
using SharedPtr = std::unique_ptr<T, void (*)(T*)>;

template <class T>
SharedPtr<T> make_shared_memory() {
    const auto give_back = [](T* object) { munmap(object, sizeof(T)); };
    void* const at =
        mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return {at == MAP_FAILED ? nullptr : new (at) T, give_back};
}

/// The shared memory for the collectives of a ForkedTransport. Each collective uses one entry
/// of `meetings`, so a transport can make only two.
struct MeetingPoint {
    static constexpr int kRanksMax = 16;
    static constexpr std::size_t kBytesMax = 64;  ///< largest contribution of a rank
    struct Meeting {
        std::atomic<int> arrived{0};
        std::byte told[kRanksMax][kBytesMax] = {};
    };
    Meeting meetings[2];
};

/// A transport between processes of one parent. It implements only what NodeTransport::over
/// needs of the transport below it: one gather, one reduction of a value, and waiting. Any other
/// operation is an error.
class ForkedTransport final : public Transport {
  public:
    ForkedTransport(MeetingPoint& meeting_point, Rank rank, int ranks);

    [[nodiscard]] const Topology& topology() const override { return topology_; }
    Result<Ticket> send(Rank, Tag, const SendMemory&) override { return no_messages(); }
    Result<Ticket> receive(Rank, Tag, const ReceiveMemory&) override { return no_messages(); }
    Result<Ticket> gather(std::span<const std::byte> mine, std::span<std::byte> all) override;
    Result<Ticket> reduce(std::span<std::uint64_t> values, ReduceOp op) override;
    Result<Ticket> broadcast(Rank, std::span<std::byte>) override { return no_messages(); }
    Result<Completion> test(Ticket) override { return Completion{.done = true}; }
    [[nodiscard]] bool quiet() const override { return true; }
    void idle(const WaitHint& wait_hint) override;

  private:
    static Error no_messages() {
        return Error::make(ErrorKind::internal, "these processes send no messages");
    }
    MeetingPoint& meeting_point_;
    Topology topology_;
    std::size_t meetings_ = 0;  ///< collectives that this rank has taken part in
};

}  // namespace oratorio::calibrate
