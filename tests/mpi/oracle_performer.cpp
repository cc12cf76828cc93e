// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/oracle_performer.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>

namespace oratorio::oracle {

namespace {

char waits_in[600];  // the message that is printed if the program hangs

void tell_hang(int) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, waits_in, std::strlen(waits_in));
    ::sleep(2);  // lets the other ranks report where they are, too
    ::_exit(1);
}

int blocking(MPI_File file, const Step& step, const Part& part, void* data, MPI_Status* status) {
    const auto count = static_cast<int>(part.bytes);
    const bool reads = step.direction == Direction::read;
    if (step.at == Positioning::shared) {
        return step.collective ? MPI_File_write_ordered(file, data, count, MPI_BYTE, status)
                               : MPI_File_write_shared(file, data, count, MPI_BYTE, status);
    }
    if (step.at == Positioning::explicit_offset) {
        const auto read = step.collective ? MPI_File_read_at_all : MPI_File_read_at;
        const auto write = step.collective ? MPI_File_write_at_all : MPI_File_write_at;
        return reads ? read(file, part.from, data, count, MPI_BYTE, status)
                     : write(file, part.from, data, count, MPI_BYTE, status);
    }
    const auto read = step.collective ? MPI_File_read_all : MPI_File_read;
    const auto write = step.collective ? MPI_File_write_all : MPI_File_write;
    return reads ? read(file, data, count, MPI_BYTE, status)
                 : write(file, data, count, MPI_BYTE, status);
}

int nonblocking(MPI_File file, const Step& step, const Part& part, void* data,
                MPI_Request* request) {
    const auto count = static_cast<int>(part.bytes);
    const bool reads = step.direction == Direction::read;
    if (step.at == Positioning::shared)
        return MPI_File_iwrite_shared(file, data, count, MPI_BYTE, request);
    if (step.at == Positioning::explicit_offset) {
        const auto read = step.collective ? MPI_File_iread_at_all : MPI_File_iread_at;
        const auto write = step.collective ? MPI_File_iwrite_at_all : MPI_File_iwrite_at;
        return reads ? read(file, part.from, data, count, MPI_BYTE, request)
                     : write(file, part.from, data, count, MPI_BYTE, request);
    }
    const auto read = step.collective ? MPI_File_iread_all : MPI_File_iread;
    const auto write = step.collective ? MPI_File_iwrite_all : MPI_File_iwrite;
    return reads ? read(file, data, count, MPI_BYTE, request)
                 : write(file, data, count, MPI_BYTE, request);
}

int begin(MPI_File file, const Step& step, const Part& part, void* data) {
    const auto count = static_cast<int>(part.bytes);
    const bool reads = step.direction == Direction::read;
    if (step.at == Positioning::shared)
        return MPI_File_write_ordered_begin(file, data, count, MPI_BYTE);
    if (step.at == Positioning::explicit_offset) {
        return reads ? MPI_File_read_at_all_begin(file, part.from, data, count, MPI_BYTE)
                     : MPI_File_write_at_all_begin(file, part.from, data, count, MPI_BYTE);
    }
    return reads ? MPI_File_read_all_begin(file, data, count, MPI_BYTE)
                 : MPI_File_write_all_begin(file, data, count, MPI_BYTE);
}

int end(MPI_File file, const Step& step, void* data, MPI_Status* status) {
    const bool reads = step.direction == Direction::read;
    if (step.at == Positioning::shared) return MPI_File_write_ordered_end(file, data, status);
    if (step.at == Positioning::explicit_offset) {
        return reads ? MPI_File_read_at_all_end(file, data, status)
                     : MPI_File_write_at_all_end(file, data, status);
    }
    return reads ? MPI_File_read_all_end(file, data, status)
                 : MPI_File_write_all_end(file, data, status);
}

}  // namespace

Performer::Performer(const Program& program, Outcomes& outcomes, const std::string& path,
                     unsigned patience)
    : program_(program),
      outcomes_(outcomes),
      path_(path),
      patience_(patience),
      rank_(test::rank_of_world()),
      random_(program.seed * 64 + static_cast<std::uint64_t>(rank_)),
      opened_(program.handles.size()) {
    constexpr int kPauses[] = {0, 5, 30};
    pause_percent_ = kPauses[random_.below(3)];
    for (std::size_t h = 0; h < opened_.size(); ++h) {
        const auto& members = program.handles[h].members;
        const bool mine = std::ranges::find(members, rank_) != members.end();
        MPI_Comm_split(MPI_COMM_WORLD, mine ? 0 : MPI_UNDEFINED, rank_, &opened_[h].members);
    }
    std::signal(SIGALRM, tell_hang);
}

Performer::~Performer() {
    for (Opened& one : opened_) {
        if (one.members != MPI_COMM_NULL) MPI_Comm_free(&one.members);
    }
}

void Performer::pause() {
    if (random_.chance(pause_percent_)) ::usleep(static_cast<unsigned>(random_.below(2001)));
}

