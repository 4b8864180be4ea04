#include "recompute/cheapest_path.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <queue>
#include <unordered_set>

#include "core/bits.hpp"

namespace memstow::recompute {
namespace {

// Steps of work for each way to go on that is weighed, about as long as other searches take for as many.
constexpr std::int64_t kStepsPerWay = 16;
// States, and ways, after which the clock is looked at again.
constexpr std::int64_t kLooks = 256;

// The most bytes that pairs save, each input and each output in one of them at most. `size` is by item.
class Matching {
  public:
    Bytes most(const std::vector<InPlace>& pairs, const std::vector<Bytes>& size) {
        pairs_.clear();
        for (const InPlace& pair : pairs) {
            const Bytes worth = std::min(size[pair.input], size[pair.output]);
            if (worth > 0) pairs_.push_back({pair.input, pair.output, worth, false});
        }
        if (pairs_.size() == 1) return pairs_.front().worth;
        Bytes total = 0;
        while (const Bytes more = grow(size.size())) total += more;
        return total;
    }

  private:
    struct Pair {
        Index input, output;
        Bytes worth;
        bool chosen;
    };

    // Takes the path from a free input to a free output that adds the most; what it adds.
    Bytes grow(std::size_t items) {
        constexpr Bytes kNever = std::numeric_limits<Bytes>::min();
        at_input_.assign(items, kNever);
        at_output_.assign(items, kNever);
        came_.assign(items, -1);
        owner_.assign(items, -1);
        for (const Pair& pair : pairs_) at_input_[pair.input] = 0;
        for (Index k = 0; k < count_of(pairs_); ++k) {
            if (!pairs_[k].chosen) continue;
            at_input_[pairs_[k].input] = kNever;
            owner_[pairs_[k].output] = k;
        }
        for (bool changed = true; changed;) {
            changed = false;
            for (Index k = 0; k < count_of(pairs_); ++k) {
                const Pair& pair = pairs_[k];
                if (pair.chosen || at_input_[pair.input] == kNever) continue;
                const Bytes there = at_input_[pair.input] + pair.worth;
                if (at_output_[pair.output] >= there) continue;
                at_output_[pair.output] = there;
                came_[pair.output] = k;
                changed = true;
                const Index owner = owner_[pair.output];
                if (owner >= 0) at_input_[pairs_[owner].input] = there - pairs_[owner].worth;
            }
        }
        Index best = -1;
        for (const Pair& pair : pairs_) {
            if (owner_[pair.output] >= 0 || at_output_[pair.output] == kNever) continue;
            if (best < 0 || at_output_[pair.output] > at_output_[best]) best = pair.output;
        }
        if (best < 0 || at_output_[best] <= 0) return 0;
        const Bytes more = at_output_[best];
        // Along the path, what was chosen is not, and the other way round.
        for (Index output = best; output >= 0;) {
            Pair& taken = pairs_[came_[output]];
            Index before = -1;
            for (Pair& pair : pairs_) {
                if (!pair.chosen || pair.input != taken.input) continue;
                pair.chosen = false;
                before = pair.output;
            }
            taken.chosen = true;
            output = before;
        }
        return more;
    }

