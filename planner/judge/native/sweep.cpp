#include "sweep.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

namespace memstow::judge {
namespace {

using std::int64_t;
using std::uint64_t;

std::vector<int64_t> values_of(std::span<const int64_t> values) { return {values.begin(), values.end()}; }

// The bytes in use, each counted once: how many lives have each range between two cuts.
class Cover {
  public:
    explicit Cover(const Lives& lives) {
        cuts_.reserve(2 * lives.offsets.size());
        for (std::size_t i = 0; i < lives.offsets.size(); ++i) {
            cuts_.push_back(first_of(lives, i));
            cuts_.push_back(after(lives, i));
        }
        std::sort(cuts_.begin(), cuts_.end());
        cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
        leaves_ = std::bit_ceil(std::max<std::size_t>(cuts_.size(), 2) - 1);
        nodes_.resize(2 * leaves_);
        for (std::size_t i = 0; i + 1 < cuts_.size(); ++i)
            nodes_[leaves_ + i].width = cuts_[i + 1] - cuts_[i];
        for (std::size_t node = leaves_ - 1; node > 0; --node) {
            nodes_[node].width = nodes_[2 * node].width + nodes_[2 * node + 1].width;
        }
    }

    uint64_t bytes() const { return nodes_[1].covered; }

    void enter(const Lives& lives, std::size_t life) { add(lives, life, 1); }
    void leave(const Lives& lives, std::size_t life) { add(lives, life, -1); }

  private:
    struct Node {
        uint64_t width = 0;
        uint64_t covered = 0;
        int64_t count = 0;  // lives that have all of it, but not all of the node above
    };

    static uint64_t first_of(const Lives& lives, std::size_t life) {
        return static_cast<uint64_t>(lives.offsets[life]);
    }
    static uint64_t after(const Lives& lives, std::size_t life) {
        return first_of(lives, life) + static_cast<uint64_t>(lives.sizes[life]);
    }

    void add(const Lives& lives, std::size_t life, int64_t count) {
        std::size_t left = leaf(first_of(lives, life));
        std::size_t right = leaf(after(lives, life));
        const std::size_t low = left / 2;
        const std::size_t high = (right - 1) / 2;
        for (; left < right; left /= 2, right /= 2) {
            if (left % 2 == 1) add(left++, count);
            if (right % 2 == 1) add(--right, count);
        }
        for (std::size_t node = low; node > 0; node /= 2) refresh(node);
        for (std::size_t node = high; node > 0; node /= 2) refresh(node);
    }

    std::size_t leaf(uint64_t cut) const {
        const auto here = std::lower_bound(cuts_.begin(), cuts_.end(), cut);
        return leaves_ + static_cast<std::size_t>(here - cuts_.begin());
    }

    void add(std::size_t node, int64_t count) {
        nodes_[node].count += count;
        refresh(node);
    }

    void refresh(std::size_t node) {
        Node& here = nodes_[node];
        if (here.count > 0) {
            here.covered = here.width;
        } else {
            here.covered = node >= leaves_ ? 0 : nodes_[2 * node].covered + nodes_[2 * node + 1].covered;
        }
    }

