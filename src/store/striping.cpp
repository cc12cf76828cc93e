// SPDX-License-Identifier: BSD-3-Clause
#include "store/striping.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/descriptor.hpp"

namespace oratorio {

namespace {

constexpr long kLustre = 0x0BD00BD0;
constexpr long kGpfs = 0x47504653;
constexpr long kBeegfs = 0x19830326;
constexpr const char* kLayout = "lustre.lov";

// Lustre's structures and numbers (lustre_user.h), in the machine's byte order.
constexpr std::uint32_t kPlain = 0x0BD10BD0;
constexpr std::uint32_t kPooled = 0x0BD30BD0;
constexpr std::uint32_t kComposite = 0x0BD60BD0;
constexpr std::uint32_t kStriped = 1;  ///< the pattern of stripes without redundancy
/// Lustre's lov_user_md_v1, the layout of a file. The name of a pool and the objects follow it.
struct LustreLayout {
    std::uint32_t magic = kPlain;
    std::uint32_t pattern = 0;
    std::array<std::uint64_t, 2> object = {};
    std::uint32_t stripe_size = 0;
    std::uint16_t stripe_count = 0;
    std::uint16_t stripe_offset = 0xffff;  ///< first target; this value lets the server choose
};
static_assert(sizeof(LustreLayout) == 32);
/// Lustre's lov_comp_md_v1, the header of a layout with several parts, which follow it.
struct LustreComposite {
    std::uint32_t magic = kComposite;
    std::uint32_t size = 0;
    std::uint32_t generation = 0;
    std::uint16_t flags = 0;
    std::uint16_t parts = 0;
    std::array<std::uint64_t, 2> more = {};
};
static_assert(sizeof(LustreComposite) == 32);
/// Lustre's lov_comp_md_entry_v1, which locates a part's own layout.
struct LustrePart {
    std::uint32_t id = 0;
    std::uint32_t flags = 0;
    std::array<std::uint64_t, 2> extent = {};
    std::uint32_t offset = 0;
    std::uint32_t size = 0;
    std::array<std::uint32_t, 4> more = {};
};
static_assert(sizeof(LustrePart) == 48);

/// Makes the servers delay placement until the striping is set (O_LOV_DELAY_CREATE); these flags
/// have no other meaning for a regular file.
constexpr int kLater = O_NOCTTY | O_ASYNC;

/// Copies the record at byte `at`. Returns false if the bytes end before the record does.
template <class Record>
bool take(std::span<const std::byte> bytes, std::size_t at, Record& record) {
    if (at > bytes.size() || bytes.size() - at < sizeof record) return false;
    std::memcpy(&record, bytes.data() + at, sizeof record);
    return true;
}

Striping plain_striping(std::span<const std::byte> bytes) {
    LustreLayout layout;
    if (!take(bytes, 0, layout) || (layout.magic != kPlain && layout.magic != kPooled)) return {};
    return {static_cast<Bytes>(layout.stripe_size), layout.stripe_count, -1};
}

Striping striping_in(std::span<const std::byte> bytes) {
    LustreComposite all;
    if (!take(bytes, 0, all) || all.magic != kComposite) return plain_striping(bytes);
    LustrePart last;
    if (all.parts == 0 ||
        !take(bytes, sizeof all + (all.parts - std::size_t{1}) * sizeof last, last) ||
        last.offset > bytes.size())
        return {};
    return plain_striping(bytes.subspan(last.offset));
}

/// Returns the layout of the file `path`. If `path` is a folder, returns the default layout of its
/// new files: the folder's own, or that of the file system's root. Returns an empty layout if there
/// is none.
Result<std::vector<std::byte>> layout_on_lustre(const std::string& path) {
    std::vector<std::byte> bytes;
    ssize_t length = ::getxattr(path.c_str(), kLayout, nullptr, 0);
    if (length > 0) {
        bytes.resize(static_cast<std::size_t>(length));
        length = ::getxattr(path.c_str(), kLayout, bytes.data(), bytes.size());
    }
    if (length < 0 && errno != ENODATA) return Error::of_errno("reading a layout", errno);
    bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
    return bytes;
}

/// Returns the stripes of a file on Lustre. A part of a layout that no data has reached yet may ask
/// for all targets of the file system instead of naming a number.
Striping striping_on_lustre(const std::string& path) {
    constexpr std::int64_t kAllTargets = 0xffff;
    const auto layout = layout_on_lustre(path);
    Striping found = layout ? striping_in(*layout) : Striping{};
    if (found.targets == kAllTargets) found.targets = targets_of(path, kLustre);
    return found;
}

/// Returns a path of the folder that contains `path`.
std::string folder_of(const std::string& path) {
    const std::size_t name = path.rfind('/') + 1;  // 0 if there is none
    return name == 0 ? "." : path.substr(0, name);
}

Descriptor open_folder(const std::string& path) {
    return Descriptor(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

/// Returns the root of the mounted file system that contains `folder`: its highest ancestor on the
/// same device.
std::string root_above(std::string folder) {
    struct stat here {};
    struct stat above {};
    if (::stat(folder.c_str(), &here) != 0) return folder;
    for (;;) {
        const std::string next = folder + "/..";
        if (::stat(next.c_str(), &above) != 0 || above.st_dev != here.st_dev ||
            above.st_ino == here.st_ino)
            return folder;
        here = above;
        folder = next;
    }
}

// BeeGFS's structures and ioctl(2) numbers (beegfs_ioctl_functions.h).
struct BeegfsStripes {
    std::uint32_t pattern = 0;
    std::uint32_t chunk = 0;
    std::uint16_t targets = 0;
};
struct BeegfsFile {
    const char* name = nullptr;
    std::uint32_t permissions = 0;
    std::uint32_t targets = 0;  ///< 0: as set for the directory; likewise `chunk`
    std::uint32_t chunk = 0;
};
constexpr unsigned long kBeegfsAsk = _IOR('f', 25, BeegfsStripes);
constexpr unsigned long kBeegfsMake = _IOW('f', 27, BeegfsFile);
/// Lustre's LL_IOC_GETOBDCOUNT: replaces an int, which must be 0, with the number of
/// storage targets.
constexpr unsigned long kLustreTargets = _IOR('f', 168, long);

Striping striping_on_beegfs(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    BeegfsStripes stripes;
    if (file.number() < 0 || ::ioctl(file.number(), kBeegfsAsk, &stripes) != 0) return {};
    return {static_cast<Bytes>(stripes.chunk), stripes.targets, -1};
}

/// Caps a value at the field's maximum, so that a huge value doesn't wrap around to a small one.
template <class Field>
Field fit(std::int64_t value) {
    return static_cast<Field>(std::min<std::int64_t>(value, static_cast<Field>(-1)));
}

constexpr const char* kUnstriped =
    "hints striping_unit, striping_factor, start_iodevice: the file system did not apply them";
constexpr const char* kUnchosen = "hint oratorio_striping: the file system did not apply a layout";

/// Makes the file `path` with `layout`. `failure` is the error's text if the layout is refused.
StripedFile make_on_lustre(const std::string& path, int permissions,
                           std::span<const std::byte> layout, const char* failure) {
    constexpr int kOwned = S_IRUSR | S_IWUSR;
    StripedFile file;
    if ((permissions & kOwned) != kOwned) {  // the file must be opened a second time
        file.refused = Error::make(ErrorKind::access, failure);
        return file;
    }
    constexpr int kNew = O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC;
    Descriptor descriptor(::open(path.c_str(), kNew | kLater, permissions));
    if (descriptor.number() < 0) return file;  // the next open reports the error
    file.made = true;
    if (::fsetxattr(descriptor.number(), kLayout, layout.data(), layout.size(), 0) != 0)
        file.refused = Error::of_errno(failure, errno);
    if (auto closed = descriptor.close(); !closed && file.refused.kind == ErrorKind::none)
        file.refused = closed.error();
    return file;
}

LustreLayout plain_layout(const Striping& wanted) {
    LustreLayout layout;
    layout.stripe_size = fit<std::uint32_t>(wanted.unit);
    layout.stripe_count = fit<std::uint16_t>(wanted.targets);
    if (wanted.first >= 0) layout.stripe_offset = fit<std::uint16_t>(wanted.first);
    return layout;
}

template <class Record>
void put(std::vector<std::byte>& bytes, std::size_t at, const Record& record) {
    std::memcpy(bytes.data() + at, &record, sizeof record);
}

/// Returns a layout of several parts: a header, an entry for each part, and the parts' own layouts.
std::vector<std::byte> layout_in_parts(std::span<const LayoutPart> parts) {
    constexpr std::size_t kEach = sizeof(LustrePart) + sizeof(LustreLayout);
    std::vector<std::byte> bytes(sizeof(LustreComposite) + parts.size() * kEach);
    LustreComposite header;
    header.size = static_cast<std::uint32_t>(bytes.size());
    header.parts = static_cast<std::uint16_t>(parts.size());
    put(bytes, 0, header);
    std::size_t entry_at = sizeof header;
    std::size_t layout_at = sizeof header + parts.size() * sizeof(LustrePart);
    std::uint64_t begin = 0;
    for (const LayoutPart& part : parts) {
        const std::uint64_t end =
            part.end == INT64_MAX ? UINT64_MAX : static_cast<std::uint64_t>(part.end);
        put(bytes, entry_at,
            LustrePart{.extent = {begin, end},
                       .offset = static_cast<std::uint32_t>(layout_at),
                       .size = sizeof(LustreLayout)});
        LustreLayout layout = plain_layout({.targets = part.targets});
        layout.pattern = kStriped;
        put(bytes, layout_at, layout);
        entry_at += sizeof(LustrePart);
        layout_at += sizeof(LustreLayout);
        begin = end;
    }
    return bytes;
}

/// Makes the file by an ioctl of its folder. BeeGFS has no call to choose the first target.
StripedFile make_on_beegfs(const std::string& path, int permissions, const Striping& wanted) {
    const Descriptor folder = open_folder(path);
    StripedFile file;
    if (folder.number() < 0) return file;  // the open of the file reports the error
    const BeegfsFile call{path.c_str() + path.rfind('/') + 1,
                          static_cast<std::uint32_t>(permissions),
                          fit<std::uint32_t>(wanted.targets), fit<std::uint32_t>(wanted.unit)};
    file.made = ::ioctl(folder.number(), kBeegfsMake, &call) == 0;
    if (!file.made && errno != EEXIST) file.refused = Error::of_errno(kUnstriped, errno);
    return file;
}

}  // namespace

Striping striping_of(const std::string& path, long file_system) {
    if (file_system == kLustre) return striping_on_lustre(path);
    if (file_system == kBeegfs) return striping_on_beegfs(path);
    struct stat facts {};
    if (file_system == kGpfs && ::stat(path.c_str(), &facts) == 0)
        return {static_cast<Bytes>(facts.st_blksize), 0, -1};
    return {};
}

StripedFile make_striped(const std::string& path, long file_system, int permissions,
                         const Striping& wanted) {
    if (wanted == Striping{}) return {};
    if (file_system == kLustre) {
        const LustreLayout layout = plain_layout(wanted);
        return make_on_lustre(path, permissions, std::as_bytes(std::span(&layout, 1)), kUnstriped);
    }
    if (file_system == kBeegfs) return make_on_beegfs(path, permissions, wanted);
    return {};
}

StripedFile make_in_parts(const std::string& path, long file_system, int permissions,
                          std::span<const LayoutPart> parts) {
    if (file_system != kLustre) return {};
    return make_on_lustre(path, permissions, layout_in_parts(parts), kUnchosen);
}

std::int64_t targets_of(const std::string& path, long file_system) {
    if (file_system != kLustre) return 0;
    const Descriptor folder = open_folder(path);
    int targets = 0;
    if (folder.number() < 0 || ::ioctl(folder.number(), kLustreTargets, &targets) != 0) return 0;
    return std::max(targets, 0);
}

bool has_chosen_layout(const std::string& path, long file_system) {
    if (file_system != kLustre) return true;
    const std::string folder = folder_of(path);
    const auto own = layout_on_lustre(folder);
    if (!own) return true;
    LustreComposite header;
    if (take(*own, 0, header) && header.magic == kComposite) return true;
    if (own->empty()) return false;
    const auto of_root = layout_on_lustre(root_above(folder));
    return !of_root || *of_root != *own;
}

}  // namespace oratorio
