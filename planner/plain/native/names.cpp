#include "names.hpp"

#include <algorithm>
#include <limits>

namespace memstow::plain {
namespace {

// The first bytes as a number that is ordered as they are.
std::uint64_t head_of(std::string_view name) {
    std::uint64_t head = 0;
    for (std::size_t i = 0; i < 8; ++i) {
        head = head << 8 | (i < name.size() ? static_cast<unsigned char>(name[i]) : 0u);
    }
    return head;
}

}  // namespace

bool Names::add(std::string_view name) {
    if (text_.size() + name.size() > std::numeric_limits<Number>::max()) return false;
    text_.append(name);
    ends_.push_back(static_cast<Number>(text_.size()));
    return true;
}

void Names::reserve(std::size_t count, std::size_t bytes) {
    ends_.reserve(count);
    text_.reserve(bytes);
}

void Names::trim() {
    text_.shrink_to_fit();
    ends_.shrink_to_fit();
}

std::optional<std::vector<Number>> sorted(const Names& names) {
    struct Headed {
        std::uint64_t head;
        Number number;
    };
    std::vector<Headed> all(names.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = {head_of(names[i]), static_cast<Number>(i)};
    std::sort(all.begin(), all.end(), [&](const Headed& one, const Headed& other) {
        if (one.head != other.head) return one.head < other.head;
        return names[one.number] < names[other.number];
    });
    std::vector<Number> order(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        order[i] = all[i].number;
        const bool alike = i > 0 && all[i].head == all[i - 1].head;
        if (alike && names[order[i]] == names[order[i - 1]]) return std::nullopt;
    }
    return order;
}

std::optional<Number> find(const Names& names, const std::vector<Number>& order, std::string_view name) {
    const auto at =
        std::lower_bound(order.begin(), order.end(), name,
                         [&](Number number, std::string_view text) { return names[number] < text; });
    if (at == order.end() || names[*at] != name) return std::nullopt;
    return *at;
}

}  // namespace memstow::plain
