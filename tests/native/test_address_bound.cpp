#include <algorithm>

#include "check.hpp"
#include "costly.hpp"
#include "proof/chain_tree.hpp"
#include "reuse/address_bound.hpp"
#include "reuse/chains.hpp"
#include "reuse/overfull.hpp"
#include "sample.hpp"

using namespace memstow;
using namespace memstow::reuse;

namespace {

ChainGraph random_graph(Random& random, bool intervals) {
    ChainGraph graph;
    graph.count = 3 + static_cast<Index>(random.below(7));
    std::vector<Index> begins, ends;
    for (Index link = 0; link < graph.count; ++link) {
        begins.push_back((begins.empty() ? 0 : begins.back()) + static_cast<Index>(random.below(2)));
        ends.push_back(begins.back() + 1 + static_cast<Index>(random.below(3)));
    }
    graph.tolls.assign(static_cast<std::size_t>(graph.count * graph.count), 0);
    for (Index link = 0; link < graph.count; ++link) {
        for (Index later = link + 1; later < graph.count; ++later) {
            const auto a = static_cast<std::size_t>(link), b = static_cast<std::size_t>(later);
            if (intervals ? ends[a] <= begins[b] : random.below(3) > 0) graph.after.values.push_back(later);
            if (random.below(2) == 0) {
                graph.tolls[a * static_cast<std::size_t>(graph.count) + b] =
                    static_cast<Bytes>(random.below(40));
            }
        }
        graph.after.close();
    }
    return graph;
}

// The worth of the best chain, by trying all.
Bytes best_worth(const ChainGraph& graph, const std::vector<Bytes>& prices, std::vector<Index>& links,
                 Bytes worth) {
    Bytes best = worth;
    const auto extend = [&](Index next) {
        Bytes more = prices[static_cast<std::size_t>(next)];
        for (const Index link : links) more -= graph.toll(link, next);
        links.push_back(next);
        best = std::max(best, best_worth(graph, prices, links, worth + more));
        links.pop_back();
    };
    if (links.empty()) {
        for (Index link = 0; link < graph.count; ++link) extend(link);
    } else {
        for (const Index next : graph.after[links.back()]) extend(next);
    }
    return best;
}

}  // namespace

TEST(no_chain_is_worth_more_than_what_is_claimed) {
    int exact = 0, merged = 0;
    for (std::uint64_t seed = 0; seed < 1500; ++seed) {
        Random random(seed);
        const ChainGraph graph = random_graph(random, seed % 2 == 0);
        std::vector<Bytes> prices;
        for (Index link = 0; link < graph.count; ++link)
            prices.push_back(static_cast<Bytes>(random.below(60)));
        std::vector<Index> links;
        const Bytes best = best_worth(graph, prices, links, 0);
        Chains chains(graph);
        for (const Index width : {1, 2, 1000}) {
            for (const Bytes enough : {Bytes{0}, best - 1, best, best + 5}) {
                if (enough < 0) continue;
                Budget budget;
                const std::vector<Chain> result = chains.most(prices, enough, width, budget);
                const Bytes claimed = result.empty() ? enough : result[0].worth;
                CHECK(claimed >= best);
                merged += claimed > std::max(best, enough);
                // In an order of intervals nothing is lost where nothing is merged.
                if (width == 1000 && seed % 2 == 0) CHECK(claimed == std::max(best, enough));
                exact += claimed == best;
            }
        }
        Budget budget;
        for (const Chain& chain : chains.some(prices, 0, 2, budget)) {
            Bytes worth = 0;
            for (std::size_t a = 0; a < chain.links.size(); ++a) {
                worth += prices[static_cast<std::size_t>(chain.links[a])];
                for (std::size_t b = a + 1; b < chain.links.size(); ++b) {
                    worth -= graph.toll(chain.links[a], chain.links[b]);
                }
            }
            CHECK(worth == chain.worth && worth <= best);
        }
    }
    CHECK(exact > 1000);
    CHECK(merged > 100);
}

