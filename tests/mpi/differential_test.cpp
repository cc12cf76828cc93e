// SPDX-License-Identifier: BSD-3-Clause
// Seeded random programs, run by Oratorio and by the host's own MPI-IO, and compared with a model
// of the file: the bytes in the files, the bytes read, the counts of the statuses and the positions
// must agree.
//
// The model decides. A disagreement with the host is printed; the test fails only if there are
// many. The host moves contiguous memory, as MPICH can't handle all the random datatypes. The
// following results of the host are not compared, because they are known to differ:
//
// - the holes of a file that the host created (MPICH leaves there what its buffer held before),
// - the count, the data and the position after a read that meets the end of the file (MPICH:
//   reports the requested count and stays at the end of the file; Open MPI: depends on the form),
// - views with interleaving tiles (neither supports them).
//
// Arguments: number of seeds, first seed, "alone" for many seeds without the host: eventually
// MPICH's ROMIO aborts the program at some filetype (an assertion in its flatten.c).
#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "mpi/file_model.hpp"
#include "mpi/file_support.hpp"
#include "mpi/random_view.hpp"

namespace oratorio::test {
namespace {

enum class Form { at_all, all, at, pointer };
const char* const kForms[] = {"_at_all", "_all", "_at", ""};
constexpr MPI_Offset kFarBase = (MPI_Offset{1} << 32) + 12345;

/// One rank's share of a step.
struct Share {
    int units = 1;  ///< etypes in one element of the memory type
    int count = 0;
    MPI_Offset offset = 0;  ///< place in the view, in etypes
    MPI_Offset etypes() const { return static_cast<MPI_Offset>(units) * count; }
};

MappedType memory_type(Random& random, const Share& share, const MappedType& etype) {
    const auto unit =
        MappedType::contiguous(static_cast<int>(etype.size()), MappedType::named(MPI_BYTE));
    return random.chance(30) ? MappedType::contiguous(share.units, unit)
                             : random_memory(random, share.units, unit);
}

UserMemory plain_memory(MPI_Aint size) {
    return {MappedType::named(MPI_BYTE), static_cast<int>(size)};
}

/// Number of comparisons with the host, and of those in which only the host differed from the
/// model.
int host_compared = 0;
int host_disagreed = 0;

void compare_host(bool agrees, const char* what, const std::string& told) {
    ++host_compared;
    if (agrees) return;
    ++host_disagreed;
    std::printf("the host differs from the model (%s) in %s\n", what, told.c_str());
}

class Scenario {
  public:
    Scenario(std::uint64_t seed, bool alone)
        : seed_(seed),
          random_(mix(seed)),
          rank_(rank_of_world()),
          ranks_(size_of_world()),
          host_lost_(alone) {}
    void run();

  private:
    struct Side {
        ScratchFile scratch;
        MPI_File file = MPI_FILE_NULL;
    };

    Hints random_hints();
    void prefill();
    void set_views(bool for_reading);
    void step(int number);
    void write(Form form, const std::vector<Share>& shares, int number);
    void read(Form form, const std::vector<Share>& shares);
    std::vector<MPI_Offset> my_places(const Share& share) const;
    void check_read(const Share& share, UserMemory& memory, const MPI_Status& status);
    void check_host_read(const Share& share, UserMemory& memory, const MPI_Status& status);
    int write_with(MPI_File file, Form form, const Share& share, UserMemory& memory,
                   MPI_Status* status);
    int read_with(MPI_File file, Form form, const Share& share, UserMemory& memory,
                  MPI_Status* status);
    void seek_to(const std::vector<Share>& shares);
    void seek_end();
    void check_positions();
    void check_files();

    const FileView& view(int rank) const { return views_.of_rank[static_cast<std::size_t>(rank)]; }
    const FileView& mine() const { return view(rank_); }
    bool host_too() const { return !host_lost_; }

