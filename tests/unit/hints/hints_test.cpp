// SPDX-License-Identifier: BSD-3-Clause
#include "hints/hints.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/string_util.hpp"
#include "hints/hint_table.hpp"
#include "hints/misspelt.hpp"
#include "plan/methods.hpp"
#include "plan/plan.hpp"
#include "unit/plan/plan_support.hpp"

namespace oratorio::test::hints_test {
namespace {

using test::FlatTerms;
using test::interleaved;
using test::plan_of;

Hints parse(const HintMap& given, int warnings_expected = 0) {
    auto [hints, warnings] = parse_hints(given);
    EXPECT_EQ(warnings.size(), static_cast<std::size_t>(warnings_expected))
        << (warnings.empty() ? "" : warnings[0].sentence);
    return std::move(hints);
}

std::string warning_of(const HintMap& given) {
    const auto warnings = parse_hints(given).warnings;
    return warnings.size() == 1 ? warnings[0].sentence
                                : std::to_string(warnings.size()) + " warnings";
}

/// Returns a value of the row's kind that differs from the default. A number may be below the row's
/// lowest (see changed_value).
std::string other_value(const HintRow& row) {
    switch (row.kind.syntax) {
        case HintSyntax::number:
            return std::to_string(std::min<std::int64_t>(row.kind.high, 61));
        case HintSyntax::octal:
            return "640";
        case HintSyntax::toggle:
            return "disable";
        case HintSyntax::boolean:
            return "true";
        case HintSyntax::choice:
            return std::string(row.kind.choices.substr(row.kind.choices.rfind(' ') + 1));
        case HintSyntax::method:
            return "two_phase";
        case HintSyntax::config_list:
            return "*:3,host:1";
        case HintSyntax::rank_list:
            return "4,0,8";
    }
    return "";
}

std::string changed_value(const HintRow& row) {
    return row.kind.low > 61 ? std::to_string(row.kind.low + 1) : other_value(row);
}

TEST(HintTable, DefaultsAreThoseOfTheMembers) {
    const HintMap report = report_hints({});
    for (const HintRow& row : hint_rows()) {
        const auto told = report.find(std::string(row.key));
        if (row.initial.empty()) {
            EXPECT_EQ(told, report.end()) << row.key;
        } else {
            ASSERT_NE(told, report.end()) << row.key;
            EXPECT_EQ(told->second, row.initial) << row.key;
        }
    }
}

TEST(HintTable, ChoicesMeanWhatTheirNamesSay) {
    const std::vector<std::pair<std::string, StoreChoice>> stores{
        {"auto", StoreChoice::automatic},    {"posix", StoreChoice::posix},
        {"uring", StoreChoice::uring},       {"thread", StoreChoice::thread},
        {"uncached", StoreChoice::uncached}, {"cached_reads", StoreChoice::cached_reads}};
    EXPECT_EQ(stores.size(), static_cast<std::size_t>(StoreChoice::count));
    for (const auto& [name, store] : stores)
        EXPECT_EQ(parse({{"oratorio_store", name}}).store, store) << name;
    const std::vector<std::pair<std::string, ProgressChoice>> movers{
        {"auto", ProgressChoice::automatic},
        {"thread", ProgressChoice::thread},
        {"calls", ProgressChoice::calls},
        {"start", ProgressChoice::start}};
    EXPECT_EQ(movers.size(), static_cast<std::size_t>(ProgressChoice::count));
    for (const auto& [name, progress] : movers)
        EXPECT_EQ(parse({{"oratorio_progress", name}}).progress, progress) << name;
    EXPECT_EQ(parse({{"oratorio_method", "auto"}}).plan.method, nullptr);
    EXPECT_EQ(parse({{"oratorio_method", "sieve"}}).plan.method, find_method("sieve"));
}

TEST(HintTable, EveryRowIsSetAndReported) {
    for (const HintRow& row : hint_rows()) {
        const std::string value = changed_value(row);
        EXPECT_NE(value, row.initial) << row.key;
        EXPECT_EQ(report_hints(parse({{std::string(row.key), value}})).at(std::string(row.key)),
                  value)
            << row.key;
    }
}

TEST(HintTable, EveryRowRefusesNonsenseAndKeepsItsDefault) {
    const HintMap untouched = report_hints({});
    for (const HintRow& row : hint_rows()) {
        for (const char* nonsense : {"", "bogus value", "12 34"}) {
            EXPECT_EQ(report_hints(parse({{std::string(row.key), nonsense}}, 1)), untouched)
                << row.key << " " << nonsense;
        }
    }
}

TEST(HintTable, EverySynonymActsAndTellsTheValueInUse) {
    for (const HintMeaning& meaning : hint_meanings()) {
        if (!meaning.value.empty()) continue;
        for (const HintRow& row : hint_rows()) {
            if (row.key != meaning.target) continue;
            const std::string value = changed_value(row);
            const HintMap report = report_hints(parse({{std::string(meaning.key), value}}));
            EXPECT_EQ(report.at(std::string(meaning.key)), value);
            EXPECT_EQ(report.at(std::string(meaning.target)), value);
        }
    }
}

TEST(HintTable, EveryMeaningHasATargetAndNoKeyComesTwice) {
    std::set<std::string_view> keys;
    std::set<std::string_view> stand_ins;
    for (const HintRow& row : hint_rows()) EXPECT_TRUE(keys.insert(row.key).second) << row.key;
    for (const std::string_view key : accepted_hints()) EXPECT_TRUE(keys.insert(key).second) << key;
    for (const HintMeaning& meaning : hint_meanings()) {
        stand_ins.insert(meaning.key);
        EXPECT_TRUE(keys.contains(meaning.target)) << meaning.target;
    }
    for (const std::string_view key : stand_ins) EXPECT_FALSE(keys.contains(key)) << key;
}

TEST(HintTable, AcceptedKeysAreReportedUnchangedWithoutEffect) {
    for (const std::string_view key : accepted_hints()) {
        HintMap expected = report_hints({});
        expected[std::string(key)] = "some Text";
        EXPECT_EQ(report_hints(parse({{std::string(key), "some Text"}})), expected) << key;
    }
}

TEST(HintTable, TheDocumentedTableIsCurrent) {
    const auto root = std::filesystem::path(ORATORIO_TESTS).parent_path();
    const std::string command =
        "python3 '" + (root / "dev/generate/hints_doc.py").string() + "' --check";
    EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(HintTable, SlotsAreNoMoreThanCanBeUnderWay) {
    EXPECT_EQ(parse({{"oratorio_slots", "64"}}, 1).plan.slots, kSlotsMost);
}

TEST(Hints, NumbersAreReadIn64BitsAndInHexadecimal) {
    EXPECT_EQ(parse({{"cb_buffer_size", "8589934592"}}).plan.cb_buffer_size, Bytes{8} << 30);
    EXPECT_EQ(parse({{"cb_buffer_size", "0x10000"}}).plan.cb_buffer_size, 65536);
    EXPECT_EQ(parse({{"cb_buffer_size", " 4096 "}}).plan.cb_buffer_size, 4096);
    EXPECT_EQ(parse({{"start_iodevice", "-1"}}).start_iodevice, -1);
    EXPECT_EQ(parse({{"file_perm", "0640"}}).file_permissions, 0640);
}

TEST(Hints, NumbersWithAnythingElseAreRefused) {
    for (const char* text :
         {"16M", "4k", "1e6", "4096.0", "0x", "0x-5", "+5", "--5", "4,096", "one"}) {
        EXPECT_EQ(parse({{"cb_buffer_size", text}}, 1).plan.cb_buffer_size, 16 << 20) << text;
    }
    EXPECT_EQ(parse({{"file_perm", "688"}}, 1).file_permissions, 0666);
}

TEST(Hints, NumbersOutOfRangeAreClampedAndTheWarningTellsTheValueUsed) {
    EXPECT_EQ(parse({{"cb_nodes", "-4"}}, 1).plan.cb_nodes, 0);
    EXPECT_EQ(parse({{"cb_nodes", "99999999999999999999999"}}, 1).plan.cb_nodes, INT32_MAX);
    EXPECT_EQ(warning_of({{"cb_buffer_size", "1"}}),
              "hint cb_buffer_size: '1' is out of range (allowed: 64 bytes to the machine's "
              "limit); 64 is used");
    EXPECT_EQ(warning_of({{"cb_buffer_size", "16M"}}),
              "hint cb_buffer_size: '16M' is not understood (allowed: 64 bytes to the machine's "
              "limit); 16777216 is used");
    EXPECT_EQ(warning_of({{"cb_config_list", "a:b"}}),
              "hint cb_config_list: 'a:b' is not understood (allowed: host:n,...; * matches any "
              "host); it is ignored");
    EXPECT_EQ(warning_of({{"oratorio_store", "tape"}}),
              "hint oratorio_store: 'tape' is not understood (allowed: auto, posix, uring, thread, "
              "uncached, cached_reads); auto is used");
    EXPECT_EQ(warning_of({{"oratorio_store", "posx"}}),
              "hint oratorio_store: 'posx' is not understood (did you mean posix?); auto is used");
    EXPECT_EQ(warning_of({{"file_perm", "9"}}),
              "hint file_perm: '9' is not understood (allowed: octal 0 to 777); 666 is used");
}

TEST(Hints, AListOfRanksNamesRanksOfTheFileEachOnce) {
    constexpr int kRanks = 9;
    const auto ranks_of = [](const std::string& text, const std::string& warned = "") {
        const auto [hints, warnings] =
            parse_hints({{"oratorio_aggregators", text}}, {}, kBufferMost, kRanks);
        EXPECT_EQ(warnings.empty() ? "" : warnings[0].sentence, warned) << text;
        return std::vector<Rank>(hints.plan.aggregators.begin(), hints.plan.aggregators.end());
    };
    const std::string allowed =
        " (allowed: ranks 0 to 8, each once, separated by commas); it is ignored";
    EXPECT_EQ(ranks_of("4,0,8"), (std::vector<Rank>{4, 0, 8}));
    EXPECT_EQ(ranks_of(" 7 "), (std::vector<Rank>{7}));
    for (const std::string bad : {"0,9", "-1", "4294967296"}) {
        EXPECT_TRUE(
            ranks_of(bad, "hint oratorio_aggregators: '" + bad + "' is out of range" + allowed)
                .empty());
    }
    for (const std::string bad : {"0,4,0", "0 4", "0-4", ","}) {
        EXPECT_TRUE(
            ranks_of(bad, "hint oratorio_aggregators: '" + bad + "' is not understood" + allowed)
                .empty());
    }
}

/// Nitzberg & Fineberg (1995): the target has as many nodes as there are I/O nodes, 1 MiB of buffer
/// each, and the distribution CYCLIC(file block). Their file system had 6 I/O nodes and stripes of
/// 64 KiB.
TEST(Hints, TheTargetFileLayoutHasThePapersNodesBufferAndDistribution) {
    HintMap given{{"oratorio_method", "cb_file_layout"},
                  {"striping_factor", "6"},
                  {"striping_unit", "65536"}};
    const auto plan_by = [&] {
        FlatTerms terms;
        static_cast<PlanOptions&>(terms) = parse(given).plan;
        return plan_of(interleaved(32, 4096, 256), terms, 0, Direction::write, 4);  // 32 MiB
    };
    Plan plan = plan_by();
    EXPECT_EQ(plan.aggregators.size(), 6U);
    EXPECT_EQ(plan.buffer_bytes(), 1 << 20);
    EXPECT_EQ(plan.rounds, 6) << "512 blocks, 6 x 16 in each round";
    EXPECT_TRUE(plan.domains.is_striped());
    EXPECT_EQ(plan.domains.block(), 65536);
    EXPECT_EQ(plan.region(5, 0).begin, 5 * 65536);
    EXPECT_EQ(plan.region(5, 0).stride, 6 * 65536);
    EXPECT_EQ(plan.region(5, 0).count, 16) << "file blocks in a buffer";
    given["cb_buffer_size"] = "4194304";
    plan = plan_by();
    EXPECT_EQ(plan.buffer_bytes(), 4 << 20) << "a hint says otherwise";
}

TEST(Hints, TheBufferOfAMethodIsUsedAndReportedUntilOneIsGiven) {
    const auto buffer = [](const Hints& hints) { return report_hints(hints).at("cb_buffer_size"); };
    const Hints layout = parse({{"oratorio_method", "cb_file_layout"}});
    EXPECT_EQ(buffer(layout), "1048576");
    EXPECT_EQ(buffer(parse_hints({{"oratorio_method", "two_phase"}}, layout).hints), "16777216");
    const Hints given = parse_hints({{"cb_buffer_size", "16777216"}}, layout).hints;
    EXPECT_EQ(buffer(given), "16777216");
    EXPECT_EQ(buffer(parse_hints({{"oratorio_method", "cb_file_layout"}}, given).hints), "16777216")
        << "given before";
}

TEST(Hints, BuffersAreNoLargerThanTheMachineCanGive) {
    constexpr Bytes kMost = 1 << 20;
    for (const HintRow& row : hint_rows()) {
        if (!row.kind.memory) continue;
        const std::string key(row.key);
        const auto [hints, warnings] = parse_hints({{key, "1000000000000000000"}}, {}, kMost);
        EXPECT_EQ(report_hints(hints).at(key), std::to_string(kMost));
        const std::string sentence = "hint " + key +
                                     ": '1000000000000000000' exceeds the machine's limit; "
                                     "1048576 is used";
        EXPECT_EQ(warnings, (std::vector{HintWarning{key, sentence}}));
    }
    EXPECT_TRUE(parse_hints({{"striping_unit", "1099511627776"}}, {}, kMost).warnings.empty())
        << "bytes of a file are no memory";
}

TEST(Hints, MessagesTogetherAreNoMoreThanTheMachineCanGive) {
    const auto [hints, warnings] = parse_hints(
        {{"oratorio_messages_in_flight", "65536"}, {"oratorio_message_bytes", "1048576"}}, {},
        Bytes{1} << 30);
    EXPECT_EQ(hints.plan.messages_in_flight, 256);
    EXPECT_EQ(warnings.size(), 1u);
}

TEST(Hints, WordsAreReadInAnyCase) {
    EXPECT_EQ(parse({{"romio_cb_write", "ENABLE"}}).plan.cb_write, Toggle::enable);
    EXPECT_EQ(parse({{"romio_ds_read", "Disable"}}).plan.ds_read, Toggle::disable);
    EXPECT_TRUE(parse({{"romio_no_indep_rw", "TRUE"}}).no_independent_access);
    EXPECT_TRUE(parse({{"romio_synchronized_flush", "enable"}}).synchronized_flush);
}

TEST(Hints, UnknownKeysAreIgnoredInSilence) {
    EXPECT_EQ(report_hints(parse({{"my_own_hint", "x"}, {"cb", "x"}})), report_hints({}));
}

/// Returns all keys that the library knows.
std::vector<std::string> known_keys() {
    std::vector<std::string> keys(accepted_hints().begin(), accepted_hints().end());
    for (const HintRow& row : hint_rows()) keys.emplace_back(row.key);
    for (const HintMeaning& meaning : hint_meanings()) keys.emplace_back(meaning.key);
    return keys;
}

TEST(Hints, EveryKeyIsSuggestedForItselfInAnyCase) {
    const auto in_capitals = [](std::string key) {
        std::ranges::transform(key, key.begin(), [](char c) { return std::toupper(c); });
        return key;
    };
    for (const std::string& key : known_keys()) {
        for (const std::string& word : {lower(key), in_capitals(key)}) {
            if (word == key) continue;
            const auto warnings = misspelt_hints({{word, ""}});
            ASSERT_EQ(warnings.size(), 1U) << word;
            EXPECT_EQ(warnings.front().sentence,
                      "hint " + word + ": unknown and ignored; did you mean " + key + "?");
        }
    }
}

TEST(Hints, KeysThatAreNearlyKnownAreIgnoredWithAQuestion) {
    EXPECT_EQ(warning_of({{"romio_cb_wirte", "enable"}}),
              "hint romio_cb_wirte: unknown and ignored; did you mean romio_cb_write?");
    EXPECT_EQ(warning_of({{"CB_NODES", "3"}}),
              "hint CB_NODES: unknown and ignored; did you mean cb_nodes?");
    EXPECT_EQ(warning_of({{"IBM_sparse_acess", "true"}}),
              "hint IBM_sparse_acess: unknown and ignored; did you mean IBM_sparse_access?");
    EXPECT_EQ(warning_of({{"oratorio_method", "two_fase"}}),
              "hint oratorio_method: 'two_fase' is not understood (did you mean two_phase?); auto "
              "is used");
    EXPECT_NE(warning_of({{"oratorio_method", "nonsense"}}).find("allowed: auto, list_io, mmap"),
              std::string::npos);
}

TEST(Hints, WarnsAboutTextWithoutKeyAndValueInOratorioHints) {
    EXPECT_TRUE(misspelt_pairs("").empty());
    EXPECT_TRUE(misspelt_pairs("cb_nodes=2;\n cb_config_list=a:1,b:2;").empty());
    EXPECT_EQ(
        misspelt_pairs("cb_nodes:2;romio_cb_write=enable"),
        (std::vector<std::string>{"ORATORIO_HINTS: 'cb_nodes:2' isn't key=value and is ignored"}));
    EXPECT_EQ(misspelt_pairs("one,cb_nodes=2,romio_cb_write=enable"),
              (std::vector<std::string>{"ORATORIO_HINTS: 'one' isn't key=value and is ignored"}));
    EXPECT_EQ(misspelt_pairs("one;two").size(), 2U);
}

TEST(Hints, ASynonymYieldsToTheKeyItStandsFor) {
    EXPECT_EQ(parse({{"cb_write", "disable"}, {"romio_cb_write", "enable"}}).plan.cb_write,
              Toggle::enable);
    EXPECT_EQ(parse({{"stripe_size", "1048576"}}).plan.striping_unit, 1 << 20);
}

TEST(Hints, CollectiveBufferingSwitchesBothDirections) {
    const Hints off = parse({{"collective_buffering", "FALSE"}});
    EXPECT_EQ(off.plan.cb_read, Toggle::disable);
    EXPECT_EQ(off.plan.cb_write, Toggle::disable);
    EXPECT_EQ(report_hints(off).at("collective_buffering"), "FALSE");
    EXPECT_EQ(parse({{"collective_buffering", "true"}}).plan.cb_write, Toggle::automatic);
    const Hints mixed = parse({{"collective_buffering", "false"}, {"romio_cb_read", "enable"}});
    EXPECT_EQ(mixed.plan.cb_read, Toggle::enable);
    EXPECT_EQ(mixed.plan.cb_write, Toggle::disable);
    EXPECT_EQ(warning_of({{"collective_buffering", "maybe"}}),
              "hint collective_buffering: 'maybe' is not understood; it is ignored");
}

TEST(Hints, MissingKeysKeepTheirValues) {
    const Hints before =
        parse({{"cb_nodes", "3"}, {"romio_cb_write", "enable"}, {"access_style", "random"}});
    const auto [hints, warnings] =
        parse_hints({{"cb_write", "disable"}, {"cb_buffer_size", "x"}}, before);
    EXPECT_EQ(hints.plan.cb_nodes, 3);
    EXPECT_EQ(hints.plan.cb_write, Toggle::disable);
    EXPECT_EQ(hints.plan.cb_buffer_size, 16 << 20);
    EXPECT_EQ(hints.accepted.at("access_style"), "random");
    EXPECT_EQ(warnings.size(), 1u);
}

TEST(Hints, VisibilityIsAlwaysReportedForHdf5) {
    EXPECT_EQ(report_hints({}).at("romio_visibility_immediate"), "true");
    EXPECT_EQ(report_hints(parse({{"romio_visibility_immediate", "false"}}))
                  .at("romio_visibility_immediate"),
              "true");
}

}  // namespace
}  // namespace oratorio::test::hints_test
