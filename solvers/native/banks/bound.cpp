#include "banks/bound.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

namespace memstow::banks {
namespace {

// No more sets of banks than these are looked at, nor costs of one, nor crowds, nor pairs.
constexpr std::size_t kMostSets = 64;
constexpr std::size_t kMostThresholds = 12;
constexpr std::size_t kMostCrowds = 256;
constexpr std::int64_t kMostSteps = 10'000'000;
// Of all crowds, that the judge looks at.
constexpr std::size_t kMostPairs = 1'000'000;
// Of a pair that may not touch one bank.
constexpr Bytes kForbidden = kLimit + 1;

// By pool and number there, in order.
using BankList = std::vector<std::pair<Index, Index>>;

// The banks that a part may touch; nothing where it need not touch any, or is in a group. The judge counts
// them by the same rules: all below the capacity that are not reserved as a whole, and of what must be in
// banks, or at one offset, those that it may be in.
std::optional<BankList> banks_of(const Instance& instance, Index part) {
    const Index item = instance.parts[part].item;
    if (instance.parts_of(item).size() > 1) return std::nullopt;
    const Bytes size = instance.parts[part].size;
    BankList list;
    const auto add = [&](Index pool, Bytes begin, Bytes end) {
        const auto [first, last] = instance.banks.touched(pool, begin, end);
        for (Index bank = first; bank < last; ++bank) list.emplace_back(pool, bank);
        return first < last;
    };
    const std::span<const Choice> choices = instance.choices[item];
    for (Index at = 0; at < count_of(choices); ++at) {
        const Choice& choice = choices[at];
        const std::span<const Range> windows = instance.banks.windows_of(item, at);
        if (choice.low == choice.high) {
            if (!add(choice.pool, choice.low, choice.low + size)) return std::nullopt;
        } else if (!windows.empty()) {
            for (const Range& window : windows) add(choice.pool, window.begin, window.end + size);
        } else {
            const Pool& pool = instance.pools[choice.pool];
            Bytes begin = 0;
            Index number = 0;
            for (const Range& bank : instance.banks.of_pool[choice.pool]) {
                if (std::min(bank.begin, pool.capacity) - begin >= size) return std::nullopt;
                begin = bank.end;
                const auto range = std::ranges::lower_bound(pool.reserved, bank.end, {}, &Range::end);
                const bool is_reserved = range != pool.reserved.end() && range->begin <= bank.begin;
                if (bank.begin <= pool.capacity && !is_reserved) list.emplace_back(choice.pool, number);
                ++number;
            }
            if (pool.capacity - begin >= size) return std::nullopt;
        }
    }
    std::ranges::sort(list);
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
}

class CrowdSearch {
  public:
    explicit CrowdSearch(const Instance& instance) : instance_(instance) {
        for (const ReuseCost& pair : instance.banks.costs) add(pair.first, pair.second, pair.cost);
        for (const auto& [one, other] : instance.banks.apart) add(one, other, kForbidden);
        std::ranges::sort(links_, {}, [](const Link& link) { return std::pair(link.own, link.other); });
        start_.resize(parts_.size() + 1, 0);
        for (const Link& link : links_) ++start_[link.own + 1];
        for (std::size_t i = 0; i < parts_.size(); ++i) start_[i + 1] += start_[i];
    }

    CrowdBound result() && {
        // Few banks first: there a crowd shows most.
        std::vector<const BankList*> lists;
        std::set<BankList::value_type> all;
        for (const BankList& list : lists_) {
            lists.push_back(&list);
            if (steps_ > kMostSteps) break;
            steps_ += count_of(list);
            all.insert(list.begin(), list.end());
        }
        std::ranges::stable_sort(lists, {}, [](const BankList* list) { return list->size(); });
        if (lists.size() > kMostSets) lists.resize(kMostSets);
        for (const BankList* list : lists) look_in(*list);
        look_in({all.begin(), all.end()});
        return std::move(result_);
    }

  private:
    struct Link {
        Index own;
        Index other;
        Bytes cost;  // that is left
    };

    void add(Index one, Index other, Bytes cost) {
        const std::optional<Index> first = number_of(one), second = number_of(other);
        if (!first || !second) return;
        links_.push_back({*first, *second, cost});
        links_.push_back({*second, *first, cost});
    }

    // Among those that must touch a bank.
    std::optional<Index> number_of(Index part) {
        const auto [known, is_new] = number_of_.try_emplace(part);
        if (!is_new) return known->second;
        std::optional<BankList> list = banks_of(instance_, part);
        if (!list) return std::nullopt;
        known->second = count_of(parts_);
        parts_.push_back(part);
        list_of_.push_back(&*lists_.insert(std::move(*list)).first);
        return known->second;
    }

