// SPDX-License-Identifier: BSD-3-Clause
#include "bind/file_table.hpp"

namespace oratorio::bind {

namespace {

constexpr int kSlotBits = 16;
constexpr std::intptr_t kSlots = std::intptr_t{1} << kSlotBits;
constexpr std::intptr_t kGenerations = std::intptr_t{1} << (31 - kSlotBits);

struct LastFound;
/// The file that this thread found last; null at first. Every call reads it, so it has the faster
/// model of thread-local memory.
[[gnu::tls_model("initial-exec")]] thread_local const LastFound* last_found = nullptr;

/// A file that a thread has found. It doesn't keep the file from being freed.
struct LastFound {
    MPI_File fh{};
    std::uint64_t removed = 0;  ///< number of files that had been removed from the table
    std::weak_ptr<OpenFile> file;

    ~LastFound() { last_found = nullptr; }
};

void remember(MPI_File fh, std::uint64_t removed, const std::shared_ptr<OpenFile>& file) {
    thread_local LastFound found;
    found.fh = fh;
    found.removed = removed;
    found.file = file;
    last_found = &found;
}

}  // namespace

bool FileTable::in_range(std::intptr_t number) {
    return number >= kSlots && number < kSlots * kGenerations;
}

const FileTable::Slot* FileTable::slot_of(MPI_File fh) const {
    const std::intptr_t number = number_of(fh);
    if (!in_range(number)) return nullptr;
    const auto index = static_cast<std::size_t>(number % kSlots);
    if (index >= slots_.size() || slots_[index].generation != number / kSlots ||
        !slots_[index].file)
        return nullptr;
    return &slots_[index];
}

MPI_File FileTable::add(std::shared_ptr<OpenFile> file) {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
        if (slots_.size() == kSlots) return MPI_FILE_NULL;
        free_.push_back(slots_.size());
        slots_.emplace_back();
    }
    const std::size_t index = free_.front();
    free_.pop_front();
    slots_[index].file = std::move(file);
    return handle_of(slots_[index].generation * kSlots + static_cast<std::intptr_t>(index));
}

std::shared_ptr<OpenFile> FileTable::find(MPI_File fh) const {
    const LastFound* const last = last_found;
    if (last != nullptr && last->fh == fh && last->removed == removed_) {
        if (auto file = last->file.lock()) return file;
    }
    const std::lock_guard lock(mutex_);
    const Slot* slot = slot_of(fh);
    if (slot == nullptr) return nullptr;
    remember(fh, removed_, slot->file);
    return slot->file;
}

void FileTable::remove(MPI_File fh) {
    const std::lock_guard lock(mutex_);
    if (slot_of(fh) == nullptr) return;
    ++removed_;
    const auto index = static_cast<std::size_t>(number_of(fh) % kSlots);
    Slot& slot = slots_[index];
    slot.file.reset();
    slot.generation = slot.generation + 1 == kGenerations ? 1 : slot.generation + 1;
    free_.push_back(index);
}

void FileTable::add_host(MPI_File fh) {
    const std::lock_guard lock(mutex_);
    host_files_.insert(fh);
    host_count_ = host_files_.size();
}

bool FileTable::is_host(MPI_File fh) const {
    if (host_count_ == 0) return false;
    const std::lock_guard lock(mutex_);
    return host_files_.contains(fh);
}

void FileTable::remove_host(MPI_File fh) {
    const std::lock_guard lock(mutex_);
    host_files_.erase(fh);
    host_count_ = host_files_.size();
}

std::vector<std::shared_ptr<OpenFile>> FileTable::open_files() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<OpenFile>> files;
    for (const Slot& slot : slots_) {
        if (slot.file) files.push_back(slot.file);
    }
    return files;
}

}  // namespace oratorio::bind
