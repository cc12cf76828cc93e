// SPDX-License-Identifier: BSD-3-Clause
// The closed form of the cost model: each constant contributes the right time, and of resources
// that work at the same time the slowest counts.
#include "plan/model.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace oratorio::test::model_test {
namespace {

using Constant = double Costs::*;

/// Returns costs in which only these constants are above zero, one nanosecond each.
Costs only(std::initializer_list<Constant> constants) {
    Costs costs;
#define COST(name, memory, disk, server, doc) costs.name = 0;
#include "plan/costs.def"
#undef COST
    for (const Constant one : constants) costs.*one = 1;
    return costs;
}

NodeLoad node_with(double far_messages) {
    NodeLoad node;
    node.sent = {3, far_messages, 70, 1820, 0, 0};
    node.out_bytes = node.in_bytes = 1040;
    node.stored_bytes = 2000;
    return node;
}

/// The load of a round on two nodes of four ranks with one aggregator each, and two storage
/// targets.
struct Round {
    JobShape shape{
        .ranks = 8, .nodes = 2, .cores = 64, .aggregators = 2, .senders = 8, .in_flight = 4};
    std::vector<NodeLoad> nodes{node_with(4), node_with(8)};
    std::vector<AggregatorLoad> aggregators{{{3, 8, 70, 1820, 10, 250}, 2000},
                                            {{3, 4, 70, 1820, 10, 250}, 2000}};
    std::vector<TargetLoad> targets{{3000, 2}, {1000, 1}};

