#include "search/windows.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "search/exact.hpp"
#include "search/window.hpp"

namespace memstow::search {

namespace {

// Rows that windows are grown around.
constexpr std::size_t kMostPeaks = 128;
// All items are looked at for each of them: no more than so often.
constexpr std::size_t kMostLooks = 4'000'000;
// Only rows at least so full, in sixteenths of the bound.
constexpr Bytes kFullEnough = 12;
// Items that a window cuts off, by size of window.
constexpr std::ptrdiff_t kSizes[] = {12, 18, 27, 40, 60, 90, 135};
// Steps of the question whether a window has a layout at the bound, and of the search for its least height.
constexpr std::int64_t kAsked = 150'000;
constexpr std::int64_t kRaised = 4'000'000;
// Steps in which what is not needed is left out.
constexpr std::int64_t kShrinking = 8'000'000;
constexpr std::size_t kMemory = std::size_t{16} << 20;

class Run {
  public:
    Run(const Instance& instance, Bytes bound, Bytes height, Budget& budget)
        : ground_(instance), bound_(bound), height_(height), budget_(budget) {}

    WindowBound run() {
        std::vector<std::optional<Window>> windows;
        for (const Index row : peaks()) {
            if (budget_.spent()) return {};
            windows.emplace_back(Window(ground_, row));
            budget_.count(count_of(ground_.spans()) / 8);
        }
        for (const std::ptrdiff_t size : kSizes) {
            for (std::optional<Window>& window : windows) {
                if (budget_.spent() || bound_ >= height_) return finish();
                if (!window || !window->widen(size)) continue;
                // Larger windows are harder still.
                if (!look_into(*window)) window.reset();
            }
        }
        return finish();
    }

  private:
    // Rows that are no less full than those beside them, the fullest first; of many that are equally full
    // some, far from each other.
    std::vector<Index> peaks() const {
        const std::vector<Bytes>& loads = ground_.loads();
        std::vector<Index> components;
        for (Index row = 0; row < ground_.rows(); ++row) {
            const bool before = row == 0 || loads[row - 1] <= loads[row];
            const bool after = row + 1 == ground_.rows() || loads[row + 1] <= loads[row];
            const bool full = loads[row] / kFullEnough * 16 >= bound_ / ground_.cell();
            if (before && after && full) components.push_back(row);
        }
        std::stable_sort(components.begin(), components.end(),
                         [&](Index a, Index b) { return loads[a] > loads[b]; });
        const std::size_t most = std::min(kMostPeaks, 1 + kMostLooks / (ground_.spans().size() + 1));
        if (components.size() <= most) return components;
        const Bytes least = loads[components[most - 1]];
        const auto fuller = [&](Index row) { return loads[row] > least; };
        const auto as_full = [&](Index row) { return loads[row] >= least; };
        const auto begin = std::partition_point(components.begin(), components.end(), fuller);
        const auto end = std::partition_point(begin, components.end(), as_full);
        const auto slots = static_cast<std::ptrdiff_t>(most) - (begin - components.begin());
        const std::ptrdiff_t count = end - begin;
        for (std::ptrdiff_t k = 0; k < slots; ++k) *(begin + k) = *(begin + k * count / slots);
        components.resize(most);
        return components;
    }

    // In cells, the height that a layout of the bound has at most where sizes are rounded up.
    Bytes limit() const { return (bound_ + ground_.spare()) / ground_.cell(); }

    ExactResult searched(const Rest& rest, const ExactOptions& options, std::int64_t steps) {
        Budget part(-1, steps, &budget_);
        ExactResult answer = solve_exact(rest.instance, options, part);
        budget_.count(answer.steps);
        return answer;
    }

    // Whether larger windows around the same row are worth a look.
    bool look_into(const Window& window) {
        const Rest rest = rest_of(ground_, window.rows(), window.members());
        budget_.count(count_of(window.members()));
        if (rest.parts.empty()) return true;
        ExactOptions options;
        options.deterministic = true;
        options.memory = kMemory;
        options.fit_only = true;
        options.limit = limit() - rest.below;
        if (options.limit < 1) return true;
        const ExactResult fits = searched(rest, options, kAsked);
        if (fits.status != ExactStatus::infeasible) return fits.status != ExactStatus::unknown;
        raise(rest, window.rows(), fits.bound, fits.nodes);
        options.fit_only = false;
        options.limit = kLimit;
        options.bound = fits.bound;
        const ExactResult least = searched(rest, options, kRaised);
        if (least.bound > fits.bound) raise(rest, window.rows(), least.bound, least.nodes);
        return true;
    }

    void raise(const Rest& rest, RowRange window, Bytes bound, std::int64_t nodes) {
        const Bytes least = (bound + rest.below) * ground_.cell() - ground_.spare();
        if (least <= bound_) return;
        bound_ = std::min(least, height_);
        best_.bound = bound_;
        best_.rows = window;
        best_.nodes = std::max<std::int64_t>(nodes, 1);
        shown_ = rest;
    }

    // Names the parts of the best window that suffice.
    WindowBound finish() {
        if (best_.bound == 0) return best_;
        const Rest& rest = shown_;
        std::vector<Index> items(rest.parts.size());
        std::iota(items.begin(), items.end(), 0);
        --bound_;
        Budget part(-1, kShrinking, &budget_);
        const DeadSet dead = dead_set(rest.instance, items, limit() - rest.below, part, kShrinking / 8);
        ++bound_;
        budget_.count(part.work());
        best_.parts = rest.spanning;
        for (const Index item : dead.items) best_.parts.push_back(rest.parts[item]);
        std::sort(best_.parts.begin(), best_.parts.end());
        return best_;
    }

    const Ground ground_;
    Bytes bound_;
    const Bytes height_;
    Budget& budget_;
    WindowBound best_;
    Rest shown_;  // of the best window
};

}  // namespace

WindowBound window_bound(const Instance& instance, Bytes bound, Bytes height, Budget& budget) {
    if (instance.time_rows == 0 || instance.pools.size() != 1) return {};
    return Run(instance, bound, height, budget).run();
}

}  // namespace memstow::search
