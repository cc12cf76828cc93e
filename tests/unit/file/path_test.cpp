// SPDX-License-Identifier: BSD-3-Clause
#include "file/path.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace oratorio::test::path_test {
namespace {

constexpr std::array kWays{Prefixes::kept, Prefixes::in_small_letters, Prefixes::in_any_letters};

TEST(Path, KnownPrefixesAreDroppedAsTheHostDoes) {
    const std::string name = "/scratch/a:b.h5";
    for (const char* prefix :
         {"ufs:", "nfs:", "lustre:", "gpfs:", "testfs:", "xfs:", "panfs:", "daos:"}) {
        EXPECT_EQ(without_prefix(prefix + name, Prefixes::in_small_letters), name) << prefix;
        EXPECT_EQ(without_prefix(prefix + name, Prefixes::in_any_letters), name) << prefix;
        EXPECT_EQ(without_prefix(prefix + name, Prefixes::kept), prefix + name) << prefix;
    }
    for (const char* prefix : {"UFS:", "Lustre:", "nFS:"}) {
        EXPECT_EQ(without_prefix(prefix + name, Prefixes::in_any_letters), name) << prefix;
        EXPECT_EQ(without_prefix(prefix + name, Prefixes::in_small_letters), prefix + name);
    }
}

TEST(Path, OtherColonsBelongToTheName) {
    for (const char* path :
         {"", ":", "a", "run:12.dat", "/ufs:x", "ufs", "u:x", "ufsx:y", "uf:x"}) {
        for (const Prefixes way : kWays) EXPECT_EQ(without_prefix(path, way), path);
    }
}

TEST(Path, OnlyOnePrefixIsDropped) {
    EXPECT_EQ(without_prefix("ufs:nfs:x", Prefixes::in_any_letters), "nfs:x");
}

TEST(FileSystem, IsKnownForTheRootFolder) {
    EXPECT_NE(file_system_type("/"), 0);
    EXPECT_EQ(file_system_type("/no such file"), file_system_type("/"));
    EXPECT_EQ(file_system_type("/no such folder/file"), 0);
    EXPECT_EQ(file_system_type("no such file"), file_system_type("."));
}

TEST(FileSystem, OnlyNfsDelaysVisibility) {
    EXPECT_EQ(file_system_name(0x6969), "NFS");
    EXPECT_FALSE(visible_at_once(0x6969));
    EXPECT_EQ(file_system_name(0x0BD00BD0), "LUSTRE");
    EXPECT_TRUE(visible_at_once(0x0BD00BD0));
    EXPECT_EQ(file_system_name(0xEF53), "UFS");
    EXPECT_TRUE(visible_at_once(0xEF53));
}

TEST(FileSystem, ClientsOfNetworkFileSystemsAndUnknownOnesAreIncoherent) {
    constexpr std::array kIncoherent{0x6969L,     0xFF534D42L, 0xFE534D42L, 0x517BL, 0x01021997L,
                                     0x65735546L, 0x5346414FL, 0x19830326L, 0x12345L};
    for (const long type : kIncoherent) EXPECT_TRUE(is_incoherent(type)) << std::hex << type;
    constexpr std::array kCoherent{0xEF53L,     0x01021994L, 0x794C7630L, 0x0BD00BD0L,
                                   0x47504653L, 0x858458F6L, 0L};
    for (const long type : kCoherent) EXPECT_FALSE(is_incoherent(type)) << std::hex << type;
}

TEST(FileSystem, OnlyTheKernelOfALocalFileSystemHasAllLocks) {
    for (const long type :
         {0xEF53L, 0x01021994L, 0x794C7630L, 0x858458F6L, 0x2FC12FC1L, 0x73717368L, 0xE0F5E1E2L})
        EXPECT_TRUE(has_locks_of_one_machine(type)) << std::hex << type;
    // Under user-mode Linux, the host's file system (hostfs) is shared with other kernels as well.
    for (const long type :
         {0x6969L, 0x7461636FL, 0x01161970L, 0x0BD00BD0L, 0x47504653L, 0x00C36400L, 0x00C0FFEEL,
          0x65735546L, 0xFE534D42L, 0x01021997L, 0x12345L, 0L})
        EXPECT_FALSE(has_locks_of_one_machine(type)) << std::hex << type;
    for (const long type : {0xFF534D42L, 0xFE534D42L, 0x517BL})
        EXPECT_TRUE(has_mandatory_locks(type)) << std::hex << type;
    EXPECT_FALSE(has_mandatory_locks(0x7461636F));
    EXPECT_TRUE(has_whole_file_locks(0x01021997));
    EXPECT_FALSE(has_whole_file_locks(0x6969));
}

TEST(FileSystem, HasANameInSentences) {
    EXPECT_EQ(lower_case_name(0x7461636F), "ocfs2");
    EXPECT_EQ(lower_case_name(0x6969), "nfs");
    EXPECT_EQ(lower_case_name(0xFE534D42), "smb");
    EXPECT_EQ(lower_case_name(0x12345), "this file system");
}

}  // namespace
}  // namespace oratorio::test::path_test
