#include <algorithm>
#include <numeric>

#include "check.hpp"
#include "core/random.hpp"
#include "search/order_trees.hpp"

using namespace memstow;
using namespace memstow::search;

namespace {

std::vector<std::vector<Index>> all_orders(Index count) {
    std::vector<Index> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    std::vector<std::vector<Index>> all;
    do all.push_back(order);
    while (std::next_permutation(order.begin(), order.end()));
    return all;
}

// Whether the tree has this order of its leaves, whose places among all leaves are the keys.
bool has_order(OrderTrees& trees, OrderTrees::Node root, const std::vector<Index>& order, Index leaves) {
    std::vector<Bytes> key(static_cast<std::size_t>(leaves), 0);
    for (std::size_t k = 0; k < order.size(); ++k) {
        key[static_cast<std::size_t>(order[k])] = static_cast<Bytes>(k);
    }
    return trees.sorted(root, key) == order;
}

bool follow_each_other(const std::vector<Index>& order, const std::vector<char>& chosen) {
    int runs = 0;
    bool before = false;
    for (const Index leaf : order) {
        const bool now = chosen[static_cast<std::size_t>(leaf)] != 0;
        runs += now && !before;
        before = now;
    }
    return runs <= 1;
}

std::vector<char> some_of(Random& random, Index count) {
    std::vector<char> chosen(static_cast<std::size_t>(count), 0);
    for (std::size_t k = 2 + random.below(3); k > 0; --k) {
        chosen[random.below(chosen.size())] = 1;
    }
    return chosen;
}

// A tree of so many leaves in which some sets follow each other.
OrderTrees::Node some_tree(OrderTrees& trees, Random& random, Index count, int sets) {
    std::vector<Index> leaves(static_cast<std::size_t>(count));
    std::iota(leaves.begin(), leaves.end(), 0);
    OrderTrees::Node root = trees.any_order(leaves);
    for (int step = 0; step < sets; ++step) {
        const OrderTrees::Node next = trees.together(root, some_of(random, count));
        if (next != OrderTrees::kNone) root = next;
    }
    return root;
}

}  // namespace

TEST(a_tree_has_just_the_orders_in_which_each_set_follows_each_other) {
    const Index count = 6;
    const auto orders = all_orders(count);
    int impossible = 0;
    for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(check::rounds(300)); ++seed) {
        Random random(seed);
        OrderTrees trees(count);
        OrderTrees::Node root = trees.any_order(orders[0]);
        auto left = orders;
        for (int step = 0; step < 5; ++step) {
            const std::vector<char> chosen = some_of(random, count);
            const OrderTrees::Node before = root;
            const auto had = left;
            std::erase_if(left, [&](const auto& order) { return !follow_each_other(order, chosen); });
            root = trees.together(before, chosen);
            CHECK((root == OrderTrees::kNone) == left.empty());
            // The tree it was made from is as it was.
            for (const auto& order : orders) {
                const bool is_in = std::find(had.begin(), had.end(), order) != had.end();
                CHECK(has_order(trees, before, order, count) == is_in);
            }
            if (root == OrderTrees::kNone) {
                ++impossible;
                break;
            }
            CHECK((left.size() == had.size()) == (trees.freedom(root) == trees.freedom(before)));
        }
    }
    CHECK(impossible > 0);
}

TEST(an_order_in_which_all_blocks_of_a_tree_follow_each_other_is_one_of_its_orders) {
    const Index count = 6;
    const auto orders = all_orders(count);
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        Random random(seed);
        OrderTrees trees(count);
        const OrderTrees::Node root = some_tree(trees, random, count, 5);
        const auto blocks = trees.blocks(root);
        for (const auto& order : orders) {
            const bool all = std::all_of(blocks.begin(), blocks.end(), [&](const auto& block) {
                std::vector<char> chosen(static_cast<std::size_t>(count), 0);
                for (const Index leaf : block) chosen[static_cast<std::size_t>(leaf)] = 1;
                return follow_each_other(order, chosen);
            });
            CHECK(all == has_order(trees, root, order, count));
        }
    }
}

TEST(pieces_are_the_largest_sets_that_follow_each_other_in_every_order) {
    const Index count = 6;
    const auto orders = all_orders(count);
    for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(check::rounds(300)); ++seed) {
        Random random(seed);
        OrderTrees trees(count);
        const OrderTrees::Node root = some_tree(trees, random, count, 3);
        const std::vector<char> chosen = some_of(random, count);
        const auto pieces = trees.pieces(root, chosen);
        const auto always = [&](const std::vector<char>& set) {
            return std::all_of(orders.begin(), orders.end(), [&](const auto& order) {
                return !has_order(trees, root, order, count) || follow_each_other(order, set);
            });
        };
        std::vector<char> seen(chosen.size(), 0);
        const auto marked = [&](const auto& piece) {
            std::vector<char> set(chosen.size(), 0);
            for (const Index leaf : piece) set[static_cast<std::size_t>(leaf)] = 1;
            return set;
        };
        for (const auto& piece : pieces) {
            CHECK(always(marked(piece)));
            for (const Index leaf : piece) ++seen[static_cast<std::size_t>(leaf)];
            for (const auto& other : pieces) {
                if (&other == &piece) continue;
                std::vector<Index> both = piece;
                both.insert(both.end(), other.begin(), other.end());
                CHECK(!always(marked(both)));
            }
        }
        CHECK(seen == chosen);
    }
}

