// SPDX-License-Identifier: BSD-3-Clause
#include "hints/site_settings.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/string_util.hpp"

namespace oratorio {

namespace {

using Rule = SiteRule;

constexpr std::string_view kDetected = "Oratorio asks the system which file system holds a file";
constexpr std::string_view kOwnMethods =
    "Oratorio has methods of its own; ORATORIO_EXPLAIN=1 shows the one in use";
constexpr std::string_view kNothing = "it has no counterpart in Oratorio";

constexpr SiteVariable kSiteVariables[]{
    {"ROMIO_HINTS", "ROMIO", Rule::read_elsewhere, "",
     "a file of \"key value\" lines; default /etc/romio-hints"},
    {"ROMIO_PRINT_HINTS", "ROMIO", Rule::prints_hints, "",
     "each open prints the effective hints with their origin on standard error"},
    {"ROMIO_FSTYPE_FORCE", "ROMIO", Rule::file_system, "oratorio_store",
     "nfs: selects uncached, ufs: selects posix; other values have no effect, because Oratorio "
     "asks "
     "the system which file system holds a file"},
    {"MPICH_MPIIO_HINTS", "Cray MPICH", Rule::read_elsewhere, "ORATORIO_HINTS",
     "hints by file name (see below)"},
    {"MPICH_MPIIO_HINTS_DISPLAY", "Cray MPICH", Rule::prints_hints, "ROMIO_PRINT_HINTS",
     "the same as ROMIO_PRINT_HINTS"},
    {"MPICH_MPIIO_AGGREGATOR_PLACEMENT_DISPLAY", "Cray MPICH", Rule::prints_hints,
     "ROMIO_PRINT_HINTS",
     "the same as ROMIO_PRINT_HINTS; the hint romio_aggregator_list lists the ranks"},
    {"MPICH_MPIIO_STATS", "Cray MPICH", Rule::summarizes, "ORATORIO_EXPLAIN",
     "each close prints a summary for all ranks to standard error; 2 acts like 1 "
     "(ORATORIO_TRACE records each rank)"},
    {"MPICH_MPIIO_TIMERS", "Cray MPICH", Rule::summarizes, "ORATORIO_EXPLAIN",
     "the same as MPICH_MPIIO_STATS; the summary includes the times"},
    {"MPICH_MPIIO_CB_ALIGN", "Cray MPICH", Rule::unused, "oratorio_domains",
     "the method chooses how file domains follow stripes"},
    {"MPICH_MPIIO_AGGREGATOR_PLACEMENT_STRIDE", "Cray MPICH", Rule::unused, "cb_config_list",
     "Oratorio distributes aggregators over the nodes"},
    {"MPICH_MPIIO_STATS_*", "Cray MPICH", Rule::unused, "ORATORIO_TRACE",
     "the summary goes to standard error"},
    {"MPICH_MPIIO_*", "Cray MPICH", Rule::unused, "", kNothing},
    {"OMPI_MCA_io_ompio_num_aggregators", "Open MPI", Rule::number, "cb_nodes",
     "the number of aggregators"},
    {"OMPI_MCA_io_ompio_bytes_per_agg", "Open MPI", Rule::size, "cb_buffer_size",
     "the size of an aggregator's buffer"},
    {"OMPI_MCA_io_ompio_verbose_info_parsing", "Open MPI", Rule::prints_hints, "ROMIO_PRINT_HINTS",
     "the same as ROMIO_PRINT_HINTS"},
    {"OMPI_MCA_io_ompio_coll_timing_info", "Open MPI", Rule::summarizes, "ORATORIO_EXPLAIN",
     "the same as MPICH_MPIIO_STATS"},
    {"OMPI_MCA_io_ompio_*", "Open MPI", Rule::unused, "", kNothing},
    {"OMPI_MCA_io", "Open MPI", Rule::unused, "ORATORIO_METHOD",
     "Oratorio serves the files itself; the method host uses the MPI-IO that this variable names"},
    {"OMPI_MCA_fs_lustre_stripe_size", "Open MPI", Rule::size, "striping_unit",
     "the stripe size of a new file"},
    {"OMPI_MCA_fs_lustre_stripe_width", "Open MPI", Rule::number, "striping_factor",
     "the number of storage targets of a new file"},
    {"OMPI_MCA_fs_ufs_lock_algorithm", "Open MPI", Rule::unused, "oratorio_locks",
     "Oratorio locks only what it must"},
    {"OMPI_MCA_fs", "Open MPI", Rule::unused, "oratorio_store", kDetected},
    {"OMPI_MCA_fs_*", "Open MPI", Rule::unused, "", kNothing},
    {"OMPI_MCA_fcoll", "Open MPI", Rule::collective, "romio_cb_read, romio_cb_write",
     "individual disables collective buffering, the other components enable it; Oratorio chooses "
     "the method"},
    {"OMPI_MCA_fcoll_*", "Open MPI", Rule::unused, "oratorio_method", kOwnMethods},
    {"OMPI_MCA_fbtl_posix_read_datasieving", "Open MPI", Rule::off_switch, "romio_ds_read",
     "false disables data sieving of reads"},
    {"OMPI_MCA_fbtl_posix_write_datasieving", "Open MPI", Rule::off_switch, "romio_ds_write",
     "false disables data sieving of writes"},
    {"OMPI_MCA_fbtl*", "Open MPI", Rule::unused, "oratorio_store", kOwnMethods},
    {"OMPI_MCA_sharedfp*", "Open MPI", Rule::unused, "",
     "Oratorio has shared file pointers of its own"},
    {"I_MPI_EXTRA_FILESYSTEM", "Intel MPI", Rule::unused, "", kDetected},
    {"I_MPI_EXTRA_FILESYSTEM_LIST", "Intel MPI", Rule::unused, "", kDetected},
    {"I_MPI_EXTRA_FILESYSTEM_FORCE", "Intel MPI", Rule::file_system, "oratorio_store",
     "the same as ROMIO_FSTYPE_FORCE"},
    {"I_MPI_EXTRA_FILESYSTEM_*", "Intel MPI", Rule::unused, "", kNothing},
    {"I_MPI_LUSTRE_STRIPE_AWARE", "Intel MPI", Rule::unused, "oratorio_domains",
     "the method chooses how file domains follow stripes"},
};

/// Returns true if `pattern`, the name of a row, matches this variable.
bool is_named(std::string_view pattern, std::string_view name) {
    if (!pattern.ends_with('*')) return pattern == name;
    return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

/// Converts a size with a unit to bytes: 512M, 512MB and 512m become 536870912. Returns any other
/// text unchanged; parse_hints() warns about it if it isn't a number.
std::string without_unit(std::string_view text) {
    constexpr std::string_view kUnits = "kmgt";
    std::string unit;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{}) unit = lower({end, text.data() + text.size()});
    if (unit.size() == 2 && unit[1] == 'b') unit.pop_back();
    const std::size_t power = unit.size() == 1 ? kUnits.find(unit[0]) : std::string_view::npos;
    if (power == std::string_view::npos || value < 0) return std::string(text);
    const std::int64_t factor = std::int64_t{1} << (10 * (power + 1));
    return value > INT64_MAX / factor ? std::string(text) : std::to_string(value * factor);
}

/// Returns true if the text means yes, false if it means no, and nothing if it means neither.
std::optional<bool> yes_or_no(std::string_view text) {
    const std::string word = lower(text);
    constexpr std::array<std::string_view, 5> kYes{"true", "yes", "on", "enable", "enabled"};
    constexpr std::array<std::string_view, 5> kNo{"false", "no", "off", "disable", "disabled"};
    if (std::ranges::find(kYes, word) != kYes.end()) return true;
    if (std::ranges::find(kNo, word) != kNo.end()) return false;
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{} || end != text.data() + text.size() || number < 0) return {};
    return number > 0;
}

/// Translates one variable at a time into settings.
class Translator {
  public:
    explicit Translator(SiteSettings& settings) : settings_(settings) {}

