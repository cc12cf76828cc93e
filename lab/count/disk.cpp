// SPDX-License-Identifier: BSD-3-Clause
// Storage calls and messages of disk-directed I/O (Kotz, in Nitzberg & Fineberg 1995), for a disk
// on which blocks lie in another order than in the file.
#include <algorithm>
#include <numeric>

#include "count/facts.hpp"
#include "count/flow.hpp"
#include "count/layouts.hpp"
#include "count/messages.hpp"

namespace oratorio::count {

namespace {

constexpr Bytes kBlock = 64 << 10;         // size of a stripe of the paper's file system
constexpr Bytes kFile = Bytes{128} << 20;  // size of the paper's file
constexpr int kServers = 6;

/// Returns the place of each block on the disk: `kStep` blocks after the previous block's place,
/// modulo the disk's size. The step and the number of blocks have no common divisor, so each block
/// has a place of its own.
std::vector<DiskExtent> places() {
    constexpr std::int64_t kStep = 797;
    const std::int64_t blocks = kFile / kBlock;
    std::vector<DiskExtent> all;
    for (std::int64_t i = 0; i < blocks; ++i)
        all.push_back({{i * kBlock, (i + 1) * kBlock}, i * kStep % blocks * kBlock});
    return all;
}

struct Calls {
    std::int64_t all = 0;
    /// Calls at a place on the disk before that of the aggregator's previous call.
    std::int64_t backward = 0;
};

Calls count_calls(const Plan& plan, const std::vector<DiskExtent>& places) {
    Calls calls;
    for (int index = 0; index < static_cast<int>(plan.aggregators.size()); ++index) {
        Offset last = -1;
        for (std::int64_t round = 0; round < plan.rounds; ++round) {
            const Region region = plan.region(index, round);
            for (std::int64_t i = 0; i < region.count; ++i) {
                const Offset at =
                    places[static_cast<std::size_t>(region.extent(i).begin / kBlock)].device;
                ++calls.all;
                calls.backward += at < last ? 1 : 0;
                last = at;
            }
        }
    }
    return calls;
}

/// Adds facts about the messages of a read, and the number of requests by the paper's rule that one
/// request to each I/O node names the data of all blocks.
void add_messages(Facts& facts, const Job& job, const Plan& plan) {
    const Sent sent = count_sent(job, plan);
    const std::int64_t messages = sent.near_messages + sent.far_messages;
    const std::int64_t replies = messages / 2;  // each request has one reply
    const Bytes heads = replies * kAnswerHead;
    facts.push_back({"  messages of its ranks and aggregators", messages});
    facts.push_back({"  of these, requests, one for each rank and block", messages - replies});
    facts.push_back(
        {"  requests of the paper, one to each aggregator", std::ssize(plan.aggregators)});
    facts.push_back({"  bytes of the requests for all blocks", sent.description_bytes - heads});
}

}  // namespace

Facts count_disk(int only) {
    Facts facts;
    const int ranks = only > 0 ? only : 32;
    constexpr Bytes kPiece = 1024;
    Job job{.direction = Direction::read,
            .nodes = nodes_of(ranks, ranks),
            .layout_of =
                [=](Rank rank) {
                    return layout_of(Transposed{kPiece, kFile / kPiece / ranks}, ranks, rank);
                },
            .thorough = false};
    job.options.cb_nodes = kServers;
    job.options.striping_unit = kBlock;
    const Plan in_file_order = plan_of(job, "disk_directed");
    Plan in_disk_order = in_file_order;
    const std::vector<DiskExtent> disk = places();
    in_disk_order.order = by_place(in_disk_order, disk);
    const Calls before = count_calls(in_file_order, disk);
    const Calls after = count_calls(in_disk_order, disk);
    const std::int64_t pieces = count_pieces(groups_of(ranks, 1), job.layout_of).own;
    facts.push_back(
        {"disk, 128 MiB in pieces of 1 KiB, " + std::to_string(ranks) + " ranks: calls of naive",
         pieces});
    facts.push_back({"  calls of disk_directed, 6 aggregators", after.all, Relation::equal,
                     kFile / kBlock, "1995: each block once"});
    facts.push_back(
        {"  of these, backward on the disk, in the order of the file", before.backward});
    facts.push_back({"  of these, backward, in the order of the disk", after.backward,
                     Relation::equal, 0, "1995: sorted"});
    add_messages(facts, job, in_disk_order);
    return facts;
}

}  // namespace oratorio::count
