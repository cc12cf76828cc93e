// SPDX-License-Identifier: BSD-3-Clause
#include "scratch.hpp"

#include <unistd.h>

#include "file/opening.hpp"

namespace oratorio::calibrate {

Result<std::vector<std::unique_ptr<Store>>> open_scratch(const std::string& folder, int count,
                                                         bool direct) {
    const std::string path = folder + "/.oratorio-calibrate-" + std::to_string(::getpid());
    OpenCall call;
    call.mode = {.read_write = true, .create = true, .exclusive = true};
    Hints hints;
    hints.plan.direct_read = hints.plan.direct_write = direct;
    std::vector<std::unique_ptr<Store>> stores;
    for (int i = 0; i < count; ++i) {
        Opening opening = i == 0 ? open_first(call, path, hints, Clients::several, 1)
                                 : open_here(call, path, hints, Clients::several);
        if (opening.store == nullptr) {
            if (i > 0) (void)remove_file(path);
            return opening.error;
        }
        stores.push_back(std::move(opening.store));
    }
    if (const auto removed = remove_file(path); !removed) return removed.error();
    return stores;
}

Bytes data_of_small_calls(const Store& store, const Scale& scale) {
    constexpr Bytes kShareOfServer = 16;
    return asks_server(store) ? scale.data / kShareOfServer : scale.data;
}

}  // namespace oratorio::calibrate
