// From a call to an Access: argument checks, the place in the view, and the file pointer
// afterwards. Whatever is wrong is noted in the Access, never returned early, when the call is
// collective: the other ranks count on this one.
#include <algorithm>

#include "file/path.hpp"
#include "file/state.hpp"

namespace oratorio {

namespace {

Error check_mode(const AccessMode& mode, Direction direction) {
    if (mode.sequential) {
        return Error::make(ErrorKind::unsupported_operation,
                           "access: a sequential file has only the shared pointer");
    }
    if (direction == Direction::read && !mode.readable()) {
        return Error::make(ErrorKind::access, "read: the file is open for writing only");
    }
    if (direction == Direction::write && !mode.writable()) {
        return Error::make(ErrorKind::read_only, "write: the file is open for reading only");
    }
    return {};
}

/// Fills in where in the view's data the access begins, or why it can't be made.
void place(Access& access, const View& view, Offset start) {
    const Bytes bytes = access.memory.size();
    if (bytes == INT64_MAX) {
        access.refused = Error::make(ErrorKind::count, "access: count times datatype is too large");
    } else if (view.etype_size == 0 ? bytes > 0 : bytes % view.etype_size != 0) {
        access.refused =
            Error::make(ErrorKind::argument, "access: the data is not a whole number of etypes");
    } else if (const auto from = view.data_position(start, bytes)) {
        access.from = *from;
    } else {
        access.refused = Error::make(
            ErrorKind::argument, "access: the offset is negative or past the largest file offset");
    }
}

}  // namespace

PlanOptions File::State::plan_options() const {
    PlanOptions options = hints.plan;
    const auto& nodes = transport->topology().node_of;
    options.coherent = std::ranges::all_of(nodes, [](int node) { return node == 0; });
    options.local_file_system = is_local(opened.file_system);
    options.mappable = opened.mappable;
    options.costs = opened.costs;
    // Without reading, only methods that write the pieces and nothing between them.
    if (!opened.holes_readable) {
        options.cb_write = options.ds_write = Toggle::disable;
        options.method = "auto";
    }
    return options;
}

Outcome File::access(const AccessCall& call) {
    State& state = *state_;
    const View& view = state.place.view;
    const Offset start = call.explicit_offset ? call.offset : state.place.position;
    Access access{call.direction, view.file, 0, call.memory, call.buffer, call.refused};
    if (access.refused.kind == ErrorKind::none) access.refused = check_mode(mode(), call.direction);
    if (access.refused.kind == ErrorKind::none) place(access, view, start);
    if (access.refused.kind != ErrorKind::none && !call.collective) return {0, access.refused};
    const Bytes asked = access.bytes();
    if (view.file.shape->size() == 0 || asked == 0) access.memory = Layout{};

    const PlanOptions options = state.plan_options();
    RunContext context{*state.transport,
                       state.store.get(),
                       options,
                       state.engine.stats,
                       state.engine.buffers,
                       0,
                       {},
                       &state.engine.node,
                       &state.engine.plans,
                       &state.engine.io_thread,
                       [&state](const std::string& text) { state.opened.voice.warn(text); }};
    if (call.collective) {
        context.sequence = state.engine.collectives++;
        if (state.opened.explain) {
            context.on_plan = [this, &voice = state.opened.voice](const Plan& plan) {
                voice.say(path() + ": " + explain(plan));
            };
        }
    }
    const Outcome outcome = run_access(context, access, call.collective);
    // Something asked for may turn out not to be had only when it is first used.
    if (state.store != nullptr && !state.store->limits().remark.empty())
        state.opened.voice.warn(state.store->limits().remark);
    if (!call.explicit_offset && outcome.error.kind == ErrorKind::none && asked > 0) {
        state.place.position += asked / view.etype_size;
    }
    return outcome;
}

}  // namespace oratorio
