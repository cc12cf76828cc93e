// SPDX-License-Identifier: BSD-3-Clause
// In a program without standard input, output and error, no file of the library takes their
// descriptors.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "store/store.hpp"
#include "store/transfer.hpp"
#include "support/temporary_folder.hpp"

namespace oratorio::test::standard_descriptors_test {
namespace {

constexpr OpenMode kReadWrite{.read = true, .write = true, .create = true};

using Open = Result<std::unique_ptr<Store>> (*)(const std::string&, const OpenMode&);

/// Closes the standard descriptors and uses a store. Ends the process, with status 0 if the store
/// moved its bytes and left the three descriptors closed.
[[noreturn]] void use_without_standard_ones(Open open, const std::string& path) {
    for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(number);
    OpenMode mode = kReadWrite;
    mode.direct_write = true;
    auto store = open(path, mode);
    if (!store) ::_exit(store.error().kind == ErrorKind::unsupported_operation ? 0 : 1);
    auto another = (*store)->duplicate();
    std::vector<std::byte> bytes(5000);
    if (transfer(**store, Direction::write, 3, bytes).bytes != 5000) ::_exit(2);
    for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (::fcntl(number, F_GETFD) != -1) ::_exit(3);
    ::_exit(another.ok() ? 0 : 4);
}

TEST(StandardDescriptorsDeathTest, StayClosedForEveryStore) {
    const test::TemporaryFolder folder;
    const Open opens[] = {
        open_posix, open_uncached,
        [](const std::string& path, const OpenMode& mode) { return open_uring(path, mode, 4); },
        [](const std::string& path, const OpenMode& mode) { return open_threaded(path, mode, 4); }};
    for (const Open open : opens)
        EXPECT_EXIT(use_without_standard_ones(open, folder.file("data")),
                    testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace oratorio::test::standard_descriptors_test
