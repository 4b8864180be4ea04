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

    // Each node has a cause, a number of the caller's: why it is as it is.
    Node any_order(std::span<const Node> children, Index cause);
    void set_cause(Index leaf, Index cause) { cause_[leaf] = cause; }

    // The orders of the tree in which the leaves marked in `chosen` follow each other; kNone if there are
    // none.
    Node together(Node root, const std::vector<char>& chosen, Index cause);

    // The causes of the nodes that decide how the chosen leaves are to each other, with repetitions.
    std::vector<Index> causes(Node root, const std::vector<char>& chosen);

    // How many orders the tree has: about 256 times the binary logarithm.
    std::int64_t freedom(Node root);

    // Sets of chosen leaves that follow each other in every order of the tree, each as large as can be.
    std::vector<std::vector<Index>> pieces(Node root, const std::vector<char>& chosen);

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

    std::int64_t steps() const { return steps_; }  // nodes looked at
    std::size_t bytes() const { return inner_.size() * sizeof(Inner) + children_.size() * sizeof(Node); }

  private:
    enum class Share : char { none, some, all };
    struct Inner {
        std::size_t first;
        Index count;
        Index cause;
        bool in_order;
    };
    // Nodes one after the other, the chosen ones last.
    using Run = std::vector<Node>;

    bool is_leaf(Node node) const { return node < leaves_; }
    Inner& inner(Node node) { return inner_[node - leaves_]; }
    std::span<const Node> children(Node node);
    Node make(std::span<const Node> children, bool in_order, Index cause);
    Node in_order(std::span<const Node> children);
    Node any_order(std::span<const Node> children);
    Node remade(Node node, std::span<const Node> children);
    Share survey(Node node, const std::vector<char>& chosen);
    Share share(Node node) const { return share_[node]; }
    Node gather(Node node);
    Node gather_any_order(Node node);
    Node gather_in_order(Node node);
    bool to_one_end(Node node, Run& run);
    void find_pieces(Node node, std::vector<std::vector<Index>>& found);
    void find_causes(Node node, std::vector<Index>& found);
    void leaves_below(Node node, std::vector<Index>& leaves);
    Node replace(Node node, const std::vector<Index>& group, std::span<const Node> blocks);
    Bytes find_least(Node node, const std::vector<Bytes>& key);
    void write(Node node, std::vector<Index>& order);

    Index leaves_;
    std::vector<Inner> inner_;
    std::vector<Node> children_;
    std::vector<Index> cause_;  // by leaf
    Index new_cause_ = 0;       // of what is put in another order
    std::vector<std::int64_t> log_factorial_{0, 0};
    std::vector<Share> share_;    // by node, of the last survey
    std::vector<Bytes> least_;    // by node, of the last sort
    std::vector<char> replaced_;  // by group, of the last replacement
    std::int64_t steps_ = 0;
};

}  // namespace memstow::search
