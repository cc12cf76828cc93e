// SPDX-License-Identifier: BSD-3-Clause
#include "bind/process.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <mutex>
#include <set>
#include <span>

#include "base/amounts.hpp"
#include "base/small_file.hpp"
#include "base/standard_error.hpp"
#include "hints/misspelt.hpp"
#include "hints/site_settings.hpp"
#include "mpi/errors_returned.hpp"
#include "mpi/predefined_layouts.hpp"

namespace oratorio::bind {

namespace {

Process* made = nullptr;  ///< the result of process(); null before its first call

/// Returns the value of an environment variable. Returns "" in a set-uid program, because a
/// variable could make it use files for which the user has no rights.
std::string environment(const char* name) {
    const char* value = secure_getenv(name);
    return value != nullptr ? value : "";
}

/// Returns the names of the environment variables that the program may trust: none in a set-uid
/// program.
std::vector<std::string_view> names_of_variables() {
    std::vector<std::string_view> names;
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
        const std::string_view text(*variable);
        const std::string name(text.substr(0, text.find('=')));
        if (secure_getenv(name.c_str()) != nullptr) names.push_back(text.substr(0, name.size()));
    }
    return names;
}

bool is_on(const char* name) {
    const std::string value = environment(name);
    return !value.empty() && value != "0";
}

/// Returns the number in a variable; `otherwise` if the variable isn't set, or isn't a whole number
/// from 0 on. In the latter case adds a sentence that says so to `troubles`.
int number_in(const char* variable, int otherwise, std::vector<std::string>& troubles) {
    const std::string text = environment(variable);
    if (text.empty()) return otherwise;
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc{} && end == text.data() + text.size() && value >= 0) return value;
    troubles.push_back(std::string(variable) + "=" + text +
                       " is ignored: it must be a whole number, 0 or more");
    return otherwise;
}

/// Returns the contents of the file at `path`. If the file can't be used, returns "" and adds a
/// sentence to `troubles` that calls the file `name`.
std::string contents_of(const std::string& path, const char* name,
                        std::vector<std::string>& troubles) {
    auto text = read_small_file(path);
    if (text) return std::move(*text);
    troubles.push_back(std::string(name) + " is ignored: " + describe(text.error(), path));
    return "";
}

/// Returns a path that stays valid when the program changes its working directory; the path itself
/// if the working directory has been removed.
std::string absolute(const std::string& given) {
    std::error_code unknown;
    const auto path = std::filesystem::absolute(given, unknown);
    return unknown ? given : path.string();
}

/// Returns the user's folder for a purpose (XDG Base Directory Specification): the folder that the
/// variable names, or if it is not set, the folder `below` in the home folder; "" without a home.
std::string user_folder(const char* variable, const std::string& below) {
    if (const std::string given = environment(variable); !given.empty()) return absolute(given);
    const std::string home = environment("HOME");
    return home.empty() ? "" : absolute(home + below);
}

std::string host_name() {
    char name[256] = {};
    gethostname(name, sizeof name - 1);
    return name;
}

std::string costs_folder() {
    if (const std::string given = environment("ORATORIO_COSTS"); !given.empty())
        return absolute(given);
    const std::string cache = user_folder("XDG_CACHE_HOME", "/.cache");
    return cache.empty() ? "" : cache + "/oratorio";
}

std::string trace_path() {
    if (!is_on("ORATORIO_TRACE")) return "";
    const std::string given = environment("ORATORIO_TRACE");
    return absolute(given == "1" ? "oratorio-trace.json" : given);
}

/// Translates the variables of other implementations into settings.
void take_site_settings(Settings& settings, std::span<const std::string_view> names) {
    std::vector<EnvironmentVariable> variables;
    for (const std::string_view name : names) {
        // The name is followed by '=' and the value in the environment's text.
        variables.push_back({name, name.data() + name.size() + 1});
    }
    SiteSettings site = read_site_settings(variables);
    settings.hints.site_hints = std::move(site.hints);
    settings.print_hints = site.print_hints;
    settings.summary = site.summary;
    settings.troubles.insert(settings.troubles.end(), site.remarks.begin(), site.remarks.end());
}

int copy_nothing(MPI_Comm, int, void*, void*, void*, int* flag) {
    *flag = 0;
    return MPI_SUCCESS;
}

/// Writes an explanation that concerns all ranks, on rank 0 only, if explanations are on.
void narrate_of_all(const std::string& text, std::string_view kind,
                    const JsonMembers& members = {}) {
    int rank = 0;
    const bool known = world_exists() && !mpi_finalized() &&
                       host().Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS;
    if (process().settings.explain && known && rank == 0) narrate(text, kind, members);
}

