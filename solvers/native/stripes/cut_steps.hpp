// What a moment needs, in bytes, against what others add to the cost that run again or are copied.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "stripes/program.hpp"

namespace memstow::stripes {

// Bytes copied out and back, for each that waits.
inline constexpr Cost kCopies = 2;

// The least bytes if others add less to the cost than in the next step.
struct Step {
    Cost cost = 0;
    Bytes bytes = 0;
    std::pair<Index, Index> on_ways = {};
    std::vector<Bytes> beside_read = {}, beside_next = {}, beside_gone = {};

    // But for the cost.
    bool is_as(const Step& other) const;
};
using Steps = std::vector<Step>;  // ascending in cost, from none on; descending in bytes

const Step& step_at(const Steps& steps, Cost cost);

// A few of these costs, ascending, each of which stands for all below the next one; the first is alone.
std::vector<Cost> few_of(std::vector<Cost> costs, std::size_t most);
// The greatest cost that this one stands for.
Cost most_of(const std::vector<Cost>& few, std::size_t i);

// Each part may be cut off elsewhere, so that all of them need and add what is between some steps. The first
// part adds something.
Steps in_parts(const Steps& steps, Cost first);

// Bytes, each times the scale, and the cost, times the price, are never less than this.
struct Line {
    Bytes least;
    Cost price;
    Bytes scale;

    Bytes bytes(Cost cost) const;
    // Where no bytes are left.
    Cost end() const { return least / price; }
};

// The same steps, and above the lines.
Steps above(const std::vector<Line>& lines, const Steps& steps);

// What may wait: no operator uses it meanwhile.
struct Waiting {
    Bytes size, piece;
    Cost on_way;  // what runs again adds at least if it is on a way
    // Places of the path: the last that it is made of, the last that uses it before a moment, and after it
    // the first that uses it, or the last that needs it.
    Index made_of, last_use, next_use;
};

// What may wait beside each of some steps.
class Savings {
  public:
    Savings(const Steps& steps, const std::vector<Waiting>& waiting) : steps_(steps), waiting_(waiting) {}

    // From now on each adds so much to the cost to be there to wait; kLimit: it is not. Whether that is
    // another than before.
    bool let_wait(std::vector<Cost> adds);
    // Where something waits for less, or for nothing.
    std::vector<Cost> costs() const;
    // For no more than this cost; beside one of what may be read as well.
    Bytes least(Cost cost, std::optional<std::size_t> read = std::nullopt) const;

  private:
    // From this cost on, these bytes wait.
    struct Saving {
        Cost cost;
        Bytes bytes;
    };
    using OfStep = std::vector<Saving>;  // ascending in cost; the first is nothing

    OfStep of(const Step& step) const;

    const Steps& steps_;
    const std::vector<Waiting>& waiting_;
    std::vector<Cost> adds_;
    std::vector<OfStep> savings_;
};

}  // namespace memstow::stripes
