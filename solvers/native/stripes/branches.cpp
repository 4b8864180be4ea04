#include "stripes/branches.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace memstow::stripes {
namespace {

// Those of a stripe and of its branches, among all operators from its first to its last.
class Members {
  public:
    Members(const Surroundings& around, Index begin, Index end, Index stays)
        : around_(around),
          all_(around.operators),
          begin_(begin),
          source_(stays < 0 ? kNobody : around.path[at(stays)]),
          comes_from_source_(stays != kNothing),
          first_(comes_from_source_ ? source_ + 1 : around.path[at(begin)]),
          last_(around.path[at(end) - 1]) {
        kinds_.assign(at(last_ - first_) + 1, Kind::branch);
        for (Index place = begin; place < end; ++place) kind(around.path[at(place)]) = Kind::path;
        if (comes_from_source_) {
            // What is handed on to the stripe is there.
            before_ = around.path[at(begin) - 1];
            kind(before_) = Kind::other;
        }
        // Who reads what is not here, or is read by somebody else, is on no branch; nor who depends on it.
        bool changes = true;
        while (changes) {
            changes = false;
            for (Index i = first_; i <= last_; ++i) {
                if (kind(i) != Kind::branch || is_branch(all_[at(i)])) continue;
                kind(i) = Kind::other;
                changes = true;
            }
        }
    }

    std::optional<Branches> branches() const {
        Index shared = kNobody;  // the last that is read by somebody else
        for (Index i = first_; i <= last_; ++i) {
            if (kind(i) == Kind::other) continue;
            // Nothing is known of what goes around one of which rows may wait for somebody else.
            const auto goes_around = [&](const Use& use) {
                return is_here(use.source) && use.source < shared;
            };
            if (std::ranges::any_of(all_[at(i)].uses, goes_around)) return std::nullopt;
            if (kind(i) == Kind::path && !is_read_here(all_[at(i)])) shared = i;
        }
        Branches branches = with_program();
        add_groups(branches);
        if (branches.groups.empty()) return std::nullopt;
        return branches;
    }

  private:
    enum class Kind : char { path, branch, other };

    Kind& kind(Index i) { return kinds_[at(i - first_)]; }
    Kind kind(Index i) const { return kinds_[at(i - first_)]; }
    bool is_here(Index i) const { return i >= first_ && i <= last_ && kind(i) != Kind::other; }
    static Bytes bytes(const Operator& operation) {
        return operation.rows * operation.columns * operation.pixel;
    }

    bool is_read_here(const Operator& operation) const {
        return !operation.kept && !operation.reduces && !operation.readers.empty() &&
               std::ranges::all_of(operation.readers, [&](const Reader& reader) {
                   return is_here(reader.at) || is_of_no_use(reader.at);
               });
    }

    // Who runs again in the stripe for nobody.
    bool is_of_no_use(Index i) const {
        return i == before_ && std::ranges::all_of(all_[at(i)].readers, [&](const Reader& reader) {
                   return is_here(reader.at) && kind(reader.at) == Kind::path;
               });
    }

    bool is_branch(const Operator& operation) const {
        return operation.can && is_read_here(operation) && !operation.uses.empty() &&
               std::ranges::all_of(operation.uses, [&](const Use& use) {
                   return is_here(use.source) || (comes_from_source_ && use.source == source_);
               });
    }

    // Before the stripe, all that is counted in any case.
    bool has_run(Index i) const {
        return comes_from_source_ &&
               (std::ranges::binary_search(around_.path, i) || around_.made_before[at(i)] < begin_);
    }

    Branches with_program() const {
        Branches branches;
        std::vector<Operator>& own = branches.program.operators;
        branches.program.has_branches = true;
        std::vector<Index> place(kinds_.size(), kNobody);
        for (Index i = first_; i <= last_; ++i) {
            if (kind(i) == Kind::other) continue;
            const Index here = place[at(i - first_)] = count_of(own);
            Operator operation = all_[at(i)];
            operation.is_branch = kind(i) == Kind::branch;
            operation.kept = i == last_;
            operation.shared = !is_read_here(operation);
            operation.last_reader = kNobody;
            operation.readers.clear();
            for (Index number = 0; number < count_of(operation.uses); ++number) {
                Use& use = operation.uses[at(number)];
                use.source = is_here(use.source) ? place[at(use.source - first_)] : kNobody;
                if (use.source == kNobody) continue;
                own[at(use.source)].readers.push_back({here, number});
                if (operation.is_branch || branches.path.empty() || use.source != branches.path.back())
                    continue;
                operation.before = use.source;
                operation.overlaps = operation.overlaps || overlaps(use, operation.rows);
            }
            if (!operation.is_branch)
                branches.path.push_back(here);
            else if (!has_run(i))
                branches.cost += operation.cost;
            own.push_back(std::move(operation));
            branches.numbers.push_back(i);
        }
        return branches;
    }

    // Whether what each row needs begins before the end of what the one before needs.
    static bool overlaps(const Use& use, Place rows) {
        for (Place row = 1; row < rows; ++row) {
            if (use.rows.first(row) >= use.rows.end(row - 1)) return false;
        }
        return true;
    }

    static void add_groups(Branches& branches) {
        const std::vector<Operator>& own = branches.program.operators;
        std::vector<Index> group(own.size());
        std::iota(group.begin(), group.end(), Index{0});
        const auto leader = [&](Index i) {
            while (group[at(i)] != i) i = group[at(i)] = group[at(group[at(i)])];
            return i;
        };
        std::vector<bool> branches_off(own.size());
        for (Index i = 0; i < count_of(own); ++i) {
            for (const Use& use : own[at(i)].uses) {
                if (use.source == kNobody) continue;
                if (own[at(i)].is_branch) group[at(leader(i))] = leader(use.source);
                if (own[at(i)].is_branch || use.source != own[at(i)].before)
                    branches_off[at(use.source)] = true;
            }
        }
        std::vector<Index> number(own.size(), kNobody);
        Index place = kNobody;  // on the path
        for (Index i = 0; i < count_of(own); ++i) {
            if (!own[at(i)].is_branch) ++place;
            if (!branches_off[at(i)]) continue;
            Index& known = number[at(leader(i))];
            if (known == kNobody) {
                known = count_of(branches.groups);
                branches.groups.emplace_back();
            }
            Branches::Group& to = branches.groups[at(known)];
            if (own[at(i)].is_branch)
                to.members.push_back(i);
            else
                to.begins.push_back(place);
            to.instead = std::min(to.instead, bytes(own[at(i)]));
        }
    }

    const Surroundings& around_;
    const std::vector<Operator>& all_;
    Index begin_;
    Index source_;  // of what stays, if something does
    bool comes_from_source_;
    Index before_ = kNobody;  // who hands something on to the stripe, if something else stays
    Index first_, last_;
    std::vector<Kind> kinds_;
};

}  // namespace

std::optional<std::vector<Index>> Branches::places_in(const Branches& longer) const {
    std::vector<Index> places;
    Index there = 0;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        while (there < count_of(longer.numbers) && longer.numbers[at(there)] < numbers[i]) ++there;
        if (there == count_of(longer.numbers) || longer.numbers[at(there)] != numbers[i]) return std::nullopt;
        const std::vector<Reader>& readers = longer.program.operators[at(there)].readers;
        if (readers.size() != program.operators[i].readers.size()) return std::nullopt;
        places.push_back(there);
    }
    return places;
}

std::optional<Branches> branches_of(const Surroundings& around, Index begin, Index end, Index stays) {
    return Members(around, begin, end, stays).branches();
}

}  // namespace memstow::stripes
