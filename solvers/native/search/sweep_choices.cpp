// The choices of a sweep for the next group of a row: which tiles may follow those that end.
#include <algorithm>
#include <bit>

#include "search/equal_sums.hpp"
#include "search/sweep.hpp"

namespace memstow::search {
namespace {

constexpr std::size_t kMostWays = 64;

std::int64_t log_choose(std::size_t n, std::size_t k) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < std::min(k, n - k); ++i) sum += log2_of(n - i) - log2_of(i + 1);
    return sum;
}

// From places among the chosen ones to places in the whole list.
PlaceSet spread(PlaceSet set, const std::vector<std::size_t>& places) {
    PlaceSet result = 0;
    for (std::size_t k = 0; k < places.size(); ++k) {
        if (has(set, k)) result |= PlaceSet{1} << places[k];
    }
    return result;
}

}  // namespace

// Likeliest first. Where little is left, or too much, all that is left is one group.
std::vector<Sweep::Choice> Sweep::choices() {
    const bool few = std::popcount(now_.pieces_left) == 1 || std::popcount(now_.born_left) == 1;
    if (!few && now_.pieces.size() <= 64 && begins_[now_.row].size() <= 64) return clearest(equal_choices());
    Choice all{now_.pieces_left, now_.born_left, 0};
    if (!gathers(all)) return {};
    return {all};
}

// Whether the pieces of a choice can be together, and how much of the freedom of the order that takes.
bool Sweep::gathers(Choice& choice) {
    if (now_.pieces.size() <= 64 && std::popcount(choice.pieces) == 1) return true;
    const OrderTrees::Mark mark = trees_.mark();
    mark_pieces(choice.pieces, 1);
    const OrderTrees::Node tree = trees_.together(now_.tree, chosen_, 0);
    mark_pieces(choice.pieces, 0);
    if (tree != OrderTrees::kNone) choice.doubt += trees_.freedom(now_.tree) - trees_.freedom(tree);
    trees_.forget(mark);
    return tree != OrderTrees::kNone;
}

// Sums that are equal by chance are the likelier the more sets there are to choose from; that all is one
// group needs no equal sums, so it is as if as many sets as there are sums had been looked at, but for
// `trust`.
std::vector<Sweep::Choice> Sweep::equal_choices() {
    const auto begins = begins_[now_.row];
    std::vector<std::size_t> pieces, born;
    std::vector<Bytes> ended, begun;
    Bytes total = 0;
    for (std::size_t k = 0; k < now_.pieces.size(); ++k) {
        if (!has(now_.pieces_left, k)) continue;
        Bytes sum = 0;
        for (const Index tile : now_.pieces[k]) sum += tiles_[tile].size;
        pieces.push_back(k);
        ended.push_back(sum);
        total += sum;
    }
    for (std::size_t k = 0; k < begins.size(); ++k) {
        if (!has(now_.born_left, k)) continue;
        born.push_back(k);
        begun.push_back(tiles_[begins[k]].size);
    }
    const std::int64_t doubt_of_all = log2_of(static_cast<std::uint64_t>(total)) - trust_;
    std::vector<Choice> found;
    PlaceSet last = 0;
    Choice same_pieces{};
    bool good = false;
    for (const EqualSums& pair : equal_sums(ended, begun, kMostWays, steps_)) {
        if (pair.first != last) {
            same_pieces = {spread(pair.first, pieces), 0, 0};
            good = gathers(same_pieces);
            last = pair.first;
        }
        if (!good) continue;
        Choice choice = same_pieces;
        choice.born = spread(pair.second, born);
        choice.doubt += choice.pieces == now_.pieces_left
                            ? doubt_of_all
                            : log_choose(born.size(), std::popcount(pair.second));
        found.push_back(choice);
    }
    std::stable_sort(found.begin(), found.end(),
                     [](const Choice& a, const Choice& b) { return a.doubt < b.doubt; });
    return found;
}

// Each piece is in some group: the choices for the one whose best choice is furthest ahead of the next.
std::vector<Sweep::Choice> Sweep::clearest(std::vector<Choice> found) const {
    std::size_t pick = 0;
    std::int64_t furthest = -1;
    for (std::size_t k = 0; k < now_.pieces.size(); ++k) {
        if (!has(now_.pieces_left, k)) continue;
        const auto with = [k](const Choice& choice) { return has(choice.pieces, k); };
        const auto best = std::find_if(found.begin(), found.end(), with);
        if (best == found.end()) return {};
        const auto next = std::find_if(best + 1, found.end(), with);
        const std::int64_t ahead = next == found.end() ? kLimit : next->doubt - best->doubt;
        if (ahead <= furthest) continue;
        furthest = ahead;
        pick = k;
    }
    std::erase_if(found, [pick](const Choice& choice) { return !has(choice.pieces, pick); });
    return found;
}

}  // namespace memstow::search
