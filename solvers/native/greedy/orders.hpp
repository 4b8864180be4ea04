// The orders in which a greedy pass takes the items: each is a key per item, largest first.
#pragma once

#include <string_view>
#include <vector>

#include "core/instance.hpp"

namespace memstow::greedy {

// Properties of items that orders sort by.
struct Traits {
    // Those of rows take most of the time and memory: they may be left out.
    explicit Traits(const Instance& instance, bool of_rows = true);

    std::vector<double> size;   // bytes from the first to the last of the item
    std::vector<double> life;   // rows covered
    std::vector<double> start;  // first row
    std::vector<double> end;    // after the last row
    std::vector<bool> pinned;

    // Of rows:
    bool has_rows = false;
    std::vector<double> degree;    // parts met in its rows
    std::vector<double> pressure;  // live bytes at the busiest of its rows
    std::vector<double> density;   // what its dearest pool costs above its cheapest, by byte
    std::vector<bool> common;      // live in every one of the rows with the most live bytes

    // Adds those of rows where they were left out.
    void look_at_rows(const Instance& instance);
};

enum class Order {
    size,
    life,
    area,
    start,
    start_size,
    end,
    end_size,
    degree,
    pressure,
    pressure_area,
    pressure_life,
    size_life,
    size_degree,
    density,
    common_life,
    input
};

std::string_view name_of(Order order);

// Whether it needs traits of rows.
bool is_of_rows(Order order);

// Pinned items come first, then the largest key; ties as the items are numbered.
std::vector<Index> arrange(const Traits& traits, Order order);

}  // namespace memstow::greedy