    std::uint64_t seed_;
    Random random_;  ///< yields the same numbers on all ranks
    int rank_;
    int ranks_;
    std::string told_;
    Side own_;
    Side host_;
    bool host_lost_;                   ///< the host is left out, or cannot handle an earlier view
    bool host_position_lost_ = false;  ///< a read met the end, so the host's position must be set
    RandomViews views_;
    FileModel model_;
    MPI_Offset position_ = 0;
};

Hints Scenario::random_hints() {
    const auto number = [&](std::int64_t low, std::int64_t high) {
        return std::to_string(random_.between(low, high));
    };
    Hints hints{{"oratorio_method", kMethods[seed_ % kMethods.size()]},
                {"oratorio_store", kStores[seed_ / kMethods.size() % 2]}};
    if (random_.chance(60)) hints.push_back({"cb_buffer_size", number(64, 5000)});
    if (random_.chance(50)) hints.push_back({"cb_nodes", number(1, ranks_)});
    if (random_.chance(50)) hints.push_back({"oratorio_message_bytes", number(64, 2000)});
    if (random_.chance(30)) hints.push_back({"oratorio_messages_in_flight", number(1, 3)});
    if (random_.chance(30)) hints.push_back({"oratorio_slots", number(1, 4)});
    if (random_.chance(50)) hints.push_back({"ind_wr_buffer_size", number(1, 3000)});
    if (random_.chance(50)) hints.push_back({"ind_rd_buffer_size", number(1, 3000)});
    if (random_.chance(30)) hints.push_back({"striping_unit", number(100, 2000)});
    if (random_.chance(30)) hints.push_back({"oratorio_cyclic_block", number(50, 1000)});
    return hints;
}

/// Creates both files in advance, shorter or longer than what will be written.
void Scenario::prefill() {
    const MPI_Offset length = random_.between(1, 20000);
    Bytes bytes;
    for (MPI_Offset i = 0; i < length; ++i) {
        bytes.push_back(pattern(static_cast<std::uint64_t>(i), seed_));
        model_.put(model_.base + i, bytes.back());
    }
    if (rank_ != 0) return;
    put_into_file(own_.scratch.name(), model_.base, bytes);
    put_into_file(host_.scratch.name(), model_.base, bytes);
}

void Scenario::set_views(bool for_reading) {
    views_ = random_views(random_, ranks_, model_.base, for_reading);
    told_ += ", " + views_.kind;
    if (views_.interleaving) host_lost_ = true;
    const auto set = [&](MPI_File file) {
        return MPI_File_set_view(file, mine().displacement, views_.etype->handle(),
                                 mine().filetype.handle(), "native", MPI_INFO_NULL);
    };
    CHECK_IN(told_, set(own_.file) == MPI_SUCCESS);
    if (host_too()) CHECK_IN(told_, set(host_.file) == MPI_SUCCESS);
    position_ = 0;
}

void Scenario::run() {
    const Hints hints = random_hints();
    told_ = "seed " + std::to_string(seed_);
    for (const auto& [key, value] : hints) told_ += " " + key + "=" + value;
    model_.base = random_.chance(25) ? kFarBase : random_.between(0, 1000);
    if (random_.chance(50)) prefill();
    MPI_Barrier(MPI_COMM_WORLD);
    own_.file = open_file(own_.scratch.name(), MPI_MODE_CREATE | MPI_MODE_RDWR, hints);
    host_.file = open_file(host_.scratch.name(), MPI_MODE_CREATE | MPI_MODE_RDWR,
                           {{"oratorio_method", "host"}});
    set_views(false);
    const int steps = static_cast<int>(random_.between(3, 8));
    for (int number = 0; number < steps; ++number) {
        step(number);
        check_positions();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK_IN(told_, MPI_File_close(&own_.file) == MPI_SUCCESS);
    CHECK_IN(told_, MPI_File_close(&host_.file) == MPI_SUCCESS);
    check_files();
}

void Scenario::step(int number) {
    if (number > 0 && random_.chance(20)) set_views(number > 2);
    if (random_.chance(10)) seek_end();
    const auto form = static_cast<Form>(random_.below(4));
    const bool reading = views_.overlapping || random_.chance(45);
    told_ += std::string(reading ? ", read" : ", write") + kForms[static_cast<int>(form)];
    std::vector<Share> shares(static_cast<std::size_t>(ranks_));
    const int limit = views_.etypes;
    for (Share& share : shares) {
        share.units = static_cast<int>(random_.between(1, 12));
        share.count =
            random_.chance(15) ? 0 : static_cast<int>(random_.between(0, limit / share.units));
        share.offset = random_.between(0, limit - share.etypes());
    }
    if (form == Form::all || form == Form::pointer) seek_to(shares);
    if (reading) {
        read(form, shares);
    } else {
        write(form, shares, number);
    }
    const Share& share = shares[static_cast<std::size_t>(rank_)];
    if (form == Form::all || form == Form::pointer) position_ = share.offset + share.etypes();
    if (host_position_lost_ && host_too())
        CHECK_IN(told_, MPI_File_seek(host_.file, position_, MPI_SEEK_SET) == MPI_SUCCESS);
    host_position_lost_ = false;
}

void Scenario::seek_to(const std::vector<Share>& shares) {
    const MPI_Offset to = shares[static_cast<std::size_t>(rank_)].offset;
    const bool relative = random_.chance(50);
    const auto seek = [&](MPI_File file) {
        return relative ? MPI_File_seek(file, to - position_, MPI_SEEK_CUR)
                        : MPI_File_seek(file, to, MPI_SEEK_SET);
    };
    CHECK_IN(told_, seek(own_.file) == MPI_SUCCESS);
    if (host_too()) CHECK_IN(told_, seek(host_.file) == MPI_SUCCESS);
    position_ = to;
}

void Scenario::seek_end() {
    if (views_.interleaving) return;
    told_ += ", seek end";
    CHECK_IN(told_, MPI_File_seek(own_.file, 0, MPI_SEEK_END) == MPI_SUCCESS);
    const MPI_Offset bytes = mine().data_before(model_.size), etype = views_.etype->size();
    MPI_Offset position = -1;
    MPI_File_get_position(own_.file, &position);
    CHECK_IN(told_, position == (bytes + etype - 1) / etype);
    CHECK_IN(told_, MPI_File_seek(own_.file, position_, MPI_SEEK_SET) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);  // without it, another rank's later write may move the end
}

int Scenario::write_with(MPI_File file, Form form, const Share& share, UserMemory& memory,
                         MPI_Status* status) {
    void* const at = memory.address();
    const int count = memory.count();
    switch (form) {
        case Form::at_all:
            return MPI_File_write_at_all(file, share.offset, at, count, memory.type(), status);
        case Form::all:
            return MPI_File_write_all(file, at, count, memory.type(), status);
        case Form::at:
            return MPI_File_write_at(file, share.offset, at, count, memory.type(), status);
        case Form::pointer:
            break;
    }
    return MPI_File_write(file, at, count, memory.type(), status);
}

int Scenario::read_with(MPI_File file, Form form, const Share& share, UserMemory& memory,
                        MPI_Status* status) {
    void* const at = memory.address();
    const int count = memory.count();
    switch (form) {
        case Form::at_all:
            return MPI_File_read_at_all(file, share.offset, at, count, memory.type(), status);
        case Form::all:
            return MPI_File_read_all(file, at, count, memory.type(), status);
        case Form::at:
            return MPI_File_read_at(file, share.offset, at, count, memory.type(), status);
        case Form::pointer:
            break;
    }
    return MPI_File_read(file, at, count, memory.type(), status);
}

void Scenario::write(Form form, const std::vector<Share>& shares, int number) {
    const auto value = [&](int rank, MPI_Aint i) {
        return pattern(static_cast<std::uint64_t>(i),
                       mix(seed_ * 1000 + static_cast<std::uint64_t>(number * 64 + rank)));
    };
    const MPI_Offset etype = views_.etype->size();
    for (int rank = 0; rank < ranks_; ++rank) {
        const Share& share = shares[static_cast<std::size_t>(rank)];
        MPI_Aint i = 0;
        for (const MPI_Offset place :
             view(rank).places(share.offset * etype, share.etypes() * etype)) {
            model_.put(place, value(rank, i++));
        }
    }
    const Share& share = shares[static_cast<std::size_t>(rank_)];
    Random own(mix(seed_) + static_cast<std::uint64_t>(rank_ + 100 * number));
    UserMemory memory(memory_type(own, share, *views_.etype), share.count);
    UserMemory plain = plain_memory(memory.size());
    for (MPI_Aint i = 0; i < memory.size(); ++i) memory[i] = plain[i] = value(rank_, i);
    MPI_Status status;
    CHECK_IN(told_, write_with(own_.file, form, share, memory, &status) == MPI_SUCCESS);
    CHECK_IN(told_, moved_bytes(status) == memory.size());
    if (!host_too()) return;
    CHECK_IN("host " + told_, write_with(host_.file, form, share, plain, &status) == MPI_SUCCESS);
    compare_host(moved_bytes(status) == memory.size(), "count of write", told_);
}

void Scenario::read(Form form, const std::vector<Share>& shares) {
    const Share& share = shares[static_cast<std::size_t>(rank_)];
    Random own(mix(seed_) ^
               static_cast<std::uint64_t>(rank_ + 100 * static_cast<int>(told_.size())));
    UserMemory memory(memory_type(own, share, *views_.etype), share.count);
    MPI_Status status;
    CHECK_IN(told_, read_with(own_.file, form, share, memory, &status) == MPI_SUCCESS);
    check_read(share, memory, status);
    if (!host_too()) return;
    UserMemory plain = plain_memory(memory.size());
    CHECK_IN("host " + told_, read_with(host_.file, form, share, plain, &status) == MPI_SUCCESS);
    check_host_read(share, plain, status);
}

std::vector<MPI_Offset> Scenario::my_places(const Share& share) const {
    const MPI_Offset etype = views_.etype->size();
    return mine().places(share.offset * etype, share.etypes() * etype);
}

void Scenario::check_read(const Share& share, UserMemory& memory, const MPI_Status& status) {
    const auto places = my_places(share);
    const auto outside = [&](MPI_Offset at) { return at >= model_.size; };
    // The read returns at least the bytes before the first one past the end. With interleaving
    // tiles more bytes within the file may follow that one.
    const auto leading = std::find_if(places.begin(), places.end(), outside) - places.begin();
    const auto inside = std::ssize(places) - std::count_if(places.begin(), places.end(), outside);
    const long long moved = moved_bytes(status);
    CHECK_IN(told_, views_.interleaving ? moved >= leading && moved <= inside : moved == inside);
    bool equal = true;
    for (std::ptrdiff_t i = 0; i < leading; ++i) {
        equal = equal && memory[i] == model_.get(places[static_cast<std::size_t>(i)]);
    }
    CHECK_IN(told_, equal);
    CHECK_IN(told_, memory.rest_untouched());
}

void Scenario::check_host_read(const Share& share, UserMemory& memory, const MPI_Status& status) {
    const auto places = my_places(share);
    if (std::any_of(places.begin(), places.end(),
                    [&](MPI_Offset at) { return at >= model_.size; })) {
        host_position_lost_ = true;
        return;
    }
    bool equal = true;
    for (std::ptrdiff_t i = 0; i < std::ssize(places); ++i) {
        const MPI_Offset place = places[static_cast<std::size_t>(i)];
        equal = equal && (memory[i] == model_.get(place) || !model_.is_written(place));
    }
    compare_host(equal, "bytes read", told_);
    compare_host(moved_bytes(status) == std::ssize(places), "count of read", told_);
}

void Scenario::check_positions() {
    const MPI_Offset etype = views_.etype->size();
    MPI_Offset position = -1, offset = -1;
    CHECK_IN(told_,
             MPI_File_get_position(own_.file, &position) == MPI_SUCCESS && position == position_);
    CHECK_IN(told_, MPI_File_get_byte_offset(own_.file, position_, &offset) == MPI_SUCCESS);
    const MPI_Offset place = mine().places(position_ * etype, 1).front();
    CHECK_IN(told_, offset == place);
    if (!host_too()) return;
    MPI_File_get_position(host_.file, &position);
    MPI_File_get_byte_offset(host_.file, position_, &offset);
    compare_host(position == position_ && offset == place, "position", told_);
}

void Scenario::check_files() {
    if (rank_ != 0) return;
    CHECK_IN(told_, size_of_file(own_.scratch.name()) == model_.size);
    const long long length = std::max<long long>(model_.size - model_.base, 0);
    const Bytes own = bytes_of_file(own_.scratch.name(), model_.base, length);
    const Bytes host = bytes_of_file(host_.scratch.name(), model_.base, length);
    if (host_too()) compare_host(host.size() == own.size(), "file size", told_);
    bool right = own.size() == static_cast<std::size_t>(length), same = true;
    for (std::size_t i = 0; i < own.size(); ++i) {
        const MPI_Offset at = model_.base + static_cast<MPI_Offset>(i);
        right = right && own[i] == model_.get(at);
        if (host_too() && i < host.size() && model_.is_written(at))
            same = same && own[i] == host[i];
    }
    CHECK_IN(told_, right);
    if (host_too()) compare_host(same, "bytes of the file", told_);
}

}  // namespace
}  // namespace oratorio::test

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int seeds = argc > 1 ? std::atoi(argv[1]) : 18;
    const int first = argc > 2 ? std::atoi(argv[2]) : 0;
    const bool alone = argc > 3 && std::string(argv[3]) == "alone";
    for (int seed = first; seed < first + seeds; ++seed) {
        oratorio::test::Scenario(static_cast<std::uint64_t>(seed), alone).run();
    }
    // If the host often disagrees, the model is wrong.
    CHECK(oratorio::test::host_disagreed * 20 <= oratorio::test::host_compared);
    const int code = oratorio::test::verdict("differential_test");
    MPI_Finalize();
    return code;
}
