// Logarithms in whole numbers, so that they are the same on every machine.
#pragma once

#include <bit>
#include <cstdint>

namespace memstow::search {

inline constexpr std::int64_t kLog2Unit = 256;

// About kLog2Unit times the binary logarithm of x >= 1: straight lines between the powers of two.
constexpr std::int64_t log2_of(std::uint64_t x) {
    const int whole = std::bit_width(x) - 1;
    const std::uint64_t rest = x - (std::uint64_t{1} << whole);
    const std::uint64_t part = whole <= 8 ? rest << (8 - whole) : rest >> (whole - 8);
    return whole * kLog2Unit + part;
}

}  // namespace memstow::search
