#include "problem.hpp"

#include <algorithm>

#include "text.hpp"

namespace memstow::plain {

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
    if (std::all_of(problem.sizes.begin(), problem.sizes.end(), empty)) return false;
    const std::int64_t first = problem.alignments[0];
    const auto alike = [&](std::int64_t alignment) { return alignment == first; };
    if (std::all_of(problem.alignments.begin(), problem.alignments.end(), alike)) {
        problem.alignments.resize(1);
    }
    for (auto* column : {&problem.sizes, &problem.begins, &problem.ends, &problem.alignments}) {
        column->shrink_to_fit();
    }
    problem.names.trim();
    std::optional<std::vector<Number>> order = sorted(problem.names);
    if (!order) return false;
    problem.order = std::move(*order);
    return true;
}

}  // namespace memstow::plain
