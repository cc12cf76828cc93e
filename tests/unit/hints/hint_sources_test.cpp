// SPDX-License-Identifier: BSD-3-Clause
// The sources of hints, and how the ranks agree on the hints.
#include <gtest/gtest.h>

#include <array>

#include "hints/hints.hpp"
#include "hints/misspelt.hpp"
#include "support/sim_transport.hpp"

namespace oratorio::test::hint_sources_test {
namespace {

TEST(HintSources, TheStrongerSourceWins) {
    HintSources sources;
    sources.romio_hints_text =
        "cb_nodes 1\ncb_buffer_size\t100\nstriping_unit 7 # a comment\n\n# cb_nodes 9\nodd\n";
    sources.mpich_mpiio_hints = "*:cb_nodes=2:striping_factor=5";
    sources.oratorio_hints = "cb_nodes=3;romio_ds_read=enable";
    EXPECT_EQ(merge_hints(sources, {{"cb_nodes", "4"}}, "/scratch/a.h5"),
              (HintMap{{"cb_nodes", "4"},
                       {"cb_buffer_size", "100"},
                       {"striping_unit", "7"},
                       {"striping_factor", "5"},
                       {"romio_ds_read", "enable"}}));
    EXPECT_EQ(merge_hints(sources, {}, "a").at("cb_nodes"), "3");
    sources.oratorio_hints.clear();
    EXPECT_EQ(merge_hints(sources, {}, "a").at("cb_nodes"), "2");
    sources.mpich_mpiio_hints.clear();
    EXPECT_EQ(merge_hints(sources, {}, "a").at("cb_nodes"), "1");
}

TEST(HintSources, AMethodOfTheEnvironmentLeavesOtherHintsAsTheyAre) {
    HintSources sources;
    sources.oratorio_hints = "cb_nodes=2,cb_buffer_size=512";
    sources.oratorio_method = "sieve";
    EXPECT_EQ(
        merge_hints(sources, {}, "a"),
        (HintMap{{"cb_nodes", "2"}, {"cb_buffer_size", "512"}, {"oratorio_method", "sieve"}}));
    sources.oratorio_hints = "oratorio_method=two_phase";
    EXPECT_EQ(merge_hints(sources, {}, "a").at("oratorio_method"), "two_phase");
}

TEST(HintSources, ExplainsTheOriginAndUseOfEachValue) {
    HintSources sources;
    sources.romio_hints_text = "cb_nodes 1\nromio_no_indep_rw true";
    sources.oratorio_method = "sieve";
    sources.oratorio_hints = "cb_nodes=many;cb_write=disable;my_own=x;cb_fr=0";
    const HintMap info{{"romio_cb_pfr", "0"}, {"oratorio_method", "mmap"}};
    const HintMap given = merge_hints(sources, info, "a");
    const HintOrigins origins = hint_origins(sources, info, "a");
    const auto [hints, warnings] = parse_hints(given);
    EXPECT_EQ(explain_hints({{"cb_nodes", given.at("cb_nodes")}}, origins, hints),
              "  cb_nodes = many, from ORATORIO_HINTS; in use: 0; allowed: 0 to 2147483647\n");
    const std::string told = explain_hints(given, origins, hints);
    for (const char* line :
         {"  cb_write = disable, from ORATORIO_HINTS; sets romio_cb_write\n",
          "  my_own = x, from ORATORIO_HINTS; unknown, ignored\n",
          "  oratorio_method = mmap, from the program's info; allowed: auto, list_io, mmap, ",
          "  romio_cb_pfr = 0, from the program's info; known, but has no effect",
          "  romio_no_indep_rw = true, from ROMIO_HINTS or /etc/romio-hints; allowed: true, false"})
        EXPECT_NE(told.find(line), std::string::npos) << line << " in " << told;
    ASSERT_EQ(warnings.size(), 1U);
    EXPECT_EQ(explain_warning(warnings[0], origins),
              "hint cb_nodes: 'many' is not understood (allowed: 0 to 2147483647); 0 is used (from "
              "ORATORIO_HINTS)");
}

TEST(HintSources, ExplainsThatASynonymDoesNotChangeAHintThatIsGiven) {
    HintSources sources;
    sources.oratorio_hints = "cb_write=disable;romio_cb_write=enable";
    const HintMap given = merge_hints(sources, {}, "a");
    const auto [hints, warnings] = parse_hints(given);
    EXPECT_EQ(hints.plan.cb_write, Toggle::enable);
    EXPECT_EQ(explain_hints(given, hint_origins(sources, {}, "a"), hints),
              "  cb_write = disable, from ORATORIO_HINTS; does not change romio_cb_write, which is "
              "given as well\n"
              "  romio_cb_write = enable, from ORATORIO_HINTS; allowed: enable, disable, "
              "automatic\n");
}

TEST(HintSources, ReportsOnlyMisspeltVariables) {
    constexpr std::array<std::string_view, 5> kNames{"ORATORIO_HINTS", "ORATORIO_METHODD", "HOME",
                                                     "ORATORIO_SOMETHING_ELSE", "Oratorio_Quiet"};
    EXPECT_EQ(misspelt_variables(kNames),
              (std::vector<std::string>{
                  "ORATORIO_METHODD: unknown variable; did you mean ORATORIO_METHOD?",
                  "Oratorio_Quiet: unknown variable; did you mean ORATORIO_QUIET?"}));
}

TEST(HintSources, LinesWithANulByteAreLeftOutOfARomioFile) {
    using namespace std::string_literals;
    HintSources sources;
    sources.romio_hints_text = "cb_nodes 3\0\ncb_\0read enable\n\0\nstriping_unit 7\n\0"s;
    EXPECT_EQ(merge_hints(sources, {}, "a"), (HintMap{{"striping_unit", "7"}}));
}

TEST(HintSources, AnyBytesInHintsOfTheRootReachAllRanks) {
    using namespace std::string_literals;
    const HintMap given{{"a\0b"s, "c\0"s}, {"", ""}, {"\0"s, ""}, {"x", "\0\0y"s}};
    const GivenHints roots{given, 12345};
    test::run_ranks({.ranks = 3}, [&](Transport& transport) {
        const bool root = transport.topology().rank == 0;
        const auto agreed =
            agree_on_hints(transport, root ? roots : GivenHints{{{"mine", "1"}}, 7});
        ASSERT_TRUE(agreed.ok());
        EXPECT_EQ((**agreed).of_root, roots);
        EXPECT_EQ((**agreed).differing, 2U);
    });
}

TEST(HintSources, SentHintsThatEndEarlyAreRefused) {
    const std::string text = encode_hints({{"cb_nodes", "4"}, {"a", ""}});
    EXPECT_EQ(decode_hints(text), (HintMap{{"cb_nodes", "4"}, {"a", ""}}));
    // Text that is cut off between two pairs is valid; cut off anywhere else it is not.
    const std::size_t first = encode_hints({{"a", ""}}).size();
    for (std::size_t size = 1; size < text.size(); ++size) {
        if (size == first) continue;
        EXPECT_EQ(decode_hints(text.substr(0, size)), std::nullopt) << size;
    }
    EXPECT_EQ(decode_hints(std::string(24, '\xff')), std::nullopt);
}

TEST(HintSources, HintsThatCanNotBeReadAreAnErrorOnAllRanks) {
    test::run_ranks({.ranks = 3}, [&](Transport& transport) {
        if (transport.topology().rank > 0) {
            const auto agreed = agree_on_hints(transport, {});
            ASSERT_FALSE(agreed.ok());
            EXPECT_EQ(agreed.error().kind, ErrorKind::internal);
            return;
        }
        // These are the steps of agree_on_hints, with an invalid text.
        std::array<std::uint64_t, 3> head{8, 0, 0};
        std::array<std::uint64_t, 1> text{UINT64_MAX};
        std::array<std::uint64_t, 1> differing{0};
        ASSERT_TRUE(broadcast(transport, 0, std::as_writable_bytes(std::span(head))).ok());
        ASSERT_TRUE(broadcast(transport, 0, std::as_writable_bytes(std::span(text))).ok());
        ASSERT_TRUE(reduce(transport, differing, ReduceOp::sum).ok());
        EXPECT_GE(differing[0], 2U);
    });
}

TEST(HintSources, MpichPatternsChooseFilesByPathOrByName) {
    HintSources sources;
    sources.mpich_mpiio_hints =
        "*.h5:cb_nodes=1,/scratch/me/dump.?:cb_nodes=2:cb_buffer_size=512,data*:cb_nodes=3";
    EXPECT_EQ(merge_hints(sources, {}, "/any/where/x.h5"), (HintMap{{"cb_nodes", "1"}}));
    EXPECT_EQ(merge_hints(sources, {}, "/scratch/me/dump.7"),
              (HintMap{{"cb_nodes", "2"}, {"cb_buffer_size", "512"}}));
    EXPECT_EQ(merge_hints(sources, {}, "/deep/data.bin"), (HintMap{{"cb_nodes", "3"}}));
    EXPECT_EQ(merge_hints(sources, {}, "/scratch/me/dump.77"), HintMap{});
    for (const char* odd : {":", ",", "*", "*:", "*:=", "*:=5", "::::", "*:x"}) {
        sources.mpich_mpiio_hints = odd;
        EXPECT_EQ(merge_hints(sources, {}, "a"), HintMap{}) << odd;
    }
}

TEST(HintSources, OratorioHintsTakeCommasOrSemicolons) {
    HintSources sources;
    sources.oratorio_hints = "cb_nodes=2, cb_buffer_size = 512";
    EXPECT_EQ(merge_hints(sources, {}, "a"),
              (HintMap{{"cb_nodes", "2"}, {"cb_buffer_size", "512"}}));
    sources.oratorio_hints = "cb_config_list=a:1,b:2;cb_nodes=2;";
    EXPECT_EQ(merge_hints(sources, {}, "a"),
              (HintMap{{"cb_config_list", "a:1,b:2"}, {"cb_nodes", "2"}}));
}

TEST(HintSources, ACommaWithoutAKeyAfterItBelongsToTheValue) {
    HintSources sources;
    const auto hints_of = [&sources](const char* text) {
        sources.oratorio_hints = text;
        return merge_hints(sources, {}, "a");
    };
    EXPECT_EQ(hints_of("oratorio_aggregators=0,4,8"), (HintMap{{"oratorio_aggregators", "0,4,8"}}));
    EXPECT_EQ(
        hints_of("cb_config_list=a:1, b:2 ,cb_nodes=2,oratorio_aggregators=0,,4,"),
        (HintMap{
            {"cb_config_list", "a:1, b:2"}, {"cb_nodes", "2"}, {"oratorio_aggregators", "0,,4"}}));
    EXPECT_EQ(hints_of(",cb_nodes=2, ,"), (HintMap{{"cb_nodes", "2"}}));
}

TEST(HintSources, AStrongerSynonymBeatsTheWeakerKey) {
    HintSources sources;
    sources.oratorio_hints = "romio_cb_write=enable;romio_cb_read=enable";
    EXPECT_EQ(parse_hints(merge_hints(sources, {{"cb_write", "disable"}}, "a")).hints.plan.cb_write,
              Toggle::disable);
    const Hints off =
        parse_hints(merge_hints(sources, {{"collective_buffering", "false"}}, "a")).hints;
    EXPECT_EQ(off.plan.cb_read, Toggle::disable);
    EXPECT_EQ(off.plan.cb_write, Toggle::disable);
    sources.oratorio_hints = "collective_buffering=false";
    const Hints mixed = parse_hints(merge_hints(sources, {{"romio_cb_read", "enable"}}, "a")).hints;
    EXPECT_EQ(mixed.plan.cb_read, Toggle::enable);
    EXPECT_EQ(mixed.plan.cb_write, Toggle::disable);
}

}  // namespace
}  // namespace oratorio::test::hint_sources_test
