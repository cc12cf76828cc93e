// SPDX-License-Identifier: BSD-3-Clause
#include "file/path.hpp"

#include <fcntl.h>
#include <limits.h>
#include <strings.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace oratorio {

namespace {

constexpr std::array<std::string_view, 11> kPrefixes{
    "ufs", "nfs", "lustre", "gpfs", "xfs", "panfs", "daos", "pvfs2", "ime", "quobyte", "testfs"};

/// Makes a path that leads through a descriptor of the working directory, which was removed, is out
/// of reach, or has too long a name.
FixedPath through_descriptor(const std::string& path) {
    Descriptor folder(::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    const std::string link = "/proc/self/fd/" + std::to_string(folder.number());
    if (folder.number() < 0 || ::access(link.c_str(), F_OK) != 0) return {path};
    return {link + "/" + path, std::move(folder)};
}

}  // namespace

FixedPath fix_path(const std::string& path) {
    if (path.empty() || path.front() == '/') return {path};
    std::array<char, PATH_MAX> folder;
    if (::getcwd(folder.data(), folder.size()) == nullptr) return through_descriptor(path);
    std::string whole = std::string(folder.data()) + "/" + path;
    if (whole.size() >= PATH_MAX) return through_descriptor(path);
    return {std::move(whole)};
}

std::string_view without_prefix(std::string_view path, Prefixes dropped) {
    const std::size_t colon = path.find(':');
    if (colon == std::string_view::npos || dropped == Prefixes::kept) return path;
    const auto compare = dropped == Prefixes::in_any_letters ? strncasecmp : std::strncmp;
    const bool known = std::ranges::any_of(kPrefixes, [&](std::string_view prefix) {
        return prefix.size() == colon && compare(prefix.data(), path.data(), colon) == 0;
    });
    return known ? path.substr(colon + 1) : path;
}

long file_system_type(const std::string& path) {
    struct statfs facts {};
    if (statfs(path.c_str(), &facts) == 0) return static_cast<long>(facts.f_type);
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    return statfs(folder.c_str(), &facts) == 0 ? static_cast<long>(facts.f_type) : 0;
}

Storage storage_of(long file_system, bool asks_server) {
    if (asks_server) return Storage::server;
    return file_system_name(file_system) == "TMPFS" ? Storage::memory : Storage::disk;
}

}  // namespace oratorio
