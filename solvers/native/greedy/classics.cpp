#include "greedy/classics.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "greedy/orders.hpp"
#include "greedy/pair_board.hpp"
#include "greedy/placer.hpp"
#include "greedy/storage_tokens.hpp"
#include "greedy/tree_board.hpp"

namespace memstow::greedy {

namespace {

constexpr std::array<std::string_view, 8> kNames{"first-fit",      "tflm",      "cadence-position",
                                                 "cadence-gap",    "usmp-size", "usmp-conflicts",
                                                 "storage-tokens", "xla-heap"};

// Which of two items with equal keys comes first: the one numbered first or last.
enum class Ties { first, last };

template <class Before>
std::vector<Index> sorted(const Traits& traits, Ties ties, Before before) {
    std::vector<Index> order;
    for (Index item = 0; item < count_of(traits.size); ++item) order.push_back(item);
    if (ties == Ties::last) std::reverse(order.begin(), order.end());
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return before(a, b); });
    std::vector<Index> pinned;
    std::vector<Index> others;
    for (const Index item : order) {
        (traits.pinned[item] ? pinned : others).push_back(item);
    }
    std::sort(pinned.begin(), pinned.end());
    pinned.insert(pinned.end(), others.begin(), others.end());
    return pinned;
}

std::vector<Index> by_size(const Instance& instance, Ties ties) {
    const Traits traits(instance, false);
    return sorted(traits, ties,
                  [&](std::size_t a, std::size_t b) { return traits.size[a] > traits.size[b]; });
}

Layout place(const Instance& instance, const std::vector<Index>& order, Rule rule, Budget& budget) {
    Tactics tactics;
    tactics.rule = rule;
    tactics.share = false;
    Layout layout;
    if (instance.parts.size() <= kMostPairParts) {
        Placer<PairBoard>(instance).run(order, tactics, budget, layout);
    } else if (NarrowTreeBoard::reaches(instance)) {
        Placer<NarrowTreeBoard>(instance).run(order, tactics, budget, layout);
    } else {
        Placer<TreeBoard>(instance).run(order, tactics, budget, layout);
    }
    return layout;
}

// TFLM, tensorflow/lite/micro/memory_planner/greedy_memory_planner.cc: largest first, later ones first among
// equals (it fills its list from the back before a stable sort); offline-planned buffers before all, in the
// order given; each at the lowest gap among the buffers of its time. It aligns nothing itself: TFLM rounds
// sizes up to 16 before, here the alignment is honoured where it is asked for.
Layout tflm(const Instance& instance, Budget& budget) {
    return place(instance, by_size(instance, Ties::last), Rule::lowest, budget);
}

// ExecuTorch, backends/cadence/aot/memory_planning.py, PositionBasedGreedyWithHierarchy: largest first, ties
// as given; memories in order; from offset 0, past one overlapping buffer after the other, which ends at the
// lowest free offset. Its memories round the end of a buffer up to their alignment before they compare it
// with their size; here the end itself must fit.
Layout cadence_position(const Instance& instance, Budget& budget) {
    return place(instance, by_size(instance, Ties::first), Rule::lowest, budget);
}

// The same file, GreedyWithHeuristic, after arXiv:2001.03288: largest first, ties as given; memories in
// order; the smallest gap that is large enough, the lowest among equals, else above all.
Layout cadence_gap(const Instance& instance, Budget& budget) {
    return place(instance, by_size(instance, Ties::first), Rule::best, budget);
}

// TVM, src/tir/usmp/algo/greedy.cc, GreedySize: size, then number of conflicts, then name, all descending;
// each above every placed buffer it conflicts with, in the first candidate pool where it then fits. For a
// name that sorts later there is a higher number here. Where TVM rounds an end up to the alignment of the
// buffer below, here the buffer's own alignment counts; TVM can bring a pool back that it had ruled out, and
// then overlap: not here.
Layout usmp_size(const Instance& instance, Budget& budget) {
    const Traits t(instance);
    const auto before = [&](std::size_t a, std::size_t b) {
        return t.size[a] != t.size[b] ? t.size[a] > t.size[b] : t.degree[a] > t.degree[b];
    };
    return place(instance, sorted(t, Ties::last, before), Rule::top, budget);
}

// The same file, GreedyConflicts: number of conflicts, then size, then name, all descending.
Layout usmp_conflicts(const Instance& instance, Budget& budget) {
    const Traits t(instance);
    const auto before = [&](std::size_t a, std::size_t b) {
        return t.degree[a] != t.degree[b] ? t.degree[a] > t.degree[b] : t.size[a] > t.size[b];
    };
    return place(instance, sorted(t, Ties::last, before), Rule::top, budget);
}

// OpenXLA, xla/service/heap_simulator/heap_simulator.cc, GlobalDecreasingSizeBestFitHeap, spatial order:
// size, then lifetime, both descending, then as given; the smallest free chunk that is large enough, where
// what is left below the heap's end so far is a chunk like any other. XLA measures lifetimes in its own clock
// of allocations and frees, here they are the problem's.
Layout xla_heap(const Instance& instance, Budget& budget) {
    const Traits t(instance, false);
    std::vector<double> life(t.size.size(), 0);
    for (Index part = 0; part < count_of(instance.parts); ++part) {
        const Index item = instance.parts[part].item;
        for (const Lifetime& l : instance.lives[part]) {
            life[item] += static_cast<double>(l.end) - static_cast<double>(l.begin);
        }
    }
    const auto before = [&](std::size_t a, std::size_t b) {
        return t.size[a] != t.size[b] ? t.size[a] > t.size[b] : life[a] > life[b];
    };
    return place(instance, sorted(t, Ties::first, before), Rule::heap, budget);
}

bool has_window(const Instance& instance) {
    return std::ranges::any_of(instance.choices.all(), &Choice::is_bounded);
}

}  // namespace

std::span<const std::string_view> classics() { return kNames; }

std::optional<std::string> declines(std::string_view classic, const Instance& instance) {
    if (classic == "storage-tokens") return storage_tokens_decline(instance);
    const bool one_arena = classic == "tflm" || classic == "xla-heap";
    if (one_arena && instance.pools.size() > 1) return "several pools";
    const bool upwards_only = classic == "usmp-size" || classic == "usmp-conflicts";
    if (upwards_only && has_window(instance)) return "pinned or bounded offsets";
    return std::nullopt;
}

Layout run_classic(std::string_view classic, const Instance& instance, Budget& budget) {
    if (classic == "tflm") return tflm(instance, budget);
    if (classic == "cadence-gap") return cadence_gap(instance, budget);
    if (classic == "usmp-size") return usmp_size(instance, budget);
    if (classic == "usmp-conflicts") return usmp_conflicts(instance, budget);
    if (classic == "storage-tokens") return storage_tokens(instance);
    if (classic == "xla-heap") return xla_heap(instance, budget);
    // First fit in the order of sizes, ties as given, is what Cadence's walk comes to.
    return cadence_position(instance, budget);
}

}  // namespace memstow::greedy
