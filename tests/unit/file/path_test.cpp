#include "file/path.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace oratorio {
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
    EXPECT_EQ(file_system_type("/no such folder"), 0);
}

TEST(FileSystem, OnlyNfsDelaysVisibility) {
    EXPECT_EQ(file_system_name(0x6969), "NFS");
    EXPECT_FALSE(visible_at_once(0x6969));
    EXPECT_EQ(file_system_name(0x0BD00BD0), "LUSTRE");
    EXPECT_TRUE(visible_at_once(0x0BD00BD0));
    EXPECT_EQ(file_system_name(0xEF53), "UFS");
    EXPECT_TRUE(visible_at_once(0xEF53));
}

}  // namespace
}  // namespace oratorio
