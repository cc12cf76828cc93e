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

Striping striping_on_lustre(const std::string& path) {
    const ssize_t length = ::getxattr(path.c_str(), kLayout, nullptr, 0);
    if (length <= 0) return {};
    std::vector<std::byte> bytes(static_cast<std::size_t>(length));
    const ssize_t got = ::getxattr(path.c_str(), kLayout, bytes.data(), bytes.size());
    if (got <= 0) return {};
    return striping_in(std::span(bytes).first(static_cast<std::size_t>(got)));
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
    std::uint32_t targets = 0;  ///< 0: as in its directory; likewise `chunk`
    std::uint32_t chunk = 0;
};
constexpr unsigned long kBeegfsAsk = _IOR('f', 25, BeegfsStripes);
constexpr unsigned long kBeegfsMake = _IOW('f', 27, BeegfsFile);

Striping striping_on_beegfs(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    BeegfsStripes stripes;
    if (file.number() < 0 || ::ioctl(file.number(), kBeegfsAsk, &stripes) != 0) return {};
    return {static_cast<Bytes>(stripes.chunk), stripes.targets, -1};
}

/// Clamps a value to a field's range; the maximum is a value that no server accepts.
template <class Field>
Field fit(std::int64_t value) {
    return static_cast<Field>(std::min<std::int64_t>(value, static_cast<Field>(-1)));
}

constexpr const char* kUnstriped =
    "hints striping_unit, striping_factor, start_iodevice: the file system did not apply them";
Error unstriped(int number) {
    return Error::of_errno(kUnstriped, number);
}

StripedFile make_on_lustre(const std::string& path, int permissions, const Striping& wanted) {
    constexpr int kOwned = S_IRUSR | S_IWUSR;
    StripedFile file;
    if ((permissions & kOwned) != kOwned) {  // the file must be opened a second time
        file.refused = Error::make(ErrorKind::access, kUnstriped);
        return file;
    }
    constexpr int kNew = O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC;
    Descriptor descriptor(::open(path.c_str(), kNew | kLater, permissions));
    if (descriptor.number() < 0) return file;  // the next open reports the error
    file.made = true;
    LustreLayout layout;
    layout.stripe_size = fit<std::uint32_t>(wanted.unit);
    layout.stripe_count = fit<std::uint16_t>(wanted.targets);
    if (wanted.first >= 0) layout.stripe_offset = fit<std::uint16_t>(wanted.first);
    if (::fsetxattr(descriptor.number(), kLayout, &layout, sizeof layout, 0) != 0)
        file.refused = unstriped(errno);
    if (auto closed = descriptor.close(); !closed && file.refused.kind == ErrorKind::none)
        file.refused = closed.error();
    return file;
}

/// Makes the file through its directory. BeeGFS has no call to choose the first target.
StripedFile make_on_beegfs(const std::string& path, int permissions, const Striping& wanted) {
    const std::size_t name = path.rfind('/') + 1;  // 0 if there is none
    const std::string folder = name == 0 ? "." : path.substr(0, name);
    const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    StripedFile file;
    if (descriptor.number() < 0) return file;  // the open of the file reports the error
    const BeegfsFile call{path.c_str() + name, static_cast<std::uint32_t>(permissions),
                          fit<std::uint32_t>(wanted.targets), fit<std::uint32_t>(wanted.unit)};
    file.made = ::ioctl(descriptor.number(), kBeegfsMake, &call) == 0;
    if (!file.made && errno != EEXIST) file.refused = unstriped(errno);
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
    if (file_system == kLustre) return make_on_lustre(path, permissions, wanted);
    if (file_system == kBeegfs) return make_on_beegfs(path, permissions, wanted);
    return {};
}

}  // namespace oratorio
