// SPDX-License-Identifier: BSD-3-Clause
// The file of a trace. It is valid after each section, whoever adds it, and a file that is not a
// trace is left alone.
#include "file/trace_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "support/temporary_folder.hpp"

namespace oratorio::test::trace_file_test {
namespace {

using Json = nlohmann::json;

std::string read(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string event(int number) {
    return "{\"number\":" + std::to_string(number) + "}";
}

/// Adds a section of `count` events, as a process that another program has started if `spawned`.
Result<void> add(const std::string& path, int first, int count, bool spawned = false) {
    auto file = TraceFile::open(path, spawned);
    if (!file) return file.error();
    for (int i = 0; i < count; ++i) file->add(event(first + i));
    return file->close();
}

std::vector<long long> numbers_in(const std::string& path) {
    std::vector<long long> numbers;
    const Json whole = Json::parse(read(path));
    for (const Json& one : whole.at("traceEvents"))
        numbers.push_back(one.at("number").get<long long>());
    return numbers;
}

/// Sets the file's times to an hour ago, as if the last run had been then.
void age(const std::string& path) {
    const timespec before{::time(nullptr) - 3600, 0};
    const timespec times[] = {before, before};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

ErrorKind refusal(const std::string& path) {
    const auto file = TraceFile::open(path);
    return file ? ErrorKind::none : file.error().kind;
}

class TraceFileTest : public testing::Test {
  protected:
    test::TemporaryFolder folder_;
    std::string path_ = folder_.file("trace.json");
};

TEST_F(TraceFileTest, FileIsCompleteAfterEachSection) {
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(add(path_, 2 * i, 2).ok());
        EXPECT_EQ(numbers_in(path_).size(), 2u * (i + 1));
    }
    EXPECT_EQ(numbers_in(path_), (std::vector<long long>{0, 1, 2, 3, 4, 5}));
    const Json whole = Json::parse(read(path_));
    EXPECT_EQ(whole.at("oratorio").at("version").get<long long>(), 1);
    const auto now = static_cast<double>(::time(nullptr)) * 1e6;
    EXPECT_NEAR(whole.at("oratorio").at("began").get<double>(), now, 600e6);
}

TEST_F(TraceFileTest, SectionsHaveNumbersOfTheirOwnAndOneBegin) {
    auto first = TraceFile::open(path_);
    const std::int64_t began = first->began();
    const Offset number = first->number();
    first->add(event(1));
    ASSERT_TRUE(first->close().ok());
    auto second = TraceFile::open(path_);
    EXPECT_NE(second->number(), number);
    EXPECT_EQ(second->began(), began);
}

TEST_F(TraceFileTest, LongSectionsAreWrittenInParts) {
    constexpr int kMany = 30'000;
    ASSERT_TRUE(add(path_, 0, kMany).ok());
    ASSERT_TRUE(add(path_, kMany, kMany).ok());
    const auto numbers = numbers_in(path_);
    ASSERT_EQ(numbers.size(), 2u * kMany);
    for (std::size_t i = 0; i < numbers.size(); ++i)
        ASSERT_EQ(numbers[i], static_cast<long long>(i));
}

TEST_F(TraceFileTest, ConcurrentWritersTakeTurns) {
    constexpr int kThreads = 4;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i)
        threads.emplace_back([&, i] {
            for (int j = 0; j < 5; ++j) EXPECT_TRUE(add(path_, 1000 * i, 100).ok());
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(numbers_in(path_).size(), 5u * 100 * kThreads);
}

TEST_F(TraceFileTest, TheTraceOfAnEarlierRunIsReplaced) {
    ASSERT_TRUE(add(path_, 0, 5).ok());
    age(path_);
    ASSERT_TRUE(add(path_, 7, 1).ok());
    EXPECT_EQ(numbers_in(path_), std::vector<long long>{7});
}

TEST_F(TraceFileTest, ASpawnedProcessAddsToTheTraceOfItsParents) {
    ASSERT_TRUE(add(path_, 0, 5).ok());
    age(path_);
    ASSERT_TRUE(add(path_, 7, 1, true).ok());
    EXPECT_EQ(numbers_in(path_), (std::vector<long long>{0, 1, 2, 3, 4, 7}));
}

TEST_F(TraceFileTest, AnEarlierRunsThatEndsEarlyIsReplacedToo) {
    ASSERT_TRUE(add(path_, 0, 5).ok());
    ASSERT_EQ(::truncate(path_.c_str(), 90), 0);
    EXPECT_EQ(refusal(path_), ErrorKind::bad_file);
    age(path_);
    ASSERT_TRUE(add(path_, 7, 1).ok());
    EXPECT_EQ(numbers_in(path_), std::vector<long long>{7});
}

TEST_F(TraceFileTest, DoesNotTouchFilesThatAreNotTraces) {
    for (const char* text : {"my thesis", "{}", "{\"displayTimeUnit\":\"ns\",\"oratorio\":{\"v"}) {
        std::ofstream(path_) << text;
        age(path_);
        EXPECT_EQ(refusal(path_), ErrorKind::file_exists) << text;
        EXPECT_EQ(read(path_), text);
    }
}

TEST_F(TraceFileTest, FoldersAndPipesAreRefused) {
    EXPECT_EQ(refusal(folder_.file(".")), ErrorKind::bad_file);
    ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
    EXPECT_EQ(refusal(path_), ErrorKind::bad_file);
    EXPECT_EQ(refusal(folder_.file("nowhere/trace")), ErrorKind::no_such_file);
}

TEST_F(TraceFileTest, ReportsAFullDevice) {
    const auto added = add("/dev/full", 0, 1);
    ASSERT_FALSE(added.ok());
    EXPECT_EQ(added.error().kind, ErrorKind::no_space);
    const auto more = add("/dev/full", 0, 50'000);
    ASSERT_FALSE(more.ok());
    EXPECT_EQ(more.error().kind, ErrorKind::no_space);
}

TEST_F(TraceFileTest, FailureLeavesTheFileUnchanged) {
    ASSERT_TRUE(add(path_, 0, 5).ok());
    const std::string before = read(path_);
    rlimit old{};
    getrlimit(RLIMIT_FSIZE, &old);
    for (const rlim_t room : {rlim_t{200'000}, rlim_t{before.size() + 10}, rlim_t{10}}) {
        const rlimit small{room, old.rlim_max};
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
        // The library discards SIGXFSZ, which would end the test.
        const auto added = add(path_, 5, 50'000);
        setrlimit(RLIMIT_FSIZE, &old);
        ASSERT_FALSE(added.ok());
        EXPECT_EQ(added.error().system_errno, EFBIG);
        EXPECT_EQ(read(path_), before);
    }
    ASSERT_TRUE(add(path_, 5, 1).ok());
    EXPECT_EQ(numbers_in(path_).size(), 6u);
}

TEST_F(TraceFileTest, AbandonedSectionIsRemoved) {
    ASSERT_TRUE(add(path_, 0, 5).ok());
    const std::string before = read(path_);
    auto file = TraceFile::open(path_);
    for (int i = 0; i < 30'000; ++i) file->add(event(i));
    EXPECT_NE(read(path_), before) << "a part of the section was written";
    file->give_up(Error::make(ErrorKind::communicator, "a rank is gone"));
    EXPECT_EQ(file->close().error().kind, ErrorKind::communicator);
    EXPECT_EQ(read(path_), before);
}

TEST(Quoted, IsAJsonString) {
    EXPECT_EQ(quoted("a/b c"), "\"a/b c\"");
    EXPECT_EQ(quoted("\"\\\n\t"), R"("\"\\\u000a\u0009")");
    EXPECT_EQ(quoted("gr\xc3\xbc\xc3\x9f \xf0\x9f\x8e\xb5"),
              "\"gr\xc3\xbc\xc3\x9f \xf0\x9f\x8e\xb5\"");
    EXPECT_EQ(quoted("\xff\x41"), "\"\\ufffdA\"");
    EXPECT_EQ(quoted("\xc3"), "\"\\ufffd\"") << "it ends early";
    EXPECT_EQ(quoted("\xc0\x80"), "\"\\ufffd\\ufffd\"") << "longer than need be";
    EXPECT_EQ(quoted("\xe0\x80\x80"), "\"\\ufffd\\ufffd\\ufffd\"");
    EXPECT_EQ(quoted("\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\"") << "a surrogate";
    EXPECT_EQ(quoted("\x7f"), "\"\x7f\"");
}

}  // namespace
}  // namespace oratorio::test::trace_file_test
