// Sets of operators as bits.
#pragma once

#include <cstdint>
#include <span>

#include "core/instance.hpp"

namespace memstow::order {

using Word = std::uint64_t;

inline bool has(std::span<const Word> set, Index v) { return ((set[v / 64] >> (v % 64)) & 1U) != 0; }

inline void put(std::span<Word> set, Index v) { set[v / 64] |= Word{1} << (v % 64); }

}  // namespace memstow::order
