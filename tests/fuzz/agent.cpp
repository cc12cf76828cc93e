// SPDX-License-Identifier: BSD-3-Clause
// The protocol of data shipping's agents, from both sides. The first byte of the input selects the
// sender and the receiver of the rest: an outsider or a rank sends to an agent's threads, a rank to
// the service that executes its request, or an agent to a rank.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "data_shipping/remote_agents.hpp"
#include "data_shipping/server.hpp"
#include "fuzz.hpp"
#include "stranger.hpp"
#include "support/memory_store.hpp"
#include "type/run_table.hpp"

namespace oratorio::test {
namespace {

constexpr Bytes kMost = 4096;

/// A rank that writes a byte and reads it back through its agent.
struct Honest {
    explicit Honest(const ServiceAddress& place)
        : agents(std::move(*RemoteAgents::connect(std::span(&place, 1), 100, kMost))) {}
    bool writes_and_reads(std::byte value) {
        std::array<std::byte, 64> table{};
        RunTableWriter writer(table, 0);
        writer.add({50, 1, 0, 1});
        bool good = true;
        for (const bool writes : {true, false}) {
            std::byte data = writes ? value : std::byte{};
            Shipment shipment;
            shipment.head = {.writes = writes, .described = writer.bytes(), .data = 1};
            shipment.description = std::span(table).first(writer.bytes());
            shipment.data = std::span(&data, 1);
            agents->ship(shipment);
            ReplyHead reply;
            good = agents->reap(std::span(&reply, 1)) == 1 && good &&
                   reply.error.kind == ErrorKind::none && data == value;
        }
        return good;
    }
    std::unique_ptr<RemoteAgents> agents;
};

std::unique_ptr<AgentServer> started(MemoryDisk& disk) {
    AgentServer::Options wish;
    wish.file.stores.push_back(std::make_unique<MemoryStore>(disk));
    wish.file.binding = {100, 1};
    wish.shipment_max = kMost;
    wish.file.clients = 1000;
    return std::move(*AgentServer::start(std::move(wish)));
}

/// Sends the input to an agent's threads. Bad bytes must not keep another rank from the file, and
/// must not write without the token.
void lie_to_server(std::span<const std::byte> input, bool admitted) {
    static MemoryDisk disk;
    static const auto server = started(disk);
    static Honest honest(server->address());
    static int times = 0;
    const Bytes before = disk.size();
    say_to_server(server->address(), input, admitted);
    claim(admitted || disk.size() == before, "only clients with the token write to the file");
    claim(honest.writes_and_reads(static_cast<std::byte>(++times)), "a rank is still served");
}

/// Runs a request made of the input. It must touch only the data that came with it.
void lie_to_service(std::span<const std::byte> input) {
    MemoryDisk disk;
    MemoryStore store(disk);
    RequestHead head;
    std::memcpy(&head, input.data(), std::min(input.size(), sizeof head));
    const auto description = input.subspan(std::min(input.size(), sizeof head));
    head.data %= 1000;
    // The range is limited, because a long walk is legal but takes long.
    head.from %= 100'000;
    head.to = head.from + head.to % 100'000;
    head.described = description.size();
    std::vector<std::byte> data(head.data, std::byte{1});
    const ReplyHead reply = Service(store, {100, 3}, 1).serve(head, description, data);
    claim(reply.number == head.number, "the reply has the number of the request");
    const bool writes = head.writes != 0;
    claim(reply.error.kind != ErrorKind::internal || disk.counters().writes == 0,
          "an invalid request writes nothing");
    claim(!writes || reply.error.kind != ErrorKind::none ||
              reply.moved == static_cast<Bytes>(data.size()),
          "a successful write moves all of its data");
}

void lie_to_rank(std::span<const std::byte> input) {
    const Liar liar(after_answer(input));
    Honest rank(at_loopback(liar.port()));
    rank.writes_and_reads(std::byte{7});
}

}  // namespace
}  // namespace oratorio::test

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace oratorio::test;
    std::span input(data, size);
    const unsigned who = take_byte(input) % 8;
    const auto bytes = std::as_bytes(input);
    if (who < 2) {
        lie_to_server(bytes, who == 1);
    } else if (who == 2) {
        lie_to_rank(bytes);
    } else {
        lie_to_service(bytes);
    }
    return 0;
}
