// SPDX-License-Identifier: BSD-3-Clause
#include "comm/switch_names.hpp"

#include <gtest/gtest.h>

namespace oratorio::test::switch_names_test {
namespace {

TEST(SwitchNames, AnAddressNamesTheSwitchesAboveTheNode) {
    EXPECT_EQ((SwitchNames{"s0.s4.n12", ""}.switch_of("n12")), "s0.s4");
    EXPECT_EQ((SwitchNames{"n12", ""}.switch_of("n12")), "") << "a topology without switches";
    EXPECT_EQ(SwitchNames().switch_of("n12"), "");
}

TEST(SwitchNames, ATableListsTheNodesOfEachSwitch) {
    const SwitchNames names{"s0.s9.n12",
                            "# SLURM's topology.conf\n"
                            "SwitchName=s1 Nodes=n[0-3,7],login LinkSpeed=100\n"
                            "switchname=s2 nodes=m1,n[08-12]\n"
                            "SwitchName=s3 Nodes=rack[1-2]n[0-3] # two racks\n"
                            "SwitchName=top Switches=s[1-3]\n"};
    const auto switch_of = [&](std::string_view host) { return names.switch_of(host); };
    for (const char* host : {"n0", "n3", "n7", "login"}) EXPECT_EQ(switch_of(host), "s1") << host;
    for (const char* host : {"m1", "n08", "n12"}) EXPECT_EQ(switch_of(host), "s2") << host;
    for (const char* host : {"rack1n0", "rack2n3"}) EXPECT_EQ(switch_of(host), "s3") << host;
    for (const char* host : {"n4", "n8", "n00", "n", "m", "m11", "rack3n0", "rack1n", "s1"})
        EXPECT_EQ(switch_of(host), "") << host;
}

TEST(SwitchNames, ADomainAfterTheHostNameIsIgnored) {
    const SwitchNames names{"", "SwitchName=s1 Nodes=n[0-3]\nSwitchName=s2 Nodes=a.b\n"};
    EXPECT_EQ(names.switch_of("n2.cluster.org"), "s1");
    EXPECT_EQ(names.switch_of("a.b"), "s2");
}

TEST(SwitchNames, MalformedLinesNameNothing) {
    const SwitchNames names{"", "Nodes=n1\nSwitchName=s1\nSwitchName Nodes n1\n=\nNodes=n[1-\n"};
    EXPECT_EQ(names.switch_of("n1"), "");
}

}  // namespace
}  // namespace oratorio::test::switch_names_test
