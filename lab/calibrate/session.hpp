// SPDX-License-Identifier: BSD-3-Clause
// Session: one calibration. Runs probes, reports progress, and prints the results to standard
// output, one line each: "step SHARE WHAT", "measured NAME NANOSECONDS", "kept NAME REASON", with
// tabs between the fields. cli/oratorio/calibrate/calibrate.py reads them.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "timing.hpp"

namespace oratorio::calibrate {

struct Scale {
    /// Size of a file and of a user's buffer: larger than most caches.
    Bytes data = 128 << 20;
    int repeats = 7;
    int turns = 2000;  ///< repeats of a step that is too quick to be timed once
    /// Time after which no further pass of a group of probes begins, for slow storage.
    Nanoseconds enough = 10e9;
};

struct Probe {
    std::string_view what;
    /// Runs the probe. Returns the time that it has measured, which need not include preparations.
    std::function<Result<Nanoseconds>()> run;
};

class Session {
  public:
    /// `groups` is the number of calls of medians() that will follow.
    Session(const Scale& scale, int groups) : scale_(scale), groups_(groups) {}

    [[nodiscard]] const Scale& scale() const { return scale_; }
    /// Returns the median of each probe, in the order of `probes`. The probes take turns, so that
    /// other load on the machine affects all of them. A first pass isn't counted: it makes the
    /// memory and the file's pages resident. At least one pass counts, however long it takes.
    Result<std::vector<Nanoseconds>> medians(std::span<const Probe> probes);
    void measured(std::string_view name, Nanoseconds value);
    /// Reports a constant that can't be measured here and keeps its value.
    void kept(std::string_view name, std::string_view reason);

  private:
    void tell(double share_of_group, std::string_view what) const;

    Scale scale_;
    int groups_;
    int group_ = 0;
};

/// Each function measures the constants of the subject in its name, without MPI.
Result<void> measure_files(Session& session, const std::string& folder);
Result<void> measure_several(Session& session, const std::string& folder);
Result<void> measure_direct(Session& session, const std::string& folder);
Result<void> measure_copies(Session& session);
Result<void> measure_processes(Session& session);
inline constexpr int kGroups = 7;

/// The reason that is reported for constants of mappings that keep their values.
inline constexpr std::string_view kUnmappable = "files aren't mapped on this file system";

}  // namespace oratorio::calibrate
