// SPDX-License-Identifier: BSD-3-Clause
// Files on Lustre, BeeGFS and GPFS, which are simulated by this program's own system calls. A new
// file gets the stripes that hints request. Plans and reports use the stripes of any file.
#include "store/striping.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdarg>
#include <cstring>
#include <map>

#include "sim/file_ranks.hpp"

namespace oratorio::test {
namespace {

constexpr long kLustre = 0x0BD00BD0;
constexpr long kGpfs = 0x47504653;
constexpr long kBeegfs = 0x19830326;
constexpr std::uint32_t kPlain = 0x0BD10BD0, kPooled = 0x0BD30BD0, kComposite = 0x0BD60BD0;

/// The simulated file system of the tests' folder. REQUIRES: the ranks run one at a time.
struct FileSystem {
    long type = 0;
    int refusal = 0;                                       ///< errno with which setting a layout
                                                           ///< fails
    int told = 0;                                          ///< number of attempts to set a layout;
                                                           ///< on BeeGFS, of successful ones
    std::map<ino_t, std::vector<std::byte>> layouts = {};  ///< layouts on Lustre, by inode
    std::map<ino_t, Striping> striped = {};                ///< stripes on BeeGFS, by inode
    int targets = 0;       ///< number of storage targets on Lustre; 0: its ioctl is refused
    int layout_errno = 0;  ///< errno with which reading a layout fails
    int asked = 0;         ///< number of calls of getxattr and ioctl
};
FileSystem file_system;

/// Returns the number at `place` in the bytes of a layout.
template <class Number>
Number at(const std::vector<std::byte>& bytes, std::size_t place) {
    Number number = 0;
    std::memcpy(&number, bytes.data() + place, sizeof number);
    return number;
}

/// Returns a Lustre layout with that magic, stripe size and count, in the format of lov_user_md_v1
/// or _v3.
std::vector<std::byte> plain(std::uint32_t magic, std::uint32_t size, std::uint16_t count,
                             std::size_t more = 24) {
    std::vector<std::byte> bytes(32 + more);
    std::memcpy(bytes.data(), &magic, 4);
    std::memcpy(bytes.data() + 24, &size, 4);
    std::memcpy(bytes.data() + 28, &count, 2);
    return bytes;
}

/// Returns a composite Lustre layout (lov_comp_md_v1) of `parts` components. The last one is
/// `last`; each of the others has stripes of 1 MiB on one target.
std::vector<std::byte> composite(std::uint16_t parts, const std::vector<std::byte>& last) {
    std::vector<std::byte> bytes(32 + 48 * std::size_t{parts});
    std::memcpy(bytes.data(), &kComposite, 4);
    std::memcpy(bytes.data() + 14, &parts, 2);
    for (std::size_t part = 0; part < parts; ++part) {
        const auto own = part + 1 < parts ? plain(kPlain, 1 << 20, 1) : last;
        const auto offset = static_cast<std::uint32_t>(bytes.size());
        std::memcpy(bytes.data() + 32 + 48 * part + 24, &offset, 4);
        bytes.insert(bytes.end(), own.begin(), own.end());
    }
    return bytes;
}

ino_t inode_of(const std::string& path) {
    struct stat facts {};
    EXPECT_EQ(::stat(path.c_str(), &facts), 0) << path;
    return facts.st_ino;
}

class StripedFiles : public testing::Test {
  protected:
    void SetUp() override { file_system = {}; }
    void TearDown() override { file_system = {}; }

    std::string file_with(const std::vector<std::byte>& layout) {
        const std::string path = folder_.make("data", "something");
        file_system = {.type = kLustre};
        file_system.layouts[inode_of(path)] = layout;
        return path;
    }
    [[nodiscard]] std::string path() const { return folder_.file("data"); }
    [[nodiscard]] const Folder& folder() const { return folder_; }

