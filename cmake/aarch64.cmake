# SPDX-License-Identifier: BSD-3-Clause
# Builds for 64-bit ARM with Debian's cross compiler; its user-mode emulator runs the results.
#   cmake -S . -B build-aarch64 -G Ninja --toolchain cmake/aarch64.cmake
#   ninja -C build-aarch64 unit_base_test && ctest --test-dir build-aarch64 -R unit.base.Error
# Packages: docs/user/install.md. ORATORIO_AARCH64_ROOT is their folder if they were unpacked and not installed.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(ORATORIO_AARCH64_ROOT "" CACHE PATH "Folder of Debian's packages for cross compiling; empty: they are installed")
# Passes the variable on to CMake's trial compilations.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ORATORIO_AARCH64_ROOT)
set(CMAKE_C_COMPILER ${ORATORIO_AARCH64_ROOT}/usr/bin/aarch64-linux-gnu-gcc-12)
set(CMAKE_CXX_COMPILER ${ORATORIO_AARCH64_ROOT}/usr/bin/aarch64-linux-gnu-g++-12)
if(ORATORIO_AARCH64_ROOT)
  set(CMAKE_SYSROOT ${ORATORIO_AARCH64_ROOT})
endif()
set(CMAKE_CROSSCOMPILING_EMULATOR ${ORATORIO_AARCH64_ROOT}/usr/bin/qemu-aarch64;-L;${ORATORIO_AARCH64_ROOT}/usr/aarch64-linux-gnu)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH ${ORATORIO_AARCH64_ROOT}/usr/aarch64-linux-gnu ${ORATORIO_AARCH64_ROOT}/usr/lib/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
