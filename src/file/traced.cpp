// SPDX-License-Identifier: BSD-3-Clause
// Writes what the ranks of a file did as a section of the trace, when the file is closed.
#include <optional>

#include "file/state.hpp"
#include "file/trace_text.hpp"

namespace oratorio {

namespace {

void complain(const TraceCall& call, const char* what, const Error& error) {
    if (call.complain)
        call.complain(std::string("ORATORIO_TRACE: ") + what + ": " + describe(error, call.path));
}

/// Opens the trace on rank 0. If it can't, tells the user why and returns nothing.
std::optional<TraceFile> open_trace(const TraceCall& call) {
    auto file = TraceFile::open(call.path);
    if (file) return std::move(*file);
    complain(call, "nothing is traced", file.error());
    return std::nullopt;
}

}  // namespace

void File::State::start_tracing(const TraceCall& call) {
    tracing = std::make_unique<Tracing>(call, engine.stats, transport->topology().size);
    engine.stats.timed = true;
    engine.stats.recorder = &tracing->recorder();
}

Result<void> File::tell_trace() {
    if (!state_->opened.found->traced) return {};
    Transport& ranks = *state_->transport;
    Tracing& mine = *state_->tracing;
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
    text.add_file(path(), state_->opened.location.path, reported_hints());
    const TraceTeller teller{
        [&](Rank rank, const TraceHello& hello) { text.begin_rank(rank, hello); },
        [&](const ShapeBook::Encoded& shapes) { text.add_shapes(shapes); },
        [&](std::span<const AccessRecord> some) { text.add_accesses(some); },
        [&](std::span<const Span> some) { text.add_spans(some); }};
    auto told = tell_root(ranks, mine, teller);
    if (told) {
        text.end();
    } else {
        file->give_up(told.error());
    }
    if (const auto closed = file->close(); !closed)
        complain(call, "what file accesses did is missing there", closed.error());
    return told;
}

}  // namespace oratorio
