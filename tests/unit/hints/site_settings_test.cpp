// SPDX-License-Identifier: BSD-3-Clause
// Variables of other MPI-IO implementations.
#include "hints/site_settings.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <random>
#include <set>

#include "hints/hint_table.hpp"

namespace oratorio::test::site_settings_test {
namespace {

SiteSettings settings_of(std::initializer_list<EnvironmentVariable> variables) {
    return read_site_settings(std::vector<EnvironmentVariable>(variables));
}

/// Returns the hints of one variable as "key=value" texts.
std::vector<std::string> hints_of(std::string_view name, std::string_view value) {
    std::vector<std::string> texts;
    for (const SiteHint& hint : settings_of({{name, value}}).hints) {
        EXPECT_EQ(hint.variable, name);
        texts.push_back(hint.key + "=" + hint.value);
    }
    return texts;
}

using Texts = std::vector<std::string>;

TEST(SiteSettings, NumbersAndSizesBecomeHintsUnlessTheyAreDefaults) {
    EXPECT_EQ(hints_of("OMPI_MCA_io_ompio_num_aggregators", "4"), Texts{"cb_nodes=4"});
    EXPECT_EQ(hints_of("OMPI_MCA_io_ompio_num_aggregators", "many"), Texts{"cb_nodes=many"});
    for (const char* unset : {"", " ", "0", "-1"})
        EXPECT_EQ(hints_of("OMPI_MCA_io_ompio_num_aggregators", unset), Texts{}) << unset;
    constexpr const char* kBytes = "OMPI_MCA_io_ompio_bytes_per_agg";
    EXPECT_EQ(hints_of(kBytes, "33554432"), Texts{"cb_buffer_size=33554432"});
    for (const char* half : {"512M", "512MB", "512m", "524288k"})
        EXPECT_EQ(hints_of(kBytes, half), Texts{"cb_buffer_size=536870912"}) << half;
    for (const std::string odd : {"M", "5X", "5MBB", "-5M", "5 M", "9999999999999T"})
        EXPECT_EQ(hints_of(kBytes, odd), Texts{"cb_buffer_size=" + odd});
    EXPECT_EQ(hints_of("OMPI_MCA_fs_lustre_stripe_size", "1M"), Texts{"striping_unit=1048576"});
    EXPECT_EQ(hints_of("OMPI_MCA_fs_lustre_stripe_width", "8"), Texts{"striping_factor=8"});
}

TEST(SiteSettings, AFileSystemOfOtherImplementationsChoosesTheStore) {
    for (const char* name : {"ROMIO_FSTYPE_FORCE", "I_MPI_EXTRA_FILESYSTEM_FORCE"}) {
        EXPECT_EQ(hints_of(name, "nfs:"), Texts{"oratorio_store=uncached"});
        EXPECT_EQ(hints_of(name, "UFS"), Texts{"oratorio_store=posix"});
        EXPECT_EQ(hints_of(name, "lustre:"), Texts{});
    }
    EXPECT_EQ(
        settings_of({{"ROMIO_FSTYPE_FORCE", "lustre:"}}).remarks,
        Texts{"ROMIO_FSTYPE_FORCE has no effect with 'lustre:': Oratorio asks the system which "
              "file system holds a file (see oratorio_store)"});
}

TEST(SiteSettings, CollectiveComponentsSwitchCollectiveBuffering) {
    EXPECT_EQ(hints_of("OMPI_MCA_fcoll", "individual"),
              (Texts{"romio_cb_read=disable", "romio_cb_write=disable"}));
    for (const char* buffered : {"two_phase", "vulcan,individual", " dynamic_gen2 "})
        EXPECT_EQ(hints_of("OMPI_MCA_fcoll", buffered),
                  (Texts{"romio_cb_read=enable", "romio_cb_write=enable"}));
    for (const char* other : {"^two_phase", ",", "somebodys"}) {
        EXPECT_EQ(hints_of("OMPI_MCA_fcoll", other), Texts{}) << other;
        EXPECT_EQ(settings_of({{"OMPI_MCA_fcoll", other}}).remarks.size(), 1U) << other;
    }
    EXPECT_EQ(hints_of("OMPI_MCA_fbtl_posix_write_datasieving", "false"),
              Texts{"romio_ds_write=disable"});
    EXPECT_EQ(hints_of("OMPI_MCA_fbtl_posix_read_datasieving", "1"), Texts{});
}

TEST(SiteSettings, DisplaysAreSwitchedOnAndOff) {
    for (const char* name : {"ROMIO_PRINT_HINTS", "MPICH_MPIIO_HINTS_DISPLAY"}) {
        EXPECT_TRUE(settings_of({{name, "1"}}).print_hints);
        EXPECT_FALSE(settings_of({{name, "0"}}).print_hints);
        EXPECT_FALSE(settings_of({{name, "1"}}).summary);
    }
    EXPECT_TRUE(settings_of({{"MPICH_MPIIO_STATS", "2"}}).summary);
    EXPECT_FALSE(settings_of({{"MPICH_MPIIO_STATS", "off"}}).summary);
    EXPECT_EQ(settings_of({{"MPICH_MPIIO_STATS", "verbose"}}).remarks,
              Texts{"MPICH_MPIIO_STATS is ignored: 'verbose' is not understood (allowed: 0, 1)"});
}

TEST(SiteSettings, VariablesWithoutEffectAreRemarkedOnAndUnknownOnesAreNot) {
    EXPECT_EQ(settings_of({{"MPICH_MPIIO_CB_ALIGN", "2"},
                           {"OMPI_MCA_io_ompio_grouping_option", "5"},
                           {"OMPI_MCA_btl", "^ofi"},
                           {"HOME", "/"},
                           {"MPICH_MPIIO_HINTS", "*:cb_nodes=1"}})
                  .remarks,
              (Texts{"MPICH_MPIIO_CB_ALIGN has no effect: the method chooses how file domains "
                     "follow stripes (see oratorio_domains)",
                     "OMPI_MCA_io_ompio_grouping_option has no effect: it has no counterpart in "
                     "Oratorio"}));
}

TEST(SiteSettings, EachRowOfTheTableIsReachedAndItsHintsExist) {
    std::set<std::string_view> keys;
    for (const HintRow& row : hint_rows()) keys.insert(row.key);
    for (const SiteVariable& row : site_variables()) {
        std::string name(row.name);
        if (name.ends_with('*')) name.back() = 'x';
        EXPECT_FALSE(row.effect.empty()) << name;
        const SiteSettings settings = settings_of({{name, "disable"}});
        EXPECT_EQ(settings.remarks.size() == 1 && settings.hints.empty(),
                  row.rule == SiteRule::unused || row.rule == SiteRule::file_system ||
                      row.rule == SiteRule::collective)
            << name;
        for (const SiteHint& hint : settings.hints) EXPECT_TRUE(keys.contains(hint.key)) << name;
        if (row.rule == SiteRule::number || row.rule == SiteRule::size)
            EXPECT_TRUE(keys.contains(row.ours)) << name;
    }
}

TEST(SiteSettings, HintsOfVariablesLieBetweenTheFileAndCraysVariable) {
    HintSources sources;
    sources.romio_hints_text = "cb_nodes 1\ncb_buffer_size 100\nromio_cb_read disable";
    sources.site_hints = settings_of({{"OMPI_MCA_io_ompio_num_aggregators", "2"},
                                      {"OMPI_MCA_fcoll", "vulcan"},
                                      {"OMPI_MCA_io_ompio_bytes_per_agg", "200"}})
                             .hints;
    sources.mpich_mpiio_hints = "*:cb_buffer_size=300";
    const HintMap given = merge_hints(sources, {{"cb_write", "disable"}}, "a");
    EXPECT_EQ(given, (HintMap{{"cb_nodes", "2"},
                              {"cb_buffer_size", "300"},
                              {"romio_cb_read", "enable"},
                              {"cb_write", "disable"}}));
    sources.site_hints =
        settings_of({{"I_MPI_EXTRA_FILESYSTEM_FORCE", "nfs"}, {"ROMIO_FSTYPE_FORCE", "ufs"}}).hints;
    EXPECT_EQ(merge_hints(sources, {}, "a").at("oratorio_store"), "uncached");
}

TEST(SiteSettings, OriginsNameTheVariable) {
    HintSources sources;
    sources.site_hints = settings_of({{"OMPI_MCA_io_ompio_num_aggregators", "2"},
                                      {"OMPI_MCA_io_ompio_bytes_per_agg", "200"}})
                             .hints;
    sources.mpich_mpiio_hints = "*:cb_buffer_size=300";
    const HintOrigins origins = hint_origins(sources, {}, "a");
    EXPECT_EQ(origins.at("cb_nodes"), "OMPI_MCA_io_ompio_num_aggregators");
    EXPECT_EQ(origins.at("cb_buffer_size"), "MPICH_MPIIO_HINTS");
}

TEST(SiteSettings, TheFirstMatchingPatternCounts) {
    constexpr std::string_view kHints =
        "*.h5:cb_nodes=1,a.h5:cb_nodes=2:ds_read=enable,*:cb_nodes=3";
    EXPECT_EQ(mpich_hints(kHints, "/tmp/a.h5"), (HintMap{{"cb_nodes", "1"}}));
    EXPECT_EQ(mpich_hints(kHints, "a.nc"), (HintMap{{"cb_nodes", "3"}}));
}

TEST(SiteSettings, ValuesBetweenHashesMayHaveCommasAndColons) {
    EXPECT_EQ(mpich_hints("*:cb_config_list=#a:1,b:2#:cb_nodes=3,x:cb_nodes=4", "f"),
              (HintMap{{"cb_config_list", "a:1,b:2"}, {"cb_nodes", "3"}}));
    EXPECT_EQ(mpich_hints("*:cb_nodes=3:cb_config_list=#*:2", "f"),
              (HintMap{{"cb_nodes", "3"}, {"cb_config_list", "*:2"}}));
    EXPECT_EQ(mpich_hints("a#b:cb_nodes=3,c:cb_nodes=4", "c"), (HintMap{{"cb_nodes", "4"}}));
}

TEST(SiteSettings, MalformedPartsAreNamed) {
    EXPECT_EQ(malformed_mpich_hints("*:cb_nodes=3,*.h5:cb_config_list=#*:2#"), Texts{});
    EXPECT_EQ(malformed_mpich_hints("*,a:b:=c:cb_nodes=1"),
              (Texts{"MPICH_MPIIO_HINTS: '*' isn't pattern:key=value and is ignored",
                     "MPICH_MPIIO_HINTS: 'b' isn't key=value and is ignored",
                     "MPICH_MPIIO_HINTS: '=c' isn't key=value and is ignored"}));
}

TEST(SiteSettings, AnyTextIsTaken) {
    std::mt19937 random(7);
    constexpr std::string_view kLetters = "*?[]:=,#\\ a1kM^-;";
    for (int round = 0; round < 2000; ++round) {
        std::string text(random() % 24, ' ');
        for (char& letter : text) letter = kLetters[random() % kLetters.size()];
        for (const auto& [key, value] : mpich_hints(text, "/a/1")) EXPECT_FALSE(key.empty());
        for (const std::string& sentence : malformed_mpich_hints(text))
            EXPECT_TRUE(sentence.ends_with(" and is ignored"));
        for (const SiteVariable& row : site_variables())
            EXPECT_LE(settings_of({{row.name, text}}).remarks.size(), 1U) << text;
    }
}

}  // namespace
}  // namespace oratorio::test::site_settings_test
