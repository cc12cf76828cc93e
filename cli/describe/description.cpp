// SPDX-License-Identifier: BSD-3-Clause
#include "describe/description.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <climits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "file/path.hpp"
#include "hints/hint_table.hpp"
#include "hints/misspelt.hpp"
#include "hints/site_settings.hpp"
#include "plan/methods.hpp"
#include "store/file_system_types.hpp"

namespace oratorio {

namespace {

/// JSON in which members keep the order in which they are added.
using Json = nlohmann::ordered_json;

/// The names of all values of the enum `Kind`, in the order of the enum.
template <class Kind>
using PartNames = std::array<std::string_view, static_cast<std::size_t>(Kind::count)>;

template <class Kind>
std::string_view name_of(const PartNames<Kind>& names, Kind kind) {
    return names[static_cast<std::size_t>(kind)];
}

constexpr PartNames<RequestKind> kRequestNames{"cursor", "list", "layout"};
constexpr PartNames<DomainsKind> kDomainsNames{"even",   "block",   "sliced", "cyclic",
                                               "chunks", "stripes", "bound"};
constexpr PartNames<GraphKind> kGraphNames{"dense", "sparse"};
constexpr PartNames<ExchangeKind> kExchangeNames{"none", "peer", "gathered", "shared",
                                                 "cross_memory"};
constexpr PartNames<LayersKind> kLayersNames{"one", "two_messages", "two_shared"};
constexpr PartNames<StorageKind> kStorageNames{"contiguous", "list", "buffered", "mapped",
                                               "shipped"};
constexpr PartNames<ReadAheadKind> kReadAheadNames{"none", "ranges"};

/// Returns true if no name is empty. A name is empty if the enum has more values than the list has
/// names.
template <class Names>
consteval bool all_are_named(const Names& names) {
    return std::ranges::none_of(names, [](std::string_view name) { return name.empty(); });
}
static_assert(all_are_named(kRequestNames) && all_are_named(kDomainsNames) &&
              all_are_named(kGraphNames) && all_are_named(kExchangeNames) &&
              all_are_named(kLayersNames) && all_are_named(kStorageNames) &&
              all_are_named(kReadAheadNames));

Json parts_of(const Method& method) {
    return {{"request", name_of(kRequestNames, method.request)},
            {"domains", name_of(kDomainsNames, method.domains)},
            {"graph", name_of(kGraphNames, method.graph)},
            {"exchange", name_of(kExchangeNames, method.exchange)},
            {"layers", name_of(kLayersNames, method.layers)},
            {"storage", name_of(kStorageNames, method.storage)},
            {"read_ahead", name_of(kReadAheadNames, method.read_ahead)}};
}

Json schedule_of(const Method& method) {
    const Schedule& schedule = method.schedule;
    return {{"slots", schedule.slots},
            {"io_thread", schedule.slots > 1 && !method.on_node()},
            {"aggregators_max", schedule.aggregators_max},
            {"all_aggregate", schedule.all_aggregate},
            {"slot_is_block", schedule.slot_is_block},
            {"by_place", schedule.asks_places},
            {"in_turns", schedule.in_turns}};
}

Json method_rows() {
    Json rows = Json::array();
    for (const Method& method : methods()) {
        rows.push_back({{"name", method.name},
                        {"description", method.summary},
                        {"automatic", method.auto_ranks > 0},
                        {"parts", parts_of(method)},
                        {"schedule", schedule_of(method)}});
    }
    return rows;
}

// The functions below make the members of a hint's row that describe the hint's kind. hints.def
// calls those from bytes() to rank_list(), with TiB for some limits; limited() and worded() are
// helpers.
constexpr std::int64_t TiB = std::int64_t{1} << 40;
Json limited(std::string_view kind, std::int64_t low, std::int64_t high) {
    return {{"kind", kind}, {"low", low}, {"high", high}};
}
Json worded(std::string_view kind, HintSyntax syntax, std::string_view choices = "") {
    const HintKind table_kind{.syntax = syntax, .choices = choices};
    return {{"kind", kind}, {"words", hint_words(table_kind)}};
}
Json bytes(std::int64_t low, std::int64_t high) {
    return limited("bytes", low, high);
}
Json memory(std::int64_t low) {
    return {{"kind", "memory"}, {"low", low}};
}
Json integer(std::int64_t low, std::int64_t high) {
    return limited("integer", low, high);
}
Json octal(std::int64_t low, std::int64_t high) {
    return limited("octal", low, high);
}
Json toggle() {
    return worded("toggle", HintSyntax::toggle);
}
Json boolean() {
    return worded("boolean", HintSyntax::boolean);
}
Json one_of(std::string_view names) {
    return worded("choice", HintSyntax::choice, names);
}
Json method() {
    return {{"kind", "method"}};
}
Json config_list() {
    return {{"kind", "config_list"}};
}
Json rank_list() {
    return {{"kind", "rank_list"}};
}

Json hint(std::string_view key, std::string_view role, const Json& more, std::string_view doc) {
    Json row{{"key", key}, {"role", role}};
    row.update(more);
    row["description"] = doc;
    return row;
}

/// Adds the hint's default value to the members of its kind: null if `initial` is empty.
Json with_default(Json kind, std::string_view initial) {
    kind["default"] = initial.empty() ? Json() : Json(initial);
    return kind;
}

Json hint_table_rows() {
    Json rows = Json::array();
#define HINT(key, kind, member, initial, role, doc) \
    rows.push_back(hint(#key, #role, with_default(kind, initial), doc));
#define SYNONYM(key, target, doc) rows.push_back(hint(#key, "synonym", {{"target", #target}}, doc));
#define MEANS(key, value, target, target_value, doc)                                             \
    rows.push_back(hint(#key, "means",                                                           \
                        {{"value", value}, {"target", #target}, {"target_value", target_value}}, \
                        doc));
#define REPORTED(key, doc) rows.push_back(hint(#key, "reported", Json::object(), doc));
#define ACCEPTED(key, doc) rows.push_back(hint(#key, "accepted", Json::object(), doc));
#include "hints/hints.def"
#undef HINT
#undef SYNONYM
#undef MEANS
#undef REPORTED
#undef ACCEPTED
    return rows;
}

Json cost_rows() {
    Json rows = Json::array();
#define COST(name, memory, disk, server, doc) \
    rows.push_back({{"name", #name},          \
                    {"memory", memory},       \
                    {"disk", disk},           \
                    {"server", server},       \
                    {"description", doc}});
#include "plan/costs.def"
#undef COST
    return rows;
}

Json counter_rows() {
    Json rows = Json::array();
#define COUNTER(name, unit, doc) \
    rows.push_back({{"name", #name}, {"unit", unit}, {"description", doc}});
#include "stats/counters.def"
#undef COUNTER
    return rows;
}

Json activity_rows() {
    Json rows = Json::array();
#define ACTIVITY(name, category, doc) \
    rows.push_back({{"name", #name}, {"category", category}, {"description", doc}});
#include "stats/activities.def"
#undef ACTIVITY
    return rows;
}

/// Returns a row for each environment variable, with its name in upper case. The library keeps the
/// names in lower case, because its spelling check ignores case.
Json variable_rows() {
    Json rows = Json::array();
    for (const std::string_view known : known_variables()) {
        std::string name(known);
        std::ranges::transform(name, name.begin(),
                               [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
        rows.push_back({{"name", name}});
    }
    return rows;
}

Json site_variable_rows() {
    Json rows = Json::array();
    for (const SiteVariable& row : site_variables()) {
        rows.push_back({{"name", row.name},
                        {"from", row.from},
                        {"used", row.rule != SiteRule::unused},
                        {"ours", row.ours},
                        {"effect", row.effect}});
    }
    return rows;
}

Json file_system_rows() {
    Json rows = Json::array();
    constexpr std::string_view kStorage[] = {"memory", "disk", "server"};  // in the enum's order
    for (const long type : named_file_systems()) {
        rows.push_back({{"name", file_system_name(type)},
                        {"storage", kStorage[static_cast<std::size_t>(storage_of(type))]}});
    }
    return rows;
}

/// Returns the JSON text of an object that has values and lists of rows as members. Each row is a
/// line, so that a diff of two texts shows which rows changed.
std::string one_row_per_line(const Json& document) {
    std::string text;
    for (const auto& [key, value] : document.items()) {
        text += (text.empty() ? "{\n" : ",\n") + Json(key).dump() + ": ";
        if (!value.is_array()) {
            text += value.dump();
            continue;
        }
        std::string_view separator = "[\n  ";
        for (const Json& row : value) {
            text += separator;
            text += row.dump();
            separator = ",\n  ";
        }
        text += "\n]";
    }
    return text + "\n}\n";
}

}  // namespace

std::string description() {
    return one_row_per_line({{"schema", kDescriptionSchema},
                             {"version", ORATORIO_VERSION},
                             {"methods", method_rows()},
                             {"hints", hint_table_rows()},
                             {"costs", cost_rows()},
                             {"counters", counter_rows()},
                             {"activities", activity_rows()},
                             {"variables", variable_rows()},
                             {"site_variables", site_variable_rows()},
                             {"file_systems", file_system_rows()}});
}

}  // namespace oratorio
