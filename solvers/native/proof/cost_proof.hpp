// Looks for a proof that layouts pay so much for pairs that share memory: for cores, which are sets of pairs
// that are not all apart in any layout, and for a tree that shows what it takes to pay one of each. See
// docs/proofs.md.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/budget.hpp"
#include "proof/proof_file.hpp"
#include "proof/proof_search.hpp"
#include "proof/question.hpp"
#include "reuse/hitting_set.hpp"

namespace memstow::proof {

// Two items that may share memory, for which a layout pays then.
struct OpenPair {
    Index first, second;
    Bytes cost;
    std::uint64_t name;  // its number in the problem, after those of all items
};

class CostProof {
  public:
    // `lays`: of several pools, where each height has addresses of its own.
    CostProof(std::vector<OpenPair> pairs, Bytes fixed, bool lays);
    CostProof(const CostProof&) = delete;
    CostProof(CostProof&&) = default;

    // Looks for cores of layouts that end by `end`, which is what the height comes to, until all cost as much
    // as is wanted, or there are none. Returns what they are known to cost. Items of all questions are the
    // same.
    Bytes raise(const Question& question, Bytes end, Bytes height, Bytes wanted, Budget& budget);

    // Writes that layouts up to the height cost so much, or less where that takes too long, with the cores
    // that it takes; and returns how much.
    Bytes write(Bytes height, Bytes cost, ProofFile& file);

  private:
    using Pairs = reuse::ElementSet;  // by their places in pairs_, ascending

    struct Core {
        Pairs pairs;
        Bytes height;  // it holds up to this height
        ProofFile steps;
        std::optional<std::uint64_t> number;  // once it is written
    };
    struct Attempt {
        bool proven = false, layout = false;
        Pairs used;     // what the conclusion rests on
        Pairs written;  // what steps rest on
        ProofFile steps;
        std::int64_t work = 0;
    };
    enum class Answer { cores, layout, none };
    // Where layouts are looked for.
    struct Place {
        const Question& question;
        Bytes end, height;
    };

    Attempt attempt(const Place& place, const Pairs& apart, std::int64_t most_work, Budget& budget) const;
    Attempt smaller(const Place& place, Attempt best, Budget& budget) const;
    Answer find_cores(const Place& place, Pairs apart, Budget& budget);
    void add_pins(const Place& place);
    bool fits_nothing(Bytes height) const { return nothing_ && nothing_->height >= height; }
    std::vector<const Pairs*> cores_for(Bytes height) const;

    std::vector<OpenPair> pairs_;
    std::vector<Bytes> weights_;  // by pair
    Bytes fixed_;
    bool lays_;
    std::vector<Core> cores_;
    std::optional<Core> nothing_;  // without pairs: there is no layout
    std::int64_t effort_;
    bool is_late_ = false;  // no time is left to look for a large tree
};

}  // namespace memstow::proof
