// SPDX-License-Identifier: BSD-3-Clause
// The system refuses the memory that ranks of a node share: on one rank or on all, from the
// beginning or after the open. Files still work, or the call is an error on all ranks. The
// program replaces shm_open, posix_fallocate, mmap, process_vm_readv and process_vm_writev. One
// more test makes a transfer that is longer than one system call moves.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <string_view>

#include "exchange/node_shared/remote_data.hpp"
#include "memory/shared_memory.hpp"
#include "plan/methods.hpp"
#include "sim/file_ranks.hpp"
#include "support/leader_ranks.hpp"
#include "type/shape_codec.hpp"

namespace {

/// The system call that is refused for the calling thread, which runs one rank.
struct Refusal {
    std::string_view call;
    int error = 0;
};
thread_local Refusal refused;
/// While true, transfers of the calling thread move nothing, and return what Linux would.
thread_local bool pretends = false;

/// True if the signals of a timer interrupt posix_fallocate in this thread, as on kernels before
/// 2024.
thread_local bool has_timer = false;

bool is_interrupted() {
    sigset_t blocked;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    return has_timer && sigismember(&blocked, SIGPROF) == 0;
}

bool is_refused(std::string_view call) {
    return refused.call == call;
}

/// Returns the largest number of bytes of these pieces that Linux moves in one call.
ssize_t moved_at_most(const iovec* pieces, unsigned long count) {
    constexpr std::size_t kMost = (std::size_t{1} << 31) - 4096;
    std::size_t bytes = 0;
    for (unsigned long i = 0; i < count; ++i) bytes += pieces[i].iov_len;
    return static_cast<ssize_t>(std::min(bytes, kMost));
}

}  // namespace

extern "C" {
int __real_shm_open(const char*, int, mode_t);
int __real_posix_fallocate(int, off_t, off_t);
void* __real_mmap(void*, std::size_t, int, int, int, off_t);
ssize_t __real_process_vm_readv(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                                unsigned long);
ssize_t __real_process_vm_writev(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                                 unsigned long);

int __wrap_shm_open(const char* name, int flags, mode_t mode) {
    if (!is_refused("shm_open")) return __real_shm_open(name, flags, mode);
    errno = refused.error;
    return -1;
}
int __wrap_posix_fallocate(int descriptor, off_t from, off_t bytes) {
    if (is_refused("posix_fallocate")) return refused.error;
    if (is_interrupted()) return EINTR;
    return __real_posix_fallocate(descriptor, from, bytes);
}
void* __wrap_mmap(void* where, std::size_t bytes, int protection, int flags, int descriptor,
                  off_t offset) {
    if (!is_refused("mmap") || descriptor < 0)
        return __real_mmap(where, bytes, protection, flags, descriptor, offset);
    errno = refused.error;
    return MAP_FAILED;
}
ssize_t __wrap_process_vm_readv(pid_t process, const iovec* here, unsigned long heres,
                                const iovec* there, unsigned long theres, unsigned long flags) {
    if (pretends) return moved_at_most(here, heres);
    if (!is_refused("process_vm_readv"))
        return __real_process_vm_readv(process, here, heres, there, theres, flags);
    errno = refused.error;
    return -1;
}
ssize_t __wrap_process_vm_writev(pid_t process, const iovec* here, unsigned long heres,
                                 const iovec* there, unsigned long theres, unsigned long flags) {
    if (pretends) return moved_at_most(here, heres);
    if (!is_refused("process_vm_writev"))
        return __real_process_vm_writev(process, here, heres, there, theres, flags);
    errno = refused.error;
    return -1;
}
}

