// A graph by number: what each operator reads and makes, and who makes and reads each tensor.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace memstow::model {

// A list of numbers for each of many: those of `i` are from start[i] until start[i + 1].
struct Lists {
    std::vector<std::int64_t> start{0};
    std::vector<std::int64_t> members;

    void end() { start.push_back(static_cast<std::int64_t>(members.size())); }
    std::size_t count() const { return start.size() - 1; }
    std::span<const std::int64_t> operator[](std::size_t i) const {
        return std::span(members).subspan(static_cast<std::size_t>(start[i]),
                                          static_cast<std::size_t>(start[i + 1] - start[i]));
    }
};

struct GraphColumns {
    static constexpr std::int64_t kUnknown = -1;

    nanobind::dict tensor_number;  // by id
    nanobind::dict operator_number;
    std::vector<char> kind;  // by tensor: the first letter of its kind
    Lists inputs;            // by operator
    Lists outputs;
    Lists pairs;                                // by operator, the input and the output of each pair in place
    std::vector<std::int64_t> inputs_of_graph;  // the inputs of the graph
    std::vector<std::int64_t> kept;             // its outputs
    bool has_shapes = false;                    // some tensor has a shape, or no size
    bool has_pools = false;                     // some tensor or temporary names pools
    bool has_temporaries = false;
    bool has_windows = false;
    bool has_unknown = false;  // an operator or the graph names a tensor that is not there
};

// The columns of an instance of the class `Graph`.
GraphColumns columns_of(nanobind::handle graph);

// By tensor, the first operator that makes it; `kUnknown` of a state and of what nobody makes.
std::vector<std::int64_t> producers(const GraphColumns& graph);

// By tensor, the operators that read it, each once, ascending.
Lists readers(const GraphColumns& graph);

// By operator, those that read what it makes, and the second of each of these pairs where it is the first:
// ascending, each once.
Lists successors(const GraphColumns& graph, const std::vector<std::pair<std::int64_t, std::int64_t>>& pairs);

// When the tensors of a valid graph live in an order of its operators.
struct Lives {
    using Life = std::pair<std::int64_t, std::int64_t>;

    std::vector<std::optional<Life>> lives;                     // by tensor; nothing: always
    std::vector<std::pair<std::int64_t, std::int64_t>> shared;  // pairs in place whose input dies there
};

// `begins` and `ends` say when each operator runs, `end` when the last one has.
Lives lives_of(const GraphColumns& graph, std::span<const std::int64_t> begins,
               std::span<const std::int64_t> ends, std::int64_t end);

// By operator, its pairs in place, each once, in the order in which they stand there.
Lists distinct_pairs(const GraphColumns& graph);

// Whether nobody reads what an operator makes that is listed later, or what it makes itself.
bool is_listed_in_order(const GraphColumns& graph);

// Whether no operator makes what another makes, or what is there before all, and somebody makes all data.
bool is_made_once(const GraphColumns& graph);

// Whether each pair in place is an input and an output of its operator, and data.
bool has_plain_pairs(const GraphColumns& graph);

}  // namespace memstow::model
