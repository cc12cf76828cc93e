// SPDX-License-Identifier: BSD-3-Clause
#include "oracle/outcome.hpp"

#include <algorithm>

namespace oratorio::oracle {

namespace {

/// Returns a byte of a record written with the shared file pointer. The bytes of a record identify
/// the access that wrote it.
std::byte record_byte(const Access& access, Bytes at) {
    const auto mixed = (static_cast<std::uint64_t>(access.step) * 64 +
                        static_cast<std::uint64_t>(access.rank) + 1) *
                           0x9e3779b97f4a7c15ULL +
                       static_cast<std::uint64_t>(at) * 0xbf58476d1ce4e5b9ULL;
    return static_cast<std::byte>(1 + (mixed >> 33) % 255);
}

bool is_access(const Step& step) {
    return step.kind == Kind::access || step.kind == Kind::start;
}

bool is_collective_read(const Step& step) {
    return is_access(step) && step.collective && step.direction == Direction::read;
}

}  // namespace

Outcomes::Outcomes(const Program& program, Rules& rules)
    : program_(program), rules_(rules), done_(rules.accesses.size()) {
    for (std::size_t i = 0; i < done_.size(); ++i) {
        const Access& access = rules_.accesses[i];
        auto& buffer = done_[i].buffer;
        buffer.resize(static_cast<std::size_t>(access.bytes));
        if (access.direction == Direction::read) continue;
        std::size_t index = 0;
        for (const Piece& piece : access.pieces) {
            for (Offset at = piece.at; at < piece.at + piece.length; ++at)
                buffer[index++] = rules_.value(static_cast<int>(i), at);
        }
        for (; index < buffer.size(); ++index)
            buffer[index] = record_byte(access, static_cast<Bytes>(index));
    }
}

std::vector<std::byte>& Outcomes::buffer(const Step& step, std::size_t part) {
    return done_[static_cast<std::size_t>(rules_.find(step.id, part))].buffer;
}

void Outcomes::done(const Step& step, std::size_t part, const Outcome& outcome) {
    const auto access = static_cast<std::size_t>(rules_.find(step.id, part));
    done_[access].over = true;
    done_[access].outcome = outcome;
    rules_.accesses[access].failed = outcome.error.kind != ErrorKind::none;
}

void Outcomes::note(const Step& step, Rank rank, const Error& error) {
    notes_[step.id][rank] = error;
}

void Outcomes::told_size(const Step& step, std::size_t part, Bytes size) {
    sizes_[step.id][part] = size;
}

const Step& Outcomes::step_of(const Access& access) const {
    return *std::ranges::find(program_.steps, access.step, &Step::id);
}

/// Marks accesses that never ended as failed: the handle could not be opened, its view could not be
/// set, or the rank died. The rules then assume that these accesses overwrote nothing for certain.
/// Does the same for changes of size.
void Outcomes::note_undone() {
    for (std::size_t i = 0; i < done_.size(); ++i)
        rules_.accesses[i].failed = rules_.accesses[i].failed || !done_[i].over;
    for (const Step& step : program_.steps) {
        if (step.kind != Kind::size) continue;
        const auto noted = notes_.find(step.id);
        if (noted == notes_.end() || noted->second.begin()->second.kind != ErrorKind::none)
            rules_.fail_resize(step.id);
    }
}

/// Returns true if the step's handle uses the method by which an aggregator reports a failure only
/// to ranks that have data with it.
bool Outcomes::is_sparse(const Step& step) const {
    const auto& hints = program_.handles[static_cast<std::size_t>(step.handle)].hints;
    const auto method = hints.find("oratorio_method");
    return method != hints.end() && method->second == "sparse";
}

/// Returns true if two ranks may get these different results in one step. A client reports a failed
/// write-back at the next flush, and ranks don't agree on that
/// (docs/internals/decisions/waiting-and-progress.md). Where a sparse graph was requested, an
/// aggregator reports an error of its storage only to ranks that have data with it
/// (docs/internals/decisions/messages.md). In a collective read the ranks may not wait for each
/// other; judge_late_failure() then applies.
bool Outcomes::may_differ(const Step& step, ErrorKind one, ErrorKind other) const {
    if (step.kind == Kind::get_size) return true;  // each rank reads the size independently
    if (step.kind == Kind::sync) return program_.setting.client != ClientKind::none;
    const auto of_storage = [](ErrorKind kind) {
        return kind == ErrorKind::none || kind == ErrorKind::io || kind == ErrorKind::no_space ||
               kind == ErrorKind::quota || kind == ErrorKind::no_memory;
    };
    const bool reads = is_collective_read(step);
    if (step.id == program_.setting.memory.empty_step && !reads) return false;
    const bool sparse = is_sparse(step);
    return step.collective && (sparse || reads) && of_storage(one) && of_storage(other);
}

/// Checks that a collective read that failed on some ranks only is reported on all ranks by the
/// next collective call that can report it, which then does nothing.
std::string Outcomes::judge_late_failure(const Step& read, const Notes& all) const {
    const auto reports = [&](const Step& step) {
        const bool access = step.kind == Kind::access || step.kind == Kind::start;
        return step.handle == read.handle &&
               ((access && step.collective) || step.kind == Kind::close);
    };
    const auto from = std::ranges::find(program_.steps, read.id, &Step::id) + 1;
    const auto next = std::find_if(from, program_.steps.end(), reports);
    if (next == program_.steps.end()) return "";
    const auto told = all.find(next->id);
    if (told == all.end()) return "";
    for (const auto& [rank, error] : told->second) {
        if (error.kind == ErrorKind::none)
            return "late: rank " + std::to_string(rank) + " has not heard in " +
                   oracle::describe(program_, *next) + " that some rank failed in " +
                   oracle::describe(program_, read);
    }
    return "";
}

/// Checks that all ranks get the same error class, and that no call fails in a program without
/// faults.
std::string Outcomes::judge_errors() const {
    Notes all = notes_;
    for (std::size_t i = 0; i < done_.size(); ++i) {
        const Access& access = rules_.accesses[i];
        if (done_[i].over && step_of(access).collective)
            all[access.step][access.rank] = done_[i].outcome.error;
        if (!program_.faulty() && done_[i].outcome.error.kind != ErrorKind::none)
            return "error: " + oratorio::describe(done_[i].outcome.error, "the file") + " in " +
                   oracle::describe(program_, step_of(access));
    }
    for (const auto& [id, ranks] : all) {
        const Step& step = *std::ranges::find(program_.steps, id, &Step::id);
        const Error& first = ranks.begin()->second;
        for (const auto& [rank, error] : ranks) {
            if (!program_.faulty() && error.kind != ErrorKind::none)
                return "error: " + oratorio::describe(error, "the file") + " in " +
                       oracle::describe(program_, step);
            const bool hears = !is_collective_read(step) || rank == program_.setting.memory.rank;
            if (id == program_.setting.memory.empty_step && hears && error.kind == ErrorKind::none)
                return "memory: too little was left for " + oracle::describe(program_, step) +
                       ", but it began";
            if (error.kind != first.kind && !may_differ(step, error.kind, first.kind))
                return "ranks: different results in " + oracle::describe(program_, step) + ": " +
                       oratorio::describe(first, "the file") + " and " +
                       oratorio::describe(error, "the file");
        }
        const auto well = std::ranges::count_if(
            ranks, [](const auto& one) { return one.second.kind == ErrorKind::none; });
        const bool failed_on_some = well > 0 && well < std::ssize(ranks);
        if (!failed_on_some || !is_collective_read(step) || is_sparse(step)) continue;
        if (auto wrong = judge_late_failure(step, all); !wrong.empty()) return wrong;
    }
    return "";
}

std::string Outcomes::judge_read(int access) const {
    const Access& reader = rules_.accesses[static_cast<std::size_t>(access)];
    const Done& done = done_[static_cast<std::size_t>(access)];
    if (reader.failed || !done.over) return "";
    const Bytes bytes = done.outcome.bytes;
    if (bytes < 0 || bytes > reader.bytes)
        return "count: " + std::to_string(bytes) + " bytes read of " + std::to_string(reader.bytes);
    if (auto wrong = rules_.check_count(access, bytes); !wrong.empty()) return wrong;
    std::size_t index = 0;
    for (const Piece& piece : reader.pieces) {
        for (Offset at = piece.at; at < piece.at + piece.length; ++at, ++index) {
            if (index >= static_cast<std::size_t>(bytes)) break;
            if (auto wrong = rules_.check_read(access, at, done.buffer[index]); !wrong.empty())
                return wrong;
        }
    }
    return rules_.check_atomic(access, {done.buffer.begin(), done.buffer.begin() + bytes});
}

std::string Outcomes::judge_sizes() const {
    for (const auto& [step, parts] : sizes_) {
        for (const auto& [part, size] : parts) {
            if (auto wrong = rules_.check_told_size(step, part, size); !wrong.empty()) return wrong;
        }
    }
    return "";
}

/// Checks the counts that writes returned. A write without an error must count all its bytes; a
/// write with an error must count no more bytes than the file may hold of it.
std::string Outcomes::judge_written(const std::vector<std::byte>& contents) const {
    for (std::size_t i = 0; i < done_.size(); ++i) {
        const Access& access = rules_.accesses[i];
        const Done& done = done_[i];
        if (access.direction == Direction::read || !done.over) continue;
        const Bytes bytes = done.outcome.bytes;
        const std::string name = oracle::describe(program_, step_of(access));
        if (!access.failed && bytes != access.bytes)
            return "count: " + std::to_string(bytes) + " bytes written without an error in " + name;
        if (!access.failed || access.record) continue;
        Bytes found = 0;
        Bytes others = 0;
        std::size_t index = 0;
        for (const Piece& piece : access.pieces) {
            for (Offset at = piece.at; at < piece.at + piece.length; ++at, ++index) {
                const bool there = at < static_cast<Offset>(contents.size());
                if (there && contents[static_cast<std::size_t>(at)] == done.buffer[index]) {
                    ++found;
                } else if (!rules_.is_alone(static_cast<int>(i), at)) {
                    ++others;  // another access may have overwritten the byte
                }
            }
        }
        if (bytes > found + others)
            return "count: " + std::to_string(bytes) + " bytes are reported as written, " +
                   std::to_string(found) + " can be found, in " + name;
    }
    return "";
}

/// Checks that each record is somewhere in the file as a whole, that no two overlap, that records
/// of one rank are in the order in which it wrote them, and that those of an ordered write follow
/// each other in rank order.
std::string Outcomes::judge_records(const std::vector<std::byte>& log) const {
    std::vector<std::size_t> left;
    for (std::size_t i = 0; i < done_.size(); ++i) {
        if (rules_.accesses[i].record && rules_.accesses[i].bytes > 0) left.push_back(i);
    }
    std::vector<std::size_t> order;
    std::size_t at = 0;
    while (at < log.size()) {
        const auto fits = [&](std::size_t i) {
            const auto& buffer = done_[i].buffer;
            return at + buffer.size() <= log.size() &&
                   std::equal(buffer.begin(), buffer.end(),
                              log.begin() + static_cast<std::ptrdiff_t>(at));
        };
        const auto found = std::ranges::find_if(left, fits);
        if (found == left.end())
            return "records: no record begins at byte " + std::to_string(at) + " of the log";
        at += done_[*found].buffer.size();
        order.push_back(*found);
        left.erase(found);
    }
    if (!left.empty())
        return "records: lost in " + oracle::describe(program_, step_of(rules_.accesses[left[0]]));
    for (std::size_t i = 0; i < order.size(); ++i) {
        const Access& one = rules_.accesses[order[i]];
        for (std::size_t k = i + 1; k < order.size(); ++k) {
            const Access& other = rules_.accesses[order[k]];
            const bool before = other.known[static_cast<std::size_t>(one.rank)] >= one.end;
            const bool after = one.known[static_cast<std::size_t>(other.rank)] >= other.end;
            if (after && !before)
                return "records: in the wrong order: " + oracle::describe(program_, step_of(other));
            const bool same = one.step == other.step;
            if (same && (other.rank < one.rank || rules_.accesses[order[i + 1]].step != one.step))
                return "records: not in rank order in " + oracle::describe(program_, step_of(one));
        }
    }
    return "";
}

std::string Outcomes::judge(const test::MemoryDisk& disk) {
    if (auto wrong = judge_errors(); !wrong.empty()) return wrong;
    note_undone();
    const auto contents = disk.contents();
    const auto data = std::min<std::size_t>(contents.size(), kLogBegin);
    for (std::size_t at = 0; at < data; ++at) {
        if (auto wrong = rules_.check_end(static_cast<Offset>(at), contents[at]); !wrong.empty())
            return wrong;
    }
    const auto at_the_end = [&](Offset at) { return contents[static_cast<std::size_t>(at)]; };
    if (auto wrong = rules_.check_mixed(static_cast<Offset>(data), at_the_end); !wrong.empty())
        return wrong;
    for (std::size_t i = 0; i < done_.size(); ++i) {
        if (rules_.accesses[i].direction == Direction::write) continue;
        if (auto wrong = judge_read(static_cast<int>(i)); !wrong.empty()) return wrong;
    }
    if (auto wrong = judge_sizes(); !wrong.empty()) return wrong;
    if (auto wrong = judge_written(contents); !wrong.empty()) return wrong;
    const bool log = program_.handles.back().log;
    if (log && contents.size() > data && !program_.faulty()) {
        return judge_records({contents.begin() + kLogBegin, contents.end()});
    }
    return log ? "" : rules_.check_size(disk.size());
}

}  // namespace oratorio::oracle
