// SPDX-License-Identifier: BSD-3-Clause
#include "file/explain_text.hpp"

#include <algorithm>

#include "base/amounts.hpp"

namespace oratorio {

namespace {

std::string bytes_text(std::uint64_t bytes) {
    return oratorio::bytes_text(static_cast<double>(bytes));
}

std::string seconds_of(std::uint64_t nanoseconds) {
    return seconds_text(1e-9 * static_cast<double>(nanoseconds));
}

/// Returns " (1651 MiB/s)", or "" if there is no rate.
std::string rate_in_brackets(Bytes bytes, double seconds, const char* bound = "") {
    if (bytes == 0 || seconds <= 0) return "";
    return std::string(" (") + bound + rate_text(static_cast<double>(bytes), seconds) + ")";
}

/// Returns the row about the time of blocking accesses and its parts; "" if no time was measured.
std::string time_row(const Stats& sums) {
    if (sums.access_time == 0) return "";
    return "  time         " + seconds_of(sums.access_time) +
           " in blocking accesses: " + seconds_of(sums.storage_time) + " for the storage, " +
           seconds_of(sums.wait_time) + " waiting for other ranks, " + seconds_of(sums.copy_time) +
           " copying\n";
}

std::string speed_row(const Stats& sums, int ranks) {
    if (sums.access_time == 0) return "";
    const double each = 1e-9 * static_cast<double>(sums.access_time);
    const auto bytes = static_cast<double>(sums.bytes_moved);
    std::string text = "  speed        " + rate_text(bytes, each) + " per rank during its accesses";
    if (ranks > 1)
        text += ", " + rate_text(bytes * ranks, each) + " if all " + std::to_string(ranks) +
                " access the file at once";
    return text + "\n";
}

}  // namespace

std::string kind_text(Direction direction, bool collective) {
    return std::string(collective ? "collective " : "independent ") + name_of(direction);
}

std::string end_text(const ExplainedEnd& end, int number) {
    std::string text =
        kind_text(end.direction, end.collective) + " " + std::to_string(number) + ": " +
        oratorio::bytes_text(static_cast<double>(end.bytes)) + " of " +
        (end.collective ? counted(static_cast<std::uint64_t>(end.ranks), "rank") : "rank 0");
    const std::string time = seconds_text(end.seconds);
    if (end.error.kind != ErrorKind::none)
        return text + " failed after " + time + ": " + describe(end.error, "") + "\n";
    if (end.cut_short) return text + " in " + time + "; the file ended before all data was read\n";
    if (!end.started) return text + " in " + time + rate_in_brackets(end.bytes, end.seconds) + "\n";
    return text + " in " + time + " while the program ran on" +
           rate_in_brackets(end.bytes, end.seconds, "at least ") + "\n";
}

std::string repeated_text(int number, const Repeated& again) {
    constexpr int kMany = 32;
    constexpr double kSmall = 64 << 10;
    std::string text = "access " + std::to_string(number) + " was repeated " +
                       counted(static_cast<std::uint64_t>(again.times), "time") + ", " +
                       oratorio::bytes_text(static_cast<double>(again.bytes)) + " in " +
                       seconds_text(again.seconds) + rate_in_brackets(again.bytes, again.seconds) +
                       "\n";
    const double each = static_cast<double>(again.bytes) / std::max(1, again.times);
    if (again.times >= kMany && each < kSmall)
        text += "  faster       fewer and larger calls: each moved " + oratorio::bytes_text(each) +
                " on average\n";
    return text;
}

std::string summary_text(const Stats& sums, int ranks) {
    std::string text = "  accesses     " + counted(sums.accesses, "access", "es") + " of " +
                       counted(static_cast<std::uint64_t>(ranks), "rank") + ": " +
                       bytes_text(sums.bytes_moved) + " of the program's data\n";
    text += speed_row(sums, ranks) + time_row(sums);
    if (sums.estimated_time > 0)
        text += "  estimated    " + seconds_of(sums.estimated_time) +
                ", for the accesses with a plan\n";
    text += "  storage      " + counted(sums.storage_calls, "call") + ": " +
            bytes_text(sums.bytes_stored) + " written, " + bytes_text(sums.bytes_loaded) +
            " read\n";
    if (sums.hole_reads > 0)
        text += "  holes        " + counted(sums.hole_reads, "range") +
                " with holes, read first to keep what is in them\n";
    if (sums.messages_sent > 0)
        text += "  messages     " + counted(sums.messages_sent, "message") + " between ranks, " +
                bytes_text(sums.message_bytes) + "\n";
    return text;
}

}  // namespace oratorio
