#include "improve/improve.hpp"

#include <algorithm>
#include <numeric>

#include "improve/ejection.hpp"

namespace memstow::improver {

ImproveResult improve(const Instance& instance, const Layout& start, const ImproveOptions& options,
                      Budget& budget, const OnImproved& on_improved) {
    Ejection ejection(instance, options.pool, start, options.seed);
    ImproveResult result{start, ejection.height(), 0};
    Bytes unit = 0;
    for (const Part& part : instance.parts) unit = std::gcd(unit, part.size);
    double share = 0.3;
    std::int64_t quota = 20'000'000;
    while (result.height > options.bound && !budget.spent()) {
        const double gap = static_cast<double>(result.height - options.bound);
        Bytes drop = std::max(unit, static_cast<Bytes>(gap * share) / unit * unit);
        Bytes target = std::max(options.bound, result.height - drop);
        std::int64_t used = 0;
        const bool reached = ejection.reach(target, [&](std::int64_t steps) {
            budget.count(steps);
            used += steps;
            return used > quota || budget.spent();
        });
        const std::size_t left = ejection.unplaced();
        bool better = reached;
        if (!reached) better = ejection.complete([&](std::int64_t s) { budget.count(s); return budget.spent(); });
        const Bytes height = ejection.height();
        if (getenv("TRACE")) printf("  target %.5f left %zu -> %.5f share %.3f moves %ld used %ld\n", (double)target / (double)options.bound, left, (double)height / (double)options.bound, share, (long)ejection.moves, (long)used);
        if (better && height < result.height) {
            result.height = height;
            ejection.save(result.layout);
            if (on_improved) on_improved(result.layout, height);
            if (reached) share = std::min(1.0, share * 1.5);
        } else {
            ejection.load(result.layout);
            share /= 2;
            if (gap * share < unit) { share = 0.3; quota *= 2; }
        }
    }
    result.moves = ejection.moves;
    return result;
}

}  // namespace memstow::improver
