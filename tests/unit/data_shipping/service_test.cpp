// SPDX-License-Identifier: BSD-3-Clause
#include "data_shipping/service.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "support/memory_store.hpp"
#include "type/run_table.hpp"
#include "type/shape_codec.hpp"

namespace oratorio::test::service_test {
namespace {

using Buffer = std::vector<std::byte>;

Buffer bytes_of(std::size_t count, int first = 1) {
    Buffer data(count);
    for (std::size_t i = 0; i < count; ++i)
        data[i] = static_cast<std::byte>(first + static_cast<int>(i));
    return data;
}

Buffer table_of(const std::vector<StridedRun>& runs) {
    Buffer table(4096);
    RunTableWriter writer(table, 0);
    for (const StridedRun& run : runs) writer.add(run);
    table.resize(writer.bytes());
    return table;
}

RequestHead head_of(Direction direction, const Buffer& description, std::size_t data) {
    return {.number = 7,
            .writes = direction == Direction::write ? 1U : 0U,
            .described = description.size(),
            .data = data};
}

const Binding kBinding{100, 2};
const std::vector<StridedRun> kRuns{{10, 4, 20, 3}, {70, 5, 0, 1}};  // 3 pieces of 4 bytes and one
                                                                     // of 5: 17 bytes

TEST(Service, WritesAndReadsTheListedPieces) {
    MemoryDisk disk;
    MemoryStore store(disk);
    Service service(store, kBinding, 0);
    const Buffer table = table_of(kRuns);
    Buffer data = bytes_of(17);
    const ReplyHead written = service.serve(head_of(Direction::write, table, 17), table, data);
    EXPECT_EQ(written.error.kind, ErrorKind::none);
    EXPECT_EQ(written.number, 7U);
    EXPECT_EQ(written.moved, 17);
    EXPECT_EQ(written.data, 0U);
    EXPECT_EQ(written.calls, 4U);
    EXPECT_EQ(disk.size(), 75);
    EXPECT_EQ(disk.contents({30, 34}), bytes_of(4, 5));
    Buffer back(17);
    const ReplyHead read = service.serve(head_of(Direction::read, table, 17), table, back);
    EXPECT_EQ(read.error.kind, ErrorKind::none);
    EXPECT_EQ(read.data, 17U);
    EXPECT_GE(read.end, 75);
    EXPECT_EQ(back, data);
}

TEST(Service, UsesOnlyPiecesOfALayoutInItsBlocks) {
    MemoryDisk disk;
    MemoryStore store(disk);
    Buffer layout;
    encode({Shape::run(10), 50, 0, 8}, layout);  // pieces at 0, 50, ..., 350
    for (const int agent : {0, 1}) {
        const std::size_t bytes = agent == 0 ? 35 : 25;
        Buffer data = bytes_of(bytes, agent * 100);
        RequestHead head = head_of(Direction::write, layout, bytes);
        head.description = Description::layout;
        head.from = 5;
        head.to = 65;
        const ReplyHead written = Service(store, kBinding, agent).serve(head, layout, data);
        ASSERT_EQ(written.error.kind, ErrorKind::none) << written.error.what;
        EXPECT_EQ(written.moved, static_cast<Bytes>(bytes));
    }
    EXPECT_EQ(disk.contents({5, 10}), bytes_of(5, 0));
    EXPECT_EQ(disk.contents({100, 110}), bytes_of(10, 100));
    EXPECT_EQ(disk.contents({200, 210}), bytes_of(10, 15));
    EXPECT_EQ(disk.contents({300, 305}), bytes_of(5, 120));
    EXPECT_EQ(disk.size(), 305);
}

TEST(Service, PiecesThatTouchAreOneStorageCall) {
    MemoryDisk disk;
    MemoryStore store(disk);
    const Buffer table = table_of({{0, 8, 8, 4}, {32, 8, 0, 1}, {50, 8, 0, 1}});
    Buffer data = bytes_of(48);
    EXPECT_EQ(
        Service(store, kBinding, 0).serve(head_of(Direction::write, table, 48), table, data).calls,
        2U);
    EXPECT_EQ(disk.counters().writes, 2U);
}

TEST(Service, TellsWhereTheFileEnds) {
    MemoryDisk disk;
    MemoryStore store(disk);
    disk.write(0, bytes_of(32));
    const Buffer table = table_of(kRuns);
    Buffer back(17);
    Service service(store, kBinding, 0);
    const ReplyHead read = service.serve(head_of(Direction::read, table, 17), table, back);
    EXPECT_EQ(read.error.kind, ErrorKind::none);
    EXPECT_EQ(read.end, 32);
    EXPECT_EQ(read.storage, 6U);
    const auto reads = disk.counters().reads;
    const Buffer before_end = table_of({{10, 4, 20, 2}});
    EXPECT_EQ(
        service.serve(head_of(Direction::read, before_end, 8), before_end, std::span(back).first(8))
            .end,
        32);
    EXPECT_EQ(disk.counters().reads, 2 * reads) << "something was read past the end";
}

TEST(Service, AFailedWriteReportsCauseOffsetAndWrittenBytes) {
    MemoryDisk disk(32);
    MemoryStore store(disk);
    const Buffer table = table_of(kRuns);
    Buffer data = bytes_of(17);
    const ReplyHead written =
        Service(store, kBinding, 0).serve(head_of(Direction::write, table, 17), table, data);
    EXPECT_EQ(written.error.kind, ErrorKind::no_space);
    EXPECT_EQ(written.error.system_errno, ENOSPC);
    EXPECT_EQ(written.moved, 6);
    EXPECT_EQ(disk.size(), 32);
}

TEST(Service, InvalidRequestsTouchNothing) {
    MemoryDisk disk;
    MemoryStore store(disk);
    Service service(store, kBinding, 0);
    Buffer data = bytes_of(17);
    const Buffer good = table_of(kRuns);
    Buffer cut = good;
    cut.pop_back();
    // This run begins 8 bytes before the largest offset. With its changed length of 17 bytes, it
    // would end beyond that offset.
    Buffer far = table_of({{INT64_MAX - 8, 8, 0, 1}});
    far.back() = std::byte{17 << 1};
    const Buffer endless = table_of({{0, Bytes{1} << 40, Bytes{1} << 40, 1 << 20}});
    for (const Buffer& table : {cut, far, endless, Buffer(3, std::byte{0xff}), Buffer()}) {
        const ReplyHead reply = service.serve(head_of(Direction::write, table, 17), table, data);
        EXPECT_EQ(reply.error.kind, ErrorKind::internal);
    }
    EXPECT_EQ(service.serve(head_of(Direction::write, good, 16), good, data).error.kind,
              ErrorKind::internal);
    Buffer layout;
    encode({Shape::run(10), 50, 0, 8}, layout);
    for (const auto& [from, to] : {std::pair{-1, 16}, {17, 0}, {70, 87}}) {
        RequestHead head = head_of(Direction::write, layout, 17);
        head.description = Description::layout;
        head.from = from;
        head.to = to;
        EXPECT_EQ(service.serve(head, layout, data).error.kind, ErrorKind::internal) << from;
    }
    EXPECT_EQ(disk.size(), 0);
}

TEST(Service, AStoreThatTakesSeveralGivesTheSame) {
    MemoryDisk disk;
    MemoryStoreOptions options;
    options.asynchronous = true;
    options.short_percent = 30;
    MemoryStore store(disk, options);
    const Buffer table = table_of({{3, 2, 5, 150}});
    Buffer data(300);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::byte>(i);
    Service service(store, kBinding, 0);
    EXPECT_EQ(service.serve(head_of(Direction::write, table, 300), table, data).moved, 300);
    Buffer back(300);
    EXPECT_EQ(service.serve(head_of(Direction::read, table, 300), table, back).storage, 300U);
    EXPECT_EQ(back, data);
}

}  // namespace
}  // namespace oratorio::test::service_test