  private:
    Folder folder_;
};

TEST_F(StripedFiles, ReportsTheStripesOfAFile) {
    const Striping told{4 << 20, 8, -1};
    EXPECT_EQ(striping_of(file_with(plain(kPlain, 4 << 20, 8)), kLustre), told);
    EXPECT_EQ(striping_of(file_with(plain(kPooled, 4 << 20, 8, 40)), kLustre), told);
    EXPECT_EQ(striping_of(file_with(composite(3, plain(kPlain, 4 << 20, 8))), kLustre), told)
        << "the stripes of the last part";
    EXPECT_EQ(striping_of(path(), 0xEF53), Striping{}) << "another file system isn't asked";
}

TEST_F(StripedFiles, ALayoutThatAsksForAllTargetsHasThoseOfTheFileSystem) {
    const std::string path = file_with(composite(2, plain(kPlain, 1 << 20, 0xffff)));
    file_system.targets = 6;
    EXPECT_EQ(striping_of(path, kLustre), (Striping{1 << 20, 6, -1}));
    file_system.targets = 0;
    EXPECT_EQ(striping_of(path, kLustre), (Striping{1 << 20, 0, -1})) << "not known";
}

TEST_F(StripedFiles, IgnoresAnInvalidLayout) {
    EXPECT_EQ(striping_of(file_with({}), kLustre), Striping{});
    EXPECT_EQ(striping_of(file_with(plain(0x12345678, 4 << 20, 8)), kLustre), Striping{});
    const auto whole = composite(3, plain(kPlain, 4 << 20, 8));
    for (std::size_t bytes = 1; bytes < whole.size() - 24; ++bytes) {
        const auto cut = std::vector(whole.begin(), whole.begin() + static_cast<long>(bytes));
        EXPECT_EQ(striping_of(file_with(cut), kLustre), Striping{}) << bytes;
    }
    auto beyond = composite(1, plain(kPlain, 4 << 20, 8));
    std::memset(beyond.data() + 32 + 24, 0xff, 4);
    EXPECT_EQ(striping_of(file_with(beyond), kLustre), Striping{});
    EXPECT_EQ(striping_of(folder().file("none"), kLustre), Striping{});
}

TEST_F(StripedFiles, GpfsTellsItsBlock) {
    const std::string file = folder().make("data", "something");
    struct stat facts {};
    ASSERT_EQ(::stat(file.c_str(), &facts), 0);
    EXPECT_EQ(striping_of(file, kGpfs), (Striping{facts.st_blksize, 0, -1}));
}

/// Opens a file with these hints, and returns the hints that the file then reports.
HintMap opened(const std::string& path, AccessMode mode, const HintMap& hints,
               std::vector<std::string>* said = nullptr) {
    HintMap report;
    OpenCall call = call_of(path, mode, hints);
    call.narrate = [said](const std::string& text) {
        if (said != nullptr) said->push_back(text);
    };
    with_file(3, call, [&](File& file, Rank rank) {
        if (rank == 1) report = file.reported_hints();
    });
    return report;
}

constexpr AccessMode kExclusive{.read_write = true, .create = true, .exclusive = true};
const HintMap kWanted{
    {"striping_unit", "1048576"}, {"striping_factor", "4"}, {"start_iodevice", "7"}};

TEST_F(StripedFiles, ANewFileIsStripedAsHintsAsk) {
    file_system.type = kLustre;
    HintMap report = opened(path(), kCreate, kWanted);
    ASSERT_EQ(file_system.told, 1) << "by one rank, once";
    const auto& layout = file_system.layouts[inode_of(path())];
    EXPECT_EQ(at<std::uint32_t>(layout, 0), kPlain);
    EXPECT_EQ(at<std::uint32_t>(layout, 24), 1U << 20);
    EXPECT_EQ(at<std::uint16_t>(layout, 28), 4);
    EXPECT_EQ(at<std::uint16_t>(layout, 30), 7);
    EXPECT_EQ(report["striping_unit"], "1048576");
    EXPECT_EQ(report["striping_factor"], "4");
    // The file exists by now, so that its layout cannot change, and the open reports that layout.
    report = opened(path(), kCreate, {{"striping_unit", "65536"}, {"striping_factor", "9"}});
    EXPECT_EQ(file_system.told, 1);
    EXPECT_EQ(report["striping_unit"], "1048576");
    EXPECT_EQ(report["striping_factor"], "4");
}

TEST_F(StripedFiles, TheFileSystemChoosesUnrequestedValues) {
    file_system.type = kLustre;
    opened(path(), kCreate, {});
    EXPECT_EQ(file_system.told, 0);
    opened(folder().file("more"), kCreate, {{"striping_factor", "100000"}});
    const auto& layout = file_system.layouts[inode_of(folder().file("more"))];
    EXPECT_EQ(at<std::uint32_t>(layout, 24), 0U);
    EXPECT_EQ(at<std::uint16_t>(layout, 28), 0xffff) << "all targets";
    EXPECT_EQ(at<std::uint16_t>(layout, 30), 0xffff) << "from any";
}

TEST_F(StripedFiles, ExclusiveCreationIsStillExclusive) {
    file_system.type = kLustre;
    opened(path(), kExclusive, kWanted);
    EXPECT_EQ(file_system.told, 1);
    for (const ErrorKind kind : on_ranks(3, [&](Transport& transport) {
             return kind_of(open_on(transport, call_of(path(), kExclusive, kWanted)));
         }))
        EXPECT_EQ(kind, ErrorKind::file_exists);
    EXPECT_EQ(file_system.told, 1);
}

TEST_F(StripedFiles, AStripingThatIsRefusedIsAWarning) {
    file_system = {.type = kLustre, .refusal = EINVAL};
    std::vector<std::string> said;
    opened(path(), kCreate, {{"striping_unit", "1000"}}, &said);
    ASSERT_EQ(said.size(), 1U);
    EXPECT_NE(said[0].find("EINVAL"), std::string::npos) << said[0];
    EXPECT_NE(said[0].find("the file system did not apply them"), std::string::npos) << said[0];
}

TEST_F(StripedFiles, AFileThatCantBeOpenedTwiceIsAWarning) {
    file_system.type = kLustre;
    std::vector<std::string> said;
    HintMap hints = kWanted;
    hints["file_perm"] = "444";
    opened(path(), kCreate, hints, &said);
    EXPECT_EQ(file_system.told, 0);
    EXPECT_EQ(said.size(), 1U);
}

TEST_F(StripedFiles, OnBeegfsANewFileIsStripedAsHintsAskAndReportsIt) {
    file_system.type = kBeegfs;
    HintMap report = opened(path(), kCreate, kWanted);
    EXPECT_EQ(file_system.told, 1) << "by one rank, once";
    EXPECT_EQ(file_system.striped[inode_of(path())], (Striping{1 << 20, 4, -1}));
    EXPECT_EQ(report["striping_unit"], "1048576");
    EXPECT_EQ(report["striping_factor"], "4");
    report = opened(path(), kCreate, {{"striping_unit", "65536"}, {"striping_factor", "9"}});
    EXPECT_EQ(report["striping_unit"], "1048576") << "it was there, so it stays as it is";
    EXPECT_EQ(report["striping_factor"], "4");
    EXPECT_EQ(striping_of(folder().file("none"), kBeegfs), Striping{});
}

TEST_F(StripedFiles, OnBeegfsFilesOfTheWorkingFolderAndUnstripedOnesAreMadeToo) {
    file_system.type = kBeegfs;
    ASSERT_EQ(::chdir(folder().file(".").c_str()), 0);
    EXPECT_TRUE(make_striped("here", kBeegfs, 0600, {1 << 16, 0, -1}).made);
    ASSERT_EQ(::chdir("/"), 0);
    EXPECT_EQ(file_system.striped[inode_of(folder().file("here"))], (Striping{1 << 16, 0, -1}));
    opened(path(), kCreate, {});
    EXPECT_EQ(file_system.told, 1) << "no hint requests a layout";
    EXPECT_FALSE(make_striped(folder().file("no/such"), kBeegfs, 0600, {1 << 16, 0, -1}).made);
}

TEST_F(StripedFiles, AStripingThatBeegfsRefusesIsAWarningAndTheFileIsMade) {
    file_system = {.type = kBeegfs, .refusal = EINVAL};
    std::vector<std::string> said;
    opened(path(), kCreate, {{"striping_unit", "1000"}}, &said);
    ASSERT_EQ(said.size(), 1U);
    EXPECT_NE(said[0].find("the file system did not apply them"), std::string::npos) << said[0];
    EXPECT_NE(inode_of(path()), 0U);
}

const HintMap kAuto{{"oratorio_striping", "auto"}};

/// Returns the end and the number of targets of each part of a layout.
std::vector<LayoutPart> parts_of(const std::vector<std::byte>& layout) {
    EXPECT_EQ(at<std::uint32_t>(layout, 0), kComposite);
    EXPECT_EQ(at<std::uint32_t>(layout, 4), layout.size());
    std::vector<LayoutPart> parts;
    std::uint64_t begin = 0;
    for (std::size_t i = 0; i < at<std::uint16_t>(layout, 14); ++i) {
        const std::size_t entry = 32 + 48 * i;
        const auto own = at<std::uint32_t>(layout, entry + 24);
        EXPECT_EQ(at<std::uint64_t>(layout, entry + 8), begin);
        EXPECT_EQ(at<std::uint32_t>(layout, entry + 28), 32U);
        EXPECT_EQ(at<std::uint32_t>(layout, own), kPlain);
        EXPECT_EQ(at<std::uint16_t>(layout, own + 30), 0xffff) << "from any target";
        begin = at<std::uint64_t>(layout, entry + 16);
        const auto end = static_cast<Bytes>(std::min<std::uint64_t>(begin, INT64_MAX));
        parts.push_back({end, at<std::uint16_t>(layout, own + 28)});
    }
    EXPECT_EQ(begin, UINT64_MAX) << "to the end of any file";
    return parts;
}

TEST_F(StripedFiles, AutoGivesANewFileALayoutThatGrows) {
    file_system = {.type = kLustre, .targets = 56};
    std::vector<std::string> said;
    HintMap report = opened(path(), kCreate, kAuto, &said);
    EXPECT_EQ(file_system.told, 1) << "by one rank, once";
    EXPECT_EQ(parts_of(file_system.layouts[inode_of(path())]), growing_layout({56, 1}));
    EXPECT_EQ(report["striping_factor"], "8");
    EXPECT_EQ(said, std::vector<std::string>{});
    opened(path(), kCreate, kAuto, &said);
    EXPECT_EQ(file_system.told, 1) << "the file exists, so its layout stays";
    opened(folder().file("more"), kExclusive, kAuto, &said);
    EXPECT_EQ(file_system.told, 2);
    for (const ErrorKind kind : on_ranks(3, [&](Transport& transport) {
             return kind_of(open_on(transport, call_of(path(), kExclusive, kAuto)));
         }))
        EXPECT_EQ(kind, ErrorKind::file_exists);
    EXPECT_EQ(said, std::vector<std::string>{});
}

TEST_F(StripedFiles, AutoFollowsStripingHintsAndLeavesLayoutsThatSomebodyChose) {
    file_system = {.type = kLustre, .targets = 56};
    HintMap hints = kAuto;
    hints["striping_factor"] = "4";
    opened(path(), kCreate, hints);
    EXPECT_EQ(at<std::uint32_t>(file_system.layouts[inode_of(path())], 0), kPlain);
    file_system.told = 0;
    const ino_t here = inode_of(folder().file("."));
    file_system.layouts[here] = plain(kPlain, 1 << 20, 1);
    opened(folder().file("1"), kCreate, kAuto);
    EXPECT_EQ(file_system.told, 0) << "the folder has a layout";
    for (std::string above = folder().file(".") + "/.."; above.size() < 200; above += "/..")
        file_system.layouts[inode_of(above)] = plain(kPlain, 1 << 20, 1);
    opened(folder().file("2"), kCreate, kAuto);
    EXPECT_EQ(file_system.told, 1) << "the folder has the file system's default";
    file_system.layouts[here] = composite(2, plain(kPlain, 1 << 20, 4));
    opened(folder().file("3"), kCreate, kAuto);
    EXPECT_EQ(file_system.told, 1) << "the default has several parts";
}

TEST_F(StripedFiles, AutoDoesNothingWhereItKnowsTooLittle) {
    for (const FileSystem& one :
         {FileSystem{.type = kLustre}, FileSystem{.type = kLustre, .targets = 1},
          FileSystem{.type = kLustre, .targets = 56, .layout_errno = EACCES},
          FileSystem{.type = kBeegfs, .targets = 56}, FileSystem{.type = kGpfs}}) {
        file_system = one;
        std::vector<std::string> said;
        opened(folder().file(std::to_string(one.type) + std::to_string(one.targets)), kCreate,
               kAuto, &said);
        EXPECT_EQ(file_system.told, 0);
        EXPECT_EQ(said, std::vector<std::string>{});
    }
}

TEST_F(StripedFiles, ALayoutThatIsRefusedIsAWarningAndTheFileIsMade) {
    file_system = {.type = kLustre, .refusal = EOPNOTSUPP, .targets = 56};
    std::vector<std::string> said;
    opened(path(), kCreate, kAuto, &said);
    ASSERT_EQ(said.size(), 1U);
    EXPECT_NE(said[0].find("hint oratorio_striping: the file system did not apply a layout"),
              std::string::npos)
        << said[0];
    EXPECT_NE(inode_of(path()), 0U);
    file_system.refusal = 0;
    HintMap hints = kAuto;
    hints["file_perm"] = "444";
    opened(folder().file("more"), kCreate, hints, &said);
    EXPECT_EQ(file_system.told, 1) << "the file can't be opened twice";
    EXPECT_EQ(said.size(), 2U);
}

/// Opens a file, by default creating it, makes it `bytes` long, closes it and returns the messages
/// about striping.
std::string told_of(const std::string& path, Bytes bytes, const HintMap& hints,
                    AccessMode mode = kCreate) {
    std::string told;
    OpenCall call = call_of(path, mode, hints);
    call.summary = true;
    call.narrate = [&told](const std::string& text) {
        if (text.find("striping: ") != std::string::npos) told += text;
    };
    with_file(3, call, [&](File& file, Rank) { EXPECT_TRUE(file.set_size(bytes)); });
    return told;
}

constexpr Bytes kGiB = 1 << 30;

TEST_F(StripedFiles, CloseReportsHowManyTargetsWouldBeBetter) {
    const std::string path = file_with(plain(kPlain, 4 << 20, 1));
    file_system.targets = 6;
    ASSERT_EQ(::truncate(path.c_str(), 0), 0);
    const std::string start = path + ": striping: 40 GiB on 1 storage target; ";
    EXPECT_EQ(told_of(path, 40 * kGiB, {}),
              start +
                  "6 would be better: hint striping_factor=6, or lfs setstripe -c 6 "
                  "on the folder before the file is created\n");
    EXPECT_EQ(told_of(path, 0, {}), "") << "the file had bytes when it was opened";
    EXPECT_EQ(told_of(path, 40 * kGiB, {{"oratorio_striping", "off"}}), "");
    EXPECT_EQ(told_of(path, 0, {{"striping_factor", "1"}}), "");
    file_system.targets = 0;
    EXPECT_EQ(told_of(path, 40 * kGiB, {}),
              start +
                  "8 would be better if the file system has that many: "
                  "hint striping_factor=8, or lfs setstripe "
                  "-c 8 on the folder before the file is created\n");
}

TEST_F(StripedFiles, CloseReportsNothingIfTheTargetsAreEnough) {
    const std::string path = file_with(plain(kPlain, 4 << 20, 4));
    file_system.targets = 7;
    ASSERT_EQ(::truncate(path.c_str(), 0), 0);
    EXPECT_EQ(told_of(path, 0, {}), "");
    EXPECT_EQ(told_of(path, 7 * kGiB, {}), "") << "7 is less than twice 4";
    ASSERT_EQ(::truncate(path.c_str(), 0), 0);
    EXPECT_EQ(told_of(path, 40 * kGiB, {}, kReadWrite), "") << "the file isn't new";
    ASSERT_EQ(::truncate(path.c_str(), 0), 0);
    EXPECT_EQ(told_of(path, 40 * kGiB, {{"striping_factor", "4"}}), "") << "the user chose";
    file_system = {};
    ASSERT_EQ(::truncate(path.c_str(), 0), 0);
    EXPECT_EQ(told_of(path, 40 * kGiB, {}), "") << "no stripes";
    EXPECT_EQ(file_system.asked, 0);
}

TEST_F(StripedFiles, OnBeegfsCloseReportsHowManyTargetsWouldBeBetter) {
    file_system.type = kBeegfs;
    EXPECT_TRUE(make_striped(path(), kBeegfs, 0600, {1 << 19, 2, -1}).made);
    for (const char* const hint : {"advise", "auto"}) {
        EXPECT_EQ(told_of(path(), 5 * kGiB, {{"oratorio_striping", hint}}),
                  path() +
                      ": striping: 5 GiB on 2 storage targets; 5 would be better if the file "
                      "system has that "
                      "many: hint striping_factor=5, or beegfs-ctl --setpattern --numtargets=5 on "
                      "the folder "
                      "before the file is created\n");
        ASSERT_EQ(::truncate(path().c_str(), 0), 0);
    }
}

TEST_F(StripedFiles, QueriesNoOtherFileSystems) {
    HintMap report = opened(path(), kCreate, kWanted);
    opened(folder().file("more"), kCreate, kAuto);
    EXPECT_EQ(file_system.told, 0);
    EXPECT_EQ(file_system.asked, 0);
    EXPECT_EQ(report["striping_unit"], "1048576") << "domains are cut there all the same";
}

}  // namespace
}  // namespace oratorio::test

