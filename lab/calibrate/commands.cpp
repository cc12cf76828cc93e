// SPDX-License-Identifier: BSD-3-Clause
// The commands that need no MPI.
#include "commands.hpp"

#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include "file/path.hpp"
#include "plan/costs.hpp"
#include "session.hpp"

namespace oratorio::calibrate {
namespace {

int measure(const std::string& folder, bool quick) {
    const Scale scale = quick ? Scale{.data = 1 << 20, .repeats = 1, .turns = 40} : Scale{};
    Session session(scale, kGroups);
    Result<void> done = measure_files(session, folder);
    if (done) done = measure_several(session, folder);
    if (done) done = measure_direct(session, folder);
    if (done) done = measure_copies(session);
    if (done) done = measure_processes(session);
    if (done) return 0;
    std::fprintf(stderr, "%s\n", describe(done.error(), folder, Subject::other).c_str());
    return 1;
}

int tell_place(const std::string& folder) {
    char machine[256] = {};
    gethostname(machine, sizeof machine - 1);
    const std::string file_system(file_system_name(file_system_type(folder)));
    std::printf("%s\t%s\n", machine, file_system.c_str());
    return 0;
}

int tell_costs(const std::string& folder) {
    const std::string given{std::istreambuf_iterator<char>(std::cin), {}};
    const Costs built_in = built_in_costs(storage_of(file_system_type(folder)));
    std::vector<std::string> warnings;
    std::fputs(to_text(parse_costs(given, built_in, warnings)).c_str(), stdout);
    for (const std::string& warning : warnings) std::fprintf(stderr, "%s\n", warning.c_str());
    return 0;
}

}  // namespace

int run_command(const std::vector<std::string>& words) {
    const std::string mode = words.empty() ? "" : words[0];
    if (mode == "costs" && words.size() == 2) return tell_costs(words[1]);
    if (mode == "place" && words.size() == 2) return tell_place(words[1]);
    const bool quick = words.size() == 3 && words[2] == "--quick";
    if (mode == "measure" && (words.size() == 2 || quick)) return measure(words[1], quick);
    std::fputs("usage: measure FOLDER [--quick] | place FOLDER | costs FOLDER\n", stderr);
    return 2;
}

}  // namespace oratorio::calibrate
