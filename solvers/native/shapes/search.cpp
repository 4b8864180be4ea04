#include "shapes/search.hpp"

#include <algorithm>
#include <cmath>

#include "core/random.hpp"

namespace memstow::shapes {
namespace {

constexpr double kHot = 0.02;
constexpr double kCold = 0.0002;
constexpr std::int64_t kShortRun = 2'000;
constexpr int kMovesAtOnce = 16;

class Search {
  public:
    Search(const Shaped& shaped, Aim aim, const std::vector<Start>& starts, std::uint64_t seed,
           Budget& budget)
        : shaped_(shaped), aim_(aim), starts_(starts), random_(seed), budget_(budget) {}

    Best run() {
        for (const Start& start : starts_) {
            const SequenceLayout layout(shaped_, aim_, start.sequence, start.choices);
            budget_.count(layout.steps());
            keep(layout);
            if (budget_.spent()) break;
        }
        std::int64_t length = kShortRun;
        for (std::size_t turn = 0; !done() && shaped_.items() > 1; ++turn) {
            // Every other run begins at the best, those between at the starts in turn.
            if (turn % 2 == 0) {
                anneal(SequenceLayout(shaped_, aim_, best_.sequence, best_.choices), length);
            } else {
                const Start& start = starts_[turn / 2 % starts_.size()];
                anneal(SequenceLayout(shaped_, aim_, start.sequence, start.choices), length);
            }
            if (turn % 2 == 1) length = times_more(length, 2);
        }
        return best_;
    }

  private:
    bool perfect() const {
        if (!best_.fits) return false;
        for (Index k = 0; k < shaped_.points; ++k) {
            if (best_.peaks[k] > shaped_.least[k]) return false;
        }
        return true;
    }
    bool done() const { return perfect() || budget_.spent(); }

    void keep(const SequenceLayout& layout) {
        if (!best_.sequence.empty() && !layout.quality().better_than(quality_)) return;
        quality_ = layout.quality();
        best_ = {layout.sequence(), layout.choices(), layout.peaks(), quality_.excess == 0};
    }

    void anneal(SequenceLayout layout, std::int64_t length) {
        std::int64_t counted = 0;
        for (std::int64_t move = 0; move < length; ++move) {
            if (move % kMovesAtOnce == 0) {
                budget_.count(layout.steps() - counted);
                counted = layout.steps();
                if (done()) return;
                heat_ =
                    kHot * std::pow(kCold / kHot, static_cast<double>(move) / static_cast<double>(length));
            }
            const Quality before = layout.quality();
            if (!step(layout)) continue;
            const Quality& after = layout.quality();
            if (!accepts(before, after)) {
                layout.take_back();
            } else {
                keep(layout);
            }
        }
        budget_.count(layout.steps() - counted);
    }

    bool accepts(const Quality& before, const Quality& after) {
        if (after.excess != before.excess) {
            if (after.excess < before.excess) return true;
            return random_.unit() < heat_;
        }
        if (after.value <= before.value) return true;
        return random_.unit() < std::exp((before.value - after.value) / heat_);
    }

    Index below(Index count) { return static_cast<Index>(random_.below(count)); }

    Index pick_point(const SequenceLayout& layout) {
        Index point = below(shaped_.points);
        if (random_.unit() < 0.3) return point;
        for (Index k = 0; k < shaped_.points; ++k) {
            if (layout.ratio(k) > layout.ratio(point)) point = k;
        }
        return point;
    }

    bool step(SequenceLayout& layout) {
        if (shaped_.points == 0 || random_.unit() < 0.1) return anywhere(layout);
        const Index point = pick_point(layout);
        layout.tower(point, layout.highest_pool(point), tower_);
        if (tower_.size() < 2) return anywhere(layout);
        const std::size_t high = random_.below(tower_.size() - 1);
        const Index upper = tower_[high], next = tower_[high + 1];
        const double kind = random_.unit();
        if (kind < 0.35) return move(layout, upper, layout.place_of(next));
        if (kind < 0.7) return move(layout, next, layout.place_of(upper));
        if (kind < 0.85) {
            const std::size_t low = high + 1 + random_.below(tower_.size() - high - 1);
            return move(layout, upper, layout.place_of(tower_[low]));
        }
        return move(layout, upper, below(layout.place_of(upper) + 1));
    }

    bool anywhere(SequenceLayout& layout) {
        const Index item = below(shaped_.items());
        const Index choices = count_of(shaped_.choices[item]);
        if (choices > 1 && random_.unit() < 0.5) {
            const Index other = below(choices);
            if (other == layout.choices()[item]) return false;
            layout.choose(item, other);
            return true;
        }
        return move(layout, item, below(shaped_.items()));
    }

    static bool move(SequenceLayout& layout, Index item, Index place) {
        if (layout.place_of(item) == place) return false;
        layout.move(item, place);
        return true;
    }

    const Shaped& shaped_;
    Aim aim_;
    const std::vector<Start>& starts_;
    Random random_;
    Budget& budget_;
    double heat_ = kHot;
    Best best_;
    Quality quality_;
    std::vector<Index> tower_;
};

}  // namespace

Best search(const Shaped& shaped, Aim aim, const std::vector<Start>& starts, std::uint64_t seed,
            Budget& budget) {
    if (!shaped.linked) {
        const SequenceLayout layout(shaped, aim, starts.front().sequence, starts.front().choices);
        budget.count(layout.steps());
        return {layout.sequence(), layout.choices(), layout.peaks(), layout.quality().excess == 0};
    }
    return Search(shaped, aim, starts, seed, budget).run();
}

}  // namespace memstow::shapes
