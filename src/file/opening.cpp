// SPDX-License-Identifier: BSD-3-Clause
#include "file/opening.hpp"

#include "file/path.hpp"

namespace oratorio {

namespace {

/// Chooses this rank's store. Without a hint, the choice depends on how this node has mounted the
/// file system: on a server of the file system the page cache is coherent, on its clients perhaps
/// not.
StoreChoice store_here(const OpenCall& call, const std::string& path, const Hints& hints,
                       Clients clients, std::optional<long> file_system) {
    if (hints.store != StoreChoice::automatic || call.open_store) return hints.store;
    const long type = file_system ? *file_system : file_system_type(path);
    return is_incoherent(type) ? store_of(clients) : store_for(hints.plan);
}

Result<std::unique_ptr<Store>> open_chosen(StoreChoice choice, const std::string& path,
                                           const OpenMode& mode, const Hints& hints) {
    if (choice == StoreChoice::uring) return open_uring(path, mode, hints.uring_depth);
    if (choice == StoreChoice::thread) return open_threaded(path, mode, hints.uring_depth);
    if (choice == StoreChoice::uncached) return open_uncached(path, mode);
    if (choice == StoreChoice::cached_reads) return open_cached_reads(path, mode);
    return open_posix(path, mode);
}

/// Opens the file in exactly this mode. `file_system` is its f_type, if that is known.
Opening open_as(const OpenCall& call, const std::string& path, const OpenMode& mode,
                const Hints& hints, Clients clients, std::optional<long> file_system) {
    Opening opening;
    const bool ours = !call.open_store;
    if (mode.known) file_system = mode.known->file_system;
    const StoreChoice choice = store_here(call, path, hints, clients, file_system);
    opening.asks_server =
        ours && (choice == StoreChoice::uncached || choice == StoreChoice::cached_reads);
    auto opened = ours ? open_chosen(choice, path, mode, hints) : call.open_store(path, mode);
    if (!opened && ours && choice == StoreChoice::uring &&
        opened.error().kind == ErrorKind::unsupported_operation) {
        opening.fell_back = true;
        opened = open_posix(path, mode);
    }
    if (opened) {
        opening.store = std::move(*opened);
        opening.number = opening.store->number();
    } else {
        opening.error = opened.error();
    }
    return opening;
}

/// Opens the file. A write-only file is opened for reading as well where that is allowed, so that
/// holes between pieces can be filled.
Opening open_readable(const OpenCall& call, const std::string& path, OpenMode mode,
                      const Hints& hints, Clients clients, std::optional<long> file_system = {}) {
    Opening opening;
    if (mode.read) opening = open_as(call, path, mode, hints, clients, file_system);
    if (mode.read && !(call.mode.write_only && opening.error.kind == ErrorKind::access))
        return opening;
    mode.read = false;
    opening = open_as(call, path, mode, hints, clients, file_system);
    opening.readable = false;
    return opening;
}

OpenMode mode_of(const OpenCall& call, const Hints& hints) {
    return {.read = true,
            .write = call.mode.writable(),
            .permissions = hints.file_permissions,
            .direct_read = hints.plan.direct_read,
            .direct_write = hints.plan.direct_write};
}

/// The result of creating a file before its first open.
struct NewFile {
    StripedFile file;
    std::vector<LayoutPart> layout;  ///< the layout that was chosen here; empty if none was
};

/// Makes the file with a layout of several parts, unless the folder may have a layout of its own,
/// the number of the file system's targets is unknown, or the rule allows the file only one target.
NewFile make_with_chosen_layout(const std::string& path, long file_system, const Hints& hints,
                                int nodes) {
    if (has_chosen_layout(path, file_system)) return {};
    const std::int64_t targets = targets_of(path, file_system);
    if (targets == 0) return {};
    std::vector<LayoutPart> layout = growing_layout({targets, nodes});
    if (layout.size() < 2) return {};
    const StripedFile file = make_in_parts(path, file_system, hints.file_permissions, layout);
    if (!file.made || file.refused.kind != ErrorKind::none) layout.clear();
    return {file, std::move(layout)};
}

/// Creates a file that doesn't exist, with the layout that hints ask for. REQUIRES:
/// lays_out(hints).
NewFile make_new(const std::string& path, long file_system, const Hints& hints, int nodes) {
    const Striping wanted{hints.plan.striping_unit, hints.plan.striping_factor,
                          hints.start_iodevice};
    if (wanted == Striping{}) return make_with_chosen_layout(path, file_system, hints, nodes);
    return {make_striped(path, file_system, hints.file_permissions, wanted), {}};
}

/// Returns true if hints ask for a layout of new files.
bool lays_out(const Hints& hints) {
    return hints.striping == StripingChoice::automatic || hints.plan.striping_unit > 0 ||
           hints.plan.striping_factor > 0 || hints.start_iodevice >= 0;
}

}  // namespace

/// Chooses io_uring for direct I/O, because the device then works in parallel with the CPU, and on
/// many requests at once. Without direct I/O the CPU copies to and from the page cache either way,
/// and the copies cost less without a ring.
StoreChoice store_for(const PlanOptions& options) {
    return options.direct_read || options.direct_write ? StoreChoice::uring : StoreChoice::posix;
}

StoreChoice store_of(Clients clients) {
    return clients == Clients::one ? StoreChoice::cached_reads : StoreChoice::uncached;
}

Clients clients_of(bool covers_job, const Nodes& nodes) {
    return covers_job && nodes.nodes() == 1 ? Clients::one : Clients::several;
}

Sighting sighting_of(const Opening& opening) {
    Sighting sighting{opening.error, opening.readable, {}, opening.number};
    if (opening.store != nullptr) sighting.kind = opening.store->kind();
    return sighting;
}

Opening open_here(const OpenCall& call, const std::string& path, const Hints& hints,
                  Clients clients, const std::optional<Sighting>& seen) {
    OpenMode mode = mode_of(call, hints);
    if (seen) mode.known = seen->kind;
    if (seen && !seen->readable) mode.read = false;
    Opening opening = open_readable(call, path, mode, hints, clients);
    // A client may remember for a while that the file doesn't exist. An open with O_CREAT asks the
    // server.
    const bool kept_so = opening.asks_server && opening.error.kind == ErrorKind::no_such_file;
    if (call.mode.create && kept_so) {
        mode.create = true;
        opening = open_readable(call, path, mode, hints, clients);
    }
    if (seen) opening.number = seen->number;
    opening.leads = !seen;
    return opening;
}

Result<std::unique_ptr<Store>> open_again(const OpenCall& call, const std::string& path,
                                          const Hints& hints) {
    OpenCall there = call;
    there.mode.create = false;
    Opening opening = open_here(there, path, hints, Clients::several);
    if (opening.store == nullptr) return opening.error;
    return std::move(opening.store);
}

Opening open_first(const OpenCall& call, const std::string& path, const Hints& hints,
                   Clients clients, int nodes) {
    NewFile made;
    OpenMode mode = mode_of(call, hints);
    std::optional<long> file_system;
    mode.create = call.mode.create;
    if (mode.create && !call.open_store && lays_out(hints)) {
        file_system = file_system_type(path);
        made = make_new(path, *file_system, hints, nodes);
    }
    mode.exclusive = mode.create && call.mode.exclusive && !made.file.made;
    Opening opening = open_readable(call, path, mode, hints, clients, file_system);
    opening.unstriped = made.file.refused;
    opening.layout = std::move(made.layout);
    return opening;
}

}  // namespace oratorio