    void take(const SiteVariable& row, const EnvironmentVariable& variable) {
        const std::string_view value = trimmed(variable.value);
        if (value.empty() || row.rule == Rule::read_elsewhere) return;
        if (row.rule == Rule::unused) {
            remark(variable, "has no effect: " + std::string(row.effect) +
                                 (row.ours.empty() ? "" : " (see " + std::string(row.ours) + ")"));
        } else if (row.rule == Rule::number || row.rule == Rule::size) {
            if (value != "0" && value != "-1")
                hint(row, row.ours,
                     row.rule == Rule::size ? without_unit(value) : std::string(value));
        } else if (row.rule == Rule::file_system) {
            choose_store(row, variable);
        } else if (row.rule == Rule::collective) {
            choose_buffering(row, variable);
        } else {
            switch_on_or_off(row, variable);
        }
    }

  private:
    void remark(const EnvironmentVariable& variable, const std::string& predicate) {
        settings_.remarks.push_back(std::string(variable.name) + " " + predicate);
    }

    void hint(const SiteVariable& row, std::string_view key, std::string value) {
        settings_.hints.push_back({row.name, std::string(key), std::move(value)});
    }

    void choose_store(const SiteVariable& row, const EnvironmentVariable& variable) {
        std::string type = lower(trimmed(variable.value));
        if (type.ends_with(':')) type.pop_back();
        if (type == "nfs") return hint(row, row.ours, "uncached");
        if (type == "ufs") return hint(row, row.ours, "posix");
        remark(variable, "has no effect with '" + std::string(variable.value) +
                             "': " + std::string(kDetected) + " (see oratorio_store)");
    }