    std::vector<Pair> pairs_;
    std::vector<Bytes> at_input_, at_output_;
    std::vector<Index> came_, owner_;
};

enum class Action : char { kStart, kRun, kOut, kBack, kLetGo };

constexpr Set kIsBack = Set{1} << 63;  // a copy came back after the last run
constexpr std::size_t kMostNodes = std::size_t{1} << 21;

class Search {
  public:
    Search(const TinyProgram& tiny, const Turns& turns, Bytes limit, std::int64_t most,
           std::int64_t most_states, Budget& budget)
        : tiny_(tiny),
          program_(*tiny.program),
          turns_(turns),
          most_(most < 0 ? std::numeric_limits<std::int64_t>::max() : most),
          most_states_(most_states),
          budget_(budget),
          memories_(tiny.memories.size()),
          words_of_state_(2 * memories_ + 2),
          others_(memories_),
          sizes_(program_.items.size()),
          known_(16, Hash{this}, Same{this}) {
        if (!is_countable()) {
            stopped_ = true;
            return;
        }
        limits_.push_back(limit);
        for (std::size_t m = 1; m < memories_; ++m) limits_.push_back(tiny.memories[m].room);
        for (const Memory& memory : tiny.memories) waits_.push_back(memory.waits);
        waits_.push_back(tiny.waits);
        for (const Operator& op : program_.operators) {
            inputs_.push_back(set_of(op.inputs));
            outputs_.push_back(set_of(op.outputs));
        }
        for (Index i = 0; i < count_of(program_.items); ++i) {
            const Item& item = program_.items[i];
            if (item.kept) kept_ |= bit(i);
            // Who lets go of what nobody makes, and is kept, has lost.
            if (item.kept && item.producer < 0) stays_ |= bit(i);
        }
        all_ = bit(count_of(program_.operators)) - 1;
    }

    Path run() {
        Path path;
        look();
        if (!stopped_) begin();
        while (!heap_.empty() && !stopped_) {
            const Waypoint next = heap_.top();
            heap_.pop();
            if (next.cost > nodes_[next.node].cost) continue;
            if (++path.states > most_states_) stopped_ = true;
            if (path.states % kLooks == 0) look();
            if (stopped_) break;
            load(next.node);
            if (is_end()) {
                path.end = Path::End::kFound;
                describe(next.node, path);
                break;
            }
            leave(next.node);
        }
        if (path.end != Path::End::kFound && !stopped_) path.end = Path::End::kNone;
        budget_.count((ways_ - counted_) * kStepsPerWay);
        return path;
    }

  private:
    struct Node {
        std::int64_t cost;
        Bytes level;  // in the first memory meanwhile
        Index from;
        Index entry;  // the operator or item
        Index where;  // the memory where an item waits
        Action action;
    };

    struct Waypoint {
        std::int64_t cost;
        std::int64_t serial;  // of equal costs the last first
        Index node;
        bool operator<(const Waypoint& other) const {
            return cost != other.cost ? cost > other.cost : serial < other.serial;
        }
    };

    // A state is words: operators that have run, items here by memory, items that wait by memory and where
    // there is room for all. Those of all nodes lie one after the other.
    struct Hash {
        const Search* search;
        std::size_t operator()(Index node) const {
            std::uint64_t hash = 0;
            const Set* words = search->words(node);
            for (std::size_t k = 0; k < search->words_of_state_; ++k) {
                hash = (hash ^ words[k]) * 0x9E3779B97F4A7C15u;
                hash ^= hash >> 29;
            }
            return hash;
        }
    };
    struct Same {
        const Search* search;
        bool operator()(Index one, Index other) const {
            return std::equal(search->words(one), search->words(one) + search->words_of_state_,
                              search->words(other));
        }
    };

    // Whether sets have a bit for all, and no sum of bytes overflows.
    bool is_countable() const {
        if (program_.items.size() > kMostMembers || program_.operators.size() > kMostMembers) return false;
        Bytes most = 0;
        for (const Memory& memory : tiny_.memories) {
            const Program& counted = *memory.counted;
            most = std::max({most, counted.start, counted.end, counted.base});
            for (const Operator& op : counted.operators) most = std::max({most, op.fixed, op.gap});
        }
        Bytes temporaries = 0;
        for (const auto& ways : tiny_.extras) {
            for (const auto& way : ways) temporaries = std::max(temporaries, *std::ranges::max_element(way));
        }
        Bytes room = kLimit;
        for (const Bytes part : {most, temporaries}) {
            if (part > room) return false;
            room -= part;
        }
        for (const Item& item : program_.items) {
            if (item.size > room) return false;
            room -= item.size;
        }
        return true;
    }

