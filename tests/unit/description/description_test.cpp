// SPDX-License-Identifier: BSD-3-Clause
// The library's description of itself, and the copy of it that the Python tools read.
#include "describe/description.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "hints/hint_table.hpp"
#include "plan/methods.hpp"

namespace oratorio::test::description_test {
namespace {

using Json = nlohmann::json;

TEST(Description, TheCopyInTheCheckoutIsCurrent) {
    const auto root = std::filesystem::path(ORATORIO_TESTS).parent_path();
    std::ifstream copy(root / "cli/oratorio/library/description.json");
    const std::string text{std::istreambuf_iterator<char>(copy), {}};
    EXPECT_EQ(text, description()) << "ninja -C build describe updates it";
}

TEST(Description, EveryMethodAndHintIsThere) {
    const Json told = Json::parse(description());
    EXPECT_EQ(told["schema"], kDescriptionSchema);
    ASSERT_EQ(told["methods"].size(), methods().size());
    for (std::size_t i = 0; i < methods().size(); ++i) {
        EXPECT_EQ(told["methods"][i]["name"], methods()[i].name);
        EXPECT_EQ(told["methods"][i]["description"], methods()[i].summary);
    }
    std::size_t acting = 0;
    for (const Json& row : told["hints"]) {
        if (!row.contains("default")) continue;
        const HintRow& known = hint_rows()[acting++];
        EXPECT_EQ(row["key"], known.key);
        if (row.contains("words")) {
            EXPECT_EQ(row["words"].size(), hint_words(known.kind).size()) << known.key;
        }
        if (row.contains("high")) {
            EXPECT_EQ(row["high"], known.kind.high) << known.key;
        }
    }
    EXPECT_EQ(acting, hint_rows().size());
}

}  // namespace
}  // namespace oratorio::test::description_test
