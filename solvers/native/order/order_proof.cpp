#include "order/order_proof.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

#include "order/bounds.hpp"
#include "order/descent.hpp"
#include "order/late.hpp"
#include "order/narrowing.hpp"
#include "order/precedence_proof.hpp"
#include "order/state.hpp"

namespace memstow::order {
namespace {

constexpr std::int64_t kFirstSearch = 100'000;
constexpr std::int64_t kNarrowingAlone = 12;    // times the steps of a search, where none has come far
constexpr std::int64_t kBetweenLooks = 20'000;  // between looks at the budget
enum ProofStep : std::uint64_t { kEnd = 0, kEnds, kOperator, kSearch, kSet, kForget, kConclude, kFirst };

class Writer : private NumberFile {
  public:
    Writer(const std::string& path, const Digest& digest)
        : NumberFile(path, "memstow order proof 1\n", digest) {}

    using NumberFile::number;
    using NumberFile::number_of;

    void step(ProofStep kind) {
        ++steps_;
        number(kind);
    }
    // Ascending.
    void list(const std::vector<Index>& some) {
        number(some.size());
        std::uint64_t next = 0;
        for (const Index one : some) ascending(static_cast<std::uint64_t>(one), next);
    }
    // `start` has, by the number of a credit, the number of its pair.
    void chains(const std::vector<Chain>& chains, const std::vector<std::size_t>& start = {}) {
        number(chains.size());
        for (const Chain& chain : chains) {
            number_of(chain.bytes);
            number(chain.credit < 0 ? 0 : start[chain.credit] + 1);
            number(chain.storages.size());
            for (const Index one : chain.storages) number_of(one);
        }
    }
    void need(const std::vector<NeedCase>& cases) {
        for (const NeedCase& one : cases) {
            number(one.is_choice ? 1 : 0);
            if (one.is_choice) {
                number(one.pairs.front());
            } else {
                chains(one.chains, one.pairs);
            }
        }
    }
    std::uint64_t finish() {
        number(kEnd);
        number(steps_);
        NumberFile::finish();
        return steps_;
    }

  private:
    std::uint64_t steps_ = 0;
};

// What is there before the first operator or after the last, also what nobody reads.
Bytes at_the_ends(const Graph& graph) {
    Bytes start = graph.base, end = graph.base;
    for (const Storage& storage : graph.storages) {
        if (storage.from_start) start += storage.size;
        if (storage.to_end) end += storage.size;
    }
    return std::max(start, end);
}

std::vector<Index> members(std::span<const Word> words) {
    std::vector<Index> result;
    for (std::size_t k = 0; k < words.size(); ++k) {
        for (Word left = words[k]; left != 0; left &= left - 1) {
            result.push_back(static_cast<Index>(64 * k) + std::countr_zero(left));
        }
    }
    return result;
}

// A search that ran dry, as steps: of its dead sets those that others lead to, and when each is needed last.
class Told {
  public:
    Told(const Graph& graph, const Descent& search, Bytes height, Budget& budget)
        : graph_(graph),
          search_(search),
          height_(height),
          budget_(budget),
          state_(graph),
          bits_((graph.extra.size() + 63) / 64, 0),
          place_(graph.extra.size()),
          last_(search.dead().count(), kUnused) {
        Index next = 0;
        for (const Index v : topological(graph)) place_[v] = next++;
    }

    // False where the budget was spent.
    bool look() {
        if (!note({}, kAtTheEnd)) return false;
        for (std::size_t k = last_.size(); k-- > 0;) {
            if (last_[k] != kUnused && !look_at(static_cast<Number>(k))) return false;
        }
        return true;
    }