    std::vector<uint64_t> cuts_;
    std::vector<Node> nodes_;
    std::size_t leaves_ = 1;
};

}  // namespace

bool are_sound(const Lives& lives) {
    const std::size_t count = lives.begins.size();
    if (lives.ends.size() != count || lives.offsets.size() != count || lives.sizes.size() != count ||
        lives.groups.size() != count) {
        return false;
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (lives.begins[i] >= lives.ends[i] || lives.offsets[i] < 0 || lives.offsets[i] > kMostBytes ||
            lives.sizes[i] < 1 || lives.sizes[i] > kMostBytes || lives.groups[i] < kAlone) {
            return false;
        }
    }
    return true;
}

Sweep::Sweep(const Lives& lives) {
    lives_.reserve(lives.begins.size());
    for (const std::size_t i : in_order(values_of(lives.begins))) {
        const int64_t last = lives.offsets[i] + (lives.sizes[i] - 1);
        lives_.push_back({lives.begins[i], lives.ends[i], lives.offsets[i], last, lives.groups[i], i});
    }
    std::vector<int64_t> ends;
    ends.reserve(lives_.size());
    for (const Life& life : lives_) ends.push_back(life.end);
    ending_ = in_order(ends);
}

std::vector<Sweep::Pair> Sweep::next(std::size_t count) {
    std::vector<Pair> pairs;
    for (; entered_ < lives_.size() && pairs.size() < count; ++entered_) {
        const Life& life = lives_[entered_];
        for (; lives_[ending_[ended_]].end <= life.begin; ++ended_) leave(ending_[ended_]);
        live_ += Wide{life.last} - life.low + 1;
        if (live_ > most_.bytes) most_ = {live_, life.begin};
        enter(entered_, pairs);
    }
    return pairs;
}

void Sweep::enter(std::size_t tag, std::vector<Pair>& pairs) {
    const Life& life = lives_[tag];
    if (leaves_ > 0) meet_overlaid(tag, pairs);
    if (life.group == kAlone && is_free(life)) {
        apart_.emplace(life.low, tag);
        return;
    }
    meet_apart(tag, pairs);
    if (leaves_ == 0) overlay();
    set(tag, life.last, life.group);
}

void Sweep::leave(std::size_t tag) {
    const Life& life = lives_[tag];
    live_ -= Wide{life.last} - life.low + 1;
    const auto here = apart_.find(life.low);
    if (here != apart_.end() && here->second == tag) {
        apart_.erase(here);
    } else {
        set(tag, kNothing, kNobody);
    }
}

// Whether it has no byte of those that are apart.
bool Sweep::is_free(const Life& life) const {
    const auto after = apart_.upper_bound(life.low);
    if (after != apart_.end() && after->first <= life.last) return false;
    return after == apart_.begin() || lives_[std::prev(after)->second].last < life.low;
}

// Lowest first.
void Sweep::meet_apart(std::size_t tag, std::vector<Pair>& pairs) const {
    const Life& life = lives_[tag];
    auto other = apart_.upper_bound(life.low);
    if (other != apart_.begin() && lives_[std::prev(other)->second].last >= life.low) --other;
    for (; other != apart_.end() && other->first <= life.last; ++other) {
        pairs.emplace_back(life.number, lives_[other->second].number);
    }
}

void Sweep::meet_overlaid(std::size_t tag, std::vector<Pair>& pairs) const {
    const Life& life = lives_[tag];
    struct Part {
        std::size_t node, first, width;
    };
    std::vector<Part> parts{{1, 0, leaves_}};
    while (!parts.empty()) {
        const auto [node, first, width] = parts.back();
        parts.pop_back();
        const Reach& reach = reaches_[node];
        const bool is_own = life.group != kAlone && reach.group == life.group;
        if ((is_own ? reach.other_last : reach.last) < life.low) continue;
        // Leaves are by first byte: from one beyond the last byte on, so are all that follow.
        if (lives_[tags_[first]].low > life.last) continue;
        if (node >= leaves_) {
            pairs.emplace_back(life.number, lives_[tags_[first]].number);
            continue;
        }
        parts.push_back({2 * node + 1, first + width / 2, width / 2});
        parts.push_back({2 * node, first, width / 2});
    }
}

// The tree, with nothing in it.
void Sweep::overlay() {
    std::vector<int64_t> lows;
    lows.reserve(lives_.size());
    for (const Life& life : lives_) lows.push_back(life.low);
    tags_ = in_order(lows);
    ranks_.resize(tags_.size());
    for (std::size_t rank = 0; rank < tags_.size(); ++rank) ranks_[tags_[rank]] = rank;
    leaves_ = std::bit_ceil(tags_.size());
    reaches_.resize(2 * leaves_);
}

void Sweep::set(std::size_t tag, int64_t last, int64_t group) {
    std::size_t node = leaves_ + ranks_[tag];
    reaches_[node] = {last, group, kNothing};
    for (node /= 2; node > 0; node /= 2) {
        const Reach* furthest = &reaches_[2 * node];
        const Reach* nearest = &reaches_[2 * node + 1];
        if (furthest->last < nearest->last) std::swap(furthest, nearest);
        const bool is_one = nearest->group == furthest->group;
        reaches_[node] = {furthest->last, furthest->group,
                          std::max(furthest->other_last, is_one ? nearest->other_last : nearest->last)};
    }
}

Most most_occupied(const Lives& lives) {
    Cover cover(lives);
    const std::vector<std::size_t> beginning = in_order(values_of(lives.begins));
    const std::vector<std::size_t> ending = in_order(values_of(lives.ends));
    std::size_t ended = 0;
    Most most;
    for (const std::size_t life : beginning) {
        const int64_t now = lives.begins[life];
        for (; lives.ends[ending[ended]] <= now; ++ended) cover.leave(lives, ending[ended]);
        cover.enter(lives, life);
        if (cover.bytes() > static_cast<Wide>(most.bytes)) most = {static_cast<Wide>(cover.bytes()), now};
    }
    return most;
}

}  // namespace memstow::judge