    std::span<Link> links_of(Index number) {
        return std::span(links_).subspan(start_[number], start_[number + 1] - start_[number]);
    }

    // Takes crowds within these banks out of the costs, the best first, as long as there are some.
    void look_in(const BankList& banks) {
        std::map<const BankList*, bool> is_within;
        std::vector<Index> numbers;
        for (Index number = 0; number < count_of(parts_); ++number) {
            const auto [known, is_new] = is_within.try_emplace(list_of_[number], false);
            if (is_new) {
                steps_ += count_of(banks);
                known->second = std::ranges::includes(banks, *list_of_[number]);
            }
            if (known->second) numbers.push_back(number);
        }
        while (result_.crowds.size() < kMostCrowds && steps_ < kMostSteps) {
            Crowd best{{}, 0, count_of(banks)};
            Value most = 0;
            for (const Bytes threshold : thresholds(numbers)) {
                Crowd crowd{clique(numbers, threshold), threshold, count_of(banks)};
                const Value value = Value{crowd.pairs()} * threshold;
                if (value <= most) continue;
                most = value;
                best = std::move(crowd);
            }
            pairs_ += best.parts.size() * best.parts.size() / 2;
            if (most == 0 || pairs_ > kMostPairs) return;
            for (const Index own : best.parts) {
                for (Link& link : links_of(own)) {
                    const bool is_in = std::ranges::binary_search(best.parts, link.other);
                    if (is_in && link.cost != kForbidden) link.cost -= best.cost;
                }
            }
            for (Index& part : best.parts) part = parts_[part];
            std::ranges::sort(best.parts);
            result_.value += most;
            result_.crowds.push_back(std::move(best));
        }
    }

    // Some of the costs that are left, the least and the greatest among them.
    std::vector<Bytes> thresholds(const std::vector<Index>& numbers) {
        std::set<Bytes> costs;
        for (const Index number : numbers) {
            for (const Link& link : links_of(number)) {
                if (link.cost > 0 && link.cost != kForbidden) costs.insert(link.cost);
            }
            steps_ += count_of(links_of(number));
        }
        const std::vector<Bytes> all(costs.begin(), costs.end());
        if (all.size() <= kMostThresholds) return all;
        std::vector<Bytes> some;
        for (std::size_t i = 0; i < kMostThresholds; ++i) {
            some.push_back(all[i * (all.size() - 1) / (kMostThresholds - 1)]);
        }
        return some;
    }

    // Numbers of which each two pay this much, or may not meet, but some two do pay. Those that have more
    // such partners come first.
    std::vector<Index> clique(const std::vector<Index>& numbers, Bytes threshold) {
        std::vector<std::pair<Index, Index>> order;
        for (const Index number : numbers) {
            const auto pays = [&](const Link& link) { return link.cost >= threshold; };
            const auto partners = static_cast<Index>(std::ranges::count_if(links_of(number), pays));
            steps_ += count_of(links_of(number));
            if (partners > 0) order.emplace_back(-partners, number);
        }
        std::ranges::sort(order);
        std::vector<Index> chosen;
        bool is_paid = false;
        for (const auto& [partners, number] : order) {
            bool joins = true, pays = false;
            for (const Index other : chosen) {
                ++steps_;
                const auto link = std::ranges::lower_bound(links_of(number), other, {}, &Link::other);
                joins = link != links_of(number).end() && link->other == other && link->cost >= threshold;
                if (!joins) break;
                pays = pays || link->cost != kForbidden;
            }
            if (!joins) continue;
            is_paid = is_paid || pays;
            chosen.push_back(number);
        }
        if (!is_paid) chosen.clear();
        std::ranges::sort(chosen);
        return chosen;
    }

    const Instance& instance_;
    std::map<Index, std::optional<Index>> number_of_;  // by part
    std::vector<Index> parts_;                         // by number
    std::set<BankList> lists_;                         // each once
    std::vector<const BankList*> list_of_;             // by number
    std::vector<Link> links_;                          // by number
    std::vector<Index> start_;                         // of the links, by number
    std::int64_t steps_ = 0;
    std::size_t pairs_ = 0;
    CrowdBound result_;
};

}  // namespace

std::int64_t Crowd::pairs() const {
    const auto count = static_cast<std::int64_t>(parts.size());
    if (banks == 0 || count <= banks) return 0;
    const std::int64_t each = count / banks, more = count % banks;
    return more * (each * (each + 1) / 2) + (banks - more) * (each * (each - 1) / 2);
}

CrowdBound bound_of_crowds(const Instance& instance) {
    if (instance.banks.costs.empty()) return {};
    return CrowdSearch(instance).result();
}

}  // namespace memstow::banks
