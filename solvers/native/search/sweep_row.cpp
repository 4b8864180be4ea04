// How a sweep fills one row: which tiles may follow those that end.
#include <algorithm>
#include <bit>
#include <cmath>

#include "search/sweep.hpp"

namespace memstow::search {
namespace {

// How many partly filled rows are looked at for each way to fill it that is kept.
constexpr std::size_t kPartsATry = 2;

// The standard deviation of a sum, by the squares of what each may have lost, where all losses up to that are
// as likely. Where nothing is lost, one byte off is unlikely.
double deviation(WideBytes squares) { return std::max(0.435, std::sqrt(static_cast<double>(squares) / 12)); }

std::int64_t log_choose(std::size_t n, std::size_t k) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < std::min(k, n - k); ++i) sum += log2_of(n - i) - log2_of(i + 1);
    return sum;
}

}  // namespace

// What ends, in pieces that follow each other in every order; in the same order for whichever tree.
Sweep::Pieces Sweep::pieces_of(Index row, OrderTrees::Node tree) {
    for (const Index tile : rows_.ends(row)) chosen_[tile] = 1;
    Pieces pieces = trees_.pieces(tree, chosen_);
    for (const Index tile : rows_.ends(row)) chosen_[tile] = 0;
    for (auto& piece : pieces) std::sort(piece.begin(), piece.end());
    std::sort(pieces.begin(), pieces.end());
    return pieces;
}

// Groups are taken one after the other, the likeliest first, and others in the order of how much less likely
// they are. Wherever that all of the rest is one group fills the row, it is filled that way as well: this
// costs much at once, so it would come late, though small groups that seem likelier may cost more in the end.
void Sweep::fill_row(Index row, std::size_t way, EqualSets& sets, std::size_t tried) {
    pieces_.push_back(pieces_of(row, ways_[way].tree));
    const Pieces& pieces = pieces_.back();
    if (pieces.empty()) {
        filled_.push_back({way, ways_[way].tree, ways_[way].cost, {}});
        return;
    }
    EqualSets::Sets none;
    const EqualSets::Sets* equal_sets = &none;
    ended_.clear();
    for (const auto& piece : pieces) ended_.push_back(room_of(piece));
    if (pieces.size() <= kMostPlaces && rows_.begins(row).size() <= kMostPlaces) {
        std::vector<Bytes> ended;
        for (const Room& room : ended_) ended.push_back(room.bytes);
        equal_sets = &sets.with(ended, steps_, [this] { return is_over(); });
    }
    const auto later = [](const Part& a, const Part& b) {
        return a.regret != b.regret ? a.regret > b.regret : a.groups.size() < b.groups.size();
    };
    parts_.assign(1, {ways_[way].tree,
                      first_places(pieces.size()),
                      first_places(rows_.begins(row).size()),
                      ways_[way].cost,
                      0,
                      {}});
    std::vector<Part> full;  // the last group of each is not in the tree yet
    const std::size_t most = kPartsATry * tried;
    for (std::size_t looked = 0; looked < most && !parts_.empty() && !is_over(); ++looked) {
        std::pop_heap(parts_.begin(), parts_.end(), later);
        Part part = std::move(parts_.back());
        parts_.pop_back();
        if (!part.groups.empty()) part.tree = together(part.tree, pieces, part.groups.back().pieces);
        choices_.clear();
        add_whole(part, pieces);
        if (!choices_.empty()) full.push_back(with(part, choices_[0], 0));
        add_choices(part, pieces, *equal_sets);
        std::vector<Choice> likeliest = clearest(part, pieces, equal_sets->complete);
        if (likeliest.size() > most) likeliest.resize(most);
        for (const Choice& choice : likeliest) {
            if (choice.group.pieces == part.pieces) continue;
            parts_.push_back(with(part, choice, choice.cost - likeliest[0].cost));
            std::push_heap(parts_.begin(), parts_.end(), later);
        }
    }
    std::stable_sort(full.begin(), full.end(), [](const Part& a, const Part& b) { return a.cost < b.cost; });
    if (full.size() > tried) full.resize(tried);
    for (Part& part : full) {
        const OrderTrees::Node tree = together(part.tree, pieces, part.groups.back().pieces);
        filled_.push_back({way, tree, part.cost, std::move(part.groups)});
    }
}

// A part with one more group, which is less likely than the best by this.
Sweep::Part Sweep::with(const Part& part, const Choice& choice, std::int64_t regret) {
    Part next{part.tree,
              part.pieces & ~choice.group.pieces,
              part.born & ~choice.group.born,
              part.cost + choice.cost,
              part.regret + regret,
              part.groups};
    next.groups.push_back(choice.group);
    return next;
}

OrderTrees::Node Sweep::together(OrderTrees::Node tree, const Pieces& pieces, Set set) {
    const auto mark = [&](char value) {
        for (std::size_t k = 0; k < pieces.size(); ++k) {
            if (!has(set, k)) continue;
            for (const Index tile : pieces[k]) chosen_[tile] = value;
        }
    };
    mark(1);
    const OrderTrees::Node result = trees_.together(tree, chosen_);
    mark(0);
    return result;
}

