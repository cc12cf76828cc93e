// SPDX-License-Identifier: BSD-3-Clause
// Json: a JSON text as a value, as strict as RFC 8259 but for \u escapes, of which the number is
// kept as text. Throws std::runtime_error where the text isn't one.
#pragma once

#include <cstdlib>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace oratorio::test {

struct Json {
    enum class Kind { null, boolean, number, text, list, object };
    Kind kind = Kind::null;
    bool boolean = false;
    double number = 0;
    std::string text;
    std::vector<Json> list;
    std::map<std::string, Json> object;

    [[nodiscard]] bool has(const std::string& key) const { return object.contains(key); }
    const Json& operator[](const std::string& key) const { return object.at(key); }
    [[nodiscard]] long long integer() const { return static_cast<long long>(number); }

    static Json parse(std::string_view text);
};

class JsonReader {
  public:
    explicit JsonReader(std::string_view text) : left_(text) {}

    Json value() {
        skip();
        if (take("null")) return {};
        if (take("true")) return of(true);
        if (take("false")) return of(false);
        if (peek() == '"') return text();
        if (take("[")) return list();
        if (take("{")) return object();
        return number();
    }
    void end() {
        skip();
        if (!left_.empty()) fail("more after the end");
    }

  private:
    [[noreturn]] void fail(const std::string& what) const {
        throw std::runtime_error(what + " before '" + std::string(left_.substr(0, 40)) + "'");
    }
    void skip() {
        const auto next = left_.find_first_not_of(" \t\r\n");
        left_.remove_prefix(next == std::string_view::npos ? left_.size() : next);
    }
    [[nodiscard]] char peek() const {
        if (left_.empty()) fail("the text ends early");
        return left_.front();
    }
    bool take(std::string_view word) {
        if (!left_.starts_with(word)) return false;
        left_.remove_prefix(word.size());
        return true;
    }
    void demand(std::string_view word) {
        skip();
        if (!take(word)) fail("no " + std::string(word));
    }
    static Json of(bool value) {
        Json json;
        json.kind = Json::Kind::boolean;
        json.boolean = value;
        return json;
    }
    Json text() {
        Json json;
        json.kind = Json::Kind::text;
        demand("\"");
        for (;;) {
            const char next = peek();
            left_.remove_prefix(1);
            if (next == '"') return json;
            if (static_cast<unsigned char>(next) < 0x20) fail("a bare control character");
            if (next == '\\') {
                const char escaped = peek();
                if (std::string_view("\"\\/bfnrtu").find(escaped) == std::string_view::npos)
                    fail("no such escape");
                left_.remove_prefix(1);
                json.text += escaped;
                continue;
            }
            json.text += next;
        }
    }
    Json number() {
        const auto length = left_.find_first_not_of("+-0123456789.eE");
        const std::string digits(left_.substr(0, length));
        char* end = nullptr;
        Json json;
        json.kind = Json::Kind::number;
        json.number = std::strtod(digits.c_str(), &end);
        if (digits.empty() || *end != '\0') fail("no value");
        left_.remove_prefix(digits.size());
        return json;
    }
    Json list() {
        Json json;
        json.kind = Json::Kind::list;
        skip();
        if (take("]")) return json;
        do {
            json.list.push_back(value());
            skip();
        } while (take(","));
        demand("]");
        return json;
    }
    Json object() {
        Json json;
        json.kind = Json::Kind::object;
        skip();
        if (take("}")) return json;
        do {
            skip();
            const std::string key = text().text;
            demand(":");
            if (!json.object.emplace(key, value()).second) fail("the key " + key + " twice");
            skip();
        } while (take(","));
        demand("}");
        return json;
    }
    std::string_view left_;
};

inline Json Json::parse(std::string_view text) {
    JsonReader reader(text);
    Json json = reader.value();
    reader.end();
    return json;
}

}  // namespace oratorio::test
