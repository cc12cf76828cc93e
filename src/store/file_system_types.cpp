// SPDX-License-Identifier: BSD-3-Clause
#include "store/file_system_types.hpp"

#include <algorithm>
#include <array>

#include "base/string_util.hpp"

namespace oratorio {

namespace {

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
/// Local file systems: ext2 to ext4, XFS, Btrfs, F2FS, tmpfs and overlayfs.
constexpr std::array<long, 6> kLocal{0xEF53,     0x58465342, 0x9123683E,
                                     0xF2F52010, kTmpfs,     0x794C7630};
/// Other file systems of one machine: ramfs, hugetlbfs, ZFS, bcachefs, JFS, FAT, exFAT, NTFS, UDF.
/// Then read-only images, which no machine changes: squashfs, EROFS, ISO 9660, cramfs.
/// is_local() leaves all of them out, because plans aren't tuned for them.
constexpr std::array<long, 13> kOneMachines{
    0x858458F6, 0x958458F6, 0x2FC12FC1, 0xCA451A4E, 0x3153464A, 0x4D44,    0x2011BAB0,
    0x7366746E, 0x15013346, 0x73717368, 0xE0F5E1E2, 0x9660,     0x28CD3D45};
constexpr long kOcfs2 = 0x7461636F;
constexpr long kGfs2 = 0x01161970;
/// The host's files under user-mode Linux, and cluster file systems with coherent caches: Lustre,
/// GPFS, PanFS, Ceph, GFS2, OCFS2.
constexpr std::array<long, 7> kCoherent{0x00C0FFEE, 0x0BD00BD0, 0x47504653, 0xAAD7AAEA,
                                        0x00C36400, kGfs2,      kOcfs2};
/// The file systems of SMB: CIFS, SMB 2 and 3, and the old SMB client.
constexpr std::array<long, 3> kSmb{0xFF534D42, 0xFE534D42, 0x517B};
constexpr long k9p = 0x01021997;
constexpr std::array kMoreNames{KnownType{kOcfs2, "ocfs2"}, KnownType{kGfs2, "gfs2"},
                                KnownType{kSmb[0], "smb"},  KnownType{kSmb[1], "smb"},
                                KnownType{kSmb[2], "smb"},  KnownType{k9p, "9p"}};

}  // namespace

std::string_view file_system_name(long type) {
    const auto known = std::ranges::find(kTypes, type, &KnownType::type);
    return known == kTypes.end() ? "UFS" : known->name;
}

std::vector<long> named_file_systems() {
    std::vector<long> types{0};
    for (const KnownType& known : kTypes) types.push_back(known.type);
    return types;
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

bool reads_ahead_without_lock(long type) {
    return type == kGfs2;
}

bool has_whole_file_locks(long type) {
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
