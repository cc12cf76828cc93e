// SPDX-License-Identifier: BSD-3-Clause
// file_ranks: opens a File on every rank of a simulated run, in a folder of the test's own.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "comm/node_transport.hpp"
#include "file/file.hpp"
#include "support/sim_transport.hpp"

namespace oratorio::test {

/// A transport that forwards to one that the run owns, because a File owns its transport.
class Lent : public Transport {
  public:
    explicit Lent(Transport& owner) : owner_(owner) {}
    const Topology& topology() const override { return owner_.topology(); }
    Result<Ticket> send(Rank to, Tag tag, const SendMemory& data) override {
        return owner_.send(to, tag, data);
    }
    Result<Ticket> receive(Rank from, Tag tag, const ReceiveMemory& into) override {
        return owner_.receive(from, tag, into);
    }
    Result<Ticket> reduce(std::span<std::uint64_t> values, ReduceOp op) override {
        return owner_.reduce(values, op);
    }
    Result<Ticket> gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
        return owner_.gather(mine, all);
    }
    Result<Ticket> broadcast(Rank root, std::span<std::byte> data) override {
        return owner_.broadcast(root, data);
    }
    Result<Completion> test(Ticket ticket) override { return owner_.test(ticket); }
    const Error& lost() const override { return owner_.lost(); }
    SharedCounter& counter() override { return owner_.counter(); }
    bool quiet() const override { return owner_.quiet(); }
    void idle(const WaitHint& wait_hint) override { owner_.idle(wait_hint); }

  private:
    Transport& owner_;
};

class Folder {
  public:
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "oratorio-XXXXXX").string();
        const char* made = mkdtemp(name.data());
        EXPECT_NE(made, nullptr);
        path_ = name;
    }
    ~Folder() {
        std::error_code ignored;  // a test that made the folder unwritable leaves it on disk
        std::filesystem::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    [[nodiscard]] std::string file(const std::string& name) const {
        return (path_ / name).string();
    }
    std::string make(const std::string& name, const std::string& content) const {
        std::ofstream(file(name), std::ios::binary) << content;
        return file(name);
    }
    [[nodiscard]] std::string read(const std::string& name) const {
        std::ifstream in(file(name), std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    [[nodiscard]] bool has(const std::string& name) const {
        return std::filesystem::exists(file(name));
    }

  private:
    std::filesystem::path path_;
};

/// Drops root's privileges until it is destroyed, because root may open any file.
class WithoutPrivileges {
  public:
    WithoutPrivileges() { EXPECT_TRUE(getuid() != 0 || seteuid(65534) == 0); }
    ~WithoutPrivileges() { EXPECT_TRUE(getuid() != 0 || seteuid(0) == 0); }
};

inline constexpr int kRankCounts[] = {1, 2, 3, 4, 7, 8};

inline constexpr AccessMode kRead{.read_only = true};
inline constexpr AccessMode kWrite{.write_only = true};
inline constexpr AccessMode kReadWrite{.read_write = true};
inline constexpr AccessMode kCreate{.read_write = true, .create = true};

/// Returns a call for all of `buffer` as contiguous memory.
inline AccessCall call_for(Direction direction, std::vector<std::byte>& buffer, bool collective,
                           Positioning at = Positioning::individual, Offset offset = 0) {
    AccessCall call;
    call.direction = direction;
    call.collective = collective;
    call.at = at;
    call.offset = offset;
    call.buffer = buffer.data();
    const auto bytes = static_cast<Bytes>(buffer.size());
    call.memory = Layout{Shape::run(bytes), bytes, 0, 1};
    return call;
}

using OpenResult = Result<std::unique_ptr<File>>;

inline OpenCall call_of(std::string path, AccessMode mode, HintMap info = {}) {
    OpenCall call;
    call.path = std::move(path);
    call.mode = mode;
    call.info = std::move(info);
    return call;
}

inline OpenResult open_on(Transport& ranks, const OpenCall& call) {
    return File::open(std::make_shared<Workspace>(std::make_unique<Lent>(ranks)), call);
}

template <class Outcome>
ErrorKind kind_of(const Outcome& outcome) {
    return outcome ? ErrorKind::none : outcome.error().kind;
}

/// Runs `body` on `ranks` ranks and returns its result on each rank.
template <class Body>
auto on_ranks(int ranks, Body body) {
    using Value = decltype(body(std::declval<Transport&>()));
    std::vector<Value> values(static_cast<std::size_t>(ranks));
    SimOptions options;
    options.ranks = ranks;
    options.seed = static_cast<std::uint64_t>(ranks) * 7919;
    run_ranks(options, [&](Transport& transport) {
        values[static_cast<std::size_t>(transport.topology().rank)] = body(transport);
    });
    return values;
}

/// Opens the file on `ranks` ranks, runs `body` with it and closes it. The test fails if the open
/// or the close does.
template <class Body>
void with_file(int ranks, const OpenCall& call, Body body) {
    SCOPED_TRACE(std::to_string(ranks) + " ranks");
    on_ranks(ranks, [&](Transport& transport) {
        auto file = open_on(transport, call);
        EXPECT_EQ(kind_of(file), ErrorKind::none);
        if (!file) return 0;
        body(**file, transport.topology().rank);
        EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
        return 0;
    });
}

/// Does what with_file() does, on ranks that share memory.
template <class Body>
void with_file_on_node(int ranks, const OpenCall& call, Body body) {
    on_ranks(ranks, [&](Transport& transport) {
        auto node = NodeTransport::over(std::make_unique<Lent>(transport));
        EXPECT_TRUE(node.ok());
        auto file = File::open(std::make_shared<Workspace>(std::move(*node)), call);
        EXPECT_EQ(kind_of(file), ErrorKind::none);
        body(**file, transport.topology().rank);
        EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
        return 0;
    });
}

}  // namespace oratorio::test
