#include "search/order_trees.hpp"

#include <algorithm>

namespace memstow::search {
namespace {

std::uint64_t mixed(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

}  // namespace

OrderTrees::OrderTrees(Index leaves) : leaves_(leaves) {}

std::span<const OrderTrees::Node> OrderTrees::children(Node node) {
    if (is_leaf(node)) return {};
    const Inner& here = inner(node);
    steps_ += here.count;
    return std::span(children_).subspan(here.first, here.count);
}

// One child is itself, and the order of two says nothing. The children may not be those of another node: the
// list they are in grows.
OrderTrees::Node OrderTrees::make(std::span<const Node> children, bool in_order) {
    if (children.empty()) return kNone;
    if (children.size() == 1) return children[0];
    const Index count = count_of(children);
    while (count_of(log_factorial_) <= count) {
        log_factorial_.push_back(log_factorial_.back() + log2_of(log_factorial_.size()));
    }
    Inner inner{children_.size(), count, in_order && count > 2, 0, 0};
    children_.insert(children_.end(), children.begin(), children.end());
    inner.freedom = inner.in_order ? kLog2Unit : log_factorial_[count];
    for (const Node child : children) inner.freedom += freedom(child);
    inner.hash = hash_of(inner);
    inner_.push_back(inner);
    steps_ += count;
    return leaves_ + static_cast<Node>(inner_.size()) - 1;
}

OrderTrees::Node OrderTrees::remade(Node node, std::span<const Node> children) {
    return make(children, inner(node).in_order);
}

std::uint64_t OrderTrees::hash_of_leaf(Node leaf) { return mixed(leaf); }

// The sum says nothing of the order, and an order has the hash of its reverse.
std::uint64_t OrderTrees::hash_of(const Inner& node) const {
    std::uint64_t sum = 0, forwards = 0, backwards = 0;
    for (Index k = 0; k < node.count; ++k) {
        const std::uint64_t first = hash(children_[node.first + k]);
        const std::uint64_t last = hash(children_[node.first + node.count - 1 - k]);
        sum += mixed(first);
        forwards = mixed(forwards ^ first);
        backwards = mixed(backwards ^ last);
    }
    return node.in_order ? mixed(forwards + backwards) : mixed(sum);
}

void OrderTrees::forget(Mark mark) {
    inner_.resize(mark.nodes);
    children_.resize(mark.children);
}

// Children are made before their parents, so what is kept moves down without overwriting what is still
// needed.
void OrderTrees::keep(std::span<Node> roots) {
    constexpr Node kDropped = -1, kKept = 0;
    std::vector<Node> moved(inner_.size(), kDropped);
    for (const Node root : roots) {
        if (!is_leaf(root)) moved[root - leaves_] = kKept;
    }
    for (std::size_t k = inner_.size(); k-- > 0;) {
        if (moved[k] == kDropped) continue;
        for (const Node child : children(leaves_ + static_cast<Node>(k))) {
            if (!is_leaf(child)) moved[child - leaves_] = kKept;
        }
    }
    Mark end;
    for (std::size_t k = 0; k < inner_.size(); ++k) {
        if (moved[k] == kDropped) continue;
        Inner node = inner_[k];
        for (Index c = 0; c < node.count; ++c) {
            const Node child = children_[node.first + c];
            children_[end.children + c] = is_leaf(child) ? child : moved[child - leaves_];
        }
        node.first = end.children;
        end.children += node.count;
        moved[k] = leaves_ + static_cast<Node>(end.nodes);
        inner_[end.nodes++] = node;
    }
    forget(end);
    for (Node& root : roots) {
        if (!is_leaf(root)) root = moved[root - leaves_];
    }
}

OrderTrees::Saved OrderTrees::save() const { return {inner_, children_}; }

void OrderTrees::restore(const Saved& saved) {
    inner_ = saved.inner;
    children_ = saved.children;
}

OrderTrees::Share OrderTrees::survey(Node node, const std::vector<char>& chosen) {
    if (share_.size() < leaves_ + inner_.size()) {
        share_.resize(leaves_ + 2 * inner_.size());
    }
    Share result;
    if (is_leaf(node)) {
        result = chosen[node] != 0 ? Share::all : Share::none;
    } else {
        bool none = true, all = true;
        for (const Node child : children(node)) {
            const Share there = survey(child, chosen);
            none = none && there == Share::none;
            all = all && there == Share::all;
        }
        result = none ? Share::none : all ? Share::all : Share::some;
    }
    share_[node] = result;
    return result;
}

OrderTrees::Node OrderTrees::together(Node root, const std::vector<char>& chosen) {
    survey(root, chosen);
    return gather(root);
}

OrderTrees::Node OrderTrees::gather(Node node) {
    if (share(node) != Share::some) return node;
    return inner(node).in_order ? gather_in_order(node) : gather_any_order(node);
}

OrderTrees::Node OrderTrees::gather_any_order(Node node) {
    Run none, some, all;
    for (const Node child : children(node)) {
        (share(child) == Share::none ? none : share(child) == Share::all ? all : some).push_back(child);
    }
    if (some.size() > 2) return kNone;
    if (some.size() == 1 && all.empty()) {
        const Node inside = gather(some[0]);
        if (inside == kNone || inside == some[0]) return inside == kNone ? kNone : node;
        none.push_back(inside);
        return remade(node, none);
    }
    if (some.empty()) {
        if (all.size() == 1) return node;
        none.push_back(any_order(all));
        return any_order(none);
    }
    Run middle;
    if (!to_one_end(some[0], middle)) return kNone;
    if (!all.empty()) middle.push_back(any_order(all));
    if (some.size() == 2) {
        Run other;
        if (!to_one_end(some[1], other)) return kNone;
        middle.insert(middle.end(), other.rbegin(), other.rend());
    }
    none.push_back(in_order(middle));
    return any_order(none);
}

// The chosen leaves have to be one run of children, the first and the last of which may be chosen in part.
OrderTrees::Node OrderTrees::gather_in_order(Node node) {
    const std::span<const Node> seen = children(node);
    const Run all(seen.begin(), seen.end());
    std::size_t first = 0, last = all.size();
    while (share(all[first]) == Share::none) ++first;
    while (share(all[last - 1]) == Share::none) --last;
    for (std::size_t k = first + 1; k + 1 < last; ++k) {
        if (share(all[k]) != Share::all) return kNone;
    }
    Run run(all.begin(), all.begin() + first);
    if (last - first == 1) {
        const Node inside = gather(all[first]);
        if (inside == kNone || inside == all[first]) return inside == kNone ? kNone : node;
        run.push_back(inside);
        run.insert(run.end(), all.begin() + last, all.end());
        return remade(node, run);
    } else {
        if (share(all[first]) == Share::all && share(all[last - 1]) == Share::all) return node;
        if (!to_one_end(all[first], run)) return kNone;
        run.insert(run.end(), all.begin() + first + 1, all.begin() + last - 1);
        Run other;
        if (!to_one_end(all[last - 1], other)) return kNone;
        run.insert(run.end(), other.rbegin(), other.rend());
    }
    run.insert(run.end(), all.begin() + last, all.end());
    return in_order(run);
}

// Writes what stands for the node when all that is chosen is at its end. False when it cannot be.
bool OrderTrees::to_one_end(Node node, Run& run) {
    if (share(node) != Share::some) {
        run.push_back(node);
        return true;
    }
    const std::span<const Node> seen = children(node);
    Run below(seen.begin(), seen.end());
    if (inner(node).in_order) {
        if (share(below.front()) == Share::all || share(below.back()) == Share::none) {
            std::reverse(below.begin(), below.end());
        }
        std::size_t k = 0;
        while (k < below.size() && share(below[k]) == Share::none) run.push_back(below[k++]);
        if (k < below.size() && share(below[k]) == Share::some && !to_one_end(below[k++], run)) return false;
        while (k < below.size() && share(below[k]) == Share::all) run.push_back(below[k++]);
        return k == below.size();
    }
    Run none, some, all;
    for (const Node child : below) {
        (share(child) == Share::none ? none : share(child) == Share::all ? all : some).push_back(child);
    }
    if (some.size() > 1) return false;
    if (!none.empty()) run.push_back(any_order(none));
    if (!some.empty() && !to_one_end(some[0], run)) return false;
    if (!all.empty()) run.push_back(any_order(all));
    return true;
}

std::vector<std::vector<Index>> OrderTrees::pieces(Node root, const std::vector<char>& chosen) {
    std::vector<std::vector<Index>> pieces;
    survey(root, chosen);
    find_pieces(root, pieces);
    return pieces;
}

void OrderTrees::find_pieces(Node node, std::vector<std::vector<Index>>& pieces) {
    if (share(node) == Share::none) return;
    if (share(node) == Share::all) {
        leaves_below(node, pieces.emplace_back());
        return;
    }
    bool running = false;
    const bool in_order = inner(node).in_order;
    for (const Node child : children(node)) {
        if (share(child) != Share::all) {
            find_pieces(child, pieces);
            running = false;
            continue;
        }
        if (!running) pieces.emplace_back();
        leaves_below(child, pieces.back());
        running = in_order;
    }
}

void OrderTrees::leaves_below(Node node, std::vector<Index>& leaves) {
    if (is_leaf(node)) leaves.push_back(node);
    for (const Node child : children(node)) leaves_below(child, leaves);
}

std::vector<std::vector<Index>> OrderTrees::blocks(Node root) {
    std::vector<std::vector<Index>> blocks;
    find_blocks(root, blocks);
    return blocks;
}

// Large ones first: two trees that do not agree differ there most often.
void OrderTrees::find_blocks(Node node, std::vector<std::vector<Index>>& blocks) {
    if (is_leaf(node)) return;
    leaves_below(node, blocks.emplace_back());
    const auto below = children(node);
    for (std::size_t k = 1; inner(node).in_order && k < below.size(); ++k) {
        leaves_below(below[k - 1], blocks.emplace_back());
        leaves_below(below[k], blocks.back());
    }
    for (const Node child : below) find_blocks(child, blocks);
}

OrderTrees::Node OrderTrees::replaced(Node root, const std::vector<Index>& group,
                                      std::span<const Node> blocks) {
    replaced_.assign(blocks.size(), 0);
    return replace(root, group, blocks);
}

// The first leaf of a group becomes the block, the others vanish, and so do the nodes that held nothing else.
OrderTrees::Node OrderTrees::replace(Node node, const std::vector<Index>& group,
                                     std::span<const Node> blocks) {
    if (is_leaf(node)) {
        const Index which = group[node];
        if (which < 0) return node;
        char& done = replaced_[which];
        if (done != 0) return kNone;
        done = 1;
        return blocks[which];
    }
    const std::span<const Node> seen = children(node);
    const Run before(seen.begin(), seen.end());
    Run after;
    for (const Node child : before) {
        const Node now = replace(child, group, blocks);
        if (now != kNone) after.push_back(now);
    }
    return after == before ? node : remade(node, after);
}

std::vector<Index> OrderTrees::sorted(Node root, const std::vector<Bytes>& key) {
    least_.resize(leaves_ + inner_.size());
    find_least(root, key);
    std::vector<Index> order;
    write(root, order);
    return order;
}

Bytes OrderTrees::find_least(Node node, const std::vector<Bytes>& key) {
    Bytes least = kLimit;
    if (is_leaf(node)) least = key[node];
    for (const Node child : children(node)) least = std::min(least, find_least(child, key));
    least_[node] = least;
    return least;
}

void OrderTrees::write(Node node, std::vector<Index>& order) {
    if (is_leaf(node)) {
        order.push_back(node);
        return;
    }
    const std::span<const Node> seen = children(node);
    Run below(seen.begin(), seen.end());
    const auto least = [this](Node child) { return least_[child]; };
    if (!inner(node).in_order) {
        std::stable_sort(below.begin(), below.end(), [&](Node a, Node b) { return least(a) < least(b); });
    } else if (least(below.front()) > least(below.back())) {
        std::reverse(below.begin(), below.end());
    }
    for (const Node child : below) write(child, order);
}

}  // namespace memstow::search