/// Finishes all operations under way, writes the last line of explanations and frees the kept
/// workspaces, at the beginning of MPI_Finalize. Files may still be closed later, by other
/// callbacks of MPI_Finalize or by a program that has a session.
int on_finalize(MPI_Comm, int, void*, void*) {
    process().engine.shut_down();
    for (const auto& open : process().files.open_files()) {
        const std::lock_guard lock(open->mutex);
        if (open->file != nullptr) process().account.add(*open->file);
    }
    narrate_of_all("Oratorio " ORATORIO_VERSION " saw " + process().account.text() + " on rank 0",
                   "end", process().account.members());
    process().workspaces.close();
    return MPI_SUCCESS;
}

/// Warns of files that were written and never closed. They can't be closed now: closing is
/// collective, and MPI has ended. Does nothing if the program ends without MPI_Finalize: that is an
/// error, which the program or its launcher reports.
[[gnu::destructor]] void tell_open_files() {
    const auto files =
        made == nullptr ? std::vector<std::shared_ptr<OpenFile>>() : process().files.open_files();
    if (files.empty() || (world_exists() && !mpi_finalized())) return;
    for (const auto& open : files)
        if (open->file != nullptr && open->workspace.rank() == 0 && open->file->stats().written)
            tell(open->path +
                 " was never closed: its last data may be missing; call MPI_File_close");
}

/// Calls `ask`. If the host finds that `type` isn't a datatype, returns that error and keeps it
/// from the program's error handlers. Where threads may call MPI, the guard for that costs more
/// than `ask` itself, so it is left out for datatypes that this thread recently found valid.
template <class Ask>
auto of_valid(MPI_Datatype type, const Ask& ask) {
    thread_local std::array<MPI_Datatype, 16> last{};
    const std::size_t hash = std::hash<MPI_Datatype>()(type);
    MPI_Datatype& place = last[(hash + hash / last.size()) % last.size()];
    if (place == type) return ask();
    const ErrorsReturned returned;
    auto answer = ask();
    if (answer) place = type;
    return answer;
}

using MadeDecoder = Result<std::unique_ptr<Decoder>>;
/// Never destroyed, because other threads may be using it. The compare-and-swap in decoder()
/// publishes the object to the load there.
std::atomic<MadeDecoder*> current_decoder{nullptr};

MadeDecoder& decoder() {
    if (MadeDecoder* known = current_decoder.load()) return *known;
    auto fresh = std::make_unique<MadeDecoder>(Decoder::make());
    MadeDecoder* known = nullptr;
    return current_decoder.compare_exchange_strong(known, fresh.get()) ? *fresh.release() : *known;
}

/// Writes a line or block to the file that ORATORIO_EXPLAIN names. Without such a file, writes to
/// stderr as tell(line, urgent) does.
void write_explanation(const std::string& line, bool urgent) {
    const Settings& settings = process().settings;
    static std::atomic<bool> to_file{!settings.explain_path.empty()};
    if (!to_file) return tell(line, urgent);
    const auto written = append_to_file(settings.explain_path, line);
    if (written) return;
    if (to_file.exchange(false))
        tell(
            "ORATORIO_EXPLAIN: can't append to the file; explanations go to standard error "
            "instead: " +
                describe(written.error(), settings.explain_path, Subject::other),
            true);
    tell(line, urgent);
}

}  // namespace

void Account::add(const File& file) {
    if (!process().settings.explain) return;
    const std::lock_guard lock(mutex_);
    accesses_ += file.stats().accesses;
    files_.insert(file.location());
}

std::string Account::text() const {
    const std::lock_guard lock(mutex_);
    return counted(accesses_, "access", "es") + " to " + counted(files_.size(), "file");
}

JsonMembers Account::members() const {
    const std::lock_guard lock(mutex_);
    return end_members(ORATORIO_VERSION, accesses_, files_.size());
}

