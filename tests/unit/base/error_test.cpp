// SPDX-License-Identifier: BSD-3-Clause
#include "base/error.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "base/result.hpp"

namespace oratorio::test::error_test {
namespace {

TEST(KindOfErrno, the_mpi_classes_have_their_errnos) {
    EXPECT_EQ(kind_of_errno(0), ErrorKind::none);
    EXPECT_EQ(kind_of_errno(ENOSPC), ErrorKind::no_space);
    EXPECT_EQ(kind_of_errno(EDQUOT), ErrorKind::quota);
    EXPECT_EQ(kind_of_errno(EACCES), ErrorKind::access);
    EXPECT_EQ(kind_of_errno(EROFS), ErrorKind::read_only);
    EXPECT_EQ(kind_of_errno(ENOENT), ErrorKind::no_such_file);
    EXPECT_EQ(kind_of_errno(EEXIST), ErrorKind::file_exists);
    EXPECT_EQ(kind_of_errno(EISDIR), ErrorKind::bad_file);
    EXPECT_EQ(kind_of_errno(ETXTBSY), ErrorKind::file_in_use);
    EXPECT_EQ(kind_of_errno(ENOMEM), ErrorKind::no_memory);
    EXPECT_EQ(kind_of_errno(EIO), ErrorKind::io);
}

TEST(KindOfErrno, an_unknown_number_is_an_io_error) {
    EXPECT_EQ(kind_of_errno(99999), ErrorKind::io);
    EXPECT_EQ(kind_of_errno(-1), ErrorKind::io);
}

TEST(Describe, tells_what_where_when_who_and_what_to_do) {
    const Error error =
        Error::make(ErrorKind::no_space, "write", ENOSPC).at(1073741824, 1048576).in_round(7).on(3);
    EXPECT_EQ(describe(error, "/scratch/out.h5"),
              "no space left on device (ENOSPC) at 1073741824+1048576, round 7, rank 3, "
              "/scratch/out.h5: write; free some space or write to another file system");
}

TEST(Describe, advice_on_data_files_is_only_for_them) {
    for (const ErrorKind kind :
         {ErrorKind::no_such_file, ErrorKind::file_exists, ErrorKind::bad_file, ErrorKind::access,
          ErrorKind::no_space, ErrorKind::read_only, ErrorKind::file_in_use}) {
        const Error error = Error::make(kind, "opening");
        EXPECT_TRUE(describe(error, "/trace", Subject::other).ends_with("/trace: opening"));
        EXPECT_FALSE(describe(error, "/data").ends_with("opening"));
    }
    EXPECT_EQ(describe(Error::make(ErrorKind::quota, "writing", EDQUOT), "f", Subject::other),
              describe(Error::make(ErrorKind::quota, "writing", EDQUOT), "f"));
}

TEST(Describe, a_name_that_leads_to_another_file_needs_no_advice_on_the_path) {
    const std::string text = describe(Error::make(ErrorKind::no_such_file, "close", ESTALE), "f");
    EXPECT_TRUE(text.ends_with("(ESTALE), f: close")) << text;
}

TEST(Describe, a_descriptor_that_is_gone_is_no_lack_of_permission) {
    EXPECT_EQ(kind_of_errno(EBADF), ErrorKind::io);
    EXPECT_EQ(describe(Error::make(kind_of_errno(EBADF), "write", EBADF).at(4, 10), "f"),
              "bad file descriptor (EBADF) at 4+10, f: write; the program closed a file descriptor "
              "that belongs to Oratorio; close only descriptors that the program opened");
}

TEST(Describe, leaves_out_what_is_not_known) {
    EXPECT_EQ(describe(Error::make(ErrorKind::count, "negative count"), ""),
              "invalid count: negative count");
    EXPECT_EQ(describe(Error::make(ErrorKind::io, "", EIO), "f"), "input/output error (EIO), f");
    EXPECT_EQ(describe(Error::make(ErrorKind::io, "read").at(5, 0), ""),
              "input/output error at 5: read");
}

TEST(Describe, an_errno_without_a_name_shows_its_number) {
    EXPECT_NE(describe(Error::make(ErrorKind::io, "", 99999), "").find("errno 99999"),
              std::string::npos);
}

TEST(Describe, every_kind_has_a_text) {
    for (int kind = 0; kind <= static_cast<int>(ErrorKind::internal); ++kind) {
        EXPECT_FALSE(describe(Error::make(static_cast<ErrorKind>(kind), ""), "").empty()) << kind;
    }
    EXPECT_EQ(describe(Error::make(ErrorKind::internal, ""), ""),
              "internal error: please report this");
}

TEST(Error, a_long_text_is_cut_and_stays_terminated) {
    const Error error = Error::make(ErrorKind::io, std::string(500, 'x'));
    EXPECT_EQ(std::string(error.what), std::string(127, 'x'));
}

TEST(Result, holds_a_value_or_an_error) {
    const Result<int> good = 5;
    const Result<int> bad = Error::make(ErrorKind::io, "no");
    EXPECT_TRUE(good.ok());
    EXPECT_EQ(*good, 5);
    EXPECT_FALSE(bad.ok());
    EXPECT_EQ(bad.error().kind, ErrorKind::io);
    EXPECT_TRUE(Result<void>{}.ok());
    EXPECT_FALSE(Result<void>{bad.error()}.ok());
}

}  // namespace
}  // namespace oratorio::test::error_test
