#include "picture.hpp"

#include <algorithm>

namespace memstow::plain {
namespace {

__extension__ typedef __int128 Wide;

struct Change {
    std::int64_t time;
    std::int64_t bytes;
};

// All changes, by time, those of one time added up.
struct Changes {
    std::vector<std::int64_t> times;
    std::vector<Wide> in_use;  // from that time on
};

Changes changes_of(const Problem& problem) {
    std::vector<Change> all;
    all.reserve(2 * problem.sizes.size());
    for (std::size_t i = 0; i < problem.sizes.size(); ++i) {
        if (problem.sizes[i] == 0) continue;
        all.push_back({problem.begins[i], problem.sizes[i]});
        all.push_back({problem.ends[i], -problem.sizes[i]});
    }
    std::sort(all.begin(), all.end(), [](const Change& a, const Change& b) { return a.time < b.time; });
    Changes changes;
    Wide live = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        live += all[i].bytes;
        if (i + 1 < all.size() && all[i + 1].time == all[i].time) continue;
        changes.times.push_back(all[i].time);
        changes.in_use.push_back(live);
    }
    return changes;
}

// By column the moment that it shows.
std::vector<std::int64_t> moments_of(const Changes& changes, int width) {
    const auto steps = static_cast<std::int64_t>(changes.times.size()) - 1;
    std::vector<std::int64_t> moments;
    for (std::int64_t column = 0; column < width; ++column) {
        const std::int64_t first = column * steps / width;
        const std::int64_t last = std::max(first + 1, (column + 1) * steps / width);
        const auto begin = changes.in_use.begin();
        moments.push_back(changes.times[std::max_element(begin + first, begin + last) - begin]);
    }
    return moments;
}

}  // namespace

Picture picture(const Problem& problem, const std::int64_t* offsets, int width, int most_rows) {
    const Changes changes = changes_of(problem);
    const std::vector<std::int64_t> moments = moments_of(changes, width);
    std::int64_t top = 0;
    for (std::size_t i = 0; i < problem.sizes.size(); ++i) {
        if (problem.sizes[i] > 0) top = std::max(top, offsets[i] + problem.sizes[i]);
    }
    const std::int64_t rows = std::min<std::int64_t>(most_rows, top);
    std::vector<std::int64_t> bounds;
    for (std::int64_t row = 0; row <= rows; ++row) {
        bounds.push_back(static_cast<std::int64_t>(Wide{top} * row / rows));
    }
    // By row and column, how many bytes more are in use than in the column before.
    const auto stride = static_cast<std::size_t>(width) + 1;
    std::vector<Wide> more(static_cast<std::size_t>(rows) * stride);
    const auto column_at = [&](std::int64_t time) {
        return static_cast<std::size_t>(std::lower_bound(moments.begin(), moments.end(), time) -
                                        moments.begin());
    };
    for (std::size_t i = 0; i < problem.sizes.size(); ++i) {
        const std::size_t first = column_at(problem.begins[i]);
        const std::size_t last = column_at(problem.ends[i]);
        if (problem.sizes[i] == 0 || first == last) continue;
        std::int64_t low = offsets[i];
        const std::int64_t end = low + problem.sizes[i];
        auto row =
            static_cast<std::size_t>(std::upper_bound(bounds.begin(), bounds.end(), low) - bounds.begin()) -
            1;
        for (; low < end; ++row) {
            const std::int64_t high = std::min(end, bounds[row + 1]);
            more[row * stride + first] += high - low;
            more[row * stride + last] -= high - low;
            low = high;
        }
    }
    Picture drawn{changes.times, {}};
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
        const std::int64_t size = bounds[row + 1] - bounds[row];
        Wide total = 0;
        for (std::size_t column = 0; column + 1 < stride; ++column) {
            total += more[row * stride + column];
            const Wide level = (total * kLevels + size - 1) / size;
            drawn.levels.push_back(static_cast<char>(std::min<Wide>(level, kLevels)));
        }
    }
    return drawn;
}

}  // namespace memstow::plain