TEST(a_block_takes_the_place_of_its_group) {
    // Leaves 0 to 4 become 5 to 8: 1 and 2, which follow each other, become 5, 6 and 7; 4 becomes 8.
    const Index count = 9;
    const std::vector<Index> leaves{0, 1, 2, 3, 4}, born{5, 6, 7};
    const std::vector<Index> group{-1, 0, 0, -1, 1, -1, -1, -1, -1};
    for (const std::vector<Index>& more : {std::vector<Index>{}, {0, 1}, {2, 3}, {0, 1, 2}, {3, 4}}) {
        OrderTrees trees(count);
        std::vector<char> chosen(count, 0);
        chosen[1] = chosen[2] = 1;
        OrderTrees::Node root = trees.together(trees.any_order(leaves), chosen);
        chosen.assign(count, 0);
        for (const Index leaf : more) chosen[static_cast<std::size_t>(leaf)] = 1;
        root = trees.together(root, chosen);
        const OrderTrees::Node blocks[] = {trees.any_order(born), 8};
        const OrderTrees::Node after = trees.replaced(root, group, blocks);
        std::vector<Index> order{0, 3, 5, 6, 7, 8};
        do {
            // An order is there when the block follows each other, and the group in its place could be.
            std::vector<Index> with_1_2, with_2_1;
            std::vector<char> block(count, 0);
            block[5] = block[6] = block[7] = 1;
            bool expected = follow_each_other(order, block);
            for (const Index leaf : order) {
                if (leaf == 6 || leaf == 7) continue;
                with_1_2.push_back(leaf == 5 ? 1 : leaf == 8 ? 4 : leaf);
                with_2_1.push_back(leaf == 5 ? 2 : leaf == 8 ? 4 : leaf);
                if (leaf == 5) with_1_2.push_back(2);
                if (leaf == 5) with_2_1.push_back(1);
            }
            expected = expected &&
                       (has_order(trees, root, with_1_2, count) || has_order(trees, root, with_2_1, count));
            CHECK(has_order(trees, after, order, count) == expected);
        } while (std::next_permutation(order.begin(), order.end()));
    }
}

TEST(what_was_made_since_a_mark_can_be_forgotten) {
    const std::vector<Index> leaves{0, 1, 2, 3, 4};
    OrderTrees trees(5);
    const OrderTrees::Node root = trees.any_order(leaves);
    const OrderTrees::Mark mark = trees.mark();
    const std::size_t bytes = trees.bytes();
    const std::vector<char> first{1, 1, 0, 0, 0}, second{0, 1, 1, 0, 0};
    const OrderTrees::Node one = trees.together(root, first);
    CHECK(trees.bytes() > bytes);
    trees.forget(mark);
    CHECK(trees.bytes() == bytes);
    CHECK(trees.together(root, second) == one);  // in the same place
    CHECK(has_order(trees, one, {4, 2, 1, 0, 3}, 5) && !has_order(trees, one, {0, 1, 3, 2, 4}, 5));
}

TEST(what_is_kept_stands_for_the_same_orders) {
    const Index count = 6;
    const auto orders = all_orders(count);
    for (std::uint64_t seed = 0; seed < static_cast<std::uint64_t>(check::rounds(100)); ++seed) {
        Random random(seed);
        OrderTrees trees(count);
        std::vector<OrderTrees::Node> roots{trees.any_order(orders[0])};
        for (int step = 0; step < 6; ++step) {
            const OrderTrees::Node next =
                trees.together(roots[random.below(roots.size())], some_of(random, count));
            if (next != OrderTrees::kNone) roots.push_back(next);
        }
        const auto all_of = [&](OrderTrees::Node root) {
            std::vector<bool> there;
            for (const auto& order : orders) there.push_back(has_order(trees, root, order, count));
            return there;
        };
        // Same orders, same hash; other orders, another.
        std::vector<std::vector<bool>> of_root;
        for (const OrderTrees::Node root : roots) of_root.push_back(all_of(root));
        for (std::size_t a = 0; a < roots.size(); ++a) {
            for (std::size_t b = 0; b < roots.size(); ++b) {
                CHECK((of_root[a] == of_root[b]) == (trees.hash(roots[a]) == trees.hash(roots[b])));
            }
        }
        std::vector<OrderTrees::Node> kept{roots.back(), roots[roots.size() / 2]};
        const std::vector<bool> last = all_of(kept[0]), middle = all_of(kept[1]);
        trees.keep(kept);
        CHECK(all_of(kept[0]) == last && all_of(kept[1]) == middle);
    }
}
