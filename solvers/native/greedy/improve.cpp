#include "greedy/improve.hpp"

#include <algorithm>

#include "core/random.hpp"
#include "greedy/incumbent.hpp"

namespace memstow::greedy {

namespace {

bool is_peak(TermKind kind) {
    return kind == TermKind::peak || kind == TermKind::pool_peak || kind == TermKind::max_peak;
}

// Where a single pool's peak leads, no pass that rises above the peak to beat can be of use.
Bytes useful_height(const Instance& instance, const Scorer& scorer, const Score& to_beat) {
    if (instance.pools.size() != 1 || !to_beat.fits()) return kLimit;
    if (scorer.terms().empty() || !is_peak(scorer.terms().front().kind)) return kLimit;
    return static_cast<Bytes>(to_beat.values.front());
}

// The items that keep the score where it is.
class Culprits {
  public:
    Culprits(const Instance& instance, const Scorer& scorer) : instance_(instance), scorer_(scorer) {}

    const std::vector<Index>& of(const Layout& layout, const Score& score) {
        items_.clear();
        if (!score.fits()) {
            beyond_capacity(layout);
        } else {
            for (std::size_t k = 0; k < score.values.size() && items_.empty(); ++k) {
                if (score.values[k] != 0) of_term(scorer_.terms()[k], layout);
            }
        }
        return items_;
    }

  private:
    void beyond_capacity(const Layout& layout) {
        for (Index item = 0; item < instance_.item_count(); ++item) {
            const Place& place = layout[item];
            if (place.offset == kUnplaced ||
                place.offset + extent_of(instance_, item) > instance_.pools[place.pool].capacity) {
                items_.push_back(item);
            }
        }
    }

    void of_term(const Term& term, const Layout& layout) {
        if (is_peak(term.kind)) {
            at_peaks(term, layout);
        } else if (term.kind == TermKind::placement_cost) {
            above_least(&Choice::cost, layout);
        } else if (term.kind == TermKind::preference) {
            above_least(&Choice::rank, layout);
        } else if (term.kind == TermKind::reuse_cost) {
            paying(layout);
        } else {
            moved(layout);
        }
    }

    void moved(const Layout& layout) {
        const Layout& hint = scorer_.hint();
        if (hint.empty()) return;
        for (Index item = 0; item < instance_.item_count(); ++item) {
            const Place& wished = hint[item];
            if (wished.offset != kUnplaced && layout[item] != wished) items_.push_back(item);
        }
    }

    void at_peaks(const Term& term, const Layout& layout) {
        const std::vector<Bytes> peaks = pool_peaks(instance_, layout);
        const Bytes highest = *std::max_element(peaks.begin(), peaks.end());
        for (Index item = 0; item < instance_.item_count(); ++item) {
            const Place& place = layout[item];
            const Bytes peak = peaks[place.pool];
            if (term.kind == TermKind::pool_peak && place.pool != term.pool) continue;
            if (term.kind == TermKind::max_peak && peak != highest) continue;
            if (place.offset + extent_of(instance_, item) == peak) items_.push_back(item);
        }
    }

    void above_least(std::int64_t Choice::* what, const Layout& layout) {
        for (Index item = 0; item < instance_.item_count(); ++item) {
            std::int64_t least = kLimit;
            std::int64_t paid = 0;
            for (const Choice& choice : instance_.choices[item]) {
                least = std::min(least, choice.*what);
                if (choice.pool == layout[item].pool) paid = choice.*what;
            }
            if (paid > least) items_.push_back(item);
        }
    }

    void paying(const Layout& layout) {
        for (const ReuseCost& pair : instance_.reuse) {
            const Part& a = instance_.parts[pair.first];
            const Part& b = instance_.parts[pair.second];
            if (layout[a.item].pool != layout[b.item].pool) continue;
            const Bytes a_begin = layout[a.item].offset + a.delta;
            const Bytes b_begin = layout[b.item].offset + b.delta;
            if (a_begin >= b_begin + b.size || b_begin >= a_begin + a.size) continue;
            items_.push_back(a.item);
            items_.push_back(b.item);
        }
    }

    const Instance& instance_;
    const Scorer& scorer_;
    std::vector<Index> items_;
};

void shift(std::vector<Index>& order, std::size_t from, std::size_t to) {
    const auto begin = order.begin();
    const auto f = from;
    const auto t = to;
    if (f > t) {
        std::rotate(begin + t, begin + f, begin + f + 1);
    } else {
        std::rotate(begin + f, begin + f + 1, begin + t + 1);
    }
}

}  // namespace

void improve(const Instance& instance, Placer<PairBoard>& placer, const Scorer& scorer,
             std::vector<Index> order, const Tactics& tactics, std::uint64_t seed, std::int64_t passes,
             Budget& budget, Incumbent& incumbent, const std::string& name) {
    if (order.size() < 2) return;
    Random random(seed);
    Culprits culprits(instance, scorer);
    Layout layout;
    placer.run(order, tactics, budget, layout);
    Score current = scorer(layout);
    incumbent.offer(layout, current, name);
    std::vector<Index> blamed = culprits.of(layout, current);
    std::vector<Index> trial;
    for (std::int64_t pass = 0; pass < passes && !incumbent.perfect() && !budget.spent(); ++pass) {
        if (blamed.empty()) return;
        trial = order;
        const Index item = blamed[random.below(blamed.size())];
        const std::size_t from = std::find(trial.begin(), trial.end(), item) - trial.begin();
        if (from > 0) {
            // Half of the time the culprit itself comes sooner, else two of those before it change places.
            if (random.below(2) == 0) {
                shift(trial, from, random.below(from));
            } else {
                std::swap(trial[random.below(from)], trial[random.below(from + 1)]);
            }
        } else {
            shift(trial, 0, random.below(trial.size()));
        }
        const Bytes most = useful_height(instance, scorer, current);
        if (!placer.run(trial, tactics, budget, layout, WhenSpent::give_up, most)) continue;
        Score score = scorer(layout);
        if (score > current) continue;
        order.swap(trial);
        incumbent.offer(layout, score, name);
        current = std::move(score);
        blamed = culprits.of(layout, current);
    }
}

}  // namespace memstow::greedy
