// SPDX-License-Identifier: BSD-3-Clause
// What most sources take from the C++ library, compiled once and not in each of them (ORATORIO_PCH). A source still includes
// what it uses: it has to compile without this file, too.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>
