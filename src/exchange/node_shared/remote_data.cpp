// SPDX-License-Identifier: BSD-3-Clause
#include "exchange/node_shared/remote_data.hpp"

#include <algorithm>
#include <cerrno>
#include <new>

#include "type/shape_codec.hpp"

namespace oratorio {

namespace {

constexpr std::size_t kIovecsMax = 1024;  // UIO_MAXIOV
/// The maximum number of bytes of a transfer. Linux moves at most 2^31 - 4096 bytes in one call.
constexpr Bytes kTransferMax = 1 << 30;

/// Returns the error of a transfer that returned `transferred` and moved too few bytes.
Error failed(ssize_t transferred) {
    // A short transfer, which stopped at memory that can't be accessed, sets no errno.
    const int number = transferred < 0 ? errno : EFAULT;
    // Cross-memory attach was permitted when the node memory was made; a sandbox or changed
    // permissions deny it now.
    if (number == EPERM || number == ENOSYS)
        return Error::make(ErrorKind::unsupported_operation,
                           "cross-memory attach: the kernel refuses it now; choose another method "
                           "with the hint oratorio_method",
                           number);
    return Error::make(ErrorKind::buffer,
                       "cross-memory attach: can't access the buffer of a rank on this node; check "
                       "all ranks' buffers, counts and datatypes",
                       number);
}

Error no_memory() {
    return Error::make(ErrorKind::no_memory, "no memory for the layouts of a rank's data");
}

void* address(std::uint64_t base, Offset by) {
    return reinterpret_cast<void*>(base + static_cast<std::uint64_t>(by));
}

/// Appends as many pieces of `run` as there is room for; returns the bytes appended.
Bytes append(std::vector<iovec>& list, const StridedRun& run, std::uint64_t base) {
    const auto room = static_cast<std::int64_t>(kIovecsMax - list.size());
    const std::int64_t count = std::min(run.count, room);
    for (std::int64_t i = 0; i < count; ++i)
        list.push_back(
            {address(base, run.offset + i * run.stride), static_cast<std::size_t>(run.length)});
    return count * run.length;
}

/// Lists the next `bytes` of data as pieces, fewer if the list is full. Leaves the cursor after
/// the listed bytes.
Bytes list_pieces(std::vector<iovec>& list, Cursor& cursor, Bytes bytes, std::uint64_t base) {
    list.clear();
    const Bytes first = cursor.tell_size();
    Bytes listed = 0;
    while (listed < bytes && list.size() < kIovecsMax) {
        const StridedRun run = cursor.next(bytes - listed);
        if (run.count == 0) break;
        listed += append(list, run, base);
    }
    if (cursor.tell_size() != first + listed) cursor.seek_size(first + listed);
    return listed;
}

void shorten(std::vector<iovec>& list, Bytes surplus) {
    while (surplus > 0) {
        const auto last = static_cast<Bytes>(list.back().iov_len);
        if (last > surplus) {
            list.back().iov_len -= static_cast<std::size_t>(surplus);
            return;
        }
        surplus -= last;
        list.pop_back();
    }
}

}  // namespace

Result<RemoteData> RemoteData::open(const NodeMemory& node, Rank rank) {
    // The layouts of all ranks together may need more memory than the reserve holds.
    try {
        return fetch(node, rank);
    } catch (const std::bad_alloc&) {
        return no_memory();
    }
}

Result<RemoteData> RemoteData::fetch(const NodeMemory& node, Rank rank) {
    const RankMailbox& mailbox = node.mailbox(rank);
    std::vector<std::byte> encoded(
        static_cast<std::size_t>(mailbox.file_layout_bytes + mailbox.memory_layout_bytes));
    const iovec here{encoded.data(), encoded.size()};
    const iovec there{address(mailbox.layouts, 0), encoded.size()};
    const int process = node.process(rank);
    const ssize_t got = process_vm_readv(process, &here, 1, &there, 1, 0);
    if (got != std::ssize(encoded)) return failed(got);
    const auto cut = static_cast<std::size_t>(mailbox.file_layout_bytes);
    auto file = decode(std::span(encoded).first(cut));
    if (!file) return file.error();
    auto memory = decode(std::span(encoded).subspan(cut));
    if (!memory) return memory.error();
    RemoteData data(*file, *memory);
    data.process_ = process;
    data.user_ = mailbox.buffer;
    data.from_ = mailbox.from;
    data.to_ = mailbox.from + mailbox.bytes;
    data.plan_begin_ = mailbox.plan_begin;
    return data;
}

RoundContents RemoteData::contents(const Region& region) {
    return from_ == to_ ? RoundContents{} : contents_of(file_, from_, to_, region);
}

Bytes RemoteData::collect(Bytes bytes, std::byte* base) {
    const Bytes there = list_pieces(there_, memory_, bytes, user_);
    const Bytes here = list_pieces(here_, file_, there, reinterpret_cast<std::uintptr_t>(base));
    if (here < there) {
        shorten(there_, there - here);
        memory_.seek_size(memory_.tell_size() - (there - here));
    }
    return here;
}

Result<Bytes> RemoteData::move(const Region& region, const RoundBuffer& buffer, Direction direction,
                               Offset valid_until) {
    const bool reading = direction == Direction::read;
    Bytes moved = 0;
    for (std::int64_t i = 0; i < region.count && from_ < to_; ++i) {
        Extent extent = region.extent(i);
        if (reading) extent.end = std::min(extent.end, valid_until);
        if (extent.empty()) continue;
        file_.seek_offset(extent.end);
        const Bytes last = std::min(file_.tell_size(), to_);
        seek_within(file_, extent.begin, from_);
        memory_.seek_size(file_.tell_size() - from_);
        std::byte* const base = static_cast<std::byte*>(
            address(reinterpret_cast<std::uintptr_t>(buffer.data.data()),
                    region.buffer_position(i, extent.begin) - extent.begin));
        while (file_.tell_size() < last) {
            const Bytes bytes = collect(std::min(last - file_.tell_size(), kTransferMax), base);
            const auto transfer = reading ? process_vm_writev : process_vm_readv;
            const ssize_t done =
                transfer(process_, here_.data(), here_.size(), there_.data(), there_.size(), 0);
            if (done != bytes) return failed(done);
            moved += bytes;
            for (std::size_t k = 0; !buffer.mask.empty() && k < here_.size(); ++k) {
                const auto at = static_cast<std::byte*>(here_[k].iov_base) - buffer.data.data();
                mark_written(buffer.mask.data() + at,
                             {at, static_cast<Bytes>(here_[k].iov_len), 0, 1});
            }
        }
    }
    return moved;
}

}  // namespace oratorio
