#include "improve/skyline.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/arithmetic.hpp"

namespace memstow::improve {

namespace {

constexpr std::int64_t kStepsBetweenStops = 2048;

}  // namespace

Skyline::Skyline(const Instance& instance) : instance_(instance) {
    exact_ = instance.pools[instance.choices[0][0].pool].reserved.empty();
    for (Index item = 0; item < instance.item_count(); ++item) {
        Box box{instance.time_rows, 0, 0, item, &instance.choices[item][0]};
        if (instance.parts_of(item).size() > 1 || box.choice->low == box.choice->high) exact_ = false;
        for (Index part = instance.item_parts[item]; part < instance.item_parts[item + 1]; ++part) {
            box.size = std::max(box.size, instance.parts[part].delta + instance.parts[part].size);
            if (instance.rows[part].size() > 1 || instance.parts[part].delta != 0) exact_ = false;
            for (const RowRange& rows : instance.rows[part]) {
                if (rows.begin >= instance.time_rows) {
                    exact_ = false;
                    break;
                }
                box.begin = std::min(box.begin, rows.begin);
                box.end = std::max(box.end, rows.end);
            }
        }
        if (box.begin < box.end) {
            boxes_.push_back(box);
        } else {
            loose_.push_back(item);
        }
    }
    std::stable_sort(boxes_.begin(), boxes_.end(),
                     [](const Box& a, const Box& b) { return a.begin < b.begin; });
    first_box_.resize(instance.time_rows + 1);
    load_.resize(instance.time_rows + 1, 0);
    std::size_t next = 0;
    for (Index row = 0; row <= instance.time_rows; ++row) {
        while (next < boxes_.size() && boxes_[next].begin < row) ++next;
        first_box_[row] = next;
    }
    for (const Box& box : boxes_) {
        load_[box.begin] += box.size;
        load_[box.end] -= box.size;
    }
    for (std::size_t r = 1; r < load_.size(); ++r) load_[r] += load_[r - 1];
    ends.resize(instance.item_count());
    candidates_.resize(boxes_.size() + 1);
    covers_.resize(instance.time_rows + 1);
}

Index Skyline::alive(Index box) {
    while (next_alive_[box] != box) {
        next_alive_[box] = next_alive_[next_alive_[box]];
        box = next_alive_[box];
    }
    return box;
}

std::vector<double> Skyline::keys(int rule, double noise, Random& random) const {
    std::vector<double> keys(ends.size());
    for (const Box& box : boxes_) {
        const double life = box.end - box.begin;
        const double size = box.size;
        double raw = 0;
        switch (rule) {
            case 0:
                raw = life;
                break;
            case 1:
                raw = size;
                break;
            case 2:
                raw = size * life;
                break;
            case 3:
                raw = std::sqrt(size) * life;
                break;
        }
        const double u = static_cast<double>(random.below(1 << 20)) / (1 << 20);
        keys[box.item] = raw * growth(noise * (u - 0.5) * 2);
    }
    return keys;
}

Layout Skyline::layout(Index pool) const {
    Layout layout(ends.size());
    for (const Box& box : boxes_) {
        const Bytes offset = ends[box.item] - box.size;
        if (offset > box.choice->high) return {};
        layout[box.item] = {pool, offset};
    }
    for (const Index item : loose_) {
        const Choice& c = instance_.choices[item][0];
        const Bytes offset = raised(c, c.low);
        if (offset > c.high) return {};
        layout[item] = {pool, offset};
    }
    return layout;
}

// The boxes that fit on the stretch.
std::span<const Index> Skyline::list_candidates(const Ground::Stretch& on) {
    const Box* const boxes = boxes_.data();
    Index* const first = candidates_.data();
    Index* end = first;
    const Index last = first_box_[on.end];
    std::int64_t looked_at = 0;
    for (Index i = alive(first_box_[on.begin]); i < last; i = alive(i + 1)) {
        *end = i;
        end += boxes[i].end <= on.end;
        ++looked_at;
    }
    steps_ += looked_at;
    return {first, end};
}

// The row with the fewest candidates, of those the one with the least slack.
Index Skyline::scarcest_row(const Ground::Stretch& on, std::span<const Index> candidates, Bytes height) {
    const Index width = on.end - on.begin;
    Index* const covers = covers_.data();
    std::fill_n(covers, width + 1, 0);
    for (const Index i : candidates) {
        ++covers[boxes_[i].begin - on.begin];
        --covers[boxes_[i].end - on.begin];
    }
    const Bytes* const remainder = remainder_.data() + on.begin;
    const Bytes room = height - on.floor;
    Index scarcest = -1;
    Index fewest = 0;
    Bytes least_slack = 0;
    Index now = 0;
    for (Index r = 0; r < width; ++r) {
        now += covers[r];
        if (now == 0) continue;
        const Bytes slack = room - remainder[r];
        if (scarcest < 0 || now < fewest || (now == fewest && slack < least_slack)) {
            scarcest = r;
            fewest = now;
            least_slack = slack;
        }
    }
    steps_ += width + count_of(candidates);
    return on.begin + scarcest;
}

// Of the candidates for the scarcest row the one with the highest key.
Index Skyline::choose(const Ground::Stretch& on, std::span<const Index> candidates,
                      const std::vector<double>& keys, Bytes height) {
    if (candidates.size() == 1) return candidates[0];
    const Index row = scarcest_row(on, candidates, height);
    Index chosen = -1;
    for (const Index i : candidates) {
        if (boxes_[i].begin > row || boxes_[i].end <= row) continue;
        if (chosen < 0 || keys[boxes_[i].item] > keys[boxes_[chosen].item]) chosen = i;
    }
    return chosen;
}

// The box goes on the floor; returns where it ends.
Bytes Skyline::put(Index at, Bytes floor) {
    const Box& box = boxes_[at];
    next_alive_[at] = at + 1;
    const Bytes end = raised(*box.choice, std::max(floor, box.choice->low)) + box.size;
    ends[box.item] = end;
    top = std::max(top, end);
    for (Index r = box.begin; r < box.end; ++r) remainder_[r] -= box.size;
    steps_ += box.end - box.begin;
    return end;
}

void Skyline::restart() {
    top = 0;
    next_alive_.resize(boxes_.size() + 1);
    std::iota(next_alive_.begin(), next_alive_.end(), 0);
    remainder_ = load_;
    ground_.flatten(instance_.time_rows);
    steps_ = count_of(next_alive_);
}

bool Skyline::run(const std::vector<double>& keys, Bytes height, std::vector<Index>& order,
                  const Stop& stop) {
    restart();
    order.clear();
    while (order.size() < boxes_.size()) {
        if (steps_ >= kStepsBetweenStops) {
            if (stop(steps_)) return false;
            steps_ = 0;
        }
        const Index stretch = ground_.take_lowest();
        const Ground::Stretch on = ground_[stretch];
        const std::span<const Index> candidates = list_candidates(on);
        if (candidates.empty()) {
            if (!ground_.lift(stretch)) break;
            continue;
        }
        const Index chosen = choose(on, candidates, keys, height);
        const Box& box = boxes_[chosen];
        order.push_back(box.item);
        ground_.raise(stretch, box.begin, box.end, put(chosen, on.floor));
    }
    order.insert(order.end(), loose_.begin(), loose_.end());
    return !stop(steps_);
}

}  // namespace memstow::improve
