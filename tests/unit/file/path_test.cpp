#include "file/path.hpp"

#include <gtest/gtest.h>

namespace oratorio {
namespace {

TEST(Path, KnownPrefixesAreDropped) {
    for (const char* prefix : {"ufs:", "nfs:", "lustre:", "gpfs:", "testfs:", "xfs:", "panfs:",
                               "daos:", "UFS:", "Lustre:"}) {
        EXPECT_EQ(without_prefix(std::string(prefix) + "/scratch/a:b.h5"), "/scratch/a:b.h5")
            << prefix;
    }
}

TEST(Path, OtherColonsBelongToTheName) {
    for (const char* path :
         {"", ":", "a", "run:12.dat", "/ufs:x", "ufs", "u:x", "ufsx:y", "uf:x"}) {
        EXPECT_EQ(without_prefix(path), path);
    }
}

TEST(Path, OnlyOnePrefixIsDropped) {
    EXPECT_EQ(without_prefix("ufs:nfs:x"), "nfs:x");
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
