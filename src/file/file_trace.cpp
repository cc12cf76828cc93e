// SPDX-License-Identifier: BSD-3-Clause
#include "file/file_trace.hpp"

#include <optional>

#include "file/trace_text.hpp"

namespace oratorio {

namespace {

void complain(const TraceCall& call, const char* what, const Error& error) {
    if (call.complain)
        call.complain(std::string("ORATORIO_TRACE: ") + what + ": " +
                      describe(error, call.path, Subject::other));
}

/// Opens the trace on rank 0. If that fails, tells the user why and returns nothing.
std::optional<TraceFile> open_trace(const TraceCall& call) {
    auto file = TraceFile::open(call.path, call.spawned);
    if (file) return std::move(*file);
    complain(call, "tracing is off", file.error());
    return std::nullopt;
}

}  // namespace

void FileTrace::start(const TraceCall& call, int ranks) {
    tracing_ = std::make_unique<Tracing>(call, stats_, ranks);
    timed_without_ = stats_.timed;
    stats_.timed = true;
    stats_.recorder = &tracing_->recorder();
}

TracedAccess FileTrace::record(const AccessCall& call, bool started) {
    Recorder& recorder = tracing_->recorder();
    if (recorder.full()) {
        recorder.skip();
        if (recorder.idle()) stats_.stop_recording(timed_without_);
        return TracedAccess(recorder);
    }
    AccessRecord mine;
    mine.begin = Recorder::now();
    mine.collective = call.collective ? 0 : -1;
    mine.direction = call.direction;
    mine.started = started;
    mine.shared = call.at == Positioning::shared;
    return {recorder, mine};
}

Result<void> FileTrace::write(Transport& ranks, const std::string& path,
                              const std::string& location, const HintMap& hints) {
    Tracing& mine = *tracing_;
    const bool root = ranks.topology().rank == 0;
    const TraceCall& call = mine.call();
    std::optional<TraceFile> file;
    if (root) file = open_trace(call);
    const auto there = agree_on_root(ranks, file.has_value());
    if (!there) return there.error();
    if (!**there) return {};
    auto clocks = compare_clocks(ranks);
    if (!clocks) return clocks.error();
    if (!root) return tell_root(ranks, mine, {});

    TraceText text(*file, ranks.topology(), std::move(*clocks));
    text.add_file(path, location, hints);
    const TraceTeller teller{
        [&](Rank rank, const TraceHello& hello) { text.begin_rank(rank, hello); },
        [&](const ShapeBook::Encoded& shapes) { text.add_shapes(shapes); },
        [&](std::span<const AccessRecord> some) { text.add_accesses(some); },
        [&](std::span<const Span> some) { text.add_spans(some); },
        [&](std::span<const CallRecord> some) { text.add_calls(some); }};
    auto told = tell_root(ranks, mine, teller);
    if (told) {
        text.end();
    } else {
        file->give_up(told.error());
    }
    if (const auto closed = file->close(); !closed)
        complain(call, "the accesses to a file are missing from the trace", closed.error());
    return told;
}

}  // namespace oratorio
