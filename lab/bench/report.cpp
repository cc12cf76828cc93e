// SPDX-License-Identifier: BSD-3-Clause
#include "report.hpp"

#include <array>
#include <cstdio>
#include <sstream>

namespace bench {

namespace {

/// A JSON object built field by field.
class Object {
  public:
    Object& text(const char* key, const std::string& value) {
        name(key) << '"';
        for (const char c : value) {
            if (c == '"' || c == '\\') out_ << '\\';
            out_ << (static_cast<unsigned char>(c) < 0x20 ? ' ' : c);
        }
        out_ << '"';
        return *this;
    }
    template <typename T>
    Object& number(const char* key, T value) {
        name(key) << value;
        return *this;
    }
    Object& flag(const char* key, bool value) {
        name(key) << (value ? "true" : "false");
        return *this;
    }
    std::string line() const { return "{" + out_.str() + "}"; }

  private:
    std::ostringstream& name(const char* key) {
        if (out_.tellp() > 0) out_ << ", ";
        out_.precision(9);
        out_ << '"' << key << "\": ";
        return out_;
    }

    std::ostringstream out_;
};

const char* name_of(Direction direction) {
    return direction == Direction::write ? "write" : "read";
}

std::string library_version() {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    std::string version(text.data(), static_cast<std::size_t>(length));
    return version.substr(0, version.find('\0'));
}

}  // namespace

Report::Report(const std::string& path) {
    if (!path.empty()) out_.open(path);
}

void Report::setup(const Setup& setup) {
    Object line;
    line.text("kind", "setup")
        .text("workload", setup.workload)
        .number("ranks", setup.ranks)
        .number("nodes", setup.nodes)
        .number("bytes", setup.bytes)
        .number("file_bytes", setup.file_bytes)
        .number("pieces", setup.pieces)
        .text("io_library", setup.io_library)
        .text("mpi_version", library_version());
    out_ << line.line() << std::endl;
}

void Report::begin(const Arm& arm, Direction direction, int repeat) {
    Object line;
    line.text("kind", "begin")
        .text("arm", arm.name)
        .text("direction", name_of(direction))
        .number("repeat", repeat);
    out_ << line.line() << std::endl;
}

void Report::sample(const Arm& arm, Direction direction, int repeat, std::uint64_t bytes,
                    const Sample& sample, const std::string& problem) {
    Object line;
    line.text("kind", "sample")
        .text("arm", arm.name)
        .text("direction", name_of(direction))
        .number("repeat", repeat)
        .number("bytes", bytes)
        .number("seconds", sample.call_s)
        .number("mib_per_s",
                sample.call_s > 0 ? static_cast<double>(bytes) / sample.call_s / (1 << 20) : 0)
        .number("open_seconds", sample.open_s)
        .number("close_seconds", sample.close_s)
        .number("call_peak_bytes", sample.call_peak)
        .number("total_peak_bytes", sample.total_peak)
        .flag("counted", sample.counted)
        .flag("holes_kept", sample.holes_kept)
        .flag("verified", problem.empty())
        .text("served_as", sample.served_as)
        .text("account", sample.account)
        .text("error", problem);
    out_ << line.line() << std::endl;
}

}  // namespace bench