    static Set bit(Index index) { return Set{1} << index; }

    static Set set_of(const std::vector<Index>& members) {
        Set set = 0;
        for (const Index member : members) set |= bit(member);
        return set;
    }

    const Set* words(Index node) const {
        return words_.data() + static_cast<std::size_t>(node) * words_of_state_;
    }

    void load(Index node) {
        state_.assign(words(node), words(node) + words_of_state_);
        done_ = state_[0] & all_;
        is_back_ = (state_[0] & kIsBack) != 0;
        there_ = waiting_ = 0;
        for (std::size_t m = 0; m < memories_; ++m) there_ |= state_[here(m)];
        for (std::size_t m = 0; m <= memories_; ++m) waiting_ |= state_[away(m)];
    }

    static std::size_t here(std::size_t memory) { return 1 + memory; }
    std::size_t away(std::size_t memory) const { return 1 + memories_ + memory; }

    bool is_end() const { return done_ == all_ && (there_ & kept_) == kept_ && !is_back_; }

    void look() {
        budget_.count((ways_ - counted_) * kStepsPerWay);
        counted_ = ways_;
        if (budget_.spent() || nodes_.size() > kMostNodes) stopped_ = true;
    }

    void begin() {
        Set there = 0, shared = 0, once = 0;
        for (const Memory& memory : tiny_.memories) {
            shared |= once & memory.holds;
            once |= memory.holds;
        }
        for (Index i = 0; i < count_of(program_.items); ++i) {
            if (program_.items[i].producer < 0) there |= bit(i);
        }
        next_.assign(words_of_state_, 0);
        for (std::size_t m = 0; m < memories_; ++m) others_[m] = tiny_.memories[m].counted->start;
        in_places(there, [&] {
            // What can be in one memory alone is in what is live at its start.
            state_ = next_;
            for (std::size_t m = 0; m < memories_; ++m) next_[here(m)] &= shared;
            const bool fits = weigh({});
            next_ = state_;
            if (fits) reach(-1, 0, Action::kStart, -1, -1);
        });
    }

    // All ways to have these items in memories that may hold them, one after the other in `next_`.
    template <typename Use>
    void in_places(Set items, Use use) {
        if (stopped_) return;
        if (items == 0) {
            use();
            return;
        }
        const Set item = items & (~items + 1);
        for (std::size_t m = 0; m < memories_; ++m) {
            if ((tiny_.memories[m].holds & item) == 0) continue;
            const bool was = (next_[here(m)] & item) != 0;
            next_[here(m)] |= item;
            in_places(items ^ item, use);
            if (!was) next_[here(m)] &= ~item;
        }
    }

    // What can be next.
    void leave(Index node) {
        for (std::size_t m = 0; m < memories_; ++m) {
            for_each(state_[here(m)] & ~stays_, [&](Index item) {
                next_ = state_;
                next_[here(m)] ^= bit(item);
                level_ = 0;
                reach(node, 0, Action::kLetGo, item, -1);
            });
        }
        // In a limited memory it counts who comes back before another leaves: with a run between them.
        const bool turns_back = is_back_ && (done_ == all_ || memories_ > 1);
        for (Index op = 0; op < count_of(program_.operators); ++op) {
            const bool first = (done_ & bit(op)) == 0;
            if ((inputs_[op] & ~there_) != 0) continue;
            if (first ? (turns_.needs[op] & ~done_) != 0 : program_.operators[op].once) continue;
            // Who makes nothing that is missing runs again where a copy that came back needs it. Else what it
            // makes is let go before.
            if (!first && ((turns_.ends[op] & done_) != 0 || (outputs_[op] & waiting_) != 0)) continue;
            if (!first && !turns_back && (outputs_[op] & ~there_) == 0) continue;
            run(node, op, first);
        }
        if (done_ != 0) copy(node, turns_back);
    }