    // `names`: the operators of the graph as the file has them. False where the budget was spent.
    bool write(Writer& writer, const std::vector<Index>& names) {
        Cut cut(graph_);
        // Those that a set is the last to need, as a list: the first, and after each the next.
        std::vector<Number> first(last_.size(), kUnused), next(last_.size(), kUnused);
        for (std::size_t k = 0; k < last_.size(); ++k) {
            if (last_[k] < kAtTheEnd) next[k] = std::exchange(first[last_[k]], static_cast<Number>(k));
        }
        std::vector<Word> before(bits_.size(), 0);
        std::vector<Number> number(last_.size());
        Number count = 0;
        for (std::size_t k = 0; k < last_.size(); ++k) {
            if (last_[k] == kUnused) continue;
            const auto set = search_.dead()[k];
            for (std::size_t w = 0; w < before.size(); ++w) before[w] ^= set[w];
            writer.step(kSet);
            writer.list(named(members(before), names));
            before.assign(set.begin(), set.end());
            write_rule(writer, cut, k, names);
            number[k] = count++;
            forget(writer, first[k], next, number, count);
            if (!goes_on(static_cast<std::int64_t>(bits_.size()) + 1)) return false;
        }
        return true;
    }

  private:
    using Number = std::uint32_t;  // of a dead set
    static constexpr Number kUnused = std::numeric_limits<Number>::max(), kAtTheEnd = kUnused - 1;

    static void forget(Writer& writer, Number first, const std::vector<Number>& next,
                       const std::vector<Number>& number, Number count) {
        std::uint64_t many = 0;
        for (Number k = first; k != kUnused; k = next[k]) ++many;
        if (many == 0) return;
        writer.step(kForget);
        writer.number(many);
        for (Number k = first; k != kUnused; k = next[k]) writer.number(count - number[k]);
    }

    static std::vector<Index> named(std::vector<Index> some, const std::vector<Index>& names) {
        for (Index& one : some) one = names[one];
        return some;
    }

    bool goes_on(std::int64_t steps) {
        steps_ += steps;
        if (steps_ < kBetweenLooks) return true;
        budget_.count(std::exchange(steps_, 0));
        return !budget_.spent();
    }

    void write_rule(Writer& writer, Cut& cut, std::size_t k, const std::vector<Index>& names) {
        const auto commit = search_.commit_of(k);
        if (commit.empty()) return writer.number(0);
        std::vector<Word> more(commit.begin(), commit.end());
        for (std::size_t w = 0; w < more.size(); ++w) more[w] &= ~search_.dead()[k][w];
        const std::vector<Index> open = members(more);
        const std::int64_t before = cut.steps();
        const std::vector<Chain> chains = prove_commit(graph_, cut, members(search_.dead()[k]), open);
        steps_ += (cut.steps() - before) / kCutSteps;
        writer.number(1);
        writer.list(named(open, names));
        writer.chains(chains);
    }

    void flip(Index v) {
        bits_[static_cast<std::size_t>(v) / 64] ^= Word{1} << (v % 64);
        hash_ ^= search_.key(v);
    }
    void run(Index v) {
        state_.run(v);
        flip(v);
    }
    void undo_to(std::size_t steps) {
        while (state_.path().size() > steps) {
            flip(state_.path().back());
            state_.undo();
        }
    }

    // Sets beside each other have most of their path in common.
    void move_to(std::span<const Word> set) {
        std::size_t common = 0;
        for (const Index v : state_.path()) {
            if (((set[static_cast<std::size_t>(v) / 64] >> (v % 64)) & 1U) == 0) break;
            ++common;
        }
        undo_to(common);
        std::vector<Word> missing(set.begin(), set.end());
        for (std::size_t w = 0; w < missing.size(); ++w) missing[w] &= ~bits_[w];
        std::vector<Index> rest = members(missing);
        std::sort(rest.begin(), rest.end(), [&](Index a, Index b) { return place_[a] < place_[b]; });
        for (const Index v : rest) run(v);
        steps_ += count_of(rest);
    }

