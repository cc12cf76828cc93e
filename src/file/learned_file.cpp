// SPDX-License-Identifier: BSD-3-Clause
#include "file/learned_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <new>

#include "base/descriptor.hpp"
#include "base/small_file.hpp"
#include "plan/learning_text.hpp"

namespace oratorio {

namespace {

/// Minimum time of unsaved accesses, in seconds, for an update of the file. A program of small
/// accesses would wait longer for the file than it could ever gain.
constexpr double kWorthKeeping = 0.1;

bool is_of_this_user(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && status.st_uid == ::geteuid();
}

/// Replaces the file's contents in one step, by renaming a temporary file. Leaves no temporary file
/// behind, even after an error.
Result<void> replace(const std::string& path, const std::string& text) {
    const std::string beside = path + ".new";
    (void)::unlink(beside.c_str());
    auto written = append_to_file(beside, text);
    if (written && ::rename(beside.c_str(), path.c_str()) != 0)
        written = Error::of_errno("renaming");
    if (!written) (void)::unlink(beside.c_str());
    return written;
}

}  // namespace

Result<std::string> LearnedFile::read() const {
    if (path_.empty() || !is_of_this_user(path_)) return std::string();
    auto text = read_small_file(path_);
    if (!text) return text;
    if (!text->empty() && !parse_learned(*text))
        return Error::make(ErrorKind::other,
                           "the file is damaged or was written by another version; it is replaced "
                           "when times are next kept");
    return text;
}

Result<std::string> LearnedFile::of_earlier_jobs() {
    const std::lock_guard lock(mutex_);
    if (earlier_) return *earlier_;
    try {
        auto text = read();
        earlier_ = text ? *text : "";
        return text;
    } catch (const std::bad_alloc&) {  // goes on without the times
        return std::string();
    }
}

Result<void> LearnedFile::merge(LearnedTimes& learned) {
    const std::lock_guard lock(mutex_);
    if (path_.empty() || is_broken_ || learned.unsaved_seconds() < kWorthKeeping) return {};
    try {
        auto kept = add(learned);
        is_broken_ = !kept;
        return kept;
    } catch (const std::bad_alloc&) {  // the times stay unsaved
        return {};
    }
}

Result<void> LearnedFile::add(LearnedTimes& learned) const {
    const std::string folder = path_.substr(0, path_.rfind('/'));
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    const Descriptor lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (lock.number() < 0) {
        const int number = failed ? failed.value() : errno;
        return Error::make(ErrorKind::other,
                           "creating or opening the file's folder; set XDG_STATE_HOME to a folder "
                           "that you can write to",
                           number);
    }
    if (!is_of_this_user(folder))
        return Error::make(ErrorKind::other,
                           "the file's folder belongs to another user; set XDG_STATE_HOME to a "
                           "folder of your own");
    if (::flock(lock.number(), LOCK_EX | LOCK_NB) != 0) return {};
    const auto before = read();
    LearnedTimes all = before ? parse_learned(*before).value_or(LearnedTimes()) : LearnedTimes();
    all.merge(learned);
    if (auto kept = replace(path_, to_text(all)); !kept) return kept;
    learned.mark_saved();
    return {};
}

std::string learned_path(const std::string& state_folder, const std::string& host) {
    if (state_folder.empty()) return "";
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const auto end = std::ranges::find_if_not(host, letter);
    const std::string machine(host.begin(), end);
    return state_folder + "/oratorio/learned-" + (machine.empty() ? "node" : machine) + ".txt";
}

}  // namespace oratorio
