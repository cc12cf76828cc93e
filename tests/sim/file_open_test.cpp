// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>

#include <algorithm>

#include "sim/file_ranks.hpp"

namespace oratorio::test::file_open_test {
namespace {

using Kinds = std::vector<ErrorKind>;

Kinds all(int ranks, ErrorKind kind) {
    return Kinds(static_cast<std::size_t>(ranks), kind);
}

/// Opens the file, and closes it where the open succeeds. Returns the result of each rank.
template <class CallOfRank>
Kinds open_and_close(int ranks, CallOfRank call_of_rank) {
    return on_ranks(ranks, [&](Transport& transport) {
        auto file = open_on(transport, call_of_rank(transport.topology().rank));
        return file ? kind_of((*file)->close()) : file.error().kind;
    });
}

struct ModeCase {
    const char* claim;
    AccessMode mode;
    bool exists_before;
    ErrorKind expected;
    bool exists_after;
};

const ModeCase kModeCases[] = {
    {"read a file", kRead, true, ErrorKind::none, true},
    {"read no file", kRead, false, ErrorKind::no_such_file, false},
    {"write a file", kWrite, true, ErrorKind::none, true},
    {"write no file", kWrite, false, ErrorKind::no_such_file, false},
    {"read and write no file", kReadWrite, false, ErrorKind::no_such_file, false},
    {"create a file", kCreate, false, ErrorKind::none, true},
    {"create a file that exists", kCreate, true, ErrorKind::none, true},
    {"create a write-only file",
     {.write_only = true, .create = true},
     false,
     ErrorKind::none,
     true},
    {"create exclusively",
     {.read_write = true, .create = true, .exclusive = true},
     false,
     ErrorKind::none,
     true},
    {"create exclusively what exists",
     {.read_write = true, .create = true, .exclusive = true},
     true,
     ErrorKind::file_exists,
     true},
    {"delete on close", {.read_only = true, .delete_on_close = true}, true, ErrorKind::none, false},
    {"create a scratch file",
     {.read_write = true, .create = true, .delete_on_close = true, .unique_open = true},
     false,
     ErrorKind::none,
     false},
    {"sequential reading", {.read_only = true, .sequential = true}, true, ErrorKind::none, true},
    {"no way of access", {.create = true}, false, ErrorKind::amode, false},
    {"two ways of access", {.read_only = true, .read_write = true}, true, ErrorKind::amode, true},
    {"create read only", {.read_only = true, .create = true}, false, ErrorKind::amode, false},
    {"exclusive read only", {.read_only = true, .exclusive = true}, true, ErrorKind::amode, true},
    {"sequential read and write",
     {.read_write = true, .sequential = true},
     true,
     ErrorKind::amode,
     true},
};

TEST(FileOpen, ModesDoWhatTheStandardSays) {
    for (const ModeCase& one : kModeCases) {
        for (const int ranks : kRankCounts) {
            SCOPED_TRACE(std::string(one.claim) + ", " + std::to_string(ranks) + " ranks");
            const Folder folder;
            if (one.exists_before) folder.make("data", "content");
            EXPECT_EQ(
                open_and_close(ranks, [&](Rank) { return call_of(folder.file("data"), one.mode); }),
                all(ranks, one.expected));
            EXPECT_EQ(folder.has("data"), one.exists_after);
            if (one.exists_before && one.exists_after) {
                EXPECT_EQ(folder.read("data"), "content");
            }
        }
    }
}

TEST(FileOpen, NamesThatCannotBeFilesAreBadFilesOnAllRanks) {
    const Folder folder;
    for (const int ranks : kRankCounts) {
        for (const AccessMode& mode : {kRead, kReadWrite, kCreate}) {
            EXPECT_EQ(open_and_close(ranks, [&](Rank) { return call_of(folder.file("."), mode); }),
                      all(ranks, ErrorKind::bad_file));
            EXPECT_EQ(open_and_close(ranks, [&](Rank) { return call_of("", mode); }),
                      all(ranks, ErrorKind::bad_file));
            EXPECT_EQ(open_and_close(ranks, [&](Rank) { return call_of("ufs:", mode); }),
                      all(ranks, ErrorKind::bad_file));
            EXPECT_EQ(
                open_and_close(
                    ranks, [&](Rank) { return call_of(folder.file(std::string(300, 'x')), mode); }),
                all(ranks, ErrorKind::bad_file));
        }
    }
}

TEST(FileOpen, AFileMissingOnOneRankFailsOnAllRanks) {
    const Folder folder;
    const std::string here = folder.make("data", "content");
    for (const int ranks : kRankCounts) {
        for (const Rank missing : {0, ranks / 2, ranks - 1}) {
            const auto call = [&](Rank rank) {
                return call_of(rank == missing ? folder.file("gone") : here, kRead);
            };
            EXPECT_EQ(open_and_close(ranks, call), all(ranks, ErrorKind::no_such_file))
                << ranks << " " << missing;
        }
    }
}

TEST(FileOpen, WhatRankZeroCreatedStaysWhenAnotherRankFails) {
    for (const int ranks : {2, 4, 8}) {
        const Folder folder;
        const auto call = [&](Rank rank) {
            return call_of(folder.file(rank == ranks - 1 ? "gone" : "data"), kCreate);
        };
        EXPECT_EQ(open_and_close(ranks, call), all(ranks, ErrorKind::no_such_file));
        EXPECT_TRUE(folder.has("data"));
        EXPECT_FALSE(folder.has("gone"));
    }
}

TEST(FileOpen, ModesThatDifferAreNotTheSameOnAllRanks) {
    for (const int ranks : {2, 3, 4, 7, 8}) {
        for (const Rank odd : {0, ranks - 1}) {
            const Folder folder;
            const auto call = [&](Rank rank) {
                AccessMode mode = kCreate;
                mode.unique_open = rank == odd;
                return call_of(folder.file("data"), mode);
            };
            EXPECT_EQ(open_and_close(ranks, call), all(ranks, ErrorKind::not_same))
                << ranks << " " << odd;
            EXPECT_FALSE(folder.has("data"));
        }
    }
}

TEST(FileOpen, AnArgumentRefusedOnOneRankFailsOnAllRanksBeforeAnythingIsCreated) {
    for (const int ranks : kRankCounts) {
        const Folder folder;
        const auto call = [&](Rank rank) {
            OpenCall one = call_of(folder.file("data"), kCreate);
            if (rank == ranks - 1) one.refused = Error::make(ErrorKind::communicator, "test");
            return one;
        };
        EXPECT_EQ(open_and_close(ranks, call), all(ranks, ErrorKind::communicator));
        EXPECT_FALSE(folder.has("data"));
    }
}

TEST(FileOpen, AFileOfOthersIsAnAccessErrorOnAllRanks) {
    const Folder folder;
    ASSERT_EQ(chmod(folder.file("").c_str(), 0755), 0);
    const std::string path = folder.make("data", "content");
    ASSERT_EQ(chmod(path.c_str(), 0400), 0);
    const WithoutPrivileges plain;
    for (const int ranks : kRankCounts) {
        EXPECT_EQ(open_and_close(ranks, [&](Rank) { return call_of(path, kWrite); }),
                  all(ranks, ErrorKind::access));
        EXPECT_EQ(open_and_close(ranks, [&](Rank) { return call_of(path, kReadWrite); }),
                  all(ranks, ErrorKind::access));
        if (getuid() == 0) {
            EXPECT_EQ(
                open_and_close(ranks, [&](Rank) { return call_of(folder.file("new"), kCreate); }),
                all(ranks, ErrorKind::access));
        }
    }
}

TEST(FileOpen, AWriteOnlyFileNeedsNoPermissionToRead) {
    const Folder folder;
    ASSERT_EQ(chmod(folder.file("").c_str(), 0755), 0);
    const std::string path = folder.make("data", "content");
    ASSERT_EQ(chmod(path.c_str(), 0222), 0);
    const WithoutPrivileges plain;
    EXPECT_EQ(open_and_close(3, [&](Rank) { return call_of(path, kWrite); }),
              all(3, ErrorKind::none));
    EXPECT_EQ(open_and_close(3, [&](Rank) { return call_of(path, kReadWrite); }),
              all(3, ErrorKind::access));
}

TEST(FileOpen, AppendBeginsAtTheEndOfTheFile) {
    const Folder folder;
    AccessMode mode = kReadWrite;
    mode.append = true;
    for (const int ranks : kRankCounts) {
        with_file(ranks, call_of(folder.make("data", "content"), mode),
                  [](File& file, Rank) { EXPECT_EQ(file.position(), 7); });
        with_file(ranks, call_of(folder.file("data"), kReadWrite),
                  [](File& file, Rank) { EXPECT_EQ(file.position(), 0); });
    }
}

TEST(FileOpen, AFileSystemPrefixIsDropped) {
    const Folder folder;
    with_file(2, call_of("ufs:" + folder.make("data", "x"), kRead),
              [&](File& file, Rank) { EXPECT_EQ(file.path(), folder.file("data")); });
    EXPECT_EQ(kind_of(delete_file("nfs:" + folder.file("data"), Prefixes::in_small_letters)),
              ErrorKind::none);
    EXPECT_FALSE(folder.has("data"));
}

TEST(FileDelete, TellsWhyItCannot) {
    const Folder folder;
    EXPECT_EQ(kind_of(delete_file(folder.file("gone"), Prefixes::kept)), ErrorKind::no_such_file);
    EXPECT_EQ(kind_of(delete_file("", Prefixes::kept)), ErrorKind::bad_file);
    EXPECT_EQ(kind_of(delete_file(folder.file("."), Prefixes::kept)), ErrorKind::bad_file);
}

TEST(FileOpen, FilePermChoosesThePermissions) {
    const Folder folder;
    const mode_t mask = umask(0);
    with_file(2, call_of(folder.file("data"), kCreate, {{"file_perm", "0640"}}),
              [](File&, Rank) {});
    umask(mask);
    struct stat facts {};
    ASSERT_EQ(stat(folder.file("data").c_str(), &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777, 0640u);
}

TEST(FileClose, AFileThatCannotBeRemovedFailsOnAllRanks) {
    AccessMode mode = kCreate;
    mode.delete_on_close = true;
    for (const int ranks : kRankCounts) {
        const Folder folder;
        const Kinds kinds = on_ranks(ranks, [&](Transport& transport) {
            auto file = open_on(transport, call_of(folder.file("data"), mode));
            if (!file) return file.error().kind;
            EXPECT_EQ(kind_of((*file)->sync()), ErrorKind::none);
            if (transport.topology().rank == 0) std::filesystem::remove(folder.file("data"));
            return kind_of((*file)->close());
        });
        EXPECT_EQ(kinds, all(ranks, ErrorKind::no_such_file));
    }
}

TEST(FileHints, ThoseOfRankZeroApplyWithOneWarning) {
    const Folder folder;
    for (const int ranks : {2, 3, 4, 7, 8}) {
        std::vector<std::vector<std::string>> said(static_cast<std::size_t>(ranks));
        const auto nodes = on_ranks(ranks, [&](Transport& transport) {
            const Rank rank = transport.topology().rank;
            OpenCall call = call_of(folder.file("data"), kCreate,
                                    {{"cb_buffer_size", std::to_string(4096 * (rank + 1))}});
            call.narrate = [&said, rank](const std::string& text) {
                said[static_cast<std::size_t>(rank)].push_back(text);
            };
            auto file = open_on(transport, call);
            EXPECT_TRUE(file.ok());
            if (!file) return std::string();
            std::string size = (*file)->reported_hints().at("cb_buffer_size");
            EXPECT_EQ(kind_of((*file)->close()), ErrorKind::none);
            return size;
        });
        EXPECT_EQ(nodes, std::vector<std::string>(static_cast<std::size_t>(ranks), "4096"));
        for (const auto& lines : said) EXPECT_EQ(lines.size(), &lines == &said[0] ? 1u : 0u);
    }
}

TEST(FileHints, AMalformedValueIsWarnedAboutOncePerOpen) {
    const Folder folder;
    std::vector<std::string> said;
    OpenCall call = call_of(folder.file("data"), kCreate, {{"cb_nodes", "many"}});
    call.narrate = [&](const std::string& text) { said.push_back(text); };
    with_file(3, call, [](File& file, Rank) {
        EXPECT_EQ(kind_of(file.set_hints({{"cb_nodes", "many"}})), ErrorKind::none);
        EXPECT_EQ(kind_of(file.set_view(View::bytes(), {{"cb_nodes", "many"}})), ErrorKind::none);
    });
    EXPECT_EQ(said, std::vector<std::string>{
                        "hint cb_nodes: 'many' is not understood (allowed: 0 to 2147483647); 0 is "
                        "used (from the program's info)"});
}

TEST(FileHints, ComeFromTheEnvironmentToo) {
    const Folder folder;
    OpenCall call = call_of(folder.file("run.h5"), kCreate, {{"cb_buffer_size", "1024"}});
    call.sources.mpich_mpiio_hints = "*.h5:cb_buffer_size=99999:ind_rd_buffer_size=777";
    with_file(2, call, [](File& file, Rank) {
        EXPECT_EQ(file.reported_hints().at("cb_buffer_size"), "1024");
        EXPECT_EQ(file.reported_hints().at("ind_rd_buffer_size"), "777");
    });
}

TEST(FileHints, ReportTheValuesInUse) {
    const Folder folder;
    with_file(
        4,
        call_of(folder.file("data"), kCreate,
                {{"romio_cb_write", "disable"}, {"access_style", "random"}, {"x", "y"}}),
        [](File& file, Rank) {
            const HintMap before = file.reported_hints();
            EXPECT_EQ(before.at("romio_cb_write"), "disable");
            EXPECT_EQ(before.at("access_style"), "random");
            EXPECT_FALSE(before.contains("x"));
            EXPECT_TRUE(before.contains("romio_visibility_immediate"));
            EXPECT_TRUE(before.contains("romio_filesystem_type"));
            EXPECT_EQ(kind_of(file.set_hints({{"romio_cb_write", "enable"}})), ErrorKind::none);
            EXPECT_EQ(kind_of(file.set_view(View::bytes(), {{"cb_nodes", "3"}})), ErrorKind::none);
            const HintMap after = file.reported_hints();
            EXPECT_EQ(after.at("romio_cb_write"), "enable");
            EXPECT_EQ(after.at("cb_nodes"), "3");
            EXPECT_EQ(std::ranges::count(after.at("romio_aggregator_list"), ' '), 2);
        });
    with_file(2, call_of(folder.file("data"), kCreate, {{"cb_nodes", "100"}}),
              [](File& file, Rank) {
                  EXPECT_EQ(file.reported_hints().at("cb_nodes"), "2");
                  EXPECT_EQ(file.reported_hints().at("romio_aggregator_list"), "0 1");
              });
}

TEST(FileHints, NamedAggregatorsAreThoseOfRankZeroOnAllRanksIfTheFileHasThem) {
    const Folder folder;
    const auto list_of = [](File& file) {
        return file.reported_hints().at("romio_aggregator_list");
    };
    std::vector<std::string> said;
    on_ranks(3, [&](Transport& transport) {
        const Rank rank = transport.topology().rank;
        OpenCall call = call_of(folder.file("data"), kCreate,
                                {{"oratorio_aggregators", rank == 0 ? "2,0" : "1"}});
        call.narrate = [&](const std::string& text) { said.push_back(text); };
        auto file = open_on(transport, call);
        if (!file) return file.error().kind;
        EXPECT_EQ(list_of(**file), "0 2");
        EXPECT_EQ((*file)->reported_hints().at("cb_nodes"), "2");
        EXPECT_EQ(kind_of((*file)->set_hints({{"oratorio_aggregators", "0,3"}})), ErrorKind::none);
        EXPECT_EQ(list_of(**file), "0 2") << "there is no rank 3";
        return kind_of((*file)->close());
    });
    EXPECT_EQ(said, (std::vector<std::string>{
                        "hints: 2 ranks passed hints that differ from rank 0's; using rank 0's",
                        "hint oratorio_aggregators: '0,3' is out of range (allowed: ranks 0 to 2, "
                        "each once, separated by commas); 2,0 is used (from the program's "
                        "info)"}));
}

TEST(FileHints, UsesTheUringStoreOrWarnsOnce) {
    const Folder folder;
    std::vector<std::string> said;
    OpenCall call = call_of(folder.file("data"), kCreate, {{"oratorio_store", "uring"}});
    call.narrate = [&](const std::string& text) { said.push_back(text); };
    std::string used;
    with_file(3, call, [&](File& file, Rank) {
        EXPECT_EQ(kind_of(file.set_size(100)), ErrorKind::none);
        used = file.reported_hints().at("oratorio_store");
    });
    EXPECT_EQ(used, said.empty() ? "uring" : "posix");
    EXPECT_LE(said.size(), 1u);
    EXPECT_EQ(folder.read("data").size(), 100u);
}

TEST(FileHints, UsesTheUncachedStoreOnRequest) {
    const Folder folder;
    with_file(3, call_of(folder.file("data"), kCreate, {{"oratorio_store", "uncached"}}),
              [](File& file, Rank) {
                  EXPECT_EQ(kind_of(file.set_size(100)), ErrorKind::none);
                  EXPECT_EQ(file.reported_hints().at("oratorio_store"), "uncached");
              });
    EXPECT_EQ(folder.read("data").size(), 100u);
}

TEST(FileHints, DirectFilesUseTheUringStoreWithoutAWordWhereItIsRefused) {
    const Folder folder;
    const auto store_used = [&](const HintMap& hints, std::vector<std::string>& said) {
        OpenCall call = call_of(folder.file("data"), kCreate, hints);
        call.narrate = [&](const std::string& text) { said.push_back(text); };
        std::string used;
        with_file(3, call,
                  [&](File& file, Rank) { used = file.reported_hints().at("oratorio_store"); });
        return used;
    };
    std::vector<std::string> said, said_when_asked;
    EXPECT_EQ(store_used({}, said), "posix");
    store_used({{"oratorio_store", "uring"}}, said_when_asked);
    EXPECT_EQ(store_used({{"direct_write", "true"}}, said),
              said_when_asked.empty() ? "uring" : "posix");
    for (const std::string& text : said) EXPECT_EQ(text.find("io_uring"), std::string::npos);
}

}  // namespace
}  // namespace oratorio::test::file_open_test
