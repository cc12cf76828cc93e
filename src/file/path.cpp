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

#include "base/words.hpp"

namespace oratorio {

namespace {

constexpr std::array<std::string_view, 11> kPrefixes{
    "ufs", "nfs", "lustre", "gpfs", "xfs", "panfs", "daos", "pvfs2", "ime", "quobyte", "testfs"};

constexpr long kNfs = 0x6969;
constexpr long kTmpfs = 0x01021994;
struct KnownType {
    long type;
    std::string_view name;
};
constexpr std::array kTypes{
    KnownType{kNfs, "NFS"},          KnownType{0x0BD00BD0, "LUSTRE"},
    KnownType{0x47504653, "GPFS"},   KnownType{0x58465342, "XFS"},
    KnownType{kTmpfs, "TMPFS"},      KnownType{0xAAD7AAEA, "PANFS"},
    KnownType{0x19830326, "BEEGFS"}, KnownType{0x00C36400, "CEPH"},
    KnownType{0x65735546, "FUSE"},
};
/// ext2 to ext4, XFS, Btrfs, F2FS, tmpfs, and an overlay of them.
constexpr std::array<long, 6> kLocal{0xEF53,     0x58465342, 0x9123683E,
                                     0xF2F52010, kTmpfs,     0x794C7630};
/// Those of one machine that need no speed: ramfs, hugetlbfs, ZFS, bcachefs, JFS, FAT, exFAT, NTFS,
/// UDF.
constexpr std::array<long, 9> kOneMachines{0x858458F6, 0x958458F6, 0x2FC12FC1,
                                           0xCA451A4E, 0x3153464A, 0x4D44,
                                           0x2011BAB0, 0x7366746E, 0x15013346};
constexpr long kOcfs2 = 0x7461636F;
constexpr long kGfs2 = 0x01161970;
/// The machine's own below user-mode Linux, and those whose nodes keep their caches in step:
/// Lustre, GPFS, PanFS, Ceph, GFS2, OCFS2.
constexpr std::array<long, 7> kCoherent{0x00C0FFEE, 0x0BD00BD0, 0x47504653, 0xAAD7AAEA,
                                        0x00C36400, kGfs2,      kOcfs2};
/// CIFS, SMB 2 and 3, and the old client of SMB.
constexpr std::array<long, 3> kSmb{0xFF534D42, 0xFE534D42, 0x517B};
constexpr long k9p = 0x01021997;
constexpr std::array kMoreNames{KnownType{kOcfs2, "ocfs2"}, KnownType{kGfs2, "gfs2"},
                                KnownType{kSmb[0], "smb"},  KnownType{kSmb[1], "smb"},
                                KnownType{kSmb[2], "smb"},  KnownType{k9p, "9p"}};

/// For a working directory that was removed, that is out of reach, or whose name is too long.
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

std::string_view file_system_name(long type) {
    const auto known = std::ranges::find(kTypes, type, &KnownType::type);
    return known == kTypes.end() ? "UFS" : known->name;
}

bool is_local(long type) {
    return std::ranges::find(kLocal, type) != kLocal.end();
}

bool is_incoherent(long type) {
    return type != 0 && !has_locks_of_one_machine(type) &&
           std::ranges::find(kCoherent, type) == kCoherent.end();
}

bool has_locks_of_one_machine(long type) {
    return is_local(type) || std::ranges::find(kOneMachines, type) != kOneMachines.end();
}

bool has_mandatory_locks(long type) {
    return std::ranges::find(kSmb, type) != kSmb.end();
}

bool has_slow_locks(long type) {
    return type == k9p;
}

std::string lower_case_name(long type) {
    const auto more = std::ranges::find(kMoreNames, type, &KnownType::type);
    if (more != kMoreNames.end()) return std::string(more->name);
    const auto known = std::ranges::find(kTypes, type, &KnownType::type);
    return known == kTypes.end() ? "this file system" : lower(known->name);
}

bool has_common_numbers(long type) {
    const std::string_view name = file_system_name(type);
    return !is_local(type) && name != "UFS" && name != "FUSE";
}

bool visible_at_once(long type) {
    return type != kNfs;
}

}  // namespace oratorio
