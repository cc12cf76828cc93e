// SPDX-License-Identifier: BSD-3-Clause
// FileTable: the open files by their MPI_File handles. Thread-safe.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "bind/open_file.hpp"

namespace oratorio::bind {

/// The open files by handle. A handle is a small integer, cast to what mpi.h declares (a pointer
/// that is never followed): the slot is in the low 16 bits, and the generation of the slot, counted
/// from 1, above it. So a closed handle is recognized as dead until its slot has been reused 32767
/// times. There is one table in a process. All handles are above the reserved range of the standard
/// ABI and positive as Fortran INTEGER, so the Fortran handle is the same number.
class FileTable {
  public:
    /// Adds a file and returns its handle; MPI_FILE_NULL if 65536 files are open.
    [[nodiscard]] MPI_File add(std::shared_ptr<OpenFile> file);
    /// Returns the file of a handle; null unless it is the handle of an open file.
    [[nodiscard]] std::shared_ptr<OpenFile> find(MPI_File fh) const;
    void remove(MPI_File fh);

    /// Remembers a handle of the host's own files, so that calls on it are passed to the host.
    void add_host(MPI_File fh);
    [[nodiscard]] bool is_host(MPI_File fh) const;
    void remove_host(MPI_File fh);

    [[nodiscard]] std::vector<std::shared_ptr<OpenFile>> open_files() const;

    /// Returns true if a number can be a handle of this table, open or closed.
    [[nodiscard]] static bool in_range(std::intptr_t number);
    [[nodiscard]] static std::intptr_t number_of(MPI_File fh) {
        return reinterpret_cast<std::intptr_t>(fh);
    }
    /// Returns the number of a handle's slot, from 0. No two open files have the same number; those
    /// of closed files are reused.
    [[nodiscard]] static int place_of(MPI_File fh) {
        return static_cast<int>(number_of(fh) & 0xffff);
    }
    [[nodiscard]] static MPI_File handle_of(std::intptr_t number) {
        return reinterpret_cast<MPI_File>(number);
    }

  private:
    struct Slot {
        std::intptr_t generation = 1;
        std::shared_ptr<OpenFile> file;
    };
    /// Returns the slot of a live handle; null if there is none. REQUIRES: mutex_ is held.
    [[nodiscard]] const Slot* slot_of(MPI_File fh) const;

    mutable std::mutex mutex_;  ///< guards all below; the two counts are read without it
    std::vector<Slot> slots_;
    std::deque<std::size_t> free_;  ///< the first one freed is the first one used again:
                                    ///< generations grow slowly
    /// Number of files removed so far. A thread that found a file when it had the same value finds
    /// it again without mutex_.
    std::atomic<std::uint64_t> removed_{0};
    std::set<MPI_File> host_files_;
    /// Number of entries of host_files_. Every call reads it, and in most programs it is 0. If it
    /// isn't, host_files_ is read under mutex_, so the count publishes nothing.
    std::atomic<std::size_t> host_count_{0};
};

}  // namespace oratorio::bind
