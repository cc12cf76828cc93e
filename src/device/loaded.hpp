// SPDX-License-Identifier: BSD-3-Clause
// Makes drivers from libraries that the process has loaded. For devices.cpp and tests.
#pragma once

#include <dlfcn.h>

#include <memory>

#include "device/driver.hpp"

namespace oratorio {

/// Return a driver, or null if the library lacks a function that the driver needs. Take ownership
/// of the handle `library`, so that the library stays loaded while the driver lives.
std::unique_ptr<DeviceDriver> make_cuda_driver(void* library);
std::unique_ptr<DeviceDriver> make_hip_driver(void* library);

/// Sets `call` to the library's function `name`. Returns false if the library has no such function.
template <class Function>
bool find_call(void* library, const char* name, Function*& call) {
    call = reinterpret_cast<Function*>(::dlsym(library, name));
    return call != nullptr;
}

}  // namespace oratorio
