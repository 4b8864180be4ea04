#include "sorting.hpp"

#include <algorithm>
#include <array>

namespace memstow::judge {

// A byte of the values at a time.
std::vector<std::size_t> in_order(const std::vector<std::int64_t>& values) {
    struct Numbered {
        std::uint64_t value;
        std::size_t number;
    };
    const std::int64_t least = values.empty() ? 0 : *std::min_element(values.begin(), values.end());
    std::vector<Numbered> numbered(values.size());
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        numbered[i] = {static_cast<std::uint64_t>(values[i]) - static_cast<std::uint64_t>(least), i};
        bits |= numbered[i].value;
    }
    std::vector<Numbered> next(values.size());
    for (int shift = 0; shift < 64 && bits >> shift != 0; shift += 8) {
        std::array<std::size_t, 257> place{};
        for (const Numbered& entry : numbered) ++place[(entry.value >> shift & 255) + 1];
        for (std::size_t digit = 1; digit < place.size(); ++digit) place[digit] += place[digit - 1];
        for (const Numbered& entry : numbered) next[place[entry.value >> shift & 255]++] = entry;
        numbered.swap(next);
    }
    std::vector<std::size_t> order(values.size());
    std::transform(numbered.begin(), numbered.end(), order.begin(),
                   [](const Numbered& entry) { return entry.number; });
    return order;
}

}  // namespace memstow::judge
