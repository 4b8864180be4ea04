// Tiny random programs whose operators may run again.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "core/random.hpp"
#include "recompute/program.hpp"

namespace recompute_programs {

using namespace memstow;
using namespace memstow::recompute;

class Maker {
  public:
    explicit Maker(std::uint64_t seed) : random_(seed), spills_(chance(50)) {}

    Program make(Index operators, Index most_items) {
        for (Bytes k = upto(2); k > 0; --k) add_item(-1);
        for (Index op = 0; op < operators; ++op) add_operator(op, operators, most_items);
        add_pieces();
        return program_;
    }

  private:
    bool chance(Bytes percent) { return upto(99) < percent; }
    Bytes upto(Bytes most) { return static_cast<Bytes>(random_.below(static_cast<std::size_t>(most) + 1)); }

    Index add_item(Index producer) {
        program_.items.push_back({1 + upto(19), producer, chance(15), spills_ && chance(80), {}});
        return count_of(program_.items) - 1;
    }

    void add_operator(Index op, Index operators, Index most_items) {
        Operator it{chance(25) ? upto(12) : 0, 0, 0, upto(20), chance(12), {}, {}, {}};
        for (Index item = 0; item < count_of(program_.items); ++item) {
            const bool last = program_.items[item].producer == op - 1;
            if (chance(last ? 70 : 30)) it.inputs.push_back(item);
        }
        for (const Index item : it.inputs) program_.items[item].readers.push_back(op);
        const Index left = most_items - count_of(program_.items) - (operators - 1 - op);
        for (Index k = 1 + (left > 1 && chance(20) ? 1 : 0); k > 0; --k) it.outputs.push_back(add_item(op));
        for (const Index input : it.inputs) {
            for (const Index output : it.outputs) {
                if (chance(25)) it.pairs.push_back({input, output});
            }
        }
        program_.operators.push_back(std::move(it));
    }

    // What cannot be dropped: bytes from one first run to another.
    void add_pieces() {
        const Index count = count_of(program_.operators);
        for (Bytes k = upto(2); k > 0; --k) {
            const auto begin = static_cast<Index>(upto(count - 1));
            const auto end = static_cast<Index>(begin + 1 + upto(count - 1 - begin));
            const Bytes size = upto(15);
            const bool from_start = begin == 0 && chance(50), to_end = end == count && chance(50);
            for (Index op = begin; op < end; ++op) program_.operators[op].fixed += size;
            for (Index op = begin + 1; op < end; ++op) program_.operators[op].gap += size;
            if (from_start) program_.operators[0].gap += size;
            if (from_start) program_.start += size;
            if (to_end) program_.end += size;
        }
        for (const Item& item : program_.items) {
            if (item.producer < 0) program_.start += item.size;
        }
    }

    Random random_;
    Program program_;
    bool spills_;
};

}  // namespace recompute_programs
