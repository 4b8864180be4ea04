#include "core/ascending.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace memstow {

namespace {

constexpr int kBits = 11;  // of the keys, in one pass: the counts stay in the nearest cache
constexpr std::size_t kDigits = std::size_t{1} << kBits;
// With fewer values the passes over the counts take longer than comparing.
constexpr std::size_t kFew = 1024;

struct Keyed {
    std::uint64_t key;
    Index index;
};

void sort_by_digit(const std::vector<Keyed>& from, std::vector<Keyed>& to, int shift) {
    std::array<std::size_t, kDigits> next{};
    const auto digit_of = [&](const Keyed& entry) { return (entry.key >> shift) & (kDigits - 1); };
    for (const Keyed& entry : from) ++next[digit_of(entry)];
    std::exclusive_scan(next.begin(), next.end(), next.begin(), std::size_t{0});
    for (const Keyed& entry : from) to[next[digit_of(entry)]++] = entry;
}

}  // namespace

std::vector<Index> ascending(std::span<const std::int64_t> values) {
    std::vector<Index> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    if (std::is_sorted(values.begin(), values.end())) return order;
    if (values.size() < kFew) {
        std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return values[a] < values[b]; });
        return order;
    }
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    const auto key_of = [base = static_cast<std::uint64_t>(*least)](std::int64_t value) {
        return static_cast<std::uint64_t>(value) - base;
    };
    std::vector<Keyed> keyed(values.size());
    std::vector<Keyed> other(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) keyed[i] = {key_of(values[i]), static_cast<Index>(i)};
    const std::uint64_t largest = key_of(*most);
    for (int shift = 0; shift < 64 && (largest >> shift) != 0; shift += kBits) {
        sort_by_digit(keyed, other, shift);
        keyed.swap(other);
    }
    std::transform(keyed.begin(), keyed.end(), order.begin(), [](const Keyed& entry) { return entry.index; });
    return order;
}

}  // namespace memstow
