// SPDX-License-Identifier: BSD-3-Clause
#include "plan/graph.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace oratorio {

Graph::Graph(std::vector<Participant> participants) {
    std::erase_if(participants, [](const Participant& one) { return one.hull.empty(); });
    if (participants.size() == 1) alone_ = participants.front();
    if (participants.size() < 2) return;
    const auto place = [](const Participant& one) {
        return std::tuple(one.hull.begin, one.hull.end, one.rank);
    };
    std::ranges::sort(participants, {}, place);
    auto tree = std::make_shared<Tree>();
    tree->nodes = std::move(participants);
    tree->furthest.resize(tree->nodes.size());
    fill(*tree, 0, tree->nodes.size());
    tree->ranks.resize(tree->nodes.size());
    std::iota(tree->ranks.begin(), tree->ranks.end(), 0U);
    std::ranges::sort(tree->ranks, {}, [&](std::uint32_t i) { return tree->nodes[i].rank; });
    tree_ = std::move(tree);
}

Offset Graph::fill(Tree& tree, std::size_t first, std::size_t last) {
    if (first >= last) return INT64_MIN;
    const std::size_t middle = first + (last - first) / 2;
    const Offset below = std::max(fill(tree, first, middle), fill(tree, middle + 1, last));
    return tree.furthest[middle] = std::max(below, tree.nodes[middle].hull.end);
}

std::size_t Graph::find(Rank rank) const {
    if (tree_ == nullptr) return rank == alone_.rank ? 0 : size();
    const auto found = std::ranges::lower_bound(
        tree_->ranks, rank, {}, [&](std::uint32_t i) { return tree_->nodes[i].rank; });
    if (found == tree_->ranks.end() || tree_->nodes[*found].rank != rank) return size();
    return *found;
}

Extent Graph::hull_of(Rank rank) const {
    const std::size_t i = find(rank);
    return i < size() ? participant(i).hull : Extent{};
}

Graph Graph::thinned(const EdgeScale& scale,
                     const Agreed<std::span<const EdgeBits>>& of_ranks) const {
    auto edges = std::make_shared<Edges>();
    edges->scale = scale;
    edges->of_participants.reserve(size());
    for (std::size_t i = 0; i < size(); ++i)
        edges->of_participants.push_back(
            (*of_ranks)[static_cast<std::size_t>(participant(i).rank)]);
    for (const EdgeBits& bits : *of_ranks) edges->count += static_cast<std::int64_t>(bits.count());
    Graph graph = *this;
    graph.edges_ = std::move(edges);
    return graph;
}

/// Keeps some participants. They are in sorted order already, so the new graph has the same order.
Graph Graph::for_rank(const std::vector<std::size_t>& participants) const {
    std::vector<Participant> kept;
    kept.reserve(participants.size());
    for (const std::size_t i : participants) kept.push_back(participant(i));
    Graph graph(std::move(kept));
    if (edges_ == nullptr) return graph;
    auto edges = std::make_shared<Edges>();
    edges->scale = edges_->scale;
    edges->count = edges_->count;
    edges->of_participants.reserve(participants.size());
    for (const std::size_t i : participants)
        edges->of_participants.push_back(edges_->of_participants[i]);
    graph.edges_ = std::move(edges);
    return graph;
}

Extent Graph::span_of(const Region& region) const {
    if (region.empty()) return {};
    const Offset last = region.begin + (region.count - 1) * region.stride + region.length;
    const Extent whole = intersect({region.begin, last}, region.clip);
    return {whole.begin - moved_, whole.end - moved_};
}

Graph Graph::moved(Offset by) const {
    Graph graph = *this;
    graph.moved_ += by;
    return graph;
}

}  // namespace oratorio
