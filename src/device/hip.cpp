// SPDX-License-Identifier: BSD-3-Clause
// Memory of AMD devices, through the HIP runtime (libamdhip64.so) as declared in hip_runtime_api.h.
#include <cstdint>

#include "device/loaded.hpp"

namespace oratorio {

namespace {

using Code = int;
using Stream = void*;

constexpr Code kSuccess = 0;
constexpr int kAnyToAny = 4;       ///< hipMemcpyDefault
constexpr unsigned kPortable = 1;  ///< hipHostRegisterPortable

/// What the runtime knows about an address, in the layout of hipPointerAttribute_t.
struct Attributes {
    int type = 0;
    int device = 0;
    void* device_pointer = nullptr;
    void* host_pointer = nullptr;
    int managed = 0;
    unsigned flags = 0;
};

struct Calls {
    Code (*version)(int*) = nullptr;
    Code (*attributes)(Attributes*, const void*) = nullptr;
    Code (*peek_error)() = nullptr;
    Code (*take_error)() = nullptr;
    Code (*device)(int*) = nullptr;
    Code (*set_device)(int) = nullptr;
    Code (*create)(Stream*) = nullptr;
    Code (*destroy)(Stream) = nullptr;
    Code (*synchronize)(Stream) = nullptr;
    Code (*copy)(void*, const void*, std::size_t, int, Stream) = nullptr;
    Code (*copy_rows)(void*, std::size_t, const void*, std::size_t, std::size_t, std::size_t, int,
                      Stream) = nullptr;
    Code (*pin)(void*, std::size_t, unsigned) = nullptr;

    [[nodiscard]] bool find(void* library) {
        return find_call(library, "hipRuntimeGetVersion", version) &&
               find_call(library, "hipPointerGetAttributes", attributes) &&
               find_call(library, "hipPeekAtLastError", peek_error) &&
               find_call(library, "hipGetLastError", take_error) &&
               find_call(library, "hipGetDevice", device) &&
               find_call(library, "hipSetDevice", set_device) &&
               find_call(library, "hipStreamCreate", create) &&
               find_call(library, "hipStreamDestroy", destroy) &&
               find_call(library, "hipStreamSynchronize", synchronize) &&
               find_call(library, "hipMemcpyAsync", copy) &&
               find_call(library, "hipMemcpy2DAsync", copy_rows) &&
               find_call(library, "hipHostRegister", pin);
    }
};

/// Switches the thread to `device`, unless that is negative, while the object lives. Also preserves
/// the runtime's last error of this thread: the program's error stays; if there was none, an error
/// of this library's calls is cleared at the end.
class Aside {
  public:
    Aside(const Calls& calls, int device) : calls_(calls), clean_(calls.peek_error() == kSuccess) {
        moved_ = device >= 0 && calls_.device(&before_) == kSuccess && before_ != device &&
                 calls_.set_device(device) == kSuccess;
    }
    Aside(const Aside&) = delete;
    Aside& operator=(const Aside&) = delete;
    ~Aside() {
        if (moved_) calls_.set_device(before_);
        if (clean_) calls_.take_error();
    }

  private:
    const Calls& calls_;
    int before_ = -1;
    bool moved_ = false;
    bool clean_;
};

/// A queue with its own stream. Its copies wait for all work that the program has started in the
/// default stream, as a plain copy does.
class HipQueue final : public DeviceQueue {
  public:
    HipQueue(const Calls& calls, int device) : calls_(calls), device_(device) {}
    ~HipQueue() override {
        const Aside aside(calls_, device_);
        if (stream_ != nullptr) calls_.destroy(stream_);
    }

    Error open() {
        return error_of("hipStreamCreate", [this] { return calls_.create(&stream_); });
    }
    Error start(const CopyRows& rows) override {
        const auto length = static_cast<std::size_t>(rows.length);
        if (rows.count == 1)
            return error_of("hipMemcpyAsync", [&] {
                return calls_.copy(rows.to, rows.from, length, kAnyToAny, stream_);
            });
        return error_of("hipMemcpy2DAsync", [&] {
            return calls_.copy_rows(rows.to, static_cast<std::size_t>(rows.to_stride), rows.from,
                                    static_cast<std::size_t>(rows.from_stride), length,
                                    static_cast<std::size_t>(rows.count), kAnyToAny, stream_);
        });
    }
    Error wait() override {
        return error_of("hipStreamSynchronize", [this] { return calls_.synchronize(stream_); });
    }
    void pin(std::span<std::byte> memory) override {
        const Aside aside(calls_, device_);
        calls_.pin(memory.data(), memory.size(), kPortable);
    }

  private:
    template <class Body>
    Error error_of(const char* call, const Body& body) {
        const Aside aside(calls_, device_);
        const Code code = body();
        return code == kSuccess ? Error{} : refused_by_driver(call, code);
    }

    const Calls& calls_;
    int device_;
    Stream stream_ = nullptr;
};

class HipDriver final : public DeviceDriver {
  public:
    HipDriver(void* library, const Calls& calls) : library_(library), calls_(calls) {
        // ROCm 6 changed the values of hipMemoryType; before, hipMemoryTypeDevice was 1.
        constexpr int kRocm6 = 6 * 10'000'000;
        int version = 0;
        if (calls_.version(&version) == kSuccess && version < kRocm6) device_type_ = 1;
    }
    ~HipDriver() override { ::dlclose(library_); }

    [[nodiscard]] const char* name() const override { return "HIP"; }
    [[nodiscard]] bool owns(const std::byte* address) const override {
        const Attributes found = attributes_of(address);
        return found.type == device_type_ && found.managed == 0;
    }
    [[nodiscard]] Result<std::unique_ptr<DeviceQueue>> open(
        const std::byte* address) const override {
        auto queue = std::make_unique<HipQueue>(calls_, attributes_of(address).device);
        if (const Error error = queue->open(); error.kind != ErrorKind::none) return error;
        return std::unique_ptr<DeviceQueue>(std::move(queue));
    }

  private:
    /// Returns what the runtime knows about an address. If the runtime's call fails, as it may for
    /// unknown memory, the type is -1.
    [[nodiscard]] Attributes attributes_of(const std::byte* address) const {
        const Aside aside(calls_, -1);
        Attributes found;
        if (calls_.attributes(&found, address) != kSuccess) return Attributes{.type = -1};
        return found;
    }

    void* library_;
    Calls calls_;
    int device_type_ = 2;  ///< hipMemoryTypeDevice
};

}  // namespace

std::unique_ptr<DeviceDriver> make_hip_driver(void* library) {
    Calls calls;
    if (calls.find(library)) return std::make_unique<HipDriver>(library, calls);
    ::dlclose(library);
    return nullptr;
}

}  // namespace oratorio
