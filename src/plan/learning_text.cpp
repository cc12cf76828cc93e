// SPDX-License-Identifier: BSD-3-Clause
#include "plan/learning_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/decimal.hpp"
#include "base/string_util.hpp"
#include "plan/methods.hpp"

namespace oratorio {

namespace {

constexpr std::string_view kVersion = "oratorio-learned 2";
constexpr std::array<std::string_view, static_cast<std::size_t>(DomainsChoice::count)> kDomainNames{
    "auto", "even", "block", "cyclic", "stripes"};

constexpr double kLongest = 1e9;  // seconds

std::string real_text(double value) {
    return general_text(std::min(value, kLongest), 6);
}

std::string line_of(const KindTimes& one) {
    const AccessKind& kind = one.kind;
    std::string line = kind.direction == Direction::read ? "access read" : "access write";
    for (const int value : {kind.ranks, kind.ranks_with_data, kind.nodes, kind.quarters, kind.piece,
                            kind.memory_piece, kind.density, kind.overlap, kind.facts})
        line += " " + std::to_string(value);
    for (const std::uint64_t value : {kind.file_system, kind.options, one.spent.accesses})
        line += " " + std::to_string(value);
    return line + " " + real_text(one.spent.total) + " " + real_text(one.spent.excess) + "\n";
}

std::string line_of(const ArmTimes& one, bool in_use) {
    const Arm& arm = one.of.arm;
    std::string line = "arm " + std::string(arm.method->name) + " " +
                       std::to_string(arm.aggregators) + " " + std::to_string(arm.slots) + " " +
                       std::string(kDomainNames[static_cast<std::size_t>(arm.domains)]) + " " +
                       real_text(one.of.seconds) + " " + std::to_string(one.of.waiting) + " " +
                       (in_use ? "1" : "0");
    for (const double seconds : one.seconds) line += " " + real_text(seconds);
    return line + "\n";
}

/// Reads the words of a line, one after the other. A missing word reads as "" or 0, a number that
/// is malformed or out of range as 0; ok() is false after any of these.
class Words {
  public:
    explicit Words(std::string_view line) : words_(split(line, " ")) {}

    std::string_view text() {
        if (next_ < words_.size()) return words_[next_++];
        ok_ = false;
        return "";
    }
    template <class Number>
    Number number(Number least, Number most) {
        const std::string_view word = text();
        Number value{};
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        const bool whole = error == std::errc() && end == word.data() + word.size();
        if (whole && value >= least && value <= most) return value;
        ok_ = false;
        return Number{};
    }
    [[nodiscard]] bool at_end() const { return next_ == words_.size(); }
    [[nodiscard]] bool ok() const { return ok_; }

  private:
    std::vector<std::string_view> words_;
    std::size_t next_ = 0;
    bool ok_ = true;
};

std::optional<KindTimes> parse_kind(Words& words) {
    KindTimes one;
    AccessKind& kind = one.kind;
    const std::string_view direction = words.text();
    kind.direction = direction == "read" ? Direction::read : Direction::write;
    for (int* const value :
         {&kind.ranks, &kind.ranks_with_data, &kind.nodes, &kind.quarters, &kind.piece,
          &kind.memory_piece, &kind.density, &kind.overlap, &kind.facts})
        *value = words.number(0, INT32_MAX);
    for (std::uint64_t* const value : {&kind.file_system, &kind.options, &one.spent.accesses})
        *value = words.number<std::uint64_t>(0, UINT64_MAX);
    one.spent.total = words.number(0.0, kLongest);
    one.spent.excess = words.number(0.0, kLongest);
    const bool known = direction == "read" || direction == "write";
    if (!words.ok() || !words.at_end() || !known) return std::nullopt;
    return one;
}

/// Adds the arm of a line, unless its method is unknown or the kind has kArmsKept arms already.
/// Returns false if the line is malformed.
bool parse_arm(Words& words, KindTimes& kind) {
    ArmTimes one;
    Arm& arm = one.of.arm;
    arm.method = find_method(words.text());
    arm.aggregators = words.number(0, INT32_MAX);
    arm.slots = words.number(0, INT32_MAX);
    const auto domains = std::ranges::find(kDomainNames, words.text());
    if (domains == kDomainNames.end()) return false;
    arm.domains = static_cast<DomainsChoice>(domains - kDomainNames.begin());
    one.of.seconds = words.number(0.0, kLongest);
    one.of.waiting = words.number(0, 2);
    const bool in_use = words.number(0, 1) == 1;
    while (!words.at_end() && one.seconds.size() < ArmTimes::kKept)
        one.seconds.push_back(words.number(0.0, kLongest));
    if (!words.ok() || !words.at_end()) return false;
    if (arm.method == nullptr) return true;
    if (in_use) kind.current = kind.next = arm;
    if (kind.arms.size() < KindTimes::kArmsKept) kind.arms.push_back(std::move(one));
    return true;
}

}  // namespace

std::string to_text(const LearnedTimes& learned) {
    std::string text = std::string(kVersion) + "\n";
    for (const KindTimes& kind : learned.kinds()) {
        text += line_of(kind);
        for (const ArmTimes& one : kind.arms) text += line_of(one, one.of.arm == kind.current);
    }
    return text;
}

LearnedTimes for_ranks(const LearnedTimes& learned, int ranks) {
    LearnedTimes some;
    for (std::size_t i = learned.kinds().size(); i-- > 0;) {
        if (learned.kinds()[i].kind.ranks == ranks) some.put(learned.kinds()[i]);
    }
    return some;
}

std::optional<LearnedTimes> parse_learned(std::string_view text) {
    const std::vector<std::string_view> lines = split(text, "\n");
    if (lines.empty() || lines.front() != kVersion) return std::nullopt;
    std::vector<KindTimes> kinds;
    for (std::size_t i = 1; i < lines.size(); ++i) {
        Words words(lines[i]);
        const std::string_view what = words.text();
        if (what == "access" && kinds.size() < LearnedTimes::kKindsMost) {
            auto kind = parse_kind(words);
            if (!kind) return std::nullopt;
            kinds.push_back(std::move(*kind));
        } else if (what != "arm" || kinds.empty() || !parse_arm(words, kinds.back())) {
            return std::nullopt;
        }
    }
    LearnedTimes learned;
    while (!kinds.empty()) {
        learned.put(std::move(kinds.back()));
        kinds.pop_back();
    }
    return learned;
}

}  // namespace oratorio
