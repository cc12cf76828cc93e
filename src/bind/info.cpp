// SPDX-License-Identifier: BSD-3-Clause
#include "bind/info.hpp"

#include <array>
#include <vector>

#include "mpi/errors_returned.hpp"

namespace oratorio::bind {

Result<HintMap> hints_of(MPI_Info info) {
    HintMap hints;
    if (info == MPI_INFO_NULL) return hints;
    const ErrorsReturned returned;
    int keys = 0;
    if (host().Info_get_nkeys(info, &keys) != MPI_SUCCESS) {
        return Error::make(ErrorKind::argument, "info: this is not an info object");
    }
    for (int index = 0; index < keys; ++index) {
        std::array<char, MPI_MAX_INFO_KEY + 1> key{};
        int length = 0;
        int found = 0;
        if (host().Info_get_nthkey(info, index, key.data()) != MPI_SUCCESS) continue;
        if (host().Info_get_valuelen(info, key.data(), &length, &found) != MPI_SUCCESS ||
            found == 0)
            continue;
        std::vector<char> value(static_cast<std::size_t>(length) + 1);
        if (host().Info_get(info, key.data(), length, value.data(), &found) != MPI_SUCCESS ||
            found == 0)
            continue;
        hints[key.data()] = value.data();
    }
    return hints;
}

int make_info(const HintMap& hints, MPI_Info* info) {
    const ErrorsReturned returned;
    if (const int code = host().Info_create(info); code != MPI_SUCCESS) return code;
    for (const auto& [key, value] : hints) {
        if (key.size() >= MPI_MAX_INFO_KEY || value.empty() || value.size() >= MPI_MAX_INFO_VAL)
            continue;
        if (const int code = host().Info_set(*info, key.c_str(), value.c_str());
            code != MPI_SUCCESS)
            return code;
    }
    return MPI_SUCCESS;
}

}  // namespace oratorio::bind
