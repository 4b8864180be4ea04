#include "improve/skyline.hpp"

#include <algorithm>
#include <cmath>
#include <queue>

namespace memstow::improve {

namespace {

Bytes raised(const Choice& choice, Bytes offset) {
    if (choice.modulus == 1) return offset;
    const Bytes rest = (choice.residue - offset) % choice.modulus;
    return offset + (rest < 0 ? rest + choice.modulus : rest);
}

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

bool Skyline::run(const std::vector<double>& keys, Bytes height, std::vector<Index>& order,
                  const Stop& stop) {
    order.clear();
    std::int64_t steps = count_of(boxes_) + 1;
    top = 0;
    const Index n = count_of(boxes_);
    next_alive_.resize(n + 1);
    for (Index i = 0; i <= n; ++i) next_alive_[i] = i;
    remainder_ = load_;
    std::vector<Segment> segments{{0, instance_.time_rows, -1, -1, 0, 0}};
    struct Turn {
        Bytes floor;
        Index segment;
        int version;
        bool operator>(const Turn& o) const {
            return floor != o.floor ? floor > o.floor : segment > o.segment;
        }
    };
    std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns;
    turns.push({0, 0, 0});
    std::vector<Index> candidates;
    std::vector<std::int32_t> covers;
    std::size_t left_over = n;
    while (left_over > 0 && !turns.empty()) {
        if (steps >= 2048) {
            if (stop(steps)) return false;
            steps = 0;
        }
        const Turn turn = turns.top();
        turns.pop();
        Segment& s = segments[turn.segment];
        if (s.version != turn.version) continue;
        candidates.clear();
        const Index last = first_box_[s.end];
        for (Index i = alive(first_box_[s.begin]); i < last; i = alive(i + 1)) {
            if (boxes_[i].end <= s.end) candidates.push_back(i);
            ++steps;
        }
        if (candidates.empty()) {
            // Nothing fits: up to the lower neighbour.
            const Bytes left = s.left < 0 ? kLimit : segments[s.left].floor;
            const Bytes right = s.right < 0 ? kLimit : segments[s.right].floor;
            if (left == kLimit && right == kLimit) break;
            const Bytes up = std::min(left, right);
            s.floor = up;
            if (left == up) {
                const Index gone = s.left;
                s.begin = segments[gone].begin;
                s.left = segments[gone].left;
                ++segments[gone].version;
                if (s.left >= 0) segments[s.left].right = turn.segment;
            }
            if (right == up) {
                const Index gone = s.right;
                s.end = segments[gone].end;
                s.right = segments[gone].right;
                ++segments[gone].version;
                if (s.right >= 0) segments[s.right].left = turn.segment;
            }
            turns.push({s.floor, turn.segment, ++s.version});
            continue;
        }
        // The row with the fewest candidates, of those the one with the least slack.
        Index chosen = candidates[0];
        const auto width = s.end - s.begin;
        if (candidates.size() > 1) {
            covers.assign(width + 1, 0);
            for (const Index i : candidates) {
                ++covers[boxes_[i].begin - s.begin];
                --covers[boxes_[i].end - s.begin];
            }
            Index best_row = -1;
            std::int32_t fewest = 0;
            Bytes least_slack = 0;
            std::int32_t now = 0;
            for (Index r = 0; r < width; ++r) {
                now += covers[r];
                if (now == 0) continue;
                const Bytes slack = height - s.floor - remainder_[s.begin + r];
                bool better;
                better = now < fewest || (now == fewest && slack < least_slack);
                if (best_row < 0 || better) {
                    best_row = s.begin + r;
                    fewest = now;
                    least_slack = slack;
                }
            }
            steps += width + count_of(candidates);
            chosen = -1;
            for (const Index i : candidates) {
                if (boxes_[i].begin > best_row || boxes_[i].end <= best_row) continue;
                if (chosen < 0 || keys[boxes_[i].item] > keys[boxes_[chosen].item]) chosen = i;
            }
        }
        const Box box = boxes_[chosen];
        next_alive_[chosen] = chosen + 1;
        --left_over;
        order.push_back(box.item);
        const Bytes risen = raised(*box.choice, std::max(s.floor, box.choice->low)) + box.size;
        ends[box.item] = risen;
        top = std::max(top, risen);
        for (Index r = box.begin; r < box.end; ++r) remainder_[r] -= box.size;
        steps += box.end - box.begin;

        const Bytes floor = s.floor;
        const Index begin = s.begin;
        const Index end = s.end;
        Index left = s.left;
        Index right = s.right;
        // The middle keeps the place of s in the list.
        const auto self = turn.segment;
        const auto add = [&](Index b, Index e, Index l, Index r) {
            segments.push_back({b, e, l, r, floor, 0});
            const auto added = count_of(segments) - 1;
            if (l >= 0) segments[l].right = added;
            if (r >= 0) segments[r].left = added;
            turns.push({floor, added, 0});
            return added;
        };
        segments[self].begin = box.begin;
        segments[self].end = box.end;
        segments[self].floor = risen;
        ++segments[self].version;
        if (begin < box.begin) left = add(begin, box.begin, left, self);
        if (box.end < end) right = add(box.end, end, self, right);
        Segment& m = segments[self];
        m.left = left;
        m.right = right;
        // One with the neighbours of the same height.
        if (left >= 0 && segments[left].floor == m.floor) {
            m.begin = segments[left].begin;
            m.left = segments[left].left;
            ++segments[left].version;
            if (m.left >= 0) segments[m.left].right = self;
        }
        if (right >= 0 && segments[right].floor == m.floor) {
            m.end = segments[right].end;
            m.right = segments[right].right;
            ++segments[right].version;
            if (m.right >= 0) segments[m.right].left = self;
        }
        turns.push({m.floor, self, m.version});
    }
    for (const Index item : loose_) order.push_back(item);
    return !stop(steps);
}

}  // namespace memstow::improve
