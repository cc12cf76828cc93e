// SPDX-License-Identifier: BSD-3-Clause
#include "count/number_file.hpp"

#include <stdexcept>

namespace oratorio::count {

namespace {

constexpr std::int64_t kNumber = sizeof(std::int64_t);

}  // namespace

NumberFile::NumberFile(const std::string& path, std::int64_t magic, std::string what)
    : what_(std::move(what)), in_(path, std::ios::binary | std::ios::ate) {
    left_ = static_cast<std::int64_t>(in_.tellg()) / kNumber;
    in_.seekg(0);
    if (!in_ || number() != magic) throw std::runtime_error(path + " is not a file of " + what_);
}

bool NumberFile::begins_with(const std::string& path, std::int64_t magic) {
    std::ifstream in(path, std::ios::binary);
    std::int64_t first = 0;
    in.read(reinterpret_cast<char*>(&first), kNumber);
    return in && first == magic;
}

std::int64_t NumberFile::number() {
    std::int64_t value = 0;
    read(&value, 1);
    return value;
}

std::vector<std::int64_t> NumberFile::numbers(std::int64_t count) {
    if (count < 0 || count > left_)
        throw std::runtime_error("the file of " + what_ + " isn't complete");
    std::vector<std::int64_t> values(static_cast<std::size_t>(count));
    read(values.data(), count);
    return values;
}

void NumberFile::read(std::int64_t* into, std::int64_t count) {
    in_.read(reinterpret_cast<char*>(into), count * kNumber);
    if (!in_) throw std::runtime_error("the file of " + what_ + " isn't complete");
    left_ -= count;
}

}  // namespace oratorio::count
