#include "reuse/board.hpp"

#include <algorithm>

#include "core/arithmetic.hpp"
#include "search/allowed_offsets.hpp"

namespace memstow::reuse {
namespace {}  // namespace

Board::Board(const Instance& instance, const Costs& costs) {
    for (Index i = 0; i < instance.item_count(); ++i) {
        const Choice& choice = instance.choices[i][0];
        modulus_.push_back(choice.modulus);
        residue_.push_back(choice.residue);
        Bytes top = 0;
        for (const Part& part : instance.parts_of(i)) top = std::max(top, part.delta + part.size);
        tops_.push_back(top);
        for (const Range& range : search::allowed_offsets(instance, i, 1)) allowed_.values.push_back(range);
        allowed_.close();
    }
    list_relations(instance, costs);
}

void Board::list_relations(const Instance& instance, const Costs& costs) {
    std::vector<std::vector<Relation>> of(tops_.size());
    const auto relate = [&](Index p, Index q, Bytes cost, bool tieable) {
        const Part &own = instance.parts[p], &other = instance.parts[q];
        of[own.item].push_back({other.item, other.delta - own.delta - own.size,
                                other.delta + other.size - own.delta, cost,
                                tieable ? other.delta - own.delta : kNoHole});
    };
    for (Index p = 0; p < costs.conflicts.count(); ++p) {
        for (const Index q : costs.conflicts.near(p)) {
            relate(p, q, kForbidden, costs.conflicts.tieable(p, q));
        }
    }
    for (const ReuseCost& pair : costs.pairs) {
        relate(pair.first, pair.second, pair.cost, false);
        relate(pair.second, pair.first, pair.cost, false);
    }
    for (const auto& list : of) {
        relations_.values.insert(relations_.values.end(), list.begin(), list.end());
        relations_.close();
    }
}

Bytes Board::next(Index item, Bytes from) const { return align_up(from, modulus_[item], residue_[item]); }

bool Board::allowed(Index item, Bytes offset) const {
    if (offset > height_ - tops_[item] || next(item, offset) != offset) return false;
    const auto ranges = allowed_[item];
    return std::any_of(ranges.begin(), ranges.end(),
                       [&](const Range& range) { return range.begin <= offset && offset <= range.end; });
}

Bytes Board::cost_of(Index item, const std::vector<Bytes>& offsets) const {
    Bytes cost = 0;
    const Bytes offset = offsets[item];
    for (const Relation& relation : relations_[item]) {
        const Bytes x = offsets[relation.other];
        if (relation.cost == kForbidden || x == kUnplaced) continue;
        if (x + relation.below < offset && offset < x + relation.above) cost += relation.cost;
    }
    return cost;
}

// The ranges of offsets, both ends included, at which the item overlaps nothing that it must not, whatever
// its alignment; and those at which it pays, ends excluded.
void Board::find_free(Index item, const std::vector<Bytes>& offsets) {
    taken_.clear();
    paid_.clear();
    prices_.clear();
    const auto relations = relations_[item];
    steps_ += count_of(relations) + 1;
    for (const Relation& relation : relations) {
        const Bytes x = offsets[relation.other];
        if (x == kUnplaced) continue;
        if (relation.cost == kForbidden) {
            taken_.push_back({x + relation.below, x + relation.above});
        } else {
            paid_.push_back({x + relation.below, x + relation.above});
            prices_.push_back(relation.cost);
        }
    }
    std::sort(taken_.begin(), taken_.end(), [](Range a, Range b) { return a.begin < b.begin; });
    free_.clear();
    for (const Range& range : allowed_[item]) {
        const Bytes last = std::min(range.end, height_ - tops_[item]);
        Bytes from = range.begin;
        for (const Range& hit : taken_) {
            if (hit.begin >= last) break;
            if (hit.begin >= from) free_.push_back({from, hit.begin});
            from = std::max(from, hit.end);
        }
        if (from <= last) free_.push_back({from, last});
    }
}

void Board::consider(Bytes offset, bool anywhere, Random& random) {
    Bytes cost = 0;
    steps_ += count_of(paid_);
    for (std::size_t k = 0; k < paid_.size(); ++k) {
        if (paid_[k].begin < offset && offset < paid_[k].end) cost += prices_[k];
    }
    if (cost > best_.cost) return;
    if (cost < best_.cost) {
        best_ = {offset, cost};
        equals_ = 1;
        return;
    }
    ++equals_;
    const bool taken = anywhere ? random.below(equals_) == 0 : offset < best_.offset;
    if (taken) best_.offset = offset;
}

void Board::add_holes(Index item, const std::vector<Bytes>& offsets) {
    const auto relations = relations_[item];
    for (const Relation& tie : relations) {
        if (tie.hole == kNoHole || offsets[tie.other] == kUnplaced) continue;
        const Bytes offset = offsets[tie.other] + tie.hole;
        const bool fits = allowed(item, offset) &&
                          std::none_of(relations.begin(), relations.end(), [&](const Relation& relation) {
                              const Bytes x = offsets[relation.other];
                              return x != kUnplaced && forbids(relation, x, offset);
                          });
        if (fits) free_.push_back({offset, offset});
    }
}

Bytes Board::least_in_the_way(Index item, const std::vector<Bytes>& offsets,
                              const std::vector<double>& weights, double scale, Random& random) {
    const auto relations = relations_[item];
    Bytes best = kUnplaced;
    double least = 0;
    int equals = 0;
    const auto weigh = [&](Bytes from) {
        const Bytes offset = next(item, from);
        if (offset < 0 || !allowed(item, offset)) return;
        double weight = 0;
        for (const Relation& relation : relations) {
            ++steps_;
            const Bytes x = offsets[relation.other];
            if (x == kUnplaced) continue;
            if (relation.cost == kForbidden) {
                if (forbids(relation, x, offset)) weight += weights[relation.other];
            } else if (x + relation.below < offset && offset < x + relation.above) {
                weight += relation.cost / scale;
            }
            if (best != kUnplaced && weight > least) return;
        }
        equals = best == kUnplaced || weight < least ? 1 : equals + 1;
        if (equals > 1 && random.below(equals) > 0) return;
        best = offset;
        least = weight;
    };
    for (const Range& range : allowed_[item]) {
        weigh(range.begin);
        weigh(std::min(range.end, height_ - tops_[item]) - modulus_[item] + 1);
    }
    for (const Relation& relation : relations) {
        const Bytes x = offsets[relation.other];
        if (x == kUnplaced) continue;
        weigh(x + relation.above);
        weigh(x + relation.below - modulus_[item] + 1);
    }
    return best;
}

// Costs fall only at the ends of what is paid for, so a cheapest offset is the first allowed one at or above
// such an end or the begin of a free range. The last ones below are looked at as well: they leave other room.
Board::Spot Board::cheapest(Index item, const std::vector<Bytes>& offsets, bool anywhere, Random& random) {
    best_ = {};
    equals_ = 0;
    find_free(item, offsets);
    add_holes(item, offsets);
    for (const Range& range : free_) {
        const auto try_at_or_above = [&](Bytes offset) {
            offset = next(item, offset);
            if (offset <= range.end) consider(offset, anywhere, random);
        };
        const auto try_at_or_below = [&](Bytes offset) {
            offset = next(item, offset - modulus_[item] + 1);
            if (offset >= range.begin) consider(offset, anywhere, random);
        };
        try_at_or_above(range.begin);
        if (anywhere) try_at_or_below(range.end);
        for (const Range& paid : paid_) {
            if (range.begin < paid.end && paid.end <= range.end) try_at_or_above(paid.end);
            if (anywhere && range.begin <= paid.begin && paid.begin < range.end) try_at_or_below(paid.begin);
        }
    }
    return best_;
}

}  // namespace memstow::reuse