Settings read_environment() {
    Settings settings;
    settings.disabled = is_on("ORATORIO_DISABLE");
    settings.quiet = is_on("ORATORIO_QUIET");
    settings.explain = is_on("ORATORIO_EXPLAIN");
    const std::string where = environment("ORATORIO_EXPLAIN");
    settings.explain_all = settings.explain && where != "1";
    if (settings.explain && where != "1" && where != "all") settings.explain_path = absolute(where);
    settings.explain_json = settings.explain_path.ends_with(".json");
    settings.trace_path = trace_path();
    settings.costs_folder = costs_folder();
    settings.learned_path =
        learned_path(user_folder("XDG_STATE_HOME", "/.local/state"), host_name());
    settings.ranks_per_node = number_in("ORATORIO_RANKS_PER_NODE", 0, settings.troubles);
    settings.switches.address = environment("SLURM_TOPOLOGY_ADDR");
    if (const std::string table = environment("ORATORIO_TOPOLOGY"); !table.empty())
        settings.switches.table = contents_of(table, "ORATORIO_TOPOLOGY", settings.troubles);
    settings.wait_notice =
        number_in("ORATORIO_WAIT_NOTICE", settings.wait_notice, settings.troubles);
    settings.hints.mpich_mpiio_hints = environment("MPICH_MPIIO_HINTS");
    settings.hints.oratorio_hints = environment("ORATORIO_HINTS");
    const auto names = names_of_variables();
    for (auto& sentences :
         {misspelt_pairs(settings.hints.oratorio_hints), misspelt_variables(names),
          malformed_mpich_hints(settings.hints.mpich_mpiio_hints)})
        settings.troubles.insert(settings.troubles.end(), sentences.begin(), sentences.end());
    take_site_settings(settings, names);
    settings.hints.oratorio_method = environment("ORATORIO_METHOD");
    settings.hints.oratorio_learn = environment("ORATORIO_LEARN");
    const std::string romio_hints = environment("ROMIO_HINTS");
    settings.hints.romio_hints_text =
        romio_hints.empty()
            ? contents_of("/etc/romio-hints", "the file of hints for all jobs", settings.troubles)
            : contents_of(romio_hints, "ROMIO_HINTS", settings.troubles);
    return settings;
}

Process& process() {
    static Process* const only = made = new Process(read_environment());
    return *only;
}

bool disabled() {
    return process().settings.disabled;
}

bool belongs_to_host(MPI_File fh) {
    return disabled() || process().files.is_host(fh);
}

void tell(const std::string& text, bool urgent) {
    if (!urgent && process().settings.quiet) return;
    write_to_standard_error("oratorio: " + text + (text.ends_with('\n') ? "" : "\n"));
}

void record(const std::string& line) {
    write_explanation(line, process().settings.explain);
}

void summarize(const std::string& text) {
    write_explanation(text, true);
}

void narrate(const std::string& text, std::string_view kind, const JsonMembers& members) {
    if (process().settings.explain_json) return record(explain_line(text, kind, members));
    record(text.ends_with('\n') ? text : text + "\n");
}

void tell_that_it_is_off() {
    static std::once_flag once;
    std::call_once(once, [] {
        narrate_of_all("Oratorio is off (ORATORIO_DISABLE); all files use the host's MPI-IO",
                       "off");
    });
}

void tell_troubles(const std::vector<std::string>& troubles) {
    static std::mutex telling;
    static std::set<std::string> told;
    const std::lock_guard lock(telling);
    for (const std::string& trouble : troubles)
        if (told.insert(trouble).second) tell(trouble);
}

std::string read_costs(std::string_view file_system) {
    if (process().settings.costs_folder.empty()) return "";
    const std::string folder = process().settings.costs_folder + "/";
    const std::string name = std::string(file_system) + ".costs";
    std::vector<std::string> troubles;
    std::string text =
        contents_of(folder + host_name() + "-" + name, "the file of costs", troubles);
    if (text.empty()) text = contents_of(folder + name, "the file of costs", troubles);
    tell_troubles(troubles);
    return text;
}

Result<DecodedType> decode(MPI_Datatype type) {
    if (const DecodedType* const known = find_predefined(type)) return *known;
    auto& known = decoder();
    if (!known) return known.error();
    return of_valid(type, [&] { return (*known)->decode(type); });
}

Result<SignaturePtr> signature(MPI_Datatype type) {
    auto& known = decoder();
    if (!known) return known.error();
    return of_valid(type, [&] { return (*known)->signature(type); });
}

std::shared_ptr<BlockCache> keep_list_memory() {
    auto& known = decoder();
    return known ? (*known)->keep_memory() : nullptr;
}

void forget_keys() {
    current_decoder = nullptr;
    process().workspaces.forget_key();
}

void watch_for_finalize() {
    if (!world_exists()) return;  // sessions only: each has its own communicators
    static std::once_flag once;
    std::call_once(once, [] {
        // If the engine has shut down, a callback of MPI_Finalize opens the first file, while MPI
        // deletes attributes: too late to set one.
        if (process().engine.is_shut_down()) return process().workspaces.close();
        int key = 0;
        if (host().Comm_create_keyval(copy_nothing, on_finalize, &key, nullptr) != MPI_SUCCESS)
            return;
        host().Comm_set_attr(MPI_COMM_SELF, key, nullptr);
        host().Comm_free_keyval(&key);
    });
}

}  // namespace oratorio::bind
