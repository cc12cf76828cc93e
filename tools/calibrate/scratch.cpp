// SPDX-License-Identifier: BSD-3-Clause
#include "scratch.hpp"

#include <unistd.h>

#include "file/hints.hpp"

namespace oratorio::calibrate {

namespace {

/// As files are opened when hints say nothing (file/open).
Result<std::unique_ptr<Store>> open(const std::string& path, const OpenMode& mode) {
    if (mode.direct_read) {
        auto store = open_uring(path, mode, Hints().uring_depth);
        if (store || store.error().kind != ErrorKind::unsupported_operation) return store;
    }
    return open_posix(path, mode);
}

}  // namespace

Result<std::vector<std::unique_ptr<Store>>> open_scratch(const std::string& folder, int count,
                                                         bool direct) {
    const std::string path = folder + "/.oratorio-calibrate-" + std::to_string(::getpid());
    OpenMode mode{.read = true, .write = true, .create = true, .exclusive = true};
    mode.direct_read = mode.direct_write = direct;
    std::vector<std::unique_ptr<Store>> stores;
    for (; static_cast<int>(stores.size()) < count; mode.exclusive = false) {
        auto store = open(path, mode);
        if (!store) {
            if (!stores.empty()) (void)remove_file(path);
            return store.error();
        }
        stores.push_back(std::move(*store));
    }
    if (const auto removed = remove_file(path); !removed) return removed.error();
    return stores;
}

}  // namespace oratorio::calibrate
