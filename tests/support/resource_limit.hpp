// SPDX-License-Identifier: BSD-3-Clause
// ResourceLimit: lowers a limit of the process while the object lives, so that system calls fail.
#pragma once

#include <sys/resource.h>

#include <csignal>

namespace oratorio::test {

/// A limit on a resource of setrlimit(2), such as RLIMIT_FSIZE (bytes) or RLIMIT_NOFILE. Writes
/// beyond RLIMIT_FSIZE fail with EFBIG, without the signal.
class ResourceLimit {
  public:
    using Resource = decltype(RLIMIT_FSIZE);

    ResourceLimit(Resource resource, rlim_t most) : resource_(resource) {
        ::getrlimit(resource_, &before_);
        const rlimit low{.rlim_cur = most, .rlim_max = before_.rlim_max};
        ::setrlimit(resource_, &low);
        signal_ = std::signal(SIGXFSZ, SIG_IGN);
    }
    ~ResourceLimit() {
        ::setrlimit(resource_, &before_);
        std::signal(SIGXFSZ, signal_);
    }
    ResourceLimit(const ResourceLimit&) = delete;
    ResourceLimit& operator=(const ResourceLimit&) = delete;

  private:
    Resource resource_;
    rlimit before_{};
    void (*signal_)(int);
};

}  // namespace oratorio::test
