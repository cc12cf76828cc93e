// SPDX-License-Identifier: BSD-3-Clause
// Draws the setting of a generated program, its handles, and the owner of every byte.
#include <algorithm>
#include <cerrno>
#include <iterator>
#include <string_view>

#include "oracle/generator.hpp"

namespace oratorio::oracle {

namespace {

constexpr const char* kMethods[] = {
    "auto",          "auto",          "auto",      "list_io",        "mmap",
    "shared_buffer", "shared_buffer", "two_phase", "sieve",          "shared_buffer_list",
    "shared_data",   "double_buffer", "cb_cyclic", "cb_file_layout", "one_writer",
    "naive"};

}  // namespace

void Generator::setting() {
    Setting& s = program_.setting;
    program_.ranks = features_.ranks;
    if (program_.ranks == 0) program_.ranks = chance(60) ? 3 + below(2) : 2 + below(5);
    s.ranks_per_node = chance(75) ? 0 : 1 + below(3);
    s.node_memory = chance(80);
    s.node_lists = test::Random(program_.seed * 0xff51afd7ed558ccdULL + 3).chance(60);
    s.cores = 1 + below(program_.ranks);
    s.beside = static_cast<Beside>(below(3));
    s.pace = static_cast<Pace>(below(3));
    constexpr int kSwitches[] = {3, 10, 30, 60};
    s.switch_percent = kSwitches[below(4)];
    s.late_percent = chance(50) ? 0 : 30;
    s.prefill = chance(50) ? 0 : random_.between(1, kDataEnd);
    s.asynchronous = chance(25);
    s.trouble_percent = chance(15) ? 20 : 0;
    clients();
    if (features_.only_faults || (features_.faults && chance(30))) {
        s.fault_rank = below(program_.ranks);
        constexpr int kErrors[] = {EIO, ENOSPC, EIO, EDQUOT};
        s.fault = {1 + below(40), kErrors[below(4)], chance(70), true};
        if (!s.fault.writes) s.fault.reads = true;
    }
    lock_faults();
}

/// Where the job's locks are in use, makes a rank's locks fail from the n-th on, or a rank die
/// while it holds one. Draws from a seed of its own, so that the rest of the program stays the
/// same.
void Generator::lock_faults() {
    Setting& s = program_.setting;
    const bool job =
        features_.locks == "job" || (features_.locks.empty() && facts_of(s.client).locks_of_node);
    if (!job) return;
    test::Random dice(program_.seed * 0x9fb21c651e98df25ULL + 1);
    const auto nth = static_cast<int>(dice.between(1, 8));
    if (s.fault_rank >= 0 && dice.chance(40)) {
        s.fault.nth = 0;
        s.failing_lock = nth;
    }
    if (!features_.deaths) return;
    s.dying = static_cast<Rank>(dice.below(static_cast<std::uint64_t>(program_.ranks)));
    s.last_lock = nth;
}

/// Lets some programs run over clients with caches. Draws from a seed of its own, so that the rest
/// of a program is the same with them and without.
void Generator::clients() {
    constexpr ClientKind kKinds[] = {
        ClientKind::nfs,          ClientKind::nfs,  ClientKind::nfs, ClientKind::nfs_by_pages,
        ClientKind::nfs_refusing, ClientKind::fuse, ClientKind::fuse};
    test::Random dice(program_.seed * 0xd6e8feb86659fd93ULL + 5);
    const bool named = features_.client != ClientKind::none;
    const bool wanted = features_.clients || features_.plain_clients || dice.chance(12) || named;
    if (!wanted || features_.routines) return;
    Setting& s = program_.setting;
    s.client = kKinds[dice.below(std::size(kKinds))];
    if (named) s.client = features_.client;
    s.ranks_per_node = static_cast<int>(dice.between(1, std::max(1, program_.ranks - 1)));
    s.asynchronous = false;
}

/// Returns the id of a random step in which that rank makes a collective call that allocates
/// memory.
int Generator::call_of(Rank rank, test::Random& dice) const {
    std::vector<int> calls;
    for (const Step& step : program_.steps) {
        const bool data = step.kind == Kind::access || step.kind == Kind::start;
        const bool takes = step.kind == Kind::open || step.kind == Kind::view || data;
        const bool mine = std::ranges::find(step.parts, rank, &Part::rank) != step.parts.end();
        if (takes && step.collective && mine) calls.push_back(step.id);
    }
    return calls[dice.below(calls.size())];
}

/// Makes memory or threads scarce in some programs. Draws from a seed of its own, so that the rest
/// of the program stays the same.
void Generator::scarcity() {
    test::Random dice(program_.seed * 0xc2b2ae3d27d4eb4fULL + 9);
    const bool faults = features_.faults || features_.only_faults;
    const bool wanted = features_.scarce || dice.chance(faults ? 30 : 10);
    if (!wanted || features_.routines || features_.deaths) return;
    Setting& s = program_.setting;
    Scarcity& memory = s.memory;
    memory.rank = static_cast<Rank>(dice.below(static_cast<std::uint64_t>(program_.ranks)));
    if (dice.chance(40)) memory.helperless = memory.rank;
    if (dice.chance(30)) {
        memory.threads = false;
        for (Handle& handle : program_.handles)
            if (dice.chance(60)) handle.hints["oratorio_method"] = "multithreaded";
    }
    // Over a client, the library's store may allocate a large buffer without recourse to the
    // reserve, and a call reports an error if that fails. So in programs with a client whose calls
    // may not fail, no allocation fails.
    const bool may_fail = features_.scarce || faults;
    if (s.client != ClientKind::none && !may_fail) return;
    memory.first = dice.between(1, 1L << dice.between(1, 12));
    memory.for_good = dice.chance(50);
    memory.maps = may_fail && dice.chance(40);
    if (may_fail && dice.chance(30)) memory.empty_step = call_of(memory.rank, dice);
}

/// Draws a method from those that were added to the library later, or none. The draws have seeds of
/// their own, so that each seed still generates the program that it generated before.
void Generator::later_method(HintMap& hints) const {
    constexpr std::string_view kLater[] = {"cb_block",        "disk_directed", "grouping",
                                           "prefetch",        "sparse",        "two_layer",
                                           "two_layer_shared"};
    constexpr std::string_view kLast[] = {"cb_gather", "data_shipping", "datatype_io"};
    test::Random last(program_.seed * 0xbf58476d1ce4e5b9ULL + program_.handles.size());
    std::string method = features_.method;
    if (method.empty() && last.chance(8)) method = kLast[last.below(std::size(kLast))];
    if (std::ranges::find(kLast, method) != std::end(kLast)) {
        hints["oratorio_method"] = method;
        hints["oratorio_agents"] = std::to_string(last.below(4));
        hints["oratorio_ship_block"] = std::to_string(last.between(1, 5000));
        return;
    }
    test::Random dice(program_.seed * 0x94d049bb133111ebULL + program_.handles.size());
    if (method.empty() && dice.chance(25)) method = kLater[dice.below(std::size(kLater))];
    if (std::ranges::find(kLater, method) == std::end(kLater)) return;
    test::Random overlap(program_.seed * 0x2545f4914f6cdd1dULL + program_.handles.size());
    const bool overlapped =
        features_.method.empty() && method.starts_with("two_layer") && overlap.chance(40);
    hints["oratorio_method"] = overlapped ? method + "_overlapped" : method;
    hints["oratorio_group"] = std::to_string(dice.between(1, 3));
    hints["oratorio_max_acc"] = std::to_string(dice.between(0, 2));
    hints["oratorio_local_aggregators_per_node"] = std::to_string(dice.below(4));
    if (dice.chance(30)) hints["oratorio_group_pieces"] = std::to_string(dice.between(1, 4));
    if (dice.chance(30)) hints["striping_unit"] = std::to_string(dice.between(100, 5000));
}

/// Draws file domains and the number of storage targets. They have a seed of their own, so that the
/// programs of older seeds keep everything else.
void Generator::file_domains(HintMap& hints) const {
    constexpr std::string_view kDomains[] = {"even", "block", "cyclic", "stripes", "stripes"};
    test::Random dice(program_.seed * 0xa0761d6478bd642fULL + program_.handles.size());
    if (!dice.chance(25)) return;
    hints["oratorio_domains"] = kDomains[dice.below(std::size(kDomains))];
    hints["striping_unit"] = std::to_string(dice.between(100, 5000));
    if (dice.chance(70)) hints["striping_factor"] = std::to_string(dice.between(1, 6));
}

/// Names the aggregators, in descending order. They have a seed of their own, so that the programs
/// of older seeds keep everything else.
void Generator::named_aggregators(HintMap& hints) const {
    test::Random dice(program_.seed * 0xd6e8feb86659fd93ULL + program_.handles.size());
    if (!dice.chance(15)) return;
    std::string ranks;
    for (Rank rank = std::max(1, program_.ranks - 1) - 1; rank >= 0; --rank) {
        if (dice.chance(50)) ranks += (ranks.empty() ? "" : ",") + std::to_string(rank);
    }
    if (!ranks.empty()) hints["oratorio_aggregators"] = ranks;
}

HintMap Generator::hints() {
    HintMap hints;
    const std::string method = features_.method.empty()
                                   ? kMethods[below(static_cast<int>(std::size(kMethods)))]
                                   : features_.method;
    if (method != "auto") hints["oratorio_method"] = method;
    later_method(hints);
    file_domains(hints);
    named_aggregators(hints);
    hints["cb_buffer_size"] = std::to_string(4096 << below(5));
    if (chance(60)) hints["oratorio_sub_buffer"] = "4096";
    if (chance(50)) hints["oratorio_slots"] = std::to_string(1 + below(4));
    // Many slots and messages are drawn from a seed of their own.
    test::Random many(program_.seed * 0xbf58476d1ce4e5b9ULL + program_.handles.size());
    const bool has_many = many.chance(20);
    if (has_many) hints["oratorio_slots"] = std::to_string(many.between(4, 8));
    if (hints["cb_buffer_size"] == "8192") hints["oratorio_buffer_per_slot"] = "true";
    if (chance(50)) hints["cb_nodes"] = std::to_string(1 + below(program_.ranks));
    if (chance(25)) hints["romio_cb_write"] = chance(70) ? "enable" : "disable";
    if (chance(25)) hints["romio_cb_read"] = chance(70) ? "enable" : "disable";
    if (chance(20)) hints["romio_ds_write"] = "enable";
    if (chance(20)) hints["romio_ds_read"] = chance(50) ? "enable" : "disable";
    hints["ind_rd_buffer_size"] = hints["ind_wr_buffer_size"] = chance(50) ? "4096" : "16384";
    hints["oratorio_message_bytes"] = "4096";
    hints["oratorio_messages_in_flight"] = std::to_string(1 + below(3));
    if (has_many) hints["oratorio_messages_in_flight"] = std::to_string(many.between(2, 4));
    hints["oratorio_cyclic_block"] = std::to_string(random_.between(50, 5000));
    if (program_.setting.asynchronous) hints["oratorio_store"] = "uring";
    if (features_.plain_clients) hints["oratorio_store"] = "posix";
    if (!features_.locks.empty()) hints["oratorio_locks"] = features_.locks;
    test::Random promise(program_.seed * 0x9e3779b97f4a7c15ULL + program_.handles.size());
    if (promise.chance(20))
        // The hint is a promise that the program may break. It is drawn from a seed of its own.
        hints["romio_no_indep_rw"] = "true";
    return hints;
}

void Generator::add_handle(std::vector<Rank> members, bool log) {
    program_.handles.push_back({std::move(members), hints(), log});
}

void Generator::handles() {
    std::vector<Rank> all;
    for (Rank rank = 0; rank < program_.ranks; ++rank) all.push_back(rank);
    add_handle(all, false);
    if (chance(35)) {  // another handle, opened by all ranks or all but one
        std::vector<Rank> some = all;
        if (chance(50) && program_.ranks > 2) some.erase(some.begin() + below(program_.ranks));
        add_handle(some, false);
    }
    const bool selves = chance(25);
    for (const Rank rank : all) {
        if (selves || chance(8)) add_handle({rank}, false);
    }
    if (features_.partial_handles) add_partial_handles(all);
    if (chance(20) && !features_.deaths) add_handle(all, true);
}

/// Adds a handle of all ranks but one, and one of that rank alone. Draws from a seed of its own.
void Generator::add_partial_handles(std::vector<Rank> all) {
    test::Random dice(program_.seed * 0xaf251af3b0f025b5ULL + 7);
    const auto left_out = all.begin() + static_cast<std::ptrdiff_t>(dice.below(all.size()));
    const Rank alone = *left_out;
    all.erase(left_out);
    if (!all.empty()) add_handle(all, false);
    add_handle({alone}, false);
}

/// Cuts a tile into pieces and deals them to the members of all handles; some pieces have no owner.
void Generator::deal() {
    std::size_t owners = 0;
    for (const Handle& handle : program_.handles) owners += handle.log ? 0 : handle.members.size();
    owned_.assign(owners, {});
    const bool holes = chance(60);
    constexpr int kLongest[] = {1, 6, 40, 300, 1500};
    const int longest = kLongest[below(5)];
    const auto count = static_cast<std::size_t>(below(16)) + owners;
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < count; ++i)
        order.push_back(i < owners ? i : random_.below(owners + (holes ? 2 : 0)));
    if (chance(70)) {
        for (std::size_t i = order.size(); i > 1; --i)
            std::swap(order[i - 1], order[random_.below(i)]);
    }
    Offset at = 0;
    for (const std::size_t owner : order) {
        const Bytes length = random_.between(1, longest);
        if (owner < owners) owned_[owner].pieces.push_back({at, length});
        at += length;
        if (holes && chance(10)) at += random_.between(1, longest);
    }
    const Offset displacement = chance(50) ? 0 : random_.between(0, 6000);
    for (Tiles& view : owned_) {
        view.displacement = displacement;
        view.extent = at;
    }
}

}  // namespace oratorio::oracle