    void run(Index node, Index op, bool first) {
        const Operator& operation = program_.operators[op];
        const std::int64_t cost = first ? 0 : operation.cost;
        sources_.clear();
        for (const InPlace& pair : operation.pairs) sources_.push_back(pair.input);
        std::sort(sources_.begin(), sources_.end());
        sources_.erase(std::unique(sources_.begin(), sources_.end()), sources_.end());
        after_ = state_;
        after_[0] = done_ | bit(op);
        for (std::size_t m = 0; m < memories_; ++m) after_[here(m)] &= ~outputs_[op];
        next_ = after_;
        in_places(outputs_[op], [&] {
            after_ = next_;
            for (const std::vector<Bytes>& extra : tiny_.extras[op]) {
                for (std::size_t m = 0; m < memories_; ++m) {
                    others_[m] = (first ? fixed(m, op) : gap(m)) + extra[m];
                }
                for (std::size_t some = 0; some <= sources_.size(); ++some) {
                    give_way(node, op, cost, some, 0, 0);
                }
            }
            next_ = after_;
        });
    }

    // All choices of `some` of the inputs, from the one at `from` on, whose outputs are in their places.
    void give_way(Index node, Index op, std::int64_t cost, std::size_t some, std::size_t from, Set ends) {
        if (stopped_) return;
        if (some == 0) {
            pairs_.clear();
            for (const InPlace& pair : program_.operators[op].pairs) {
                if ((ends & bit(pair.input)) != 0) pairs_.push_back(pair);
            }
            next_ = after_;
            if (!weigh(pairs_)) return;
            for (std::size_t m = 0; m < memories_; ++m) next_[here(m)] &= ~ends;
            reach(node, cost, Action::kRun, op, -1);
            return;
        }
        for (std::size_t k = from; k + some <= sources_.size(); ++k) {
            give_way(node, op, cost, some - 1, k + 1, ends | bit(sources_[k]));
        }
    }

    // Items that are copied out, unless an operator has to run first, and back.
    void copy(Index node, bool turns_back) {
        for (std::size_t m = 0; m < memories_; ++m) others_[m] = gap(m);
        for (Index item = 0; item < count_of(program_.items); ++item) {
            const Bytes size = program_.items[item].size;
            for (std::size_t slot = 0; slot <= memories_; ++slot) {
                const Index where = static_cast<Index>(slot);
                // It may wait in the memory where it is, and come back in another.
                if ((waits_[slot] & there_ & bit(item)) != 0 && !turns_back) {
                    next_ = state_;
                    next_[away(slot)] |= bit(item);
                    if (weigh({})) {
                        for (std::size_t m = 0; m < memories_; ++m) next_[here(m)] &= ~bit(item);
                        reach(node, size, Action::kOut, item, where);
                    }
                }
                if ((state_[away(slot)] & bit(item)) == 0) continue;
                next_ = state_;
                in_places(bit(item), [&] {
                    if (!weigh({})) return;
                    next_[away(slot)] &= ~bit(item);
                    next_[0] |= kIsBack;
                    reach(node, size, Action::kBack, item, where);
                    next_[away(slot)] |= bit(item);
                    next_[0] = state_[0];
                });
            }
        }
    }

    // Whether what is in the memories in `next_`, and others beside, fits; the bytes in the first go to
    // `level_`.
    bool weigh(const std::vector<InPlace>& pairs) {
        if (++ways_ % kLooks == 0) look();
        if (stopped_) return false;
        for (std::size_t m = 0; m < memories_; ++m) {
            const Set places = next_[here(m)];
            Bytes level = others_[m] + bytes(places) + bytes(next_[away(m)]);
            if (!pairs.empty()) {
                for (const InPlace& pair : pairs) {
                    for (const Index item : {pair.input, pair.output}) {
                        sizes_[item] = (places & bit(item)) != 0 ? program_.items[item].size : 0;
                    }
                }
                level -= matching_.most(pairs, sizes_);
            }
            if (level > limits_[m]) return false;
            if (m == 0) level_ = level;
        }
        return true;
    }