TEST(the_bound_of_the_addresses_is_below_the_cost_of_every_layout) {
    int raised = 0, met = 0, resumed = 0;
    for (std::uint64_t seed = 0; seed < 1500; ++seed) {
        const Instance in = costly::random_instance(seed);
        const costly::Best best = costly::brute_force(in);
        if (!best.fits) continue;
        const Costs costs = costs_of(in);
        AddressBound addresses(in, costs, in.pools[0].capacity);
        if (seed % 2 == 0) addresses.offer(in, best.offsets);
        Budget budget(-1, 300'000);
        for (std::int64_t work = 1; !addresses.done() && !budget.spent(); work *= 4) {
            addresses.run(work, budget);
            CHECK(addresses.bound() + costs.fixed <= best.cost);
        }
        for (int more = 0; more < 3 && addresses.resume(); ++more) {
            ++resumed;
            const Bytes before = addresses.bound();
            Budget again(-1, 300'000);
            while (!addresses.done() && !again.spent()) addresses.run(10'000, again);
            CHECK(addresses.bound() >= before && addresses.bound() + costs.fixed <= best.cost);
        }
        raised += addresses.bound() > 0;
        met += best.cost > costs.fixed && addresses.bound() + costs.fixed == best.cost;
    }
    CHECK(raised > 15);
    CHECK(resumed > 15);
    CHECK(met > 8);
}

TEST(the_addresses_of_six_in_four_places_cost_two) {
    Instance in = costly::six_in_four_places(7);
    for (const Bytes reserved : {0, 2}) {
        in.pools[0].reserved = {};
        if (reserved > 0) in.pools[0].reserved.push_back({3, 3 + reserved});
        AddressBound addresses(in, costs_of(in), 8);
        Budget budget;
        addresses.run(1'000'000'000, budget);
        CHECK(addresses.done() && addresses.bound() == (reserved > 0 ? 21 : 14));
    }
}

TEST(what_is_too_much_of_parts_that_cannot_be_apart_is_paid_in_pairs) {
    // Two of ten in nineteen share at least one address: a tenth of the cost, for what addresses hold.
    Instance in = sample::build({{10, {{0, 1}}, {}}, {10, {{1, 2}}, {}}}, {{19, {}}});
    in.reuse.push_back({0, 1, 70});
    AddressBound addresses(in, costs_of(in), 19);
    Budget budget;
    addresses.run(1'000'000'000, budget);
    CHECK(addresses.done() && addresses.bound() == 70);
}

TEST(the_pairs_of_a_set_that_is_too_much_relieve_every_layout_of_it) {
    int sets = 0, needed = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Random random(seed);
        const Index count = 4 + static_cast<Index>(random.below(5));
        std::vector<Bytes> units;
        for (Index k = 0; k < count; ++k) units.push_back(1 + static_cast<Bytes>(random.below(9)));
        const Bytes room = 10 + static_cast<Bytes>(random.below(8));
        LinkPairs pairs(count);
        std::vector<double> paid;
        for (Index a = 0; a < count; ++a) {
            for (Index b = a + 1; b < count; ++b) {
                const auto size = static_cast<std::size_t>(a);
                const std::size_t kind = random.below(5);
                if (kind == 0) {
                    pairs.set_apart(a, b);
                } else if (kind < 4) {
                    pairs.add({a, b, std::min(units[size], units[static_cast<std::size_t>(b)]), 1});
                    paid.push_back(random.below(2) == 0 ? 0 : random.unit());
                }
            }
        }
        OverfullSearch search(units, room, pairs);
        Budget budget;
        std::vector<OverfullSet> result = search.find(paid, 20'000, budget);
        CHECK(search.find(paid, 20'000, budget).size() + result.size() < 600);
        sets += static_cast<int>(result.size());
        for (int tries = 0; tries < 60; ++tries) {
            std::vector<Bytes> at;
            for (const Bytes size : units) {
                at.push_back(static_cast<Bytes>(random.below(static_cast<std::size_t>(room - size + 1))));
            }
            const auto overlap = [&](Index a, Index b) {
                const auto x = static_cast<std::size_t>(a), y = static_cast<std::size_t>(b);
                return at[x] < at[y] + units[y] && at[y] < at[x] + units[x];
            };
            bool valid = true;
            for (Index a = 0; a < count; ++a) {
                for (Index b = a + 1; b < count; ++b) {
                    valid = valid && (pairs(a, b) != LinkPairs::kApart || !overlap(a, b));
                }
            }
            if (!valid) continue;
            for (const OverfullSet& set : result) {
                Bytes relieved = 0;
                for (const Index pair : set.pairs) {
                    const LinkPair& link = pairs.all()[static_cast<std::size_t>(pair)];
                    if (overlap(link.earlier, link.later)) relieved += relief(set, link);
                }
                CHECK(relieved >= set.excess);
                needed += relieved == set.excess;
            }
        }
    }
    CHECK(sets > 100);
    CHECK(needed > 100);
}

TEST(limits_by_whatever_prices_are_true) {
    int trees = 0, crowds = 0, by_known = 0;
    const int rounds = check::rounds(3'000);
    for (int seed = 0; seed < rounds; ++seed) {
        Random random(static_cast<std::uint64_t>(seed));
        const Index count = 2 + static_cast<Index>(random.below(7));
        proof::Linked linked{{}, 3 + static_cast<Bytes>(random.below(20)), 1, LinkPairs(count), {}, {}};
        for (Index link = 0; link < count; ++link) {
            linked.units.push_back(1 + static_cast<Bytes>(random.below(9)));
            linked.names.push_back(static_cast<std::uint64_t>(link));
            linked.spans.push_back({0, 0});
        }
        for (Index a = 0; a < count; ++a) {
            for (Index b = a + 1; b < count; ++b) {
                const std::size_t kind = random.below(4);
                const auto x = static_cast<std::size_t>(a), y = static_cast<std::size_t>(b);
                if (kind == 0) linked.pairs.set_apart(a, b);
                if (kind < 2) continue;
                const auto cost = static_cast<Bytes>(random.below(6));
                linked.pairs.add({a, b, std::min(linked.units[x], linked.units[y]), cost});
            }
        }
        const auto number = [&](Bytes most) {
            if (random.below(8) == 0)
                return random.below(2) == 0 ? kLimit >> random.below(62)
                                            : -static_cast<Bytes>(random.below(9));
            return static_cast<Bytes>(random.below(static_cast<std::size_t>(most)));
        };
        const auto link = [&] {
            if (random.below(16) == 0) return random.below(2) == 0 ? Index{-1} : Index{1} << 30;
            return static_cast<Index>(random.below(static_cast<std::size_t>(count + 1)));
        };
        AddressPrices known{{}, {}, number(40), number(3), number(60)};
        for (Index k = 0; k < count; ++k) known.links.emplace_back(link(), number(30));
        for (std::size_t k = random.below(4); k > 0; --k) {
            Crowd crowd{{}, number(20)};
            for (std::size_t members = random.below(5); members > 0; --members) crowd.links.push_back(link());
            known.crowds.push_back(crowd);
        }
        std::optional<Bytes> wanted;
        if (random.below(2) == 0) wanted = static_cast<Bytes>(random.below(30));
        Budget budget(-1, 100'000);
        const proof::ChainLimits limits = proof::chain_limits(linked, wanted, &known, budget);
        for (const Crowd& crowd : limits.crowds) {
            Bytes sum = 0;
            for (const Index a : crowd.links) {
                sum += linked.units[static_cast<std::size_t>(a)];
                for (const Index b : crowd.links) CHECK(a == b || linked.pairs(a, b) != LinkPairs::kFree);
            }
            CHECK(sum > linked.room && crowd.price > 0);
            ++crowds;
        }
        if (limits.tree.nodes.empty()) continue;
        ++trees;
        by_known += limits.tree.worth == known.worth;
        for (std::size_t set = 0; set < (std::size_t{1} << count); ++set) {
            Bytes worth = 0;
            bool is_chain = true;
            for (Index a = 0; a < count; ++a) {
                if ((set >> a & 1) == 0) continue;
                worth += limits.tree.prices[static_cast<std::size_t>(a)];
                for (Index b = 0; b < a; ++b) {
                    if ((set >> b & 1) == 0) continue;
                    const Index pair = linked.pairs(a, b);
                    is_chain = is_chain && pair != LinkPairs::kApart;
                    if (pair >= 0) worth -= limits.tree.tolls[static_cast<std::size_t>(pair)];
                }
            }
            CHECK(!is_chain || worth <= limits.tree.worth);
        }
    }
    CHECK(trees > rounds / 10);
    CHECK(crowds > rounds / 30);
    CHECK(by_known > rounds / 300);
}
