// SPDX-License-Identifier: BSD-3-Clause
#include "file/striping_advice.hpp"

#include <sys/stat.h>

#include "base/amounts.hpp"
#include "store/file_system_types.hpp"

namespace oratorio {

namespace {

std::string size_text(Bytes bytes) {
    return bytes_text(static_cast<double>(bytes));
}

std::string targets_text(std::int64_t targets) {
    return counted(static_cast<std::uint64_t>(targets), "storage target");
}

std::string command_for(std::int64_t targets, long file_system) {
    const std::string number = std::to_string(targets);
    if (file_system_name(file_system) == "LUSTRE") return "lfs setstripe -c " + number;
    return "beegfs-ctl --setpattern --numtargets=" + number;
}

}  // namespace

std::string layout_text(std::span<const LayoutPart> layout) {
    std::string text = "striping:";
    for (const LayoutPart& part : layout) {
        text += (part == layout.front() ? " " : ", ");
        text += part == layout.front() ? targets_text(part.targets) : std::to_string(part.targets);
        text += part.end == INT64_MAX ? " beyond" : " up to " + size_text(part.end);
    }
    return text + " (hint oratorio_striping)";
}

std::string StripingAdvice::sentence() const {
    return "striping: " + size_text(bytes) + " on " + targets_text(targets) + "; " +
           std::to_string(proposed) + " would be better" +
           (known ? "" : " if the file system has that many") +
           ": hint striping_factor=" + std::to_string(proposed) + ", or " + command +
           " on the folder before the file is created";
}

std::optional<StripingAdvice> striping_advice(const OpenedFile& file, const Hints& hints,
                                              int nodes) {
    const FileFindings& found = *file.found;
    const bool is_new = file.mode.create && found.was_empty;
    if (!is_new || found.striping.targets == 0 || hints.plan.striping_factor > 0 ||
        hints.striping == StripingChoice::off)
        return std::nullopt;
    struct stat facts {};
    const std::string& path = file.location.path;
    if (::stat(path.c_str(), &facts) != 0) return std::nullopt;
    const auto lacks = [&](std::int64_t proposed) {
        return proposed >= 2 * found.striping.targets;
    };
    if (!lacks(proposed_targets(facts.st_size, {0, nodes}))) return std::nullopt;
    const std::int64_t all = targets_of(path, found.file_system);
    const std::int64_t proposed = proposed_targets(facts.st_size, {all, nodes});
    if (!lacks(proposed)) return std::nullopt;
    return StripingAdvice{.bytes = facts.st_size,
                          .targets = found.striping.targets,
                          .proposed = proposed,
                          .known = all > 0,
                          .command = command_for(proposed, found.file_system)};
}

}  // namespace oratorio