std::vector<Told> Performer::run() {
    ::alarm(patience_);
    for (const Step& step : program_.steps) {
        const bool meets = step.kind == Kind::barrier ||
                           (step.kind == Kind::message && (step.from == rank_ || step.to == rank_));
        const auto mine = std::ranges::find(step.parts, rank_, &Part::rank);
        if (!meets && mine == step.parts.end()) continue;
        std::snprintf(waits_in, sizeof waits_in, "seed %llu: rank %d is still in #%d, %.500s\n",
                      static_cast<unsigned long long>(program_.seed), rank_, step.id,
                      describe(program_, step).c_str());
        pause();
        if (step.kind == Kind::barrier) {
            MPI_Barrier(MPI_COMM_WORLD);
        } else if (meets && step.from == rank_) {
            MPI_Send(nullptr, 0, MPI_BYTE, step.to, step.id, MPI_COMM_WORLD);
        } else if (meets) {
            MPI_Recv(nullptr, 0, MPI_BYTE, step.from, step.id, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            take(step, static_cast<std::size_t>(mine - step.parts.begin()));
        }
    }
    ::alarm(0);
    return std::move(told_);
}

void Performer::take(const Step& step, std::size_t part) {
    if (step.kind == Kind::poll) return poll();
    if (step.kind != Kind::open && opened(step).file == MPI_FILE_NULL)
        return;  // the open failed on all ranks
    switch (step.kind) {
        case Kind::access:
            return access(step, part);
        case Kind::start:
            return start(step, part);
        case Kind::finish:
            return finish(step);
        case Kind::get_size: {
            MPI_Offset size = 0;
            const int code = MPI_File_get_size(opened(step).file, &size);
            told_.push_back({step.id, static_cast<int>(part), test::class_of(code), size});
            return;
        }
        default: {
            const int code =
                step.kind == Kind::open ? open(step) : manage(opened(step), step, part);
            told_.push_back({step.id, -1, test::class_of(code), 0});
        }
    }
}

int Performer::open(const Step& step) {
    Opened& one = opened(step);
    const HintMap& drawn = program_.handles[static_cast<std::size_t>(step.handle)].hints;
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    for (const auto& [key, value] : drawn) MPI_Info_set(info, key.c_str(), value.c_str());
    if (program_.setting.beside == Beside::nothing)
        MPI_Info_set(info, "oratorio_progress", "calls");
    const int code =
        MPI_File_open(one.members, path_.c_str(), MPI_MODE_RDWR | MPI_MODE_CREATE, info, &one.file);
    MPI_Info_free(&info);
    return code;
}

int Performer::set_view(MPI_File file, const Tiles& view) {
    std::vector<int> lengths;
    std::vector<MPI_Aint> places;
    for (const Piece& piece : view.pieces) {
        lengths.push_back(static_cast<int>(piece.length));
        places.push_back(static_cast<MPI_Aint>(piece.at));
    }
    MPI_Datatype pieces = MPI_DATATYPE_NULL;
    MPI_Datatype tile = MPI_DATATYPE_NULL;
    MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), places.data(),
                             MPI_BYTE, &pieces);
    MPI_Type_create_resized(pieces, 0, static_cast<MPI_Aint>(view.extent), &tile);
    MPI_Type_commit(&tile);
    const int code =
        MPI_File_set_view(file, view.displacement, MPI_BYTE, tile, "native", MPI_INFO_NULL);
    MPI_Type_free(&tile);
    MPI_Type_free(&pieces);
    return code;
}

int Performer::manage(Opened& one, const Step& step, std::size_t part) {
    switch (step.kind) {
        case Kind::view:
            return set_view(one.file, step.parts[part].view);
        case Kind::sync:
            return MPI_File_sync(one.file);
        case Kind::size:
            return MPI_File_set_size(one.file, step.size);
        case Kind::atomic:
            return MPI_File_set_atomicity(one.file, step.on ? 1 : 0);
        default:
            return MPI_File_close(&one.file);
    }
}

void Performer::seek(const Step& step, std::size_t part) {
    if (step.at != Positioning::individual) return;
    const int code = MPI_File_seek(opened(step).file, step.parts[part].from, MPI_SEEK_SET);
    told_.push_back({step.id, -1, test::class_of(code), 0});
}

void Performer::done(const Step& step, std::size_t part, int code, const MPI_Status& status) {
    MPI_Count bytes = 0;
    if (code == MPI_SUCCESS) MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
    told_.push_back(
        {step.id, static_cast<int>(part), test::class_of(code), static_cast<long long>(bytes)});
}

void Performer::access(const Step& step, std::size_t part) {
    seek(step, part);
    MPI_Status status{};
    const int code = blocking(opened(step).file, step, step.parts[part],
                              outcomes_.buffer(step, part).data(), &status);
    done(step, part, code, status);
}

void Performer::start(const Step& step, std::size_t part) {
    seek(step, part);
    Opened& one = opened(step);
    Started started{&step, part};
    void* const data = outcomes_.buffer(step, part).data();
    const int code = step.split
                         ? begin(one.file, step, step.parts[part], data)
                         : nonblocking(one.file, step, step.parts[part], data, &started.request);
    if (code != MPI_SUCCESS) return done(step, part, code, {});
    one.started[step.id] = started;
}

void Performer::finish(const Step& step) {
    Opened& one = opened(step);
    const auto found = one.started.find(step.refers);
    if (found == one.started.end()) return;
    Started& started = found->second;
    const Step& begun = *started.step;
    MPI_Status status{};
    if (!started.over) {
        void* const data = outcomes_.buffer(begun, started.part).data();
        const int code =
            step.split ? end(one.file, begun, data, &status) : MPI_Wait(&started.request, &status);
        done(begun, started.part, code, status);
    }
    one.started.erase(found);
}

void Performer::poll() {
    for (Opened& one : opened_) {
        for (auto& [id, started] : one.started) {
            if (started.over || started.request == MPI_REQUEST_NULL) continue;
            int over = 0;
            MPI_Status status{};
            const int code = MPI_Test(&started.request, &over, &status);
            started.over = over != 0 || code != MPI_SUCCESS;
            if (started.over) done(*started.step, started.part, code, status);
        }
    }
}

}  // namespace oratorio::oracle
