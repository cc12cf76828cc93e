// SPDX-License-Identifier: BSD-3-Clause
// Session: one calibration. Runs probes, tells how far it is, and prints what was found, a line
// each, to standard output: "step SHARE WHAT", "measured NAME NANOSECONDS", "kept NAME REASON",
// fields apart by tabs. Read by tools/oratorio/calibrate.py.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "timing.hpp"

namespace oratorio::calibrate {

struct Scale {
    Bytes data = 128 << 20;  ///< of a file and of a user's buffer: too large for any cache
    int repeats = 7;
    int turns = 2000;           ///< of what is too quick to be timed once
    Nanoseconds enough = 10e9;  ///< of a group: where storage is slow it isn't repeated after that
};

struct Probe {
    std::string_view what;
    std::function<Result<Nanoseconds>()> run;  ///< times itself, so that it may prepare unmeasured
};

class Session {
  public:
    /// `groups`: how often medians() will be called.
    Session(const Scale& scale, int groups) : scale_(scale), groups_(groups) {}

    [[nodiscard]] const Scale& scale() const { return scale_; }
    /// Of each probe, in the order given. The probes take turns, so that what the machine does
    /// beside falls on all; a first pass isn't counted: it brings memory and file pages in. One
    /// pass counts however long it takes.
    Result<std::vector<Nanoseconds>> medians(std::span<const Probe> probes);
    void measured(std::string_view name, Nanoseconds value);
    /// A constant that can't be measured here.
    void kept(std::string_view name, std::string_view reason);

  private:
    void tell(double share_of_group, std::string_view what) const;

    Scale scale_;
    int groups_;
    int group_ = 0;
};

/// Each measures the constants that its name says. All need no MPI.
Result<void> measure_files(Session& session, const std::string& folder);
Result<void> measure_several(Session& session, const std::string& folder);
Result<void> measure_direct(Session& session, const std::string& folder);
Result<void> measure_copies(Session& session);
Result<void> measure_processes(Session& session);
inline constexpr int kGroups = 7;

/// Why constants of mappings are kept.
inline constexpr std::string_view kUnmappable = "files aren't mapped there";

}  // namespace oratorio::calibrate
