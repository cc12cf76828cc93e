// SPDX-License-Identifier: BSD-3-Clause
// Views, file pointers and extents (MPI-4.1, 14.3, 14.4.3, 14.4.4 and 14.5.1).
#include <cstring>

#include "bind/datarep.hpp"
#include "bind/entry.hpp"
#include "bind/info.hpp"
#include "bind/with_file.hpp"

namespace oratorio::bind {

namespace {

struct ViewArguments {
    MPI_Offset displacement;
    MPI_Datatype etype;
    MPI_Datatype filetype;
    const char* representation;
};

/// The MPI datatypes of a view; the View itself has none.
struct ViewTypes {
    HeldType etype;
    HeldType filetype;
};

Error check_view(const ViewArguments& arguments, const AccessMode& mode) {
    if (arguments.representation == nullptr)
        return missing("set view: the data representation is a null pointer");
    if (!representation_known(arguments.representation)) {
        return Error::make(ErrorKind::unsupported_datarep,
                           "set view: no representation of this name is registered");
    }
    if (arguments.etype == MPI_DATATYPE_NULL || arguments.filetype == MPI_DATATYPE_NULL) {
        return Error::make(ErrorKind::type,
                           "set view: the etype or the filetype is MPI_DATATYPE_NULL");
    }
    if (mode.sequential != (arguments.displacement == MPI_DISPLACEMENT_CURRENT)) {
        return Error::make(ErrorKind::argument,
                           "set view: files opened for sequential access need "
                           "MPI_DISPLACEMENT_CURRENT, and other files can't use it");
    }
    return {};
}

/// Collective in a sequential file. Returns where the view begins.
Result<Offset> beginning_of_view(MPI_Offset displacement, File& file) {
    // The choice depends on the mode, which is equal on all ranks, and not on this rank's argument,
    // which may be wrong.
    return file.mode().sequential ? file.shared_displacement() : Result<Offset>(displacement);
}

/// Makes the view and its datatypes. `begin` is the result of beginning_of_view().
Result<View> make_view(const ViewArguments& arguments, const Result<Offset>& begin,
                       const AccessMode& mode, ViewTypes& types) {
    if (const Error error = check_view(arguments, mode); error.kind != ErrorKind::none)
        return error;
    if (!begin) return begin.error();
    auto etype = HeldType::equivalent(arguments.etype);
    if (!etype) return etype.error();
    auto filetype = HeldType::equivalent(arguments.filetype);
    if (!filetype) return filetype.error();
    const auto unit = decode_in_file(arguments.representation, arguments.etype);
    if (!unit) return unit.error();
    const auto tile = decode_in_file(arguments.representation, arguments.filetype);
    if (!tile) return tile.error();
    types = {std::move(*etype), std::move(*filetype)};
    return View::make(*begin, unit->shape->size(), tile->shape, tile->extent, mode.writable(),
                      arguments.representation);
}

Whence whence_of(int whence) {
    return whence == MPI_SEEK_SET   ? Whence::set
           : whence == MPI_SEEK_CUR ? Whence::current
           : whence == MPI_SEEK_END ? Whence::end
                                    : Whence::unknown;
}

}  // namespace

int file_set_view(MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                  const char* datarep, MPI_Info info) {
    return with_file(fh, Scope::all_ranks, [&](OpenFile& open) -> Error {
        ViewTypes types;
        HintMap hints;
        Result<View> view = View::bytes();
        const Result<Offset> begin = beginning_of_view(disp, *open.file);
        const Error refused = catch_to_error([&] {
            const auto given = hints_of(info);
            if (!given) return given.error();
            hints = *given;
            view = make_view({disp, etype, filetype, datarep}, begin, open.file->mode(), types);
            return Error{};
        });
        if (refused.kind != ErrorKind::none) view = refused;
        if (auto set = open.file->set_view(view, hints); !set) return set.error();
        open.etype = std::move(types.etype);
        open.filetype = std::move(types.filetype);
        return {};
    });
}

int file_get_view(MPI_File fh, MPI_Offset* disp, MPI_Datatype* etype, MPI_Datatype* filetype,
                  char* datarep) {
    return with_file(fh, Scope::one_rank, [&](OpenFile& open) -> Error {
        if (disp == nullptr || etype == nullptr || filetype == nullptr || datarep == nullptr) {
            return missing("get view: an argument is a null pointer");
        }
        const View& view = open.file->view();
        *disp = view.displacement;
        // Copies no more than the name: the program's array may be just large enough for it.
        std::memcpy(datarep, view.representation.c_str(), view.representation.size() + 1);
        if (const Error error =
                error_of(open.etype.copy_to(etype), "get view: the etype cannot be duplicated");
            error.kind != ErrorKind::none) {
            return error;
        }
        return error_of(open.filetype.copy_to(filetype),
                        "get view: the filetype cannot be duplicated");
    });
}

int file_seek(MPI_File fh, MPI_Offset offset, int whence) {
    return with_file(fh, Scope::one_rank, [&](OpenFile& open) {
        return error_of(open.file->seek(offset, whence_of(whence)));
    });
}

int file_get_position(MPI_File fh, MPI_Offset* offset) {
    return with_file(fh, Scope::one_rank, [&](OpenFile& open) -> Error {
        if (offset == nullptr) return missing("get position: the offset is a null pointer");
        if (open.file->mode().sequential) {
            return Error::make(ErrorKind::unsupported_operation,
                               "get position: a file opened for sequential access has only the "
                               "shared file pointer");
        }
        *offset = open.file->position();
        return {};
    });
}

int file_seek_shared(MPI_File fh, MPI_Offset offset, int whence) {
    return with_file(fh, Scope::all_ranks, [&](OpenFile& open) {
        return error_of(open.file->seek_shared(offset, whence_of(whence)));
    });
}

int file_get_position_shared(MPI_File fh, MPI_Offset* offset) {
    return with_file(fh, Scope::one_rank, [&](OpenFile& open) -> Error {
        if (offset == nullptr) return missing("get position shared: the offset is a null pointer");
        const auto position = open.file->position_shared();
        if (!position) return position.error();
        *offset = *position;
        return {};
    });
}

int file_get_byte_offset(MPI_File fh, MPI_Offset offset, MPI_Offset* disp) {
    return with_file(fh, Scope::one_rank, [&](OpenFile& open) -> Error {
        if (disp == nullptr) return missing("get byte offset: the displacement is a null pointer");
        const auto bytes = open.file->byte_offset(offset);
        if (!bytes) return bytes.error();
        *disp = *bytes;
        return {};
    });
}

int type_extent(MPI_File fh, MPI_Datatype datatype, MPI_Count* extent) {
    return with_file(fh, Scope::one_rank, [&](OpenFile& open) -> Error {
        if (datatype == MPI_DATATYPE_NULL)
            return Error::make(ErrorKind::type,
                               "get type extent: the datatype is MPI_DATATYPE_NULL");
        const auto decoded = decode_in_file(open.file->view().representation, datatype);
        if (!decoded) return decoded.error();
        *extent = decoded->extent;
        return {};
    });
}

}  // namespace oratorio::bind
