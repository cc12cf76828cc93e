// SPDX-License-Identifier: BSD-3-Clause
// The output of one E3SM case: every variable of the case in one collective call. The runs that a
// rank accesses come from a file that the Python front end makes of a decomposition map
// (lab/oratorio_lab/bench/e3sm.py describes the layout). A map's runs are sorted by file offset,
// since a view's offsets must not decrease; in memory they stay where the model holds them.
#include <algorithm>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <vector>

#include "makers.hpp"

namespace bench {

namespace {

constexpr std::int64_t magic = 0x314e55524d533345;  // "E3SMRUN1"

/// A rank's part of every variable that uses one map. Offsets are in bytes.
struct Map {
    std::uint64_t variables = 0;
    std::uint64_t array_bytes = 0;   ///< size of one variable in the file
    std::uint64_t memory_bytes = 0;  ///< size of one variable in this rank's memory
    std::vector<Piece> pieces;       ///< pieces of one variable, by file offset
};

class Reader {
  public:
    explicit Reader(const std::string& path) : in_(path, std::ios::binary), path_(path) {}

    std::uint64_t number() { return numbers(1).front(); }

    std::vector<std::uint64_t> numbers(std::uint64_t count) {
        std::vector<std::uint64_t> values(count);
        in_.read(reinterpret_cast<char*>(values.data()),
                 static_cast<std::streamsize>(count * sizeof(std::uint64_t)));
        if (!in_) throw std::invalid_argument("not a complete run file: " + path_);
        return values;
    }

  private:
    std::ifstream in_;
    std::string path_;
};

/// Sorts the pieces by file offset, and joins those that are adjacent both in the file and in
/// memory.
void normalise(std::vector<Piece>& pieces) {
    std::sort(pieces.begin(), pieces.end(),
              [](const Piece& a, const Piece& b) { return a.file < b.file; });
    std::size_t last = 0;
    for (std::size_t i = 1; i < pieces.size(); ++i) {
        Piece& before = pieces[last];
        if (before.file + before.bytes == pieces[i].file &&
            before.memory + before.bytes == pieces[i].memory) {
            before.bytes += pieces[i].bytes;
        } else {
            pieces[++last] = pieces[i];
        }
    }
    if (!pieces.empty()) pieces.resize(last + 1);
}

Map read_map(Reader& reader, std::uint64_t processes, std::uint64_t first, std::uint64_t end) {
    Map map;
    const std::uint64_t element = reader.number();
    map.array_bytes = reader.number() * element;
    map.variables = reader.number();
    for (std::uint64_t process = 0; process < processes; ++process) {
        const std::uint64_t runs = reader.number();
        const std::vector<std::uint64_t> offsets = reader.numbers(runs);
        const std::vector<std::uint64_t> lengths = reader.numbers(runs);
        if (process < first || process >= end) continue;
        for (std::uint64_t i = 0; i < runs; ++i) {
            const std::uint64_t bytes = lengths[i] * element;
            map.pieces.push_back({map.memory_bytes, offsets[i] * element, bytes});
            map.memory_bytes += bytes;
        }
    }
    normalise(map.pieces);
    return map;
}

std::vector<Map> read_maps(const std::string& path, Place place) {
    Reader reader(path);
    if (reader.number() != magic) throw std::invalid_argument("not a run file: " + path);
    const std::uint64_t processes = reader.number();
    const auto ranks = static_cast<std::uint64_t>(place.ranks);
    if (processes % ranks != 0) {
        throw std::invalid_argument("the number of ranks must divide the map's " +
                                    std::to_string(processes) +
                                    (processes == 1 ? " process" : " processes"));
    }
    const std::uint64_t share = processes / ranks;
    const std::uint64_t first = share * static_cast<std::uint64_t>(place.rank);
    std::vector<Map> maps(reader.number());
    for (Map& map : maps) map = read_map(reader, processes, first, first + share);
    return maps;
}

/// Returns a type of all variables of one map, one after another, each with an extent of `extent`
/// bytes and the map's pieces at `offset_of`.
template <typename OffsetOf>
MPI_Datatype variables_type(const Map& map, std::uint64_t extent, OffsetOf offset_of) {
    std::vector<int> lengths;
    std::vector<MPI_Aint> offsets;
    for (const Piece& piece : map.pieces) {
        lengths.push_back(static_cast<int>(piece.bytes));
        offsets.push_back(static_cast<MPI_Aint>(offset_of(piece)));
    }
    MPI_Datatype runs, variable, all;
    MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), offsets.data(),
                             MPI_BYTE, &runs);
    MPI_Type_create_resized(runs, 0, static_cast<MPI_Aint>(extent), &variable);
    MPI_Type_contiguous(static_cast<int>(map.variables), variable, &all);
    MPI_Type_free(&runs);
    MPI_Type_free(&variable);
    return all;
}

/// Returns a type of `parts`, which begin at `starts`, and frees `parts`.
MPI_Datatype in_sequence(std::vector<MPI_Datatype> parts, const std::vector<MPI_Aint>& starts) {
    const std::vector<int> ones(parts.size(), 1);
    MPI_Datatype all;
    MPI_Type_create_struct(static_cast<int>(parts.size()), ones.data(), starts.data(), parts.data(),
                           &all);
    MPI_Type_commit(&all);
    for (MPI_Datatype& part : parts) MPI_Type_free(&part);
    return all;
}

Types make_types(const std::vector<Map>& maps) {
    std::vector<MPI_Datatype> file, memory;
    std::vector<MPI_Aint> file_starts, memory_starts;
    std::uint64_t file_at = 0, memory_at = 0;
    for (const Map& map : maps) {
        file.push_back(variables_type(map, map.array_bytes, [](const Piece& p) { return p.file; }));
        memory.push_back(
            variables_type(map, map.memory_bytes, [](const Piece& p) { return p.memory; }));
        file_starts.push_back(static_cast<MPI_Aint>(file_at));
        memory_starts.push_back(static_cast<MPI_Aint>(memory_at));
        file_at += map.variables * map.array_bytes;
        memory_at += map.variables * map.memory_bytes;
    }
    return {MPI_BYTE, in_sequence(file, file_starts), in_sequence(memory, memory_starts)};
}

void visit_pieces(const std::vector<Map>& maps, const PieceVisitor& visit) {
    std::uint64_t file = 0, memory = 0;
    for (const Map& map : maps) {
        for (std::uint64_t v = 0; v < map.variables; ++v) {
            for (const Piece& p : map.pieces) visit({memory + p.memory, file + p.file, p.bytes});
            file += map.array_bytes;
            memory += map.memory_bytes;
        }
    }
}

}  // namespace

Access make_e3sm(const Params& params, Place place, Direction) {
    const auto maps =
        std::make_shared<const std::vector<Map>>(read_maps(params.text("runs"), place));
    Access access;
    for (const Map& map : *maps) access.buffer_bytes += map.variables * map.memory_bytes;
    access.calls.resize(1);
    access.calls[0].make_types = [maps] { return make_types(*maps); };
    access.for_each_piece = [maps](const PieceVisitor& visit) { visit_pieces(*maps, visit); };
    return access;
}

}  // namespace bench
