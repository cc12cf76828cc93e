// SPDX-License-Identifier: BSD-3-Clause
// Programs that open a file by a relative path and then change their working directory: later calls
// still use the file that was opened.
#include <filesystem>

#include "sim/file_ranks.hpp"

namespace oratorio::test::changed_folder_test {
namespace {

constexpr AccessMode kDeleted{.read_write = true, .create = true, .delete_on_close = true};

/// Two folders, of which the second has a file "data" with other contents. The first one is the
/// working directory until the test changes it or ends.
class TwoFolders {
  public:
    TwoFolders() : before_(std::filesystem::current_path()) {
        for (const char* name : {"a", "b"}) std::filesystem::create_directory(folder.file(name));
        folder.make("b/data", "another");
        enter("a");
    }
    ~TwoFolders() { std::filesystem::current_path(before_); }
    TwoFolders(const TwoFolders&) = delete;
    TwoFolders& operator=(const TwoFolders&) = delete;

    void enter(const std::string& name) const { std::filesystem::current_path(folder.file(name)); }

    Folder folder;

  private:
    std::filesystem::path before_;
};

/// Opens "data" on all ranks of a node, which share the process's working directory. After the
/// open, rank 0 calls `leave`, which changes the directory or its files. Then each rank calls
/// `use`.
template <class Leave, class Use>
void on_data(int ranks, const OpenCall& call, Leave leave, Use use) {
    SimOptions options;
    options.ranks = ranks;
    run_ranks(options, [&](Transport& transport) {
        auto file =
            File::open(std::make_shared<Workspace>(std::make_unique<Lent>(transport)), call);
        ASSERT_EQ(kind_of(file), ErrorKind::none);
        const Rank rank = transport.topology().rank;
        EXPECT_TRUE(agree_on_error(transport, {}));
        if (rank == 0) leave();
        EXPECT_TRUE(agree_on_error(transport, {}));
        use(**file, rank);
    });
}

void close_well(File& file, Rank /*rank*/) {
    EXPECT_EQ(kind_of(file.close()), ErrorKind::none);
}

TEST(ChangedFolder, DeleteOnCloseDeletesTheFileThatWasOpened) {
    for (const int ranks : {1, 3}) {
        const TwoFolders two;
        on_data(
            ranks, call_of("data", kDeleted), [&] { two.enter("b"); }, close_well);
        EXPECT_FALSE(two.folder.has("a/data"));
        EXPECT_EQ(two.folder.read("b/data"), "another");
    }
}

TEST(ChangedFolder, DeleteOnCloseLeavesAnotherFileThatHasTheNameNow) {
    const TwoFolders two;
    on_data(
        3, call_of("data", kDeleted),
        [&] {
            std::filesystem::rename("data", "moved");
            two.folder.make("a/data", "newer");
        },
        [](File& file, Rank /*rank*/) {
            const auto closed = file.close();
            EXPECT_EQ(kind_of(closed), ErrorKind::no_such_file);
            const std::string text = describe(closed.error(), "data");
            EXPECT_NE(text.find("another file now has this name"), std::string::npos) << text;
            EXPECT_EQ(text.find("MPI_MODE_CREATE"), std::string::npos) << text;
        });
    EXPECT_EQ(two.folder.read("a/data"), "newer");
    EXPECT_TRUE(two.folder.has("a/moved"));
}

TEST(ChangedFolder, DeleteOnCloseDeletesALinkByWhichTheFileWasOpened) {
    const TwoFolders two;
    two.folder.make("a/target", "");
    std::filesystem::create_symlink("target", "data");
    on_data(
        2, call_of("data", kDeleted), [&] { two.enter("b"); }, close_well);
    EXPECT_FALSE(std::filesystem::is_symlink(two.folder.file("a/data")));
    EXPECT_TRUE(two.folder.has("a/target"));
}

TEST(ChangedFolder, RanksThatOpenTheFileLateFindIt) {
    const TwoFolders two;
    const HintMap hints{{"romio_no_indep_rw", "true"}, {"cb_nodes", "1"}};
    on_data(
        3, call_of("data", kCreate, hints), [&] { two.enter("b"); },
        [](File& file, Rank rank) {
            std::vector<std::byte> mine(1, std::byte('x'));
            const Outcome outcome = file.access(
                call_for(Direction::write, mine, false, Positioning::explicit_offset, rank));
            EXPECT_EQ(outcome.error.kind, ErrorKind::none);
            EXPECT_EQ(file.path(), "data");
            close_well(file, rank);
        });
    EXPECT_EQ(two.folder.read("a/data"), "xxx");
    EXPECT_EQ(two.folder.read("b/data"), "another");
}

/// In a folder that has been removed, getcwd() fails.
TEST(ChangedFolder, AFileIsFoundFromAFolderThatWasRemoved) {
    const TwoFolders two;
    two.folder.make("data", "above");
    std::filesystem::remove(two.folder.file("a"));
    const HintMap hints{{"romio_no_indep_rw", "true"}, {"cb_nodes", "1"}};
    on_data(
        2, call_of("../data", kReadWrite, hints), [&] { two.enter("b"); },
        [](File& file, Rank rank) {
            std::vector<std::byte> mine(1, std::byte('x'));
            const Outcome outcome = file.access(
                call_for(Direction::write, mine, false, Positioning::explicit_offset, rank));
            EXPECT_EQ(outcome.error.kind, ErrorKind::none);
            close_well(file, rank);
        });
    EXPECT_EQ(two.folder.read("data"), "xxove");
}

/// A relative path may be opened where the absolute one would be longer than the system accepts.
TEST(ChangedFolder, AFileIsFoundInAFolderWhoseNameIsTooLong) {
    const TwoFolders two;
    const std::string part(200, 'n');
    for (int depth = 0; depth < 25; ++depth) {
        ASSERT_EQ(mkdir(part.c_str(), 0700), 0);
        ASSERT_EQ(chdir(part.c_str()), 0);
    }
    on_data(
        2, call_of("data", kDeleted), [&] { two.enter("b"); }, close_well);
    EXPECT_EQ(two.folder.read("b/data"), "another");
}

}  // namespace
}  // namespace oratorio::test::changed_folder_test
