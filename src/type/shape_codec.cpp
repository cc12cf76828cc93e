// SPDX-License-Identifier: BSD-3-Clause
#include "type/shape_codec.hpp"

#include <cstdint>
#include <optional>
#include <utility>

namespace oratorio {

namespace {

using Kind = Shape::Kind;

/// Maximum number of bytes of a number. Numbers are written 7 bits per byte, lowest bits first,
/// with the sign in bit 0. Lists of offsets hold differences, which are short.
constexpr int kLongestNumber = 10;

/// The deepest shape that decode() accepts, in levels. This is limited because decode() recurses,
/// on a stack of unknown size.
constexpr int kDeepest = 100;

std::uint64_t unsigned_of(std::int64_t value) {
    return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

std::int64_t signed_of(std::uint64_t bits) {
    return static_cast<std::int64_t>(bits >> 1) ^ -static_cast<std::int64_t>(bits & 1);
}

class Appender {
  public:
    explicit Appender(std::vector<std::byte>& out) : out_(out) {}
    void put(std::byte byte) { out_.push_back(byte); }

  private:
    std::vector<std::byte>& out_;
};

class Counter {
  public:
    void put(std::byte /*byte*/) { ++bytes_; }
    [[nodiscard]] Bytes bytes() const { return bytes_; }

  private:
    Bytes bytes_ = 0;
};

template <class Sink>
class Writer {
  public:
    explicit Writer(Sink& sink) : sink_(sink) {}

    void layout(const Layout& layout) {
        number(layout.count);
        number(layout.extent);
        number(layout.origin);
        shape(*layout.shape);
    }

  private:
    void number(std::int64_t value) {
        std::uint64_t bits = unsigned_of(value);
        for (; bits >= 0x80; bits >>= 7) sink_.put(static_cast<std::byte>(bits | 0x80));
        sink_.put(static_cast<std::byte>(bits));
    }

    void offsets(const Shape& shape) {
        Offset last = 0;
        for (const Offset offset : shape.offsets()) number(offset - std::exchange(last, offset));
    }

    void shape(const Shape& shape) {
        sink_.put(static_cast<std::byte>(shape.kind()));
        if (shape.kind() == Kind::empty) return;
        if (shape.kind() == Kind::run) return number(shape.size());
        number(shape.count());
        if (shape.kind() == Kind::strided)
            number(shape.stride());
        else
            offsets(shape);
        if (shape.kind() == Kind::runs) {
            for (std::int64_t part = 0; part < shape.count(); ++part) number(shape.part_size(part));
        } else if (shape.kind() == Kind::mixed) {
            for (std::int64_t part = 0; part < shape.count(); ++part)
                this->shape(*shape.child(part));
        } else {
            this->shape(*shape.child());
        }
    }

    Sink& sink_;
};

bool beyond(std::int64_t value, std::int64_t most) {
    return value < -most || value > most;
}

/// A number from -kMost to kMost. A result outside this range is invalid, and so is all that is
/// computed from an invalid number.
class Checked {
  public:
    static constexpr std::int64_t kMost = std::int64_t{1} << 60;

    Checked(std::int64_t value)
        : value_(beyond(value, kMost) ? 0 : value), valid_(!beyond(value, kMost)) {}
    [[nodiscard]] bool valid() const { return valid_; }

    friend Checked operator+(Checked a, Checked b) { return a.made(b, a.value_ + b.value_); }
    friend Checked operator*(Checked a, Checked b) {
        std::int64_t product = 0;
        const bool overflows = __builtin_mul_overflow(a.value_, b.value_, &product);
        return a.made(b, overflows ? kMost + 1 : product);
    }

  private:
    [[nodiscard]] Checked made(Checked other, std::int64_t result) const {
        Checked made(result);
        made.valid_ = made.valid_ && valid_ && other.valid_;
        if (!made.valid_) made.value_ = 0;
        return made;
    }

    std::int64_t value_;
    bool valid_;
};

bool in_range(Extent span, Checked moved) {
    return (moved + span.begin).valid() && (moved + span.end).valid();
}

class Reader {
  public:
    explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    [[nodiscard]] std::optional<Layout> layout() {
        const auto count = number();
        const auto extent = number();
        const auto origin = number();
        if (!count || !extent || !origin || *count < 0) return {};
        if (beyond(*extent, 2 * Checked::kMost) || beyond(*origin, 4 * Checked::kMost)) return {};
        auto shape = this->shape(0);
        if (!shape || !bytes_.empty()) return {};
        return Layout{std::move(*shape), *extent, *origin, *count};
    }

  private:
    using MaybeShape = std::optional<ShapePtr>;
    using MaybeNumber = std::optional<std::int64_t>;

    MaybeNumber number() {
        std::uint64_t bits = 0;
        for (int i = 0; i < kLongestNumber && !bytes_.empty(); ++i) {
            const auto byte = static_cast<std::uint64_t>(bytes_.front());
            bytes_ = bytes_.subspan(1);
            if (i == kLongestNumber - 1 && byte > 1) return {};
            bits |= (byte & 0x7f) << (7 * i);
            if (byte < 0x80) return signed_of(bits);
        }
        return {};
    }

    /// Reads the number of entries of a list. Accepts at most the number of bytes left, because
    /// each entry takes at least one byte; this limits the memory that a damaged count can ask for.
    MaybeNumber listed_count() {
        const auto count = number();
        return count && *count > 0 && *count <= std::ssize(bytes_) ? count : std::nullopt;
    }

    std::optional<std::vector<Offset>> offsets(std::int64_t count) {
        std::vector<Offset> list(static_cast<std::size_t>(count));
        Offset last = 0;
        for (Offset& offset : list) {
            const auto step = number();
            if (!step || __builtin_add_overflow(last, *step, &offset) || !Checked(offset).valid())
                return {};
            last = offset;
        }
        return list;
    }

    MaybeShape shape(int depth) {
        if (bytes_.empty() || depth == kDeepest) return {};
        const std::byte kind = bytes_.front();
        bytes_ = bytes_.subspan(1);
        switch (static_cast<Kind>(kind)) {
            case Kind::empty:
                return Shape::empty();
            case Kind::run:
                return run();
            case Kind::strided:
                return strided(depth);
            case Kind::blocks:
                return blocks(depth);
            case Kind::runs:
                return runs();
            case Kind::mixed:
                return mixed(depth);
        }
        return {};
    }

    MaybeShape run() {
        const auto size = number();
        if (!size || *size <= 0 || !Checked(*size).valid()) return {};
        return Shape::run(*size);
    }

    MaybeShape strided(int depth) {
        const auto count = number();
        const auto stride = number();
        if (!count || !stride || *count <= 0) return {};
        auto child = shape(depth + 1);
        if (!child || !(Checked((*child)->size()) * *count).valid() ||
            !in_range((*child)->span(), Checked(*stride) * (*count - 1)))
            return {};
        return Shape::strided(std::move(*child), *count, *stride);
    }

    MaybeShape blocks(int depth) {
        const auto count = listed_count();
        if (!count) return {};
        auto list = offsets(*count);
        if (!list) return {};
        auto child = shape(depth + 1);
        if (!child || !(Checked((*child)->size()) * *count).valid()) return {};
        for (const Offset offset : *list)
            if (!in_range((*child)->span(), offset)) return {};
        return Shape::blocks(std::move(*child), std::move(*list));
    }

    MaybeShape runs() {
        const auto count = listed_count();
        if (!count) return {};
        auto list = offsets(*count);
        if (!list || *count > std::ssize(bytes_)) return {};
        std::vector<Bytes> lengths;
        lengths.reserve(list->size());
        Checked size = 0;
        for (const Offset offset : *list) {
            const auto length = number();
            if (!length || *length <= 0 || !in_range({0, *length}, offset)) return {};
            size = size + *length;
            lengths.push_back(*length);
        }
        if (!size.valid()) return {};
        return Shape::runs(std::move(*list), std::move(lengths));
    }

    MaybeShape mixed(int depth) {
        const auto count = listed_count();
        if (!count) return {};
        auto list = offsets(*count);
        if (!list || *count > std::ssize(bytes_)) return {};
        std::vector<ShapePtr> children;
        children.reserve(list->size());
        Checked size = 0;
        for (const Offset offset : *list) {
            auto child = shape(depth + 1);
            if (!child || !in_range((*child)->span(), offset)) return {};
            size = size + (*child)->size();
            children.push_back(std::move(*child));
        }
        if (!size.valid()) return {};
        return Shape::mixed(std::move(children), std::move(*list));
    }

    std::span<const std::byte> bytes_;
};

}  // namespace

/// Limits the shape to half of what decode() accepts, because offsets of parts may be further from
/// the origin than the data in the parts.
bool can_be_encoded(const Layout& layout) {
    constexpr Offset kMost = Checked::kMost / 2;
    const Shape& shape = *layout.shape;
    return shape.depth() <= kDeepest && shape.size() <= kMost && shape.span().begin >= -kMost &&
           shape.span().end <= kMost && !beyond(layout.extent, kMost) &&
           !beyond(layout.origin, kOffsetLimit);
}

Bytes encoded_bytes(const Layout& layout) {
    Counter counter;
    Writer(counter).layout(layout);
    return counter.bytes();
}

void encode(const Layout& layout, std::vector<std::byte>& out) {
    Appender appender(out);
    Writer(appender).layout(layout);
}

Result<Layout> decode(std::span<const std::byte> bytes) {
    auto layout = Reader(bytes).layout();
    if (!layout)
        return Error::make(ErrorKind::internal, "the layout that another rank sent is damaged");
    return std::move(*layout);
}

}  // namespace oratorio