    // Notes `next_` where it costs less than before.
    void reach(Index from, std::int64_t more, Action action, Index entry, Index where) {
        const std::int64_t before = from < 0 ? 0 : nodes_[from].cost;
        if (more > most_ - before) return;
        // What costs more cannot be counted.
        if (more > kLimit - before) stopped_ = true;
        if (stopped_) return;
        const std::int64_t cost = before + more;
        const Index candidate = count_of(nodes_);
        words_.insert(words_.end(), next_.begin(), next_.end());
        const Node node{cost, level_, from, entry, where, action};
        nodes_.push_back(node);
        const auto [at, is_new] = known_.insert(candidate);
        const Index reached = *at;
        if (!is_new) {
            words_.resize(words_.size() - words_of_state_);
            nodes_.pop_back();
            if (nodes_[reached].cost <= cost) return;
            nodes_[reached] = node;
        }
        // What is there at the start is looked at in the order in which it is listed.
        heap_.push({cost, from < 0 ? -candidate : ++serial_, reached});
    }

    Bytes bytes(Set items) const {
        Bytes sum = 0;
        for_each(items, [&](Index item) { sum += program_.items[item].size; });
        return sum;
    }

    // What is no item, while the operator runs for the first time.
    Bytes fixed(std::size_t m, Index op) const {
        const Program& counted = *tiny_.memories[m].counted;
        return turns_.free ? counted.base : counted.operators[op].fixed;
    }

    // The same between the first runs that are done and the next.
    Bytes gap(std::size_t m) const {
        const Program& counted = *tiny_.memories[m].counted;
        if (done_ == all_) return counted.end;
        return turns_.free ? counted.base : counted.operators[std::popcount(done_)].gap;
    }

    void describe(Index node, Path& path) const {
        path.cost = nodes_[node].cost;
        std::vector<Index> way;
        for (Index at = node; at >= 0; at = nodes_[at].from) way.push_back(at);
        std::vector<Index> out(program_.items.size(), -1);
        for (auto at = way.rbegin(); at != way.rend(); ++at) {
            const Node& entry = nodes_[*at];
            path.peak = std::max(path.peak, entry.level);
            if (entry.action == Action::kRun) path.runs.push_back(entry.entry);
            if (entry.action == Action::kOut) out[entry.entry] = count_of(path.runs) - 1;
            if (entry.action == Action::kBack) {
                path.copies.push_back({entry.entry, out[entry.entry], count_of(path.runs), entry.where});
            }
        }
    }

    const TinyProgram& tiny_;
    const Program& program_;
    const Turns& turns_;
    std::int64_t most_, most_states_;
    Budget& budget_;
    std::size_t memories_, words_of_state_;
    std::vector<Bytes> limits_;
    std::vector<Set> waits_, inputs_, outputs_;
    Set kept_ = 0, stays_ = 0, all_ = 0;

    std::vector<Node> nodes_;
    std::vector<Set> words_;
    std::priority_queue<Waypoint> heap_;
    std::int64_t serial_ = 0;
    std::int64_t ways_ = 0, counted_ = 0;
    bool stopped_ = false;

    // The state that is left, and what is weighed.
    std::vector<Set> state_, after_, next_;
    Set done_ = 0, there_ = 0, waiting_ = 0;
    bool is_back_ = false;
    Bytes level_ = 0;
    std::vector<Bytes> others_, sizes_;
    std::vector<Index> sources_;
    std::vector<InPlace> pairs_;
    Matching matching_;
    std::unordered_set<Index, Hash, Same> known_;
};

}  // namespace

Path cheapest_path(const TinyProgram& tiny, const Turns& turns, Bytes limit, std::int64_t most,
                   std::int64_t most_states, Budget& budget) {
    return Search(tiny, turns, limit, most, most_states, budget).run();
}

}  // namespace memstow::recompute
