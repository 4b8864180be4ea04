#include "search/equal_sums.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace memstow::search {
namespace {

constexpr std::size_t kMostOfFirst = 1 << 12, kMostOfSecond = 1 << 15;

struct Sum {
    Bytes value;
    PlaceSet places;
};

// All sets of one number, of two, and so on, as long as there are at most `most`; the set of all comes last.
std::vector<Sum> small_sets(const std::vector<Bytes>& numbers, std::size_t most) {
    std::vector<Sum> sets;
    Sum all{0, 0};
    for (std::size_t k = 0; k < numbers.size(); ++k) {
        sets.push_back({numbers[k], PlaceSet{1} << k});
        all = {all.value + numbers[k], all.places | sets.back().places};
    }
    std::size_t begin = 0;  // of the sets of the size before
    for (std::size_t size = 2; size < numbers.size(); ++size) {
        const std::size_t end = sets.size();
        for (std::size_t k = begin; k < end && sets.size() <= most; ++k) {
            const Sum set = sets[k];
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
    if (numbers.size() > 1) sets.push_back(all);
    return sets;
}

}  // namespace

std::vector<EqualSums> equal_sums(const std::vector<Bytes>& first, const std::vector<Bytes>& second,
                                  std::size_t most, std::int64_t& steps) {
    std::vector<Sum> sums = small_sets(second, kMostOfSecond);
    const Sum all = sums.back();
    const bool complete = sums.size() == first_places(second.size());
    for (std::size_t k = complete ? 0 : sums.size() - 1; k > 0; --k) {
        const Sum set = sums[k - 1];
        sums.push_back({all.value - set.value, all.places & ~set.places});
    }
    std::sort(sums.begin(), sums.end(), [](const Sum& a, const Sum& b) {
        return std::pair(a.value, a.places) < std::pair(b.value, b.places);
    });
    const auto same = [](const Sum& a, const Sum& b) { return a.places == b.places; };
    sums.erase(std::unique(sums.begin(), sums.end(), same), sums.end());
    const std::vector<Sum> wanted = small_sets(first, kMostOfFirst);
    steps += 4 * (sums.size() + wanted.size());

    std::vector<EqualSums> pairs;
    for (const Sum& one : wanted) {
        auto found = std::lower_bound(sums.begin(), sums.end(), one.value,
                                      [](const Sum& sum, Bytes value) { return sum.value < value; });
        for (std::size_t k = 0; k < most && found != sums.end() && found->value == one.value; ++k) {
            pairs.push_back({one.places, (found++)->places});
        }
    }
    return pairs;
}

}  // namespace memstow::search
