#include "search/equal_sums.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <tuple>
#include <utility>

#include "core/bounds.hpp"

namespace memstow::search {
namespace {

constexpr std::size_t kMostHalved = 28;
constexpr std::size_t kMostSmallSets = 1 << 14;  // of numbers that are not halved
constexpr std::size_t kMostOfFirst = 1 << 12, kMostOfSecond = 1 << 10;
constexpr std::size_t kMostSeen = 1 << 12;  // for one sum
constexpr std::size_t kMostKept = 64;
// What either half of an answer may take; beyond it, it is not complete.
constexpr std::int64_t kMostSteps = std::int64_t{1} << 25;
constexpr std::size_t kMostEqual = std::size_t{1} << 16;

bool by_sum(const SetSum& a, const SetSum& b) {
    return std::pair(a.value, a.places) < std::pair(b.value, b.places);
}

// All sets of one number, of two, and so on, as long as there are at most `most`; without the set of all.
std::vector<SetSum> small_sets(const std::vector<Bytes>& numbers, std::size_t most) {
    std::vector<SetSum> sets;
    if (numbers.size() < 2) return sets;
    for (std::size_t k = 0; k < numbers.size(); ++k) sets.push_back({numbers[k], PlaceSet{1} << k});
    std::size_t begin = 0;  // of the sets of the size before
    for (std::size_t size = 2; size < numbers.size(); ++size) {
        const std::size_t end = sets.size();
        for (std::size_t k = begin; k < end && sets.size() <= most; ++k) {
            const SetSum set = sets[k];
            for (Index next = std::bit_width(set.places); next < count_of(numbers); ++next) {
                sets.push_back({set.value + numbers[next], set.places | PlaceSet{1} << next});
            }
        }
        if (sets.size() > most) {
            sets.resize(end);
            break;
        }
        begin = end;
    }
    return sets;
}

// All sets of the numbers from `begin` to `end`, the empty one among them.
std::vector<SetSum> all_sets(const std::vector<Bytes>& numbers, std::size_t begin, std::size_t end) {
    std::vector<SetSum> sets{{0, 0}};
    for (std::size_t k = begin; k < end; ++k) {
        for (std::size_t j = 0, known = sets.size(); j < known; ++j) {
            sets.push_back({sets[j].value + numbers[k], sets[j].places | PlaceSet{1} << k});
        }
    }
    std::sort(sets.begin(), sets.end(), by_sum);
    return sets;
}

// Small sets, and what they leave.
std::vector<SetSum> small_and_large(const std::vector<Bytes>& numbers) {
    std::vector<SetSum> sets = small_sets(numbers, kMostSmallSets);
    Bytes all = 0;
    for (const Bytes number : numbers) all += number;
    for (std::size_t k = 0, known = sets.size(); k < known; ++k) {
        sets.push_back({all - sets[k].value, first_places(numbers.size()) & ~sets[k].places});
    }
    std::sort(sets.begin(), sets.end(), by_sum);
    const auto same = [](const SetSum& a, const SetSum& b) { return a.places == b.places; };
    sets.erase(std::unique(sets.begin(), sets.end(), same), sets.end());
    return sets;
}

}  // namespace

Bytes share_of(Bytes sum, std::int64_t share) {
    return static_cast<Bytes>(WideBytes{sum} * share >> kShareBits);
}

SetSums::SetSums(const std::vector<Bytes>& numbers)
    : count_(numbers.size()), complete_(count_ <= kMostHalved) {
    if (complete_) {
        lower_ = all_sets(numbers, 0, count_ / 2);
        upper_ = all_sets(numbers, count_ / 2, count_);
    } else {
        lower_ = small_and_large(numbers);
        upper_ = {{0, 0}};
    }
}

std::vector<SetSum> SetSums::within(Bytes low, Bytes high, std::size_t most, std::int64_t& steps) const {
    std::vector<SetSum> sums;
    std::size_t top = upper_.size();
    steps += count_of(lower_) + count_of(upper_);
    for (const SetSum& below : lower_) {
        while (top > 0 && below.value + upper_[top - 1].value > high) --top;
        for (std::size_t k = top; k > 0 && below.value + upper_[k - 1].value >= low; --k) {
            const PlaceSet places = below.places | upper_[k - 1].places;
            if (places == 0 || places == first_places(count_)) continue;
            if (sums.size() >= most) break;
            sums.push_back({below.value + upper_[k - 1].value, places});
        }
        if (sums.size() >= most || top == 0) break;
    }
    steps += count_of(sums);
    return sums;
}

EqualSets::EqualSets(std::vector<Bytes> second, std::int64_t share, std::size_t memory)
    : second_(std::move(second)), share_(share), memory_(memory), sums_(second_) {}

// Those of few numbers, or of nearly all, first: there are fewer of them to be equal by chance.
const std::vector<SetSum>& EqualSets::matches(Bytes sum, std::int64_t& steps) {
    const auto [at, is_new] = matches_.try_emplace(sum);
    std::vector<SetSum>& sums = at->second;
    if (!is_new) return sums;
    const Bytes off = share_of(sum, share_);
    sums = sums_.within(sum - off, sum + off, kMostSeen, steps);
    const auto rank = [&](const SetSum& set) {
        const int few = std::popcount(set.places);
        return std::tuple(std::min(few, count_of(second_) - few), set.value, set.places);
    };
    std::sort(sums.begin(), sums.end(), [&](const SetSum& a, const SetSum& b) { return rank(a) < rank(b); });
    steps += count_of(sums) * std::bit_width(sums.size());
    if (sums.size() > kMostKept) sums.resize(kMostKept);
    bytes_ += sums.size() * sizeof(SetSum);
    return sums;
}

const EqualSets::Sets& EqualSets::with(const std::vector<Bytes>& first, std::int64_t& steps,
                                       const std::function<bool()>& is_over) {
    if (bytes_ > memory_) {
        sets_of_.clear();
        matches_.clear();
        bytes_ = 0;
    }
    const auto [at, is_new] = sets_of_.try_emplace(first);
    Sets& sets = at->second;
    if (!is_new) return sets;
    std::vector<SetSum> wanted = small_sets(first, kMostOfFirst);
    bool all_of_first = first.size() < 2 || wanted.size() + 1 == first_places(first.size());
    if (!all_of_first) {
        // Sets of many of the first are found from those of few of the second.
        const SetSums sums(first);
        const std::vector<SetSum> few = small_sets(second_, kMostOfSecond);
        const std::int64_t most = steps + kMostSteps;
        std::set<PlaceSet> known;
        for (const SetSum& set : wanted) known.insert(set.places);
        for (const SetSum& set : few) {
            if (steps > most || wanted.size() > kMostEqual || is_over()) break;
            const Bytes off = share_of(set.value, share_);
            for (const SetSum& more : sums.within(set.value - off, set.value + off, kMostSeen, steps)) {
                if (known.insert(more.places).second) wanted.push_back(more);
            }
        }
        all_of_first = sums.complete() && few.size() + 1 == first_places(second_.size());
    }
    steps += count_of(wanted);
    const std::int64_t most = steps + kMostSteps;
    bool ended = false;
    for (const SetSum& one : wanted) {
        ended = steps > most || sets.pairs.size() > kMostEqual || is_over();
        if (ended) break;
        for (const SetSum& other : matches(one.value, steps))
            sets.pairs.push_back({one.places, other.places});
    }
    bytes_ += sets.pairs.size() * sizeof(EqualSums);
    sets.complete = !ended && all_of_first && sums_.complete();
    return sets;
}

}  // namespace memstow::search