    bool look_at(Number k) {
        const auto commit = search_.commit_of(k);
        if (!commit.empty()) return note(commit, k);
        move_to(search_.dead()[k]);
        const std::size_t steps = state_.path().size();
        std::vector<Index> next;
        for (const Index v : state_.ready()) {
            if (state_.step(v).needs <= height_) next.push_back(v);
        }
        steps_ += count_of(state_.ready());
        for (const Index v : next) {
            run(v);
            if (!note_here(k)) return false;
            undo_to(steps);
        }
        return true;
    }

    // That a set needs the one which another settles to.
    bool note(std::span<const Word> set, Number by) {
        const std::vector<Word> none(bits_.size(), 0);
        move_to(set.empty() ? std::span<const Word>(none) : set);
        return note_here(by);
    }

    bool note_here(Number by) {
        for (bool changed = true; changed;) {
            changed = false;
            for (std::size_t k = 0; k < state_.ready().size(); ++k) {
                const Index v = state_.ready()[k];
                const Step step = state_.step(v);
                ++steps_;
                if (step.leaves > state_.live() || step.needs > height_) continue;
                run(v);
                changed = true;
                --k;
            }
        }
        const std::size_t which = search_.dead().find(bits_, hash_);
        if (which == DeadSets::kNone) throw std::logic_error("a dead set leads to one that is not");
        if (last_[which] == kUnused) last_[which] = by;
        return goes_on(0);
    }

