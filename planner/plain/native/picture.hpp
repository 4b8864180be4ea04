// What a picture of a plan in text shows: how full each spot is.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "problem.hpp"

namespace memstow::plain {

// How full a spot may be: from 0 to this.
inline constexpr int kLevels = 4;

struct Picture {
    std::vector<std::int64_t> times;  // at which anything changes, ascending
    std::string levels;               // by row, from the lowest, and column
};

// A picture of buffers with bytes. Each column stands for equally many changes and shows the moment among
// them with the most bytes in use. The rules are those of planner/show/text_picture.py, which draws the
// result and does the same by objects, a hundred times slower, where buffers have letters or several lives.
Picture picture(const Problem& problem, const std::int64_t* offsets, int width, int most_rows);

}  // namespace memstow::plain
