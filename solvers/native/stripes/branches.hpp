// A stripe of a path, with branches of it that come back to it.
#pragma once

#include <optional>
#include <vector>

#include "stripes/program.hpp"

namespace memstow::stripes {

struct Branches {
    // Those that begin at the same operators; instead of the rows that they keep, one of their tensors may be
    // there as a whole, if somebody reads it from elsewhere.
    struct Group {
        std::vector<Index> begins;   // places of the path
        std::vector<Index> members;  // operators of the program
        Bytes instead = kLimit;
    };

    Program program;             // of the stripe with all branches
    std::vector<Index> numbers;  // of its operators, among all of the graph; ascending
    std::vector<Index> path;     // which of its operators are the path
    std::vector<Group> groups;
    Cost cost = 0;  // of those branches that are counted in any case, and have not run before

    // Where its operators are in those of a longer one; none if others read one of them there.
    std::optional<std::vector<Index>> places_in(const Branches& longer) const;
};

// What nothing is of that is there as a whole.
inline constexpr Index kNothing = -2;

// Of the stripe [begin, end) of a path; also what comes to it from an earlier place of which what is handed
// on is there as a whole, -1: from what is there from the start. None where there is no branch, or where one
// goes around an operator whose rows somebody else reads, who may have them made sooner.
std::optional<Branches> branches_of(const Surroundings& around, Index begin, Index end,
                                    Index stays = kNothing);

}  // namespace memstow::stripes
