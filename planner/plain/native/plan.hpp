// What is long in a plan: the offsets of its buffers, and the buffers of its certificate.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "problem.hpp"

namespace memstow::plain {

struct Plan {
    std::vector<std::int64_t> offsets;  // by buffer
    std::vector<std::int64_t> members;  // buffers of the certificate of the first term
    // The document with both lists empty.
    std::string frame;
};

// The plan of a document in which each buffer has one place in the only pool; nothing where it is not so, or
// where the document is no JSON as far as it was read.
std::optional<Plan> read_plan(const Problem& problem, std::string_view text);

// The same of a CSV, which has no document around it.
std::optional<Plan> read_plan_csv(const Problem& problem, std::string_view text);

// The placements of buffers from `first` until `last` as elements of a JSON list, a line each. `homes`: by
// buffer, the number of its pool, where there are several.
std::string placements_as_json(const Problem& problem, const std::int64_t* offsets, std::size_t first,
                               std::size_t last, const std::int64_t* homes = nullptr);
// By pool, the end of the last buffer there; `homes` as above.
std::vector<std::int64_t> peaks(const Problem& problem, const std::int64_t* offsets,
                                const std::int64_t* homes);
// The names of these buffers as elements of a JSON list.
std::string names_as_json(const Problem& problem, const std::vector<std::int64_t>& members);
// The plan as CSV; nothing where an id would need quotes.
std::optional<std::string> plan_as_csv(const Problem& problem, const std::int64_t* offsets);
// The lines of the canonical form for buffers from `first` until `last` in the order of their ids; sizes that
// are formulas count as 0.
std::string canonical(const Problem& problem, std::size_t first, std::size_t last);
// Those of sizes that are formulas, likewise; the formulas are of ASCII alone.
std::string canonical_sizes(const Problem& problem, std::size_t first, std::size_t last);
// Those of banks; none where nothing depends on them.
std::string canonical(const Problem& problem, const Banks& banks);

}  // namespace memstow::plain
