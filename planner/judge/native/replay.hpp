// The judge of schedules: a graph by number, and one run of its operators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace memstow::judge {

// The tensors of each operator: those of operator `i` are from begins[i] until begins[i + 1].
struct Uses {
    std::vector<std::int64_t> begins;
    std::vector<std::int64_t> tensors;

    std::span<const std::int64_t> of(std::int64_t operator_number) const;
};

// One run of all operators. Places in time: 0 is before the first, k is while the k-th runs.
struct Run {
    std::vector<std::int64_t> born;    // by tensor, the place where somebody makes it; 0: it is there
    std::vector<std::int64_t> needed;  // by tensor, the last place where it is needed; all and one: kept
    std::vector<std::pair<std::int64_t, std::int64_t>> shared;  // pairs in place that nobody reads later
};

class Program {
  public:
    // `kinds`: the first letter of the kind of each tensor. Throws where a number is out of range.
    Program(std::string kinds, Uses inputs, Uses outputs, Uses pairs,
            std::vector<std::int64_t> inputs_of_graph, std::vector<std::int64_t> kept);

    // Whether two operators make one tensor that is no state, or one makes an input of the graph.
    bool has_two_producers() const;
    // Whether a pair in place is not an input and an output of its operator.
    bool has_wrong_pair() const;
    // The run of the operators in this order; nothing where one is missing, or reads what is made later.
    std::optional<Run> run(std::span<const std::int64_t> order) const;

  private:
    std::int64_t operators() const { return static_cast<std::int64_t>(inputs_.begins.size()) - 1; }
    std::vector<std::int64_t> makers(std::span<const std::int64_t> place) const;

    std::string kinds_;
    Uses inputs_, outputs_, pairs_;
    std::vector<std::int64_t> inputs_of_graph_, kept_;
};

}  // namespace memstow::judge