// How much of the freedom of the order it takes that the pieces follow each other; nothing if they cannot.
std::optional<std::int64_t> Sweep::lost_freedom(const Part& part, const Pieces& pieces, Set set) {
    if (pieces.size() <= kMostPlaces && std::popcount(set) == 1) return 0;
    const OrderTrees::Mark mark = trees_.mark();
    const OrderTrees::Node tree = together(part.tree, pieces, set);
    std::optional<std::int64_t> lost;
    if (tree != OrderTrees::kNone) lost = trees_.freedom(part.tree) - trees_.freedom(tree);
    trees_.forget(mark);
    return lost;
}

// How unlikely a difference is, as if it were from a normal distribution.
std::int64_t Sweep::misfit(const Room& ended, const Room& begun) const {
    constexpr double kBits = 0.7213475204444817, kMost = 244;  // 1 / (2 ln 2)
    if (ended.bytes == begun.bytes) return 0;
    const double off = static_cast<double>(ended.bytes < begun.bytes ? begun.bytes - ended.bytes
                                                                     : ended.bytes - begun.bytes);
    const double ratio = off / deviation(ended.squares + begun.squares);
    return static_cast<std::int64_t>(kLog2Unit * std::min(kMost, kBits * ratio * ratio));
}

// How much likelier it is that a sum fits because it has to than by chance.
std::int64_t Sweep::worth(const Room& ended, const Room& begun) const {
    const std::int64_t off =
        loss_ == 0 ? 0 : log2_of(static_cast<Bytes>(deviation(ended.squares + begun.squares)) + 1);
    return log2_of(ended.bytes) - off - doubt_;
}

// What tiles take: their sizes and half of what they may have lost.
Sweep::Room Sweep::room_of(std::span<const Index> tiles) const {
    Room room;
    for (const Index tile : tiles) {
        const Bytes loss = tiles_[tile].loss;
        room += {tiles_[tile].size + loss / 2, WideBytes{loss} * loss};
    }
    return room;
}

Sweep::Room Sweep::room_of(const std::vector<Room>& rooms, Set set) {
    Room sum;
    for (std::size_t k = 0; k < rooms.size(); ++k) {
        if (has(set, k)) sum += rooms[k];
    }
    return sum;
}

// All that is left is one group.
void Sweep::add_whole(const Part& part, const Pieces& pieces) {
    const std::optional<std::int64_t> lost = lost_freedom(part, pieces, part.pieces);
    if (!lost) return;
    const std::int64_t off = misfit(room_of(ended_, part.pieces), room_of(begun_, part.born));
    choices_.push_back({{part.pieces, part.born}, *lost + off});
}

void Sweep::add_choices(const Part& part, const Pieces& pieces, const EqualSets::Sets& sets) {
    const auto inside = [](Set set, Set left) { return (set & ~left) == 0 && set != left; };
    const std::size_t left = std::popcount(part.born);
    if (std::popcount(part.pieces) == 1 || left == 1) return;
    Set last = 0;
    Room ended;
    std::optional<std::int64_t> lost;
    for (const EqualSums& pair : sets.pairs) {
        if (!inside(pair.first, part.pieces) || !inside(pair.second, part.born)) continue;
        if (pair.first != last) {
            if (is_over()) return;
            lost = lost_freedom(part, pieces, pair.first);
            ended = room_of(ended_, pair.first);
        }
        last = pair.first;
        if (!lost) continue;
        const Room begun = room_of(begun_, pair.second);
        choices_.push_back({{pair.first, pair.second},
                            *lost + misfit(ended, begun) + log_choose(left, std::popcount(pair.second)) -
                                worth(ended, begun)});
    }
    steps_ += count_of(sets.pairs);
}

// Each piece is in some group: the choices for the one whose best choice is furthest ahead of the next,
// likeliest first. None when a piece has no choice.
std::vector<Sweep::Choice> Sweep::clearest(const Part& part, const Pieces& pieces, bool complete) {
    std::stable_sort(choices_.begin(), choices_.end(),
                     [](const Choice& a, const Choice& b) { return a.cost < b.cost; });
    std::size_t pick = kMostPlaces;
    std::int64_t furthest = -1;
    for (std::size_t k = 0; k < std::min(kMostPlaces, pieces.size()); ++k) {
        if (!has(part.pieces, k)) continue;
        const auto with = [k](const Choice& choice) { return has(choice.group.pieces, k); };
        const auto best = std::find_if(choices_.begin(), choices_.end(), with);
        if (best == choices_.end()) {
            if (complete) return {};
            continue;
        }
        const auto next = std::find_if(best + 1, choices_.end(), with);
        const std::int64_t ahead = next == choices_.end() ? kLimit : next->cost - best->cost;
        if (ahead <= furthest) continue;
        furthest = ahead;
        pick = k;
    }
    std::vector<Choice> picked;
    for (const Choice& choice : choices_) {
        if (has(choice.group.pieces, pick) && pick < kMostPlaces) picked.push_back(choice);
    }
    return picked;
}

}  // namespace memstow::search