namespace oratorio::test {
namespace {

using Buffer = std::vector<std::byte>;

constexpr int kRanks = 4;
constexpr Bytes kPiece = 40;
constexpr Bytes kMine = 4000;
constexpr Rank kAll = -1;

/// The point from which the system refuses the call.
enum class Since { open, first_access, second_access };

struct Trouble {
    std::string_view call;
    int error = 0;
    Rank who = kAll;
    Since since = Since::open;
    int ranks_per_node = 0;
};

std::string text_of(const Trouble& trouble, std::string_view method) {
    return std::string(trouble.call) + " errno " + std::to_string(trouble.error) + " of rank " +
           std::to_string(trouble.who) + " since " +
           std::to_string(static_cast<int>(trouble.since)) + " with " +
           std::to_string(trouble.ranks_per_node) + " ranks a node, " + std::string(method);
}

Buffer data_of(Rank rank, int turn) {
    Buffer data(static_cast<std::size_t>(kMine));
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = std::byte(static_cast<std::size_t>(rank * 50 + turn * 7) + i);
    return data;
}

/// Writes and reads interleaved pieces. Returns the first error.
ErrorKind write_and_read(File& file, Rank rank, int turn) {
    Buffer mine = data_of(rank, turn);
    const auto written = file.access(call_for(Direction::write, mine, true));
    EXPECT_EQ(kind_of(file.seek(0, Whence::set)), ErrorKind::none);
    Buffer back(mine.size());
    const auto read = file.access(call_for(Direction::read, back, true));
    EXPECT_EQ(kind_of(file.seek(0, Whence::set)), ErrorKind::none);
    if (written.error.kind != ErrorKind::none) return written.error.kind;
    EXPECT_TRUE(read.error.kind != ErrorKind::none || back == mine);
    return read.error.kind;
}

std::unique_ptr<Transport> transport_of(Transport& ranks) {
    auto over = NodeTransport::over(std::make_unique<Lent>(ranks), [&ranks] {
        return Result<std::unique_ptr<Transport>>(LeaderRanks::of(ranks));
    });
    EXPECT_TRUE(over.ok());
    return std::move(*over);
}

/// Makes two accesses while the system refuses the call. Returns each rank's result of the second
/// access; everything else must succeed.
std::vector<ErrorKind> ends_of(const Trouble& trouble, const std::string& method) {
    const Folder folder;
    std::vector<ErrorKind> ends(kRanks);
    const SimOptions options{.ranks = kRanks, .seed = 11, .ranks_per_node = trouble.ranks_per_node};
    run_ranks(options, [&](Transport& ranks) {
        const Rank rank = ranks.topology().rank;
        const auto begin = [&](Since since) {
            const bool hit = trouble.who == kAll || trouble.who == rank;
            if (hit && trouble.since == since) refused = {trouble.call, trouble.error};
        };
        begin(Since::open);
        const HintMap hints{{"oratorio_method", method}, {"cb_buffer_size", "8192"}};
        auto file = File::open(std::make_shared<Workspace>(transport_of(ranks)),
                               call_of(folder.file("data"), kCreate, hints));
        EXPECT_EQ(kind_of(file), ErrorKind::none);
        if (!file) return;
        EXPECT_EQ(kind_of((*file)->set_view(View::make(kPiece * rank, 1, Shape::run(kPiece),
                                                       kPiece * kRanks, true, "native"),
                                            {})),
                  ErrorKind::none);
        begin(Since::first_access);
        EXPECT_EQ(write_and_read(**file, rank, 0), ErrorKind::none);
        begin(Since::second_access);
        ends[static_cast<std::size_t>(rank)] = write_and_read(**file, rank, 1);
        EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
        refused = {};
    });
    return ends;
}

const std::vector<std::string> kMethods{"auto", "shared_buffer", "shared_data", "two_layer_shared"};

void files_work_without(std::string_view call, std::initializer_list<int> errors) {
    for (const int error : errors)
        for (const Rank who : {kAll, 0, kRanks - 1})
            for (const Since since : {Since::open, Since::first_access, Since::second_access})
                for (const int ranks_per_node : {0, 2})
                    for (const std::string& method : kMethods) {
                        const Trouble trouble{call, error, who, since, ranks_per_node};
                        SCOPED_TRACE(text_of(trouble, method));
                        EXPECT_EQ(ends_of(trouble, method),
                                  std::vector<ErrorKind>(kRanks, ErrorKind::none));
                    }
}

TEST(NoSharedMemory, files_work_where_shm_open_is_refused) {
    files_work_without("shm_open", {ENOSYS, EACCES, EMFILE, ENOENT});
}

TEST(NoSharedMemory, files_work_where_dev_shm_gives_no_room) {
    files_work_without("posix_fallocate", {ENOSPC, ENOSYS, EINTR});
}

TEST(NoSharedMemory, a_timer_of_the_program_does_not_prevent_shared_memory) {
    has_timer = true;
    const auto made = SharedMemory::create(10'000);
    has_timer = false;
    EXPECT_TRUE(made.ok());
}

TEST(NoSharedMemory, files_work_where_shared_memory_cannot_be_mapped) {
    files_work_without("mmap", {ENOMEM, EPERM, ENOSYS});
}

/// A call that is refused from the beginning is detected when the file is opened. One that is
/// refused later leads to an error on all ranks, or is not needed.
TEST(NoSharedMemory, without_cross_memory_attach_files_work_or_calls_fail_on_all_ranks) {
    int failed = 0;
    for (const std::string_view call : {"process_vm_readv", "process_vm_writev"})
        for (const int error : {EPERM, ENOSYS})
            for (const Rank who : {kAll, 0, kRanks - 1})
                for (const Since since : {Since::open, Since::second_access}) {
                    const Trouble trouble{call, error, who, since, 0};
                    SCOPED_TRACE(text_of(trouble, "shared_data"));
                    const auto ends = ends_of(trouble, "shared_data");
                    EXPECT_EQ(ends, std::vector<ErrorKind>(kRanks, ends.front()));
                    const bool fails = ends.front() == ErrorKind::unsupported_operation;
                    EXPECT_TRUE(ends.front() == ErrorKind::none ||
                                (fails && since == Since::second_access));
                    failed += fails ? 1 : 0;
                }
    EXPECT_GE(failed, 8);  // rank 0 needs one of the two calls to access the other ranks' memory
}

/// Makes the node memory of one rank, whose mailbox says that the rank's data is one piece.
/// `layouts` must outlive the uses of the mailbox.
void publish(Transport& rank, NodeMemory& node, Bytes bytes, std::vector<std::byte>& layouts) {
    for (auto made = node.prepare(rank, kPage, true); made && *made != Step::done;
         made = node.prepare(rank, kPage, true))
        rank.idle();
    ASSERT_FALSE(node.cross_memory_refused()) << node.refusal().what;
    const Layout piece{Shape::run(bytes), bytes, 0, 1};
    encode(piece, layouts);
    const Bytes each = std::ssize(layouts);
    encode(piece, layouts);
    RankMailbox& mailbox = node.mailbox(0);
    mailbox.layouts = reinterpret_cast<std::uintptr_t>(layouts.data());
    mailbox.file_layout_bytes = mailbox.memory_layout_bytes = each;
    mailbox.buffer = reinterpret_cast<std::uintptr_t>(layouts.data());  // is never accessed
    mailbox.from = 0;
    mailbox.bytes = bytes;
}

TEST(CrossMemory, MovesMoreThanTheSystemMovesInOneCall) {
    constexpr Bytes kLong = Bytes{5} << 30;
    run_ranks({.ranks = 1}, [&](Transport& rank) {
        NodeMemory node;
        std::vector<std::byte> layouts;
        publish(rank, node, kLong, layouts);
        if (node.cross_memory_refused()) return;
        auto data = RemoteData::open(node, 0);
        ASSERT_TRUE(data.ok()) << data.error().what;
        const Region region{0, kLong, kLong, 1, {0, kLong}};
        const RoundBuffer buffer{{layouts.data(), static_cast<std::size_t>(kLong)}, {}};
        for (const Direction direction : {Direction::write, Direction::read}) {
            pretends = true;
            const auto moved = data->move(region, buffer, direction, kLong);
            pretends = false;
            ASSERT_TRUE(moved.ok()) << moved.error().what;
            EXPECT_EQ(*moved, kLong);
        }
    });
}

}  // namespace
}  // namespace oratorio::test
