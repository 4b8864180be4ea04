// PQ-trees: each stands for a set of orders of its leaves. The children of a node stand in any order, or in
// one order and its reverse. Trees share what they have in common and are never changed, so that a search may
// go back to an earlier one at no cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/instance.hpp"
#include "search/log2.hpp"

namespace memstow::search {

class OrderTrees {
  public:
    using Node = Index;  // a leaf is its own number
    static constexpr Node kNone = -1;

    explicit OrderTrees(Index leaves);

    Node any_order(std::span<const Node> children) { return make(children, false); }

    // The orders of the tree in which the leaves marked in `chosen` follow each other; kNone if there are
    // none.
    Node together(Node root, const std::vector<char>& chosen);

    // How many orders the tree has: about 256 times the binary logarithm.
    std::int64_t freedom(Node root) const { return is_leaf(root) ? 0 : inner(root).freedom; }

    // The same for trees that stand for the same orders, and hardly ever for others.
    std::uint64_t hash(Node root) const { return is_leaf(root) ? hash_of_leaf(root) : inner(root).hash; }

    // Sets of chosen leaves that follow each other in every order of the tree, each as large as can be.
    std::vector<std::vector<Index>> pieces(Node root, const std::vector<char>& chosen);

    // Sets of leaves, each of which follows each other in every order. Whatever order has all of these follow
    // each other is an order of the tree.
    std::vector<std::vector<Index>> blocks(Node root);

    // The tree in which the leaves of a group, which follow each other, have become the group's block.
    // `group` is by leaf, -1 for those that stay.
    Node replaced(Node root, const std::vector<Index>& group, std::span<const Node> blocks);

    // The order of the tree in which no key is below one before it. There has to be one.
    std::vector<Index> sorted(Node root, const std::vector<Bytes>& key);

    // Nodes made since a mark can be dropped.
    struct Mark {
        std::size_t nodes = 0, children = 0;
    };
    Mark mark() const { return {inner_.size(), children_.size()}; }
    void forget(Mark mark);
    // All nodes but those of some trees, which get new numbers.
    void keep(std::span<Node> roots);

    // All trees as they are now; after `restore` the numbers of their nodes are valid again.
    struct Saved;
    Saved save() const;
    void restore(const Saved& saved);

    std::int64_t steps() const { return steps_; }  // nodes looked at
    std::size_t bytes() const { return inner_.size() * sizeof(Inner) + children_.size() * sizeof(Node); }

  private:
    enum class Share : char { none, some, all };
    struct Inner {
        std::size_t first;
        Index count;
        bool in_order;
        std::int64_t freedom;
        std::uint64_t hash;
    };
    // Nodes one after the other, the chosen ones last.
    using Run = std::vector<Node>;

    bool is_leaf(Node node) const { return node < leaves_; }
    const Inner& inner(Node node) const { return inner_[node - leaves_]; }
    static std::uint64_t hash_of_leaf(Node leaf);
    std::span<const Node> children(Node node);
    Node make(std::span<const Node> children, bool in_order);
    Node in_order(std::span<const Node> children) { return make(children, true); }
    std::uint64_t hash_of(const Inner& node) const;
    Node remade(Node node, std::span<const Node> children);
    Share survey(Node node, const std::vector<char>& chosen);
    Share share(Node node) const { return share_[node]; }
    Node gather(Node node);
    Node gather_any_order(Node node);
    Node gather_in_order(Node node);
    bool to_one_end(Node node, Run& run);
    void find_pieces(Node node, std::vector<std::vector<Index>>& pieces);
    void find_blocks(Node node, std::vector<std::vector<Index>>& blocks);
    void leaves_below(Node node, std::vector<Index>& leaves);
    Node replace(Node node, const std::vector<Index>& group, std::span<const Node> blocks);
    Bytes find_least(Node node, const std::vector<Bytes>& key);
    void write(Node node, std::vector<Index>& order);

    Index leaves_;
    std::vector<Inner> inner_;
    std::vector<Node> children_;
    std::vector<std::int64_t> log_factorial_{0, 0};
    std::vector<Share> share_;    // by node, of the last survey
    std::vector<Bytes> least_;    // by node, of the last sort
    std::vector<char> replaced_;  // by group, of the last replacement
    std::int64_t steps_ = 0;
};

struct OrderTrees::Saved {
    std::vector<Inner> inner;
    std::vector<Node> children;

    std::size_t bytes() const { return inner.size() * sizeof(Inner) + children.size() * sizeof(Node); }
};

}  // namespace memstow::search
