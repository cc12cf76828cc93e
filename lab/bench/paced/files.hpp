// SPDX-License-Identifier: BSD-3-Clause
// The files of the paced file system, which has one folder and is in memory.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace paced {

struct File {
    std::uint64_t number = 0;
    std::uint64_t bytes = 0;
    std::byte* data = nullptr;  ///< content; the bytes after the end are zeros

    void resize(std::uint64_t to) {
        if (to < bytes) std::memset(data + to, 0, bytes - to);
        bytes = to;
    }
};

class Files {
  public:
    static constexpr std::uint64_t root = 1;
    static constexpr std::uint64_t bytes_max = std::uint64_t{1} << 36;  ///< largest size of a file

    Files() { all_[root].number = root; }

    /// Returns the file of this name, or null if there is none.
    File* find(const std::string& name) {
        const auto found = names_.find(name);
        return found == names_.end() ? nullptr : at(found->second);
    }
    File* at(std::uint64_t number) {
        const auto found = all_.find(number);
        return found == all_.end() ? nullptr : &found->second;
    }
    /// Returns the file of this name. Creates an empty one if there is none.
    File& make(const std::string& name) {
        if (File* const there = find(name)) return *there;
        const std::uint64_t number = ++last_;
        names_[name] = number;
        File& file = all_[number];
        file.number = number;
        file.data = memory();
        return file;
    }
    /// Removes a file. Returns false if there is none. The next new file reuses the memory; open
    /// handles become invalid.
    bool remove(const std::string& name) {
        File* const file = find(name);
        if (file == nullptr) return false;
        file->resize(0);
        spare_.push_back(file->data);
        all_.erase(file->number);
        names_.erase(name);
        return true;
    }

  private:
    /// Returns memory for a file. Reuses the memory of a removed file if possible, because its
    /// pages exist already.
    std::byte* memory() {
        if (!spare_.empty()) {
            std::byte* const used = spare_.back();
            spare_.pop_back();
            return used;
        }
        void* const fresh = ::mmap(nullptr, bytes_max, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (fresh == MAP_FAILED) throw std::runtime_error("can't reserve memory for a file");
        ::madvise(fresh, bytes_max, MADV_HUGEPAGE);
        return static_cast<std::byte*>(fresh);
    }

    std::map<std::string, std::uint64_t> names_;
    std::map<std::uint64_t, File> all_;
    std::vector<std::byte*> spare_;
    std::uint64_t last_ = root;
};

}  // namespace paced