    void choose_buffering(const SiteVariable& row, const EnvironmentVariable& variable) {
        const std::string components = lower(variable.value);
        const std::string_view first =
            trimmed(std::string_view(components).substr(0, components.find(',')));
        constexpr std::array<std::string_view, 5> kBuffered{"two_phase", "dynamic", "dynamic_gen2",
                                                            "vulcan", "static"};
        const bool buffered = std::ranges::find(kBuffered, first) != kBuffered.end();
        if (!buffered && first != "individual")
            return remark(variable, "has no effect with '" + std::string(variable.value) +
                                        "': Oratorio chooses the method (see oratorio_method)");
        for (const char* key : {"romio_cb_read", "romio_cb_write"})
            hint(row, key, buffered ? "enable" : "disable");
    }

    void switch_on_or_off(const SiteVariable& row, const EnvironmentVariable& variable) {
        const auto on = yes_or_no(trimmed(variable.value));
        if (!on)
            return remark(variable, "is ignored: '" + std::string(variable.value) +
                                        "' is not understood (allowed: 0, 1)");
        if (row.rule == Rule::prints_hints) settings_.print_hints |= *on;
        if (row.rule == Rule::summarizes) settings_.summary |= *on;
        if (row.rule == Rule::off_switch && !*on) hint(row, row.ours, "disable");
    }

    SiteSettings& settings_;
};

/// Splits at a separator, but not inside a quoted value, which extends from "=#" to the next '#' or
/// the end. Leaves out empty parts.
std::vector<std::string_view> split_unquoted(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    bool quoted = false;
    std::size_t begin = 0;
    for (std::size_t at = 0; at <= text.size(); ++at) {
        if (at < text.size() && text[at] == '#')
            quoted = !quoted && text.substr(0, at).ends_with('=');
        if (at < text.size() && (quoted || text[at] != separator)) continue;
        if (at > begin) parts.push_back(text.substr(begin, at - begin));
        begin = at + 1;
    }
    return parts;
}

std::string_view unquoted(std::string_view value) {
    if (!value.starts_with('#')) return value;
    value.remove_prefix(1);
    return value.substr(0, value.find('#'));
}

/// Returns true if a glob pattern matches the path. A pattern without a slash may also match only
/// the last part of the path.
bool matches(std::string_view pattern, std::string_view path) {
    const std::string glob(pattern);
    if (fnmatch(glob.c_str(), std::string(path).c_str(), 0) == 0) return true;
    if (pattern.find('/') != std::string_view::npos) return false;
    return fnmatch(glob.c_str(), std::string(path.substr(path.rfind('/') + 1)).c_str(), 0) == 0;
}

}  // namespace

std::span<const SiteVariable> site_variables() {
    return kSiteVariables;
}

SiteSettings read_site_settings(std::span<const EnvironmentVariable> variables) {
    std::vector<std::pair<const SiteVariable*, EnvironmentVariable>> known;
    for (const EnvironmentVariable& variable : variables) {
        const auto* const row = std::ranges::find_if(
            kSiteVariables, [&](const auto& one) { return is_named(one.name, variable.name); });
        if (row != std::end(kSiteVariables)) known.emplace_back(row, variable);
    }
    // Sorts by the order of the table, so that the order of the environment doesn't matter.
    std::ranges::stable_sort(known, {}, [](const auto& pair) { return pair.first; });
    SiteSettings settings;
    Translator translator(settings);
    for (const auto& [row, variable] : known) translator.take(*row, variable);
    return settings;
}

HintMap mpich_hints(std::string_view text, std::string_view path) {
    HintMap hints;
    for (const std::string_view entry : split_unquoted(text, ',')) {
        const auto parts = split_unquoted(entry, ':');
        if (parts.empty() || !matches(trimmed(parts.front()), path)) continue;
        for (const std::string_view pair : std::span(parts).subspan(1)) {
            const std::size_t at = pair.find('=');
            if (at == std::string_view::npos || trimmed(pair.substr(0, at)).empty()) continue;
            hints.emplace(trimmed(pair.substr(0, at)), unquoted(trimmed(pair.substr(at + 1))));
        }
        break;
    }
    return hints;
}

std::vector<std::string> malformed_mpich_hints(std::string_view text) {
    std::vector<std::string> sentences;
    for (const std::string_view entry : split_unquoted(text, ',')) {
        const auto parts = split_unquoted(entry, ':');
        const auto is_pair = [](std::string_view part) {
            return !trimmed(part.substr(0, part.find('='))).empty() &&
                   part.find('=') != std::string_view::npos;
        };
        if (parts.size() < 2)
            sentences.push_back("MPICH_MPIIO_HINTS: '" + std::string(entry) +
                                "' isn't pattern:key=value and is ignored");
        for (std::size_t part = 1; part < parts.size(); ++part)
            if (!is_pair(parts[part]))
                sentences.push_back("MPICH_MPIIO_HINTS: '" + std::string(parts[part]) +
                                    "' isn't key=value and is ignored");
    }
    return sentences;
}

}  // namespace oratorio
