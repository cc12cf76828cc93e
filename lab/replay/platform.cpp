// SPDX-License-Identifier: BSD-3-Clause
#include "platform.hpp"

#include <simgrid/s4u.hpp>

namespace oratorio::replay {

namespace sg4 = simgrid::s4u;

std::string name_of_node(int node) {
    return "node" + std::to_string(node);
}

std::string name_of_target(int target) {
    return "target" + std::to_string(target);
}

void make_platform(const Links& links, int nodes, int targets) {
    auto* zone = sg4::create_star_zone("job");
    const auto* middle =
        zone->create_link("middle", links.middle)->set_latency(links.latency)->seal();
    const auto* memory = zone->create_link("memory", links.memory)
                             ->set_latency(links.near_latency)
                             ->set_sharing_policy(sg4::Link::SharingPolicy::FATPIPE)
                             ->seal();
    const auto add = [&](const std::string& name, double rate, const sg4::Link* through) {
        auto* host = zone->create_host(name, 1e9)->seal();
        const auto* link = zone->create_split_duplex_link("link-" + name, rate)->seal();
        zone->add_route(
            host->get_netpoint(), nullptr, nullptr, nullptr,
            {sg4::LinkInRoute(link, sg4::LinkInRoute::Direction::UP), sg4::LinkInRoute(through)},
            true);
        zone->add_route(host->get_netpoint(), host->get_netpoint(), nullptr, nullptr,
                        {sg4::LinkInRoute(memory)}, false);
    };
    for (int n = 0; n < nodes; ++n) add(name_of_node(n), links.rate, middle);
    for (int t = 0; t < targets; ++t) add(name_of_target(t), links.target, memory);
    zone->seal();
}

}  // namespace oratorio::replay
