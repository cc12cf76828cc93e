// SPDX-License-Identifier: BSD-3-Clause
// The headers of the C++ library that most sources include, compiled once and not for each source
// (ORATORIO_PCH). A source still includes the headers that it uses, because it must also compile
// without this file.
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
