// Of the bound from addresses: what sets of parts that cannot all be apart add to it.
#include <algorithm>
#include <map>

#include "reuse/address_bound.hpp"

namespace memstow::reuse {
namespace {

constexpr std::size_t kMostSets = 400;  // no more are looked for then
// To invert the basis of more rows takes longer than a limit may be overrun.
constexpr std::size_t kMostRows = 800;
constexpr std::int64_t kSearchForSets = 30'000'000;

}  // namespace

// What an address that holds these pairs has of the rows of sets.
std::vector<CoverProgram::Entry> AddressBound::entries_of(const std::vector<Index>& pairs,
                                                          Index first_set) const {
    std::map<Index, double> amounts;
    for (const Index pair : pairs) {
        for (const Index set : sets_of_[pair]) {
            if (set < first_set) continue;
            const LinkPair& link = pairs_->all()[pair];
            amounts[set] += static_cast<double>(relief(sets_[set], link)) / link.shared;
        }
    }
    std::vector<CoverProgram::Entry> entries;
    for (const auto& [set, amount] : amounts) entries.push_back({graph_.count + 1 + set, amount});
    return entries;
}

// The pairs of a column: those of the chain that it is, or the one that it is for.
std::vector<Index> AddressBound::pairs_in(Index column) const {
    if (program_->mark(column) >= 0) return {program_->mark(column)};
    std::vector<Index> links;
    for (const CoverProgram::Entry& entry : program_->column(column)) {
        if (entry.row < graph_.count) links.push_back(entry.row);
    }
    return pairs_->among(links);
}

// By pair, what the solution at hand pays of it.
std::vector<double> AddressBound::paid_shares() const {
    std::vector<double> paid(pairs_->all().size(), 0);
    for (const auto& [column, amount] : program_->used()) {
        for (const Index pair : pairs_in(column)) paid[pair] += amount / pairs_->all()[pair].shared;
    }
    return paid;
}

// From the start, with all sets and a random choice of its own: it comes to other solutions, which lack
// others.
bool AddressBound::resume() {
    if (!done_ || !lacks_sets_) return false;
    done_ = lacks_sets_ = false;
    overfull_->look_closer();
    width_ = kNarrow;
    aim_ = 0;
    proved_at_ = -1;
    smooth_.clear();
    list_tolls();
    ++seed_;
    start_program();
    std::vector<OverfullSet> known;
    known.swap(sets_);
    add_sets(known);
    return true;
}

// Sets for which the solution pays too little become rows of the program. If there are none, it can show no
// more.
void AddressBound::strengthen(Budget& budget) {
    std::vector<OverfullSet> sets;
    const bool has_room = sets_.size() < kMostSets && units_.size() + sets_.size() < kMostRows;
    const bool looks = has_room && !program_->stuck();
    if (looks) sets = overfull_->find(paid_shares(), kSearchForSets, budget);
    if (sets.empty()) {
        done_ = !budget.spent();
        lacks_sets_ = looks;
    } else {
        add_sets(sets);
    }
}

void AddressBound::add_sets(const std::vector<OverfullSet>& sets) {
    const Index first = count_of(sets_);
    std::vector<Index> joining;  // pairs that were in no set
    std::vector<double> needs, caps;
    for (const OverfullSet& set : sets) {
        Wide cap = 0;
        for (const Index pair : set.pairs) {
            if (sets_of_[pair].empty()) joining.push_back(pair);
            sets_of_[pair].push_back(count_of(sets_));
            cap =
                std::max(cap, Wide{pairs_->all()[pair].cost} * scale_ / relief(set, pairs_->all()[pair]) + 1);
        }
        sets_.push_back(set);
        needs.push_back(set.excess);
        caps.push_back(std::min<Wide>(cap, kMostToll));
    }
    Lists<CoverProgram::Entry> more;
    for (Index column = 0; column < program_->column_count(); ++column) {
        for (const CoverProgram::Entry& entry : entries_of(pairs_in(column), first)) {
            more.values.push_back(entry);
        }
        more.close();
    }
    program_->add_rows(needs, caps, more);
    // The cost of a pair may be paid for more than what is shared of it.
    for (const Index pair : joining) program_->add(entries_of({pair}, 0), full_toll(pair), pair);
}

void AddressBound::set_tolls(Prices& prices) {
    if (sets_.empty()) return;
    const std::vector<Bytes> tolls = tolls_beside(*pairs_, sets_, prices.sets, scale_);
    for (std::size_t pair = 0; pair < tolls.size(); ++pair) {
        const LinkPair& link = pairs_->all()[pair];
        graph_.tolls[graph_.at(link.earlier, link.later)] = tolls[pair];
    }
}

// Gives the sets what they ask of the cost of each pair as far as there is so much of it, and the rest to
// its toll.
std::vector<Bytes> tolls_beside(const LinkPairs& pairs, const std::vector<OverfullSet>& sets,
                                std::vector<Bytes>& prices, Bytes scale) {
    std::vector<Wide> rest;
    for (const LinkPair& pair : pairs.all()) rest.push_back(Wide{pair.cost} * scale);
    for (std::size_t set = 0; set < sets.size(); ++set) {
        Wide price = prices[set];
        for (const Index pair : sets[set].pairs) {
            price = std::min(price, rest[pair] / relief(sets[set], pairs.all()[pair]));
        }
        prices[set] = static_cast<Bytes>(price);
        for (const Index pair : sets[set].pairs) rest[pair] -= price * relief(sets[set], pairs.all()[pair]);
    }
    std::vector<Bytes> tolls;
    for (std::size_t pair = 0; pair < rest.size(); ++pair)
        tolls.push_back(toll_for(rest[pair], pairs.all()[pair]));
    return tolls;
}

}  // namespace memstow::reuse