extern "C" int statfs(const char* path, struct statfs* facts) noexcept {
    using oratorio::test::file_system;
    struct stat there {};
    if (::stat(path, &there) != 0) return -1;
    *facts = {};
    facts->f_type = file_system.type != 0 ? file_system.type : 0xEF53;
    return 0;
}

extern "C" int fstatfs(int descriptor, struct statfs* facts) noexcept {
    using oratorio::test::file_system;
    struct stat there {};
    if (::fstat(descriptor, &there) != 0) return -1;
    *facts = {};
    facts->f_type = file_system.type != 0 ? file_system.type : 0xEF53;
    return 0;
}

extern "C" ssize_t getxattr(const char* path, const char* name, void* value, size_t size) noexcept {
    using oratorio::test::file_system;
    ++file_system.asked;
    if (file_system.layout_errno != 0) {
        errno = file_system.layout_errno;
        return -1;
    }
    struct stat there {};
    if (::stat(path, &there) != 0) return -1;
    const auto layout = file_system.layouts.find(there.st_ino);
    if (std::strcmp(name, "lustre.lov") != 0 || layout == file_system.layouts.end()) {
        errno = ENODATA;
        return -1;
    }
    const auto& bytes = layout->second;
    if (size > 0) std::memcpy(value, bytes.data(), std::min(size, bytes.size()));
    return static_cast<ssize_t>(bytes.size());
}