    const Graph& graph_;
    const Descent& search_;
    const Bytes height_;
    Budget& budget_;
    State state_;
    std::vector<Word> bits_;
    Word hash_ = 0;
    std::vector<Index> place_;  // by operator, in an order that is allowed
    std::vector<Number> last_;  // by dead set: the last that needs it
    std::int64_t steps_ = 0;
};

// One direction.
struct Direction {
    const Graph* graph;
    bool backwards;
    Descent search;
};

void begin_search(const Graph& whole, const WithoutLate& core, Bytes height, bool backwards, Writer& writer) {
    std::vector<Index> late;
    for (Index v = 0; v < whole.size(); ++v) {
        if (!std::binary_search(core.kept.begin(), core.kept.end(), v)) late.push_back(v);
    }
    writer.step(kSearch);
    writer.number_of(height);
    writer.number(backwards ? 1 : 0);
    writer.list(late);
}

bool write_search(const Graph& whole, const WithoutLate& core, const Direction& way, Bytes height,
                  Writer& writer, Budget& budget) {
    Told told(*way.graph, way.search, height, budget);
    if (!told.look()) return false;
    begin_search(whole, core, height, way.backwards, writer);
    if (!told.write(writer, core.kept)) return false;
    writer.step(kConclude);
    return true;
}

bool write_precedence(const Graph& whole, const WithoutLate& core, std::span<const Ordering> shown,
                      Index needy, Bytes height, Writer& writer, Budget& budget) {
    PrecedenceProof proof(core.graph, height);
    if (!proof.find(shown, needy, budget)) return false;
    begin_search(whole, core, height, false, writer);
    for (const PrecedenceProof::Step& step : proof.steps()) {
        writer.step(kFirst);
        for (const Index v : {step.shown.first, step.shown.then, step.shown.needy})
            writer.number_of(core.kept[v]);
        writer.need(step.need);
    }
    writer.step(kOperator);
    writer.number_of(core.kept[needy]);
    writer.need(proof.last());
    return true;
}

bool any_comes_far(std::span<const Direction> ways) {
    return std::any_of(ways.begin(), ways.end(),
                       [](const Direction& way) { return way.search.explored() > kFarExplored; });
}

bool is_about(const Blocked& blocked, Index size) {
    return blocked.needy < size &&
           std::ranges::all_of(
               blocked.shown,
               [&](const Ordering& one) { return std::max({one.first, one.then, one.needy}) < size; });
}

// Whether a search ran dry, or what must come first leaves no order, and was written.
bool search_and_write(const Graph& whole, Bytes height, Writer& writer, std::size_t memory,
                      const LeastPeak* known, Budget& budget) {
    const WithoutLate core = without_late(whole);
    if (known != nullptr && known->blocked && known->blocked->limit >= height) {
        const Blocked& blocked = *known->blocked;
        if (!is_about(blocked, core.graph.size())) throw std::invalid_argument("that is of another graph");
        if (write_precedence(whole, core, blocked.shown, blocked.needy, height, writer, budget)) return true;
        if (budget.spent()) return false;
    }
    const Graph mirror = mirrored(core.graph);
    // The sets take half of what one direction may take, where all of them have commits.
    const Descent::Options options{memory / 4, std::numeric_limits<std::size_t>::max()};
    std::array<Direction, 2> ways{
        Direction{&core.graph, false, Descent(core.graph, options)},
        Direction{&mirror, true, Descent(mirror, options)},
    };
    if (known != nullptr && known->refuted && known->refuted->limit >= height) {
        // The same search takes as long as it did.
        Direction& way = ways[known->refuted->backwards ? 1 : 0];
        while (way.search.all_kept() && !budget.spent()) {
            const Answer answer = way.search.search(height, kFirstSearch, budget);
            if (answer == Answer::found) return false;
            if (answer == Answer::none && way.search.all_kept())
                return write_search(whole, core, way, height, writer, budget);
        }
    }
    std::optional<Narrowing> narrowing;
    if (core.kept.size() <= kMostToNarrow) narrowing.emplace(core.graph);
    for (std::int64_t turn = kFirstSearch;; turn *= 2) {
        bool stuck = true;
        for (Direction& way : ways) {
            if (budget.spent()) return false;
            if (!way.search.all_kept()) continue;
            const Answer answer = way.search.search(height, turn, budget);
            if (answer == Answer::found) return false;
            stuck = stuck && !way.search.all_kept();
            if (answer == Answer::none && way.search.all_kept())
                return write_search(whole, core, way, height, writer, budget);
        }
        if (budget.spent()) return false;
        if (narrowing) {
            const std::int64_t steps = any_comes_far(ways) ? turn : times_more(turn, kNarrowingAlone);
            const Narrowing::Answer answer = narrowing->search(height, steps, budget);
            if (answer == Narrowing::Answer::none)
                return write_precedence(whole, core, narrowing->shown(), narrowing->needy(), height, writer,
                                        budget);
            if (answer == Narrowing::Answer::open) narrowing.reset();
        }
        if (stuck && !narrowing) return false;
    }
}

}  // namespace

OrderProof write_order_proof(const Graph& graph, const std::vector<Index>& listed, Bytes height,
                             const std::string& path, const Digest& digest, std::size_t memory,
                             const LeastPeak* known, Budget& budget) {
    if (height < 0) return {height, Writer(path, digest).finish()};
    const Bytes ends = at_the_ends(graph);
    Bound cut{ends, -1, true};
    if (ends <= height) {
        std::vector<Bytes> needs(graph.extra.size());
        State state(graph);
        for (const Index v : listed) {
            needs[v] = state.step(v).needs;
            state.run(v);
        }
        Budget share = third_of(budget);
        cut = cut_bound(graph, needs, share, [](Bytes) {});
        budget.count(share.work());
    }
    const Bytes shown = std::max(ends, cut.bytes) - 1;
    if (shown < height) {
        Writer writer(path, digest);
        if (search_and_write(graph, height, writer, memory, known, budget)) return {height, writer.finish()};
    }
    if (shown < 0) return {};
    Writer writer(path, digest);
    if (ends >= cut.bytes) {
        writer.step(kEnds);
    } else {
        writer.step(kOperator);
        writer.number_of(cut.op);
        writer.need(prove_need(graph, cut.op, budget));
    }
    return {shown, writer.finish()};
}

}  // namespace memstow::order
