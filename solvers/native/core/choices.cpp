#include <algorithm>
#include <cstdint>

#include "core/instance.hpp"

namespace memstow {
namespace {

constexpr std::size_t kKnown = 256;

std::size_t hash_of(std::span<const Choice> choices) {
    std::uint64_t hash = 0;
    for (const Choice& choice : choices) {
        for (const std::int64_t field : {std::int64_t{choice.pool}, choice.modulus, choice.residue,
                                         choice.low, choice.high, choice.cost, choice.rank}) {
            // The golden ratio, as fraction of 2^64: what differs in any bit differs in the high ones.
            hash = (hash ^ static_cast<std::uint64_t>(field)) * 0x9e3779b97f4a7c15;
            hash ^= hash >> 32;
        }
    }
    return hash;
}

}  // namespace

void Choices::add(std::span<const Choice> choices) {
    const auto is = [&](Index list) { return list >= 0 && std::ranges::equal(lists_[list], choices); };
    if (!list_of_.empty() && is(list_of_.back())) {
        list_of_.push_back(list_of_.back());
        return;
    }
    if (known_.empty()) known_.assign(kKnown, -1);
    Index& known = known_[hash_of(choices) % kKnown];
    if (!is(known)) {
        known = lists_.size();
        lists_.values.insert(lists_.values.end(), choices.begin(), choices.end());
        lists_.close();
    }
    list_of_.push_back(known);
}

}  // namespace memstow
