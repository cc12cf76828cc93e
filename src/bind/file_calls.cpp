// SPDX-License-Identifier: BSD-3-Clause
// Size, group, access mode, hints and consistency of an open file (MPI-4.1, 14.2 and 14.6).
#include "bind/entry.hpp"
#include "bind/info.hpp"
#include "bind/with_file.hpp"

namespace oratorio::bind {

int file_set_size(MPI_File fh, MPI_Offset size) {
    return with_file(fh, Scope::all_ranks,
                     [&](OpenFile& open) { return error_of(open.file->set_size(size)); });
}

int file_preallocate(MPI_File fh, MPI_Offset size) {
    return with_file(fh, Scope::all_ranks,
                     [&](OpenFile& open) { return error_of(open.file->preallocate(size)); });
}

int file_get_size(MPI_File fh, MPI_Offset* size) {
    return with_file(fh, Scope::one_rank, [&](OpenFile& open) -> Error {
        if (size == nullptr) return missing("get size: the size is a null pointer");
        const auto bytes = open.file->size();
        if (!bytes) return bytes.error();
        *size = *bytes;
        return {};
    });
}

int file_get_group(MPI_File fh, MPI_Group* group) {
    return with_file(fh, Scope::one_rank, [&](OpenFile& open) -> Error {
        if (group == nullptr) return missing("get group: the group is a null pointer");
        return error_of(host().Comm_group(open.workspace.comm(), group),
                        "get group: the host MPI can't create the group");
    });
}

int file_get_amode(MPI_File fh, int* amode) {
    return with_file(fh, Scope::one_rank, [&](OpenFile& open) -> Error {
        if (amode == nullptr) return missing("get amode: the mode is a null pointer");
        *amode = open.amode;
        return {};
    });
}

int file_set_info(MPI_File fh, MPI_Info info) {
    return with_file(fh, Scope::all_ranks, [&](OpenFile& open) -> Error {
        HintMap hints;
        const Error refused = catch_to_error([&] {
            auto given = hints_of(info);
            if (given) hints = std::move(*given);
            return given ? Error{} : given.error();
        });
        return error_of(open.file->set_hints(hints, refused));
    });
}

int file_get_info(MPI_File fh, MPI_Info* info_used) {
    return with_file(fh, Scope::one_rank, [&](OpenFile& open) -> Error {
        if (info_used == nullptr) return missing("get info: the info is a null pointer");
        return error_of(make_info(open.file->reported_hints(), info_used),
                        "get info: the host MPI can't create an info object");
    });
}

int file_set_atomicity(MPI_File fh, int flag) {
    return with_file(fh, Scope::all_ranks,
                     [&](OpenFile& open) { return error_of(open.file->set_atomicity(flag != 0)); });
}

int file_get_atomicity(MPI_File fh, int* flag) {
    return with_file(fh, Scope::one_rank, [&](OpenFile& open) -> Error {
        if (flag == nullptr) return missing("get atomicity: the flag is a null pointer");
        *flag = open.file->atomicity() ? 1 : 0;
        return {};
    });
}

int file_sync(MPI_File fh) {
    return with_file(fh, Scope::all_ranks,
                     [](OpenFile& open) { return error_of(open.file->sync()); });
}

}  // namespace oratorio::bind
