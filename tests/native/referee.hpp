// A judge for layouts that shares nothing with the solvers: every pair of parts, one rule after the other.
#pragma once

#include <string>

#include "core/instance.hpp"

namespace referee {

using namespace memstow;

inline bool share_a_row(const Instance& instance, Index a, Index b) {
    for (const RowRange& x : instance.rows[a]) {
        for (const RowRange& y : instance.rows[b]) {
            if (x.begin < y.end && y.begin < x.end) return true;
        }
    }
    return false;
}

// What is wrong with the layout; empty when nothing is. Items without a place are not looked at.
inline std::string complaint(const Instance& instance, const Layout& layout, bool within_capacity) {
    if (layout.size() != static_cast<std::size_t>(instance.item_count())) return "wrong number of places";
    const auto place = [&](const Part& part) { return layout[static_cast<std::size_t>(part.item)]; };
    for (Index item = 0; item < instance.item_count(); ++item) {
        const Place& at = layout[static_cast<std::size_t>(item)];
        if (at.offset == kUnplaced) continue;
        const std::string who = "item " + std::to_string(item);
        bool allowed = false;
        for (const Choice& choice : instance.choices[item]) {
            if (choice.pool != at.pool) continue;
            allowed = true;
            if ((at.offset - choice.residue) % choice.modulus != 0) return who + " is misaligned";
            if (at.offset < choice.low || at.offset > choice.high) return who + " is outside its window";
        }
        if (!allowed) return who + " is in a pool it may not be in";
        const Pool& pool = instance.pools[static_cast<std::size_t>(at.pool)];
        for (const Part& part : instance.parts_of(item)) {
            const Bytes begin = at.offset + part.delta;
            const Bytes end = begin + part.size;
            if (within_capacity && end > pool.capacity) return who + " is beyond the capacity";
            for (const Range& range : pool.reserved) {
                if (begin < range.end && range.begin < end) return who + " is on a reserved range";
            }
        }
    }
    for (Index a = 0; a < static_cast<Index>(instance.parts.size()); ++a) {
        for (Index b = a + 1; b < static_cast<Index>(instance.parts.size()); ++b) {
            const Part& x = instance.parts[static_cast<std::size_t>(a)];
            const Part& y = instance.parts[static_cast<std::size_t>(b)];
            if (x.item == y.item || place(x).offset == kUnplaced || place(y).offset == kUnplaced) continue;
            if (place(x).pool != place(y).pool || !share_a_row(instance, a, b)) continue;
            const Bytes x_begin = place(x).offset + x.delta;
            const Bytes y_begin = place(y).offset + y.delta;
            if (x_begin >= y_begin + y.size || y_begin >= x_begin + x.size) continue;
            bool exempt = false;
            for (const ExemptPair& pair : instance.exempt) {
                const bool same =
                    (pair.first == a && pair.second == b) || (pair.first == b && pair.second == a);
                if (same && (!pair.in_place || x_begin == y_begin)) exempt = true;
            }
            if (!exempt) return "parts " + std::to_string(a) + " and " + std::to_string(b) + " overlap";
        }
    }
    return "";
}

}  // namespace referee
