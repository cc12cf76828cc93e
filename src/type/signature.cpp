// SPDX-License-Identifier: BSD-3-Clause
#include "type/signature.hpp"

#include <algorithm>
#include <utility>

#include "type/nesting.hpp"

namespace oratorio {
namespace {

void add(std::int64_t& sum, std::int64_t more) {
    if (__builtin_add_overflow(sum, more, &sum)) sum = INT64_MAX;
}

std::int64_t times(std::int64_t value, std::int64_t count) {
    std::int64_t product = 0;
    return __builtin_mul_overflow(value, count, &product) ? INT64_MAX : product;
}

}  // namespace

Amount& Amount::operator+=(const Amount& other) {
    add(elements, other.elements);
    add(memory, other.memory);
    add(file, other.file);
    return *this;
}

Amount operator*(const Amount& amount, std::int64_t count) {
    return {times(amount.elements, count), times(amount.memory, count), times(amount.file, count)};
}

Amount Signature::Part::each() const {
    return nested ? nested->total() : Amount{1, element.memory, element.file};
}

SignaturePtr Signature::empty() {
    static const SignaturePtr none = std::make_shared<Signature>();
    return none;
}

SignaturePtr Signature::of(const Element& element) {
    return sequence({{element, nullptr, 1}});
}

SignaturePtr Signature::repeated(const SignaturePtr& signature, std::int64_t count) {
    return count == 1 ? signature : sequence({{{}, signature, count}});
}

SignaturePtr Signature::sequence(std::vector<Part> parts) {
    if (parts.size() == 1 && parts.front().nested && parts.front().count == 1)
        return parts.front().nested;
    auto made = std::make_shared<Signature>();
    for (Part& part : parts) made->append(std::move(part));
    while (const auto taken = part_to_take(made->parts_)) {
        auto flatter = std::make_shared<Signature>();
        for (std::size_t i = 0; i < made->parts_.size(); ++i) {
            if (i != *taken) {
                flatter->append(std::move(made->parts_[i]));
            } else {
                for (const Part& inner : made->parts_[i].nested->parts()) flatter->append(inner);
            }
        }
        made = std::move(flatter);
    }
    return made;
}

/// Returns the part that should be replaced by its own parts, if any, so that nesting stays
/// shallow.
std::optional<std::size_t> Signature::part_to_take(const std::vector<Part>& parts) {
    const auto depth_of = [&](std::size_t i) {
        return parts[i].nested ? parts[i].nested->depth() : 0;
    };
    const auto parts_of = [&](std::size_t i) {
        const bool once = parts[i].nested && parts[i].count == 1;
        return once ? parts[i].nested->parts().size() : 0;
    };
    return part_to_replace(parts.size(), depth_of, parts_of);
}

void Signature::append(Part part) {
    while (part.nested && part.nested->parts().size() == 1) {
        Part inner = part.nested->parts().front();
        inner.count = times(inner.count, part.count);
        part = std::move(inner);
    }
    if (part.count == 0 || part.each().memory == 0) return;
    total_ += part.each() * part.count;
    has_file_form_ =
        has_file_form_ && (part.nested ? part.nested->has_file_form() : part.element.file > 0);
    if (part.nested) depth_ = std::max(depth_, part.nested->depth() + 1);
    Part* const last = parts_.empty() ? nullptr : &parts_.back();
    if (last && last->nested == part.nested && last->element == part.element)
        add(last->count, part.count);
    else
        parts_.push_back(std::move(part));
}

Amount Signature::first(std::int64_t Amount::*measure, std::int64_t limit) const {
    if (limit >= total_.*measure) return total_;
    Amount sum;
    for (const Part& part : parts_) {
        const Amount each = part.each();
        const std::int64_t left = limit - sum.*measure;
        const std::int64_t copies = std::min(part.count, left / (each.*measure));
        sum += each * copies;
        if (copies == part.count) continue;
        if (part.nested) sum += part.nested->first(measure, limit - sum.*measure);
        break;
    }
    return sum;
}

Amount Signature::before(Bytes at) const {
    const Amount whole = first(&Amount::file, at);
    return whole.file >= at ? whole : first(&Amount::elements, whole.elements + 1);
}

Result<SignaturePtr> with_file_sizes(const SignaturePtr& signature, const FileSize& size) {
    std::vector<Signature::Part> parts;
    parts.reserve(signature->parts().size());
    for (Signature::Part part : signature->parts()) {
        if (part.nested) {
            auto nested = with_file_sizes(part.nested, size);
            if (!nested) return nested.error();
            part.nested = *nested;
        } else {
            const auto bytes = size(part.element);
            if (!bytes) return bytes.error();
            part.element.file = *bytes;
        }
        parts.push_back(std::move(part));
    }
    return Signature::sequence(std::move(parts));
}

SignatureCursor::SignatureCursor(SignaturePtr signature) : root_(std::move(signature)) {
    stack_.push_back({root_.get(), 1, 0});
}

/// Moves the stack to the next part that isn't nested, unless it is at one, and returns that part;
/// null at the end.
const Signature::Part* SignatureCursor::settle() {
    while (!stack_.empty()) {
        Level& level = stack_.back();
        if (level.part < level.signature->parts().size()) {
            const Signature::Part& part = level.signature->parts()[level.part];
            if (!part.nested) return &part;
            stack_.push_back({part.nested.get(), part.count, 0});
        } else if (--level.copies > 0) {
            level.part = 0;
        } else {
            stack_.pop_back();
            if (!stack_.empty()) ++stack_.back().part;
        }
    }
    return nullptr;
}

void SignatureCursor::seek(std::int64_t elements) {
    stack_.clear();
    taken_ = 0;
    const Signature* signature = root_.get();
    for (std::int64_t copies = 1;;) {
        std::size_t at = 0;
        const auto parts = signature->parts();
        for (; at < parts.size(); ++at) {
            const std::int64_t here = (parts[at].each() * parts[at].count).elements;
            if (elements < here) break;
            elements -= here;
        }
        stack_.push_back({signature, copies, at});
        if (at == parts.size()) return;
        if (!parts[at].nested) {
            taken_ = elements;
            return;
        }
        const std::int64_t each = parts[at].nested->total().elements;
        copies = parts[at].count - elements / each;
        elements %= each;
        signature = parts[at].nested.get();
    }
}

SignatureCursor::Run SignatureCursor::next(Bytes memory_max, Bytes file_max) {
    const Signature::Part* part = settle();
    if (!part) return {};
    const Element& element = part->element;
    std::int64_t count = part->count - taken_;
    // Divides only for a part that exceeds a limit; most parts fit.
    if (count * element.memory > memory_max) count = memory_max / element.memory;
    if (count * element.file > file_max) count = file_max / element.file;
    taken_ += count;
    if (taken_ == part->count) {
        taken_ = 0;
        ++stack_.back().part;
    }
    return {&element, count};
}

}  // namespace oratorio
