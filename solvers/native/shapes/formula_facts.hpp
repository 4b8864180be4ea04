// What holds for a formula over ranges of its symbols.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/instance.hpp"
#include "shapes/formula_nodes.hpp"

namespace memstow::shapes {

// The least and the largest value.
struct Extent {
    Bytes low = 0, high = 0;
};

struct Facts {
    Bytes low = 0, high = 0;  // no value is beyond
    bool sure = true;         // there is a value everywhere
    // How it may move when a symbol grows: of two bits for each symbol, one if it may rise, one if it may
    // fall.
    std::uint32_t moves = 0;
    std::size_t begin = 0;  // of its nodes

    // Whether it goes in one direction as each symbol grows, and whether that is down.
    bool is_monotone() const { return (moves & moves >> 1 & 0x5555'5555) == 0; }
    bool falls(std::size_t symbol) const { return (moves >> (2 * symbol) & 2) != 0; }
};

Facts facts_of(std::span<const Node> nodes, std::span<const Extent> ranges);

}  // namespace memstow::shapes