    [[nodiscard]] RoundTerms terms(const Costs& costs) const {
        return terms_of(shape, {nodes, aggregators, targets, 18, 2080}, costs);
    }
};

TEST(Model, ConcurrentWorkTakesTheTimeOfTheSlowest) {
    const auto exchange = [](Constant one) { return Round().terms(only({one})).exchange; };
    const auto waits = [](Constant one) { return Round().terms(only({one})).waits; };
    EXPECT_DOUBLE_EQ(exchange(&Costs::send_message), 11 / 4.0) << "by four senders of a node";
    EXPECT_EQ(waits(&Costs::send_message), "senders");
    EXPECT_DOUBLE_EQ(exchange(&Costs::endpoint_message), 8) << "the busiest aggregator";
    EXPECT_EQ(waits(&Costs::endpoint_message), "receivers");
    EXPECT_DOUBLE_EQ(exchange(&Costs::message), 3) << "of those from its own node";
    EXPECT_DOUBLE_EQ(exchange(&Costs::message_piece), 80) << "its own as well";
    EXPECT_DOUBLE_EQ(exchange(&Costs::copy_byte), 250) << "its own alone";
    EXPECT_DOUBLE_EQ(exchange(&Costs::message_byte), 1820 / 2.0);
    EXPECT_DOUBLE_EQ(exchange(&Costs::far_byte), 1040);
    EXPECT_EQ(waits(&Costs::middle_byte), "the middle of the network");
    EXPECT_DOUBLE_EQ(exchange(&Costs::middle_byte), 2080 / 2.0);
    EXPECT_DOUBLE_EQ(exchange(&Costs::far_message), 2) << "18 messages of 8 ranks are on one trip";
    EXPECT_DOUBLE_EQ(exchange(&Costs::queue_entry), 11 * 11 / 2.0) << "all of a round may wait";
}

TEST(Model, WaitingMessagesAreLimitedByMessagesInFlight) {
    Round round;
    EXPECT_DOUBLE_EQ(queue_depth(round.shape, 11), 11);
    round.shape.in_flight = 1;
    EXPECT_DOUBLE_EQ(queue_depth(round.shape, 11), 4);
    EXPECT_DOUBLE_EQ(round.terms(only({&Costs::queue_entry})).exchange, 11 * 4 - 4 * 4 / 2.0);
    EXPECT_DOUBLE_EQ(round.terms(only({&Costs::far_message})).exchange, 3 * 2);
}

TEST(Model, SendersWakeForEachTripWhereRanksOutnumberTheCores) {
    Round round;
    const auto exchange = [&] { return round.terms(only({&Costs::wake})).exchange; };
    round.shape.cores = 4;
    EXPECT_DOUBLE_EQ(exchange(), 0) << "each of a node's four ranks has a core";
    round.shape.cores = 2;
    EXPECT_DOUBLE_EQ(exchange(), 2 * 4 / 2.0) << "two trips of four senders on two cores";
    round.shape.reads = true;
    EXPECT_DOUBLE_EQ(exchange(), 4 * 4 / 2.0) << "there and back";
    round.shape.in_flight = 1;
    EXPECT_DOUBLE_EQ(exchange(), 3 * 4 * 4 / 2.0) << "18 messages of 8 ranks are on three trips";
    round.shape.senders = 2;
    EXPECT_DOUBLE_EQ(exchange(), 9 * 4) << "each of two senders has a core";
}

TEST(Model, StorageIsTheSlowestTargetAggregatorOrNode) {
    const auto storage = [](Constant one) { return Round().terms(only({one})).storage; };
    EXPECT_DOUBLE_EQ(storage(&Costs::target_byte), 3000);
    EXPECT_DOUBLE_EQ(storage(&Costs::client_byte), 2000);
    EXPECT_DOUBLE_EQ(storage(&Costs::far_byte), 2000);
    EXPECT_DOUBLE_EQ(storage(&Costs::middle_byte), 4000 / 2.0);
    EXPECT_DOUBLE_EQ(storage(&Costs::target_call), 1);
    EXPECT_DOUBLE_EQ(storage(&Costs::target_lock), 2) << "of the target that two write to";
    Round own;
    own.targets.clear();
    EXPECT_DOUBLE_EQ(own.terms(only({&Costs::far_byte})).storage, 0) << "the node's own";
}

TEST(Model, LocalAggregatorsGetAndMergeBeforeTheySend) {
    Round round;
    round.shape.local_aggregators = round.shape.senders = 4;
    for (NodeLoad& node : round.nodes) node.gathered = {2, 0, 20, 2000, 20, 2000};
    const auto gather = [&](Constant one) { return round.terms(only({one})).gather; };
    EXPECT_DOUBLE_EQ(gather(&Costs::message), 1) << "each of two";
    EXPECT_DOUBLE_EQ(gather(&Costs::send_message), 1) << "each of two members";
    EXPECT_DOUBLE_EQ(gather(&Costs::merge_piece), 40 / 2.0 * std::log2(3));
    EXPECT_DOUBLE_EQ(gather(&Costs::copy_byte), 2000 / 2.0);
    round.shape.in_windows = true;
    EXPECT_DOUBLE_EQ(gather(&Costs::copy_byte), 2000 / 4.0) << "each rank its own";
    EXPECT_DOUBLE_EQ(gather(&Costs::merge_piece), 0);
}

TEST(Model, ARequestOfAReadHasAnAnswerThatCostsItsEndsToo) {
    Round round;
    round.shape.reads = true;
    for (NodeLoad& node : round.nodes) node.sent.asked_bytes = 100;
    for (AggregatorLoad& one : round.aggregators) one.received.asked_bytes = 100;
    const auto exchange = [&](Constant one) { return round.terms(only({one})).exchange; };
    EXPECT_DOUBLE_EQ(exchange(&Costs::send_message), 11) << "the aggregator's answers";
    EXPECT_DOUBLE_EQ(exchange(&Costs::endpoint_message), 8) << "its requests";
    EXPECT_DOUBLE_EQ(exchange(&Costs::message_byte), (1820 + 100) / 2.0);
    EXPECT_DOUBLE_EQ(exchange(&Costs::far_message), 4) << "there and back";
    EXPECT_DOUBLE_EQ(round.terms(only({&Costs::target_lock})).storage, 0) << "readers share";
    round.aggregators.clear();
    EXPECT_DOUBLE_EQ(exchange(&Costs::endpoint_message), 8 / 4.0) << "of the node that asks most";
    round.shape.local_aggregators = round.shape.senders = 4;
    for (NodeLoad& node : round.nodes) node.gathered = {2, 0, 20, 2000, 20, 2000, 60};
    const auto gather = [&](Constant one) { return round.terms(only({one})).gather; };
    EXPECT_DOUBLE_EQ(gather(&Costs::message), 1) << "two requests of two, or two answers";
    EXPECT_DOUBLE_EQ(gather(&Costs::message_byte), (2000 + 60) / 2.0 / 2);
}

TEST(Model, StorageOfTwoSlotsOverlapsButForOneEnd) {
    JobShape shape;
    const RoundTerms round{.gather = 100, .exchange = 1000, .storage = 700};
    EXPECT_DOUBLE_EQ(terms_of(shape, {&round, 1}, 5, 3).all, 3 + 5 * 1800);
    shape.slots = 2;
    EXPECT_DOUBLE_EQ(terms_of(shape, {&round, 1}, 5, 3).all, 3 + 5 * 1100 + 700);
    shape.takes_turns = 2;
    EXPECT_DOUBLE_EQ(terms_of(shape, {&round, 1}, 5, 3).all, 3 + 5 * 1100 + 350);
    shape.slots = 1;
    EXPECT_DOUBLE_EQ(terms_of(shape, {&round, 1}, 5, 3).all, 3 + 5 * 1100 + 700)
        << "the storage of an aggregator overlaps with the exchange of another, round for round";
    EXPECT_DOUBLE_EQ(terms_of(shape, {&round, 1}, 1, 3).all, 3 + 1800) << "but not in one round";
}

TEST(Model, NothingIsFasterThanTheCoresOfANode) {
    Round round;
    round.shape.cores = 1;
    round.shape.stored_by_cores = true;
    for (NodeLoad& node : round.nodes) {
        node.received = {3, 8, 70, 1820, 10, 250};
        node.store_work = 500;
    }
    const RoundTerms terms = round.terms(only({&Costs::message_piece}));
    EXPECT_DOUBLE_EQ(terms.cores, 70 + 80 + 500);
    round.shape.slots = 4;
    EXPECT_DOUBLE_EQ(terms_of(round.shape, {&terms, 1}, 1, 0).all, 650);
    round.shape.stored_by_cores = false;
    EXPECT_DOUBLE_EQ(round.terms(only({&Costs::message_piece})).cores, 150) << "a device works";
}

TEST(Model, MessagesBetweenNodesOfOneMachineUseTheirCores) {
    Round round;
    round.shape.cores = 0.5;
    for (NodeLoad& node : round.nodes) {
        node.sent = {};
        node.received = {};
        node.out_bytes = 300;
        node.in_bytes = 400;
    }
    const auto cores = [&] { return round.terms(only({&Costs::far_byte})).cores; };
    EXPECT_DOUBLE_EQ(cores(), 0) << "a network's";
    round.shape.linked_by_cores = true;
    EXPECT_DOUBLE_EQ(cores(), 700 / 0.5) << "two nodes share a core";
}

}  // namespace
}  // namespace oratorio::test::model_test
