// SPDX-License-Identifier: BSD-3-Clause
// SmallDisk: a folder on an empty file system that only this process sees.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <string>

#include "support/temporary_folder.hpp"

namespace oratorio::test {

class SmallDisk {
  public:
    /// Mounts a tmpfs of `size`, written as for mount(8), such as "1m".
    explicit SmallDisk(const std::string& size) {
        // Without root's privileges, this uses a user namespace in which the user is root.
        const auto user = std::to_string(::getuid());
        const auto group = std::to_string(::getgid());
        if (::geteuid() == 0 ? ::unshare(CLONE_NEWNS) : ::unshare(CLONE_NEWNS | CLONE_NEWUSER))
            return;
        if (::geteuid() != 0) {
            write_text("/proc/self/setgroups", "deny");
            write_text("/proc/self/uid_map", "0 " + user + " 1");
            write_text("/proc/self/gid_map", "0 " + group + " 1");
        }
        mounted_ =
            ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
            ::mount("oratorio", folder_.path().c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
    }
    ~SmallDisk() {
        if (mounted_) ::umount2(folder_.path().c_str(), MNT_DETACH);
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;

    /// Returns false if this process may not mount file systems.
    [[nodiscard]] bool mounted() const { return mounted_; }
    [[nodiscard]] std::string file(const std::string& name) const { return folder_.file(name); }

  private:
    static void write_text(const char* path, const std::string& text) {
        const int file = ::open(path, O_WRONLY | O_CLOEXEC);
        // A failure needs no handling here, because it makes the mount fail.
        [[maybe_unused]] const auto put = ::write(file, text.data(), text.size());
        ::close(file);
    }

    TemporaryFolder folder_;
    bool mounted_ = false;
};

}  // namespace oratorio::test
