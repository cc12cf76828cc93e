// SPDX-License-Identifier: BSD-3-Clause
// Memory of NVIDIA devices, through the CUDA driver API (libcuda.so.1) as declared in cuda.h.
#include <array>
#include <cstdint>

#include "device/loaded.hpp"

namespace oratorio {

namespace {

using Code = int;
using Context = void*;
using Stream = void*;
using Address = std::uintptr_t;

constexpr Code kSuccess = 0;
// Values of CUpointer_attribute:
constexpr int kContext = 1;
constexpr int kMemoryType = 2;
constexpr int kIsManaged = 8;
constexpr int kOrdinal = 9;
// Values of CUmemorytype:
constexpr unsigned kDevice = 2;
constexpr unsigned kUnified = 4;
constexpr unsigned kPortable = 1;  ///< CU_MEMHOSTREGISTER_PORTABLE

/// The source or the target in Copy2d, which has the layout of CUDA_MEMCPY2D_v2.
struct Side {
    std::size_t x = 0;
    std::size_t y = 0;
    unsigned type = kUnified;
    const void* host = nullptr;
    Address device = 0;
    void* array = nullptr;
    std::size_t pitch = 0;
};
struct Copy2d {
    Side from;
    Side to;
    std::size_t width = 0;
    std::size_t height = 0;
};
static_assert(sizeof(Copy2d) == 128);

struct Calls {
    Code (*attributes)(unsigned, const int*, void**, Address) = nullptr;
    Code (*push)(Context) = nullptr;
    Code (*pop)(Context*) = nullptr;
    Code (*device)(int*, int) = nullptr;
    Code (*retain)(Context*, int) = nullptr;
    Code (*release)(int) = nullptr;
    Code (*create)(Stream*, unsigned) = nullptr;
    Code (*destroy)(Stream) = nullptr;
    Code (*synchronize)(Stream) = nullptr;
    Code (*copy)(Address, Address, std::size_t, Stream) = nullptr;
    Code (*copy_rows)(const Copy2d*, Stream) = nullptr;
    Code (*pin)(void*, std::size_t, unsigned) = nullptr;

    [[nodiscard]] bool find(void* library) {
        return find_call(library, "cuPointerGetAttributes", attributes) &&
               find_call(library, "cuCtxPushCurrent_v2", push) &&
               find_call(library, "cuCtxPopCurrent_v2", pop) &&
               find_call(library, "cuDeviceGet", device) &&
               find_call(library, "cuDevicePrimaryCtxRetain", retain) &&
               find_call(library, "cuDevicePrimaryCtxRelease", release) &&
               find_call(library, "cuStreamCreate", create) &&
               find_call(library, "cuStreamDestroy_v2", destroy) &&
               find_call(library, "cuStreamSynchronize", synchronize) &&
               find_call(library, "cuMemcpyAsync", copy) &&
               find_call(library, "cuMemcpy2DAsync_v2", copy_rows) &&
               find_call(library, "cuMemHostRegister_v2", pin);
    }
};

/// What the driver knows about an address. All members are 0 if it knows nothing.
struct Facts {
    unsigned type = 0;
    unsigned managed = 0;
    Context context = nullptr;
    int ordinal = 0;

