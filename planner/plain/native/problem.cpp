#include "problem.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "text.hpp"

namespace memstow::plain {
namespace {

__extension__ typedef __int128 Wide;

bool are_pairs(const std::vector<std::int64_t>& numbers, std::size_t width) {
    for (std::size_t i = 0; i + 1 < numbers.size(); i += width) {
        if (numbers[i] == numbers[i + 1]) return false;
    }
    return true;
}

// Each pinned buffer has bytes, is aligned and within the memory, and no two share a byte: others may at
// other times.
bool are_pins_sound(const Problem& problem) {
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
    for (std::size_t i = 0; i < problem.relations.pins.size(); ++i) {
        const std::int64_t pin = problem.relations.pins[i], size = problem.sizes[i];
        if (pin == Relations::kFree) continue;
        if (size == 0 || pin % problem.alignment(i) != 0 || pin > problem.capacity - size) return false;
        ranges.emplace_back(pin, pin + size);
    }
    std::sort(ranges.begin(), ranges.end());
    for (std::size_t i = 1; i < ranges.size(); ++i) {
        if (ranges[i].first < ranges[i - 1].second) return false;
    }
    return true;
}

// Tied buffers, and how far each is from one of its group.
class Groups {
  public:
    explicit Groups(std::size_t count) : base_(count), distance_(count, 0) {
        std::iota(base_.begin(), base_.end(), std::size_t{0});
    }

    // False where the two are in one group already.
    bool tie(std::size_t buffer, std::size_t base, std::int64_t distance) {
        const auto [root, at] = place(buffer);
        const auto [base_root, base_at] = place(base);
        if (root == base_root) return false;
        base_[root] = base_root;
        distance_[root] = base_at + distance - at;
        return true;
    }

    std::pair<std::size_t, Wide> place(std::size_t buffer) {
        std::size_t root = buffer;
        Wide total = 0;
        for (; base_[root] != root; root = base_[root]) total += distance_[root];
        // The next look is a short one.
        for (Wide rest = total; buffer != root;) {
            const std::size_t next = std::exchange(base_[buffer], root);
            rest -= std::exchange(distance_[buffer], rest);
            buffer = next;
        }
        return {root, total};
    }

  private:
    std::vector<std::size_t> base_;
    std::vector<Wide> distance_;
};

// Ties hold distinct buffers with bytes and without pins in trees, all aligned where one of them is, over at
// most 2^62 bytes; no other relation is between two of one group.
bool are_ties_sound(const Problem& problem) {
    const Relations& relations = problem.relations;
    if (relations.ties.empty()) return true;
    Groups groups(problem.sizes.size());
    for (std::size_t i = 0; i < relations.ties.size(); i += 3) {
        const auto buffer = static_cast<std::size_t>(relations.ties[i]);
        const auto base = static_cast<std::size_t>(relations.ties[i + 1]);
        for (const std::size_t one : {buffer, base}) {
            const bool pinned = !relations.pins.empty() && relations.pins[one] != Relations::kFree;
            if (problem.sizes[one] == 0 || pinned) return false;
        }
        if (!groups.tie(buffer, base, relations.ties[i + 2])) return false;
    }
    std::vector<std::pair<Wide, Wide>> extents(problem.sizes.size());
    for (std::size_t i = 0; i < problem.sizes.size(); ++i) {
        const auto [root, at] = groups.place(i);
        if (at % problem.alignment(i) != 0) return false;
        auto& [low, high] = extents[root];
        low = std::min(low, at);
        high = std::max(high, at + problem.sizes[i]);
        if (high - low > kLimit) return false;
    }
    for (const auto* pairs : {&relations.conflicts, &relations.exclusive, &relations.in_place}) {
        for (std::size_t i = 0; i < pairs->size(); i += 2) {
            const auto root = [&](std::size_t at) {
                return groups.place(static_cast<std::size_t>((*pairs)[at])).first;
            };
            if (root(i) == root(i + 1)) return false;
        }
    }
    return true;
}

}  // namespace

bool is_name(std::string_view name) {
    const bool has_nul = name.find('\0') != std::string_view::npos;
    return !name.empty() && !has_nul && characters(name) <= kLongestName;
}

bool add(Problem& problem, std::string_view name, const Buffer& buffer) {
    if (!buffer.valid() || !is_name(name)) return false;
    if (!problem.names.add(name)) return false;
    problem.sizes.push_back(buffer.size);
    problem.begins.push_back(buffer.begin);
    problem.ends.push_back(buffer.end);
    problem.alignments.push_back(buffer.alignment);
    return true;
}

bool finish(Problem& problem) {
    const auto empty = [](std::int64_t size) { return size == 0; };
    if (problem.formulas.texts.empty() && std::all_of(problem.sizes.begin(), problem.sizes.end(), empty))
        return false;
    const std::int64_t first = problem.alignments[0];
    const auto alike = [&](std::int64_t alignment) { return alignment == first; };
    if (std::all_of(problem.alignments.begin(), problem.alignments.end(), alike)) {
        problem.alignments.resize(1);
    }
    // Of the buffers after the last pin none has one.
    if (!problem.relations.pins.empty())
        problem.relations.pins.resize(problem.sizes.size(), Relations::kFree);
    std::vector<std::int64_t>& of_buffer = problem.formulas.of_buffer;
    if (!of_buffer.empty()) of_buffer.resize(problem.sizes.size(), Formulas::kNumber);
    for (auto* column : {&problem.sizes, &problem.begins, &problem.ends, &problem.alignments, &of_buffer}) {
        column->shrink_to_fit();
    }
    problem.names.trim();
    std::optional<std::vector<Number>> order = sorted(problem.names);
    if (!order) return false;
    problem.order = std::move(*order);
    return true;
}

void put_sizes(Problem& problem, std::span<const std::int64_t> of_formulas) {
    for (std::size_t i = 0; i < problem.formulas.of_buffer.size(); ++i) {
        const std::int64_t formula = problem.formulas.of_buffer[i];
        if (formula != Formulas::kNumber) problem.sizes[i] = of_formulas[static_cast<std::size_t>(formula)];
    }
}

std::vector<std::int64_t> accesses_of_lists(const Problem& problem) {
    const Pools& pools = problem.pools;
    std::vector<std::int64_t> totals(pools.lists.size() + 1, 0);
    for (std::size_t i = 0; i < problem.sizes.size(); ++i) {
        const std::int64_t list = pools.list_of.empty() ? Pools::kAny : pools.list_of[i];
        std::int64_t& total = totals[static_cast<std::size_t>(list - Pools::kAny)];
        total = std::min(total + problem.accesses(i), kLimit + 1);
    }
    return totals;
}

bool are_plainly_sound(const Problem& problem) {
    const Relations& relations = problem.relations;
    for (const auto* pairs : {&relations.conflicts, &relations.exclusive, &relations.in_place}) {
        if (!are_pairs(*pairs, 2)) return false;
    }
    return are_pairs(relations.ties, 3) && are_pins_sound(problem) && are_ties_sound(problem);
}

}  // namespace memstow::plain
