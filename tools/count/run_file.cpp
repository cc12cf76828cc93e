// SPDX-License-Identifier: BSD-3-Clause
#include "count/run_file.hpp"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace oratorio::count {

namespace {

constexpr std::int64_t kMagic = 0x314e55524d533345;  // "E3SMRUN1"

class Reader {
  public:
    explicit Reader(const std::string& path) : in_(path, std::ios::binary | std::ios::ate) {
        left_ = static_cast<std::int64_t>(in_.tellg()) / Bytes{sizeof(std::int64_t)};
        in_.seekg(0);
        if (!in_ || number() != kMagic) throw std::runtime_error(path + " is no file of runs");
    }
    std::int64_t number() {
        std::int64_t value = 0;
        read(&value, 1);
        return value;
    }
    std::vector<std::int64_t> numbers(std::int64_t count) {
        if (count < 0 || count > left_) throw incomplete();
        std::vector<std::int64_t> values(static_cast<std::size_t>(count));
        read(values.data(), count);
        return values;
    }

  private:
    static std::runtime_error incomplete() {
        return std::runtime_error("the file of runs isn't complete");
    }
    void read(std::int64_t* into, std::int64_t count) {
        in_.read(reinterpret_cast<char*>(into), count * Bytes{sizeof(std::int64_t)});
        if (!in_) throw incomplete();
        left_ -= count;
    }

    std::ifstream in_;
    std::int64_t left_ = 0;
};

/// What a rank has of one variable, in the order of the file.
ShapePtr variable_of(std::vector<Extent>& runs) {
    std::ranges::sort(runs, {}, &Extent::begin);
    std::vector<Offset> offsets;
    List<Bytes> lengths(runs.size());
    for (const Extent& run : runs) {
        lengths.data()[offsets.size()] = run.length();
        offsets.push_back(run.begin);
    }
    return Shape::runs(std::move(offsets), lengths);
}

}  // namespace

RunFile::RunFile(const std::string& path, int ranks) {
    Reader reader(path);
    const std::int64_t processes = reader.number();
    if (processes % ranks != 0)
        throw std::runtime_error(std::to_string(ranks) + " ranks don't divide the map's " +
                                 std::to_string(processes) + " processes");
    const std::int64_t maps = reader.number();
    std::vector<std::vector<ShapePtr>> shapes(static_cast<std::size_t>(ranks));
    std::vector<Offset> begins;
    Offset begin = 0;
    for (std::int64_t map = 0; map < maps; ++map) {
        const Bytes element = reader.number();
        const Bytes variable = reader.number() * element;
        const std::int64_t variables = reader.number();
        std::vector<Extent> runs;
        for (std::int64_t process = 0; process < processes; ++process) {
            const std::int64_t count = reader.number();
            const std::vector<std::int64_t> firsts = reader.numbers(count);
            const std::vector<std::int64_t> lengths = reader.numbers(count);
            for (std::size_t i = 0; i < firsts.size(); ++i)
                runs.push_back({firsts[i] * element, (firsts[i] + lengths[i]) * element});
            const std::int64_t share = processes / ranks;
            if ((process + 1) % share != 0) continue;
            shapes[static_cast<std::size_t>(process / share)].push_back(
                Shape::strided(variable_of(runs), variables, variable));
            runs.clear();
        }
        begins.push_back(begin);
        begin += variables * variable;
    }
    for (std::vector<ShapePtr>& of_rank : shapes)
        layouts_.push_back({Shape::mixed(std::move(of_rank), begins), begin, 0, 1});
}

}  // namespace oratorio::count