    static Facts of(const Calls& calls, const std::byte* address) {
        constexpr std::array kAsked = {kMemoryType, kIsManaged, kContext, kOrdinal};
        Facts facts;
        std::array<void*, kAsked.size()> answers = {&facts.type, &facts.managed, &facts.context,
                                                    &facts.ordinal};
        const Code code = calls.attributes(kAsked.size(), kAsked.data(), answers.data(),
                                           reinterpret_cast<Address>(address));
        return code == kSuccess ? facts : Facts{};
    }
};

/// The CUDA context that memory belongs to. Memory of a pool has none, so the primary context of
/// its device is used.
class Home {
  public:
    Home(const Calls& calls, const Facts& facts) : calls_(calls), context_(facts.context) {
        if (context_ != nullptr) return;
        const bool known = calls_.device(&device_, facts.ordinal) == kSuccess;
        retained_ = known && calls_.retain(&context_, device_) == kSuccess;
    }
    Home(const Home&) = delete;
    Home& operator=(const Home&) = delete;
    ~Home() {
        if (retained_) calls_.release(device_);
    }
    /// Runs `body` in the context, whatever context the thread has, and returns its code. If the
    /// context can't be entered, returns the driver's code for that.
    template <class Body>
    Code within(const Body& body) const {
        if (const Code code = calls_.push(context_); code != kSuccess) return code;
        const Code code = body();
        Context left = nullptr;
        calls_.pop(&left);
        return code;
    }

  private:
    const Calls& calls_;
    Context context_;
    int device_ = 0;
    bool retained_ = false;
};

/// A queue with its own stream. Its copies wait for all work that the program has started in the
/// default stream, as a plain copy does.
class CudaQueue final : public DeviceQueue {
  public:
    CudaQueue(const Calls& calls, const Facts& facts) : calls_(calls), home_(calls, facts) {}
    ~CudaQueue() override {
        if (stream_ != nullptr) home_.within([this] { return calls_.destroy(stream_); });
    }

    Error open() {
        return error_of("cuStreamCreate", [this] { return calls_.create(&stream_, 0); });
    }
    Error start(const CopyRows& rows) override {
        const auto to = reinterpret_cast<Address>(rows.to);
        const auto from = reinterpret_cast<Address>(rows.from);
        const auto length = static_cast<std::size_t>(rows.length);
        if (rows.count == 1)
            return error_of("cuMemcpyAsync",
                            [&] { return calls_.copy(to, from, length, stream_); });
        Copy2d copy;
        copy.from.device = from;
        copy.from.pitch = static_cast<std::size_t>(rows.from_stride);
        copy.to.device = to;
        copy.to.pitch = static_cast<std::size_t>(rows.to_stride);
        copy.width = length;
        copy.height = static_cast<std::size_t>(rows.count);
        return error_of("cuMemcpy2DAsync", [&] { return calls_.copy_rows(&copy, stream_); });
    }
    Error wait() override {
        return error_of("cuStreamSynchronize", [this] { return calls_.synchronize(stream_); });
    }
    void pin(std::span<std::byte> memory) override {
        home_.within([&] { return calls_.pin(memory.data(), memory.size(), kPortable); });
    }

  private:
    template <class Body>
    Error error_of(const char* call, const Body& body) {
        const Code code = home_.within(body);
        return code == kSuccess ? Error{} : refused_by_driver(call, code);
    }

    const Calls& calls_;
    Home home_;
    Stream stream_ = nullptr;
};

class CudaDriver final : public DeviceDriver {
  public:
    CudaDriver(void* library, const Calls& calls) : library_(library), calls_(calls) {}
    ~CudaDriver() override { ::dlclose(library_); }

    [[nodiscard]] const char* name() const override { return "CUDA"; }
    [[nodiscard]] bool owns(const std::byte* address) const override {
        const Facts facts = Facts::of(calls_, address);
        return facts.type == kDevice && facts.managed == 0;
    }
    [[nodiscard]] Result<std::unique_ptr<DeviceQueue>> open(
        const std::byte* address) const override {
        auto queue = std::make_unique<CudaQueue>(calls_, Facts::of(calls_, address));
        if (const Error error = queue->open(); error.kind != ErrorKind::none) return error;
        return std::unique_ptr<DeviceQueue>(std::move(queue));
    }

  private:
    void* library_;
    Calls calls_;
};

}  // namespace

std::unique_ptr<DeviceDriver> make_cuda_driver(void* library) {
    Calls calls;
    if (calls.find(library)) return std::make_unique<CudaDriver>(library, calls);
    ::dlclose(library);
    return nullptr;
}

}  // namespace oratorio