extern "C" int fsetxattr(int descriptor, const char* name, const void* value, size_t size,
                         int) noexcept {
    using oratorio::test::file_system;
    struct stat there {};
    EXPECT_EQ(::fstat(descriptor, &there), 0);
    EXPECT_EQ(there.st_size, 0);
    EXPECT_STREQ(name, "lustre.lov");
    ++file_system.told;
    if (file_system.refusal != 0) {
        errno = file_system.refusal;
        return -1;
    }
    const auto* const bytes = static_cast<const std::byte*>(value);
    file_system.layouts[there.st_ino].assign(bytes, bytes + size);
    return 0;
}

/// Simulates the requests of Lustre, for the number of targets, and of BeeGFS, for a file's stripes
/// and for a new file in a folder.
extern "C" int ioctl(int descriptor, unsigned long request, ...) noexcept {
    using oratorio::test::file_system;
    struct Stripes {
        std::uint32_t pattern, chunk;
        std::uint16_t targets;
    };
    struct NewFile {
        const char* name;
        std::uint32_t permissions, targets, chunk;
    };
    std::va_list more;
    va_start(more, request);
    void* const argument = va_arg(more, void*);
    va_end(more);
    ++file_system.asked;
    errno = ENOTTY;
    if (file_system.type == oratorio::test::kLustre && request == _IOR('f', 168, long) &&
        file_system.targets > 0) {
        EXPECT_EQ(*static_cast<int*>(argument), 0) << "another value asks for metadata targets";
        *static_cast<int*>(argument) = file_system.targets;
        return 0;
    }
    if (file_system.type != oratorio::test::kBeegfs) return -1;
    struct stat there {};
    if (request == _IOR('f', 25, Stripes)) {
        EXPECT_EQ(::fstat(descriptor, &there), 0);
        const auto known = file_system.striped.find(there.st_ino);
        if (known == file_system.striped.end()) return -1;
        *static_cast<Stripes*>(argument) = {1, static_cast<std::uint32_t>(known->second.unit),
                                            static_cast<std::uint16_t>(known->second.targets)};
        return 0;
    }
    if (request != _IOW('f', 27, NewFile)) return -1;
    const auto wanted = *static_cast<const NewFile*>(argument);
    errno = file_system.refusal;
    if (file_system.refusal != 0) return -1;
    const int made =
        ::openat(descriptor, wanted.name, O_CREAT | O_EXCL | O_WRONLY, wanted.permissions);
    if (made < 0) return -1;
    ++file_system.told;
    EXPECT_EQ(::fstat(made, &there), 0);
    file_system.striped[there.st_ino] = {wanted.chunk, wanted.targets, -1};
    return ::close(made);
}
