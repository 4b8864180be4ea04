#include "shapes/arcs.hpp"

#include <algorithm>
#include <cstdint>

namespace memstow::shapes {
namespace {

// By part, the parts that it is above.
class Reach {
  public:
    explicit Reach(std::size_t parts) : words_((parts + 63) / 64), bits_(parts * words_, 0) {}

    bool has(Index part, Index other) const { return (row(part)[other / 64] >> (other % 64) & 1) != 0; }
    void add(Index part, Index other) {
        row(part)[other / 64] |= std::uint64_t{1} << (other % 64);
        add_all(part, other);
    }
    void add_all(Index part, Index other) {
        std::uint64_t* to = row(part);
        const std::uint64_t* from = row(other);
        for (std::size_t i = 0; i < words_; ++i) to[i] |= from[i];
    }

  private:
    std::uint64_t* row(Index part) { return bits_.data() + part * words_; }
    const std::uint64_t* row(Index part) const { return bits_.data() + part * words_; }

    std::size_t words_;
    std::vector<std::uint64_t> bits_;
};

}  // namespace

std::vector<PartArc> arcs(const Shaped& shaped, const std::vector<Index>& sequence,
                          const std::vector<Index>& choices) {
    std::vector<Index> place(sequence.size());
    for (Index at = 0; at < count_of(sequence); ++at) place[sequence[at]] = at;
    const auto pool = [&](Index item) { return shaped.choices[item][choices[item]].pool; };
    const auto place_of = [&](Index part) { return place[shaped.parts[part].item]; };
    std::vector<std::vector<Index>> below(shaped.parts.size());
    for (const auto& [a, b] : shaped.pairs) {
        if (pool(shaped.parts[a].item) != pool(shaped.parts[b].item)) continue;
        if (place_of(a) < place_of(b)) below[b].push_back(a);
        if (place_of(b) < place_of(a)) below[a].push_back(b);
    }
    std::vector<std::vector<Index>> members(sequence.size());
    for (Index part = 0; part < count_of(shaped.parts); ++part)
        members[shaped.parts[part].item].push_back(part);
    Reach reach(shaped.parts.size());
    std::vector<PartArc> result;
    for (const Index item : sequence) {
        std::vector<Index>& own = members[item];
        std::stable_sort(own.begin(), own.end(),
                         [&](Index a, Index b) { return shaped.parts[a].delta < shaped.parts[b].delta; });
        for (std::size_t at = 0; at < own.size(); ++at) {
            if (at > 0) reach.add_all(own[at], own[at - 1]);
            // The highest first: what they are above need not be said.
            std::vector<Index>& lower = below[own[at]];
            std::sort(lower.begin(), lower.end(), [&](Index a, Index b) {
                if (place_of(a) != place_of(b)) return place_of(a) > place_of(b);
                return shaped.parts[a].delta != shaped.parts[b].delta
                           ? shaped.parts[a].delta > shaped.parts[b].delta
                           : a > b;
            });
            for (const Index part : lower) {
                if (reach.has(own[at], part)) continue;
                result.push_back({own[at], part});
                reach.add(own[at], part);
            }
        }
    }
    return result;
}

}  // namespace memstow::shapes
