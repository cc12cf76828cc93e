// SPDX-License-Identifier: BSD-3-Clause
// Generator: makes the program of a seed; see generate.cpp. Private to the oracle.
#pragma once

#include "oracle/program.hpp"

namespace oratorio::oracle {

/// Accesses end here at the latest, except those with the shared file pointer.
inline constexpr Offset kDataEnd = 40 << 10;

class Generator {
  public:
    Generator(std::uint64_t seed, const Features& features)
        : random_(seed * 0x9e3779b97f4a7c15ULL + 1), features_(features) {
        program_.seed = seed;
        program_.schedule = seed;
    }
    Program make();

  private:
    /// What the generator knows about a handle at the current end of the program.
    struct State {
        std::vector<Tiles> views;  ///< index: member of the handle
        std::vector<Part> shape;   ///< shares of the last collective access, by member
        std::vector<int> starts;   ///< ids of the accesses that have not finished
        bool split = false;
        bool atomic = false;
    };

    void setting();
    void clients();
    void lock_faults();
    void scarcity();
    [[nodiscard]] int call_of(Rank rank, test::Random& dice) const;
    void handles();
    void add_partial_handles(std::vector<Rank> all);
    void later_method(HintMap& hints) const;
    void file_domains(HintMap& hints) const;
    void named_aggregators(HintMap& hints) const;
    HintMap hints();
    void add_handle(std::vector<Rank> members, bool log);
    void deal();
    Tiles view_of(std::size_t owner);
    Step& add(Kind kind, int handle);
    void open_all();
    void set_view(int handle);
    void renew_view(int handle);
    void act();
    void act_alone();
    void collective();
    void new_shape(int handle);
    void independent();
    Part part_of(int handle, std::size_t member);
    void own_then_together();
    void under_way();
    void records();
    void finish(int handle, std::size_t which);
    void finish_all(int handle);
    void sync(int handle);
    void sync_barrier_sync();
    void set_atomic(int handle);
    void set_size();
    void message();
    int data_handle();
    /// Returns true if the programs are meant to contend for locks: they use atomic mode or let
    /// ranks die with a lock.
    [[nodiscard]] bool is_atomic() const { return features_.atomic || features_.deaths; }
    bool chance(int percent) { return random_.chance(percent); }
    int below(int bound) {
        return static_cast<int>(random_.below(static_cast<std::uint64_t>(bound)));
    }
    [[nodiscard]] State& state(int handle) { return states_[static_cast<std::size_t>(handle)]; }
    [[nodiscard]] const Handle& handle(int number) const {
        return program_.handles[static_cast<std::size_t>(number)];
    }

    test::Random random_;
    Features features_;
    Program program_;
    std::vector<State> states_;
    std::vector<Tiles> owned_;  ///< the bytes that each member of each handle owns, in that order
    int steps_ = 0;
};

}  // namespace oratorio::oracle
