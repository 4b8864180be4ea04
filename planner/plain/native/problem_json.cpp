// A plain or related problem from native JSON, alone or in a request to plan it.
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <unordered_map>

#include "problem.hpp"
#include "scanner.hpp"
#include "text.hpp"

namespace memstow::plain {
namespace {

// Notes fields by number; false where one is there already.
class Once {
  public:
    bool note(int field) {
        const unsigned bit = 1u << field;
        const bool first = (seen_ & bit) == 0;
        seen_ |= bit;
        return first;
    }
    bool has(int field) const { return (seen_ & 1u << field) != 0; }

  private:
    unsigned seen_ = 0;
};

// The position in the list; -1 where it is not there.
template <std::size_t N>
int place_in(const std::string_view (&names)[N], std::string_view name) {
    for (std::size_t i = 0; i < N; ++i) {
        if (names[i] == name) return static_cast<int>(i);
    }
    return -1;
}

// What is to be read beside plain problems.
struct More {
    Banks* banks = nullptr;
    bool relations = false;  // with pins and pools
    bool symbols = false;    // which there have to be then
};

class Reader {
  public:
    explicit Reader(std::string_view text, More more = {})
        : text_(text),
          scanner_(text),
          banks_(more.banks),
          related_(more.relations),
          symbolic_(more.symbols) {}

    std::optional<Problem> read() {
        if (!problem() || symbolic_ == symbols_.empty() || !ends() || !find_named() || !settle_pools() ||
            !find_related())
            return std::nullopt;
        return std::move(problem_);
    }

    std::optional<Request> read_request() {
        constexpr std::string_view kFields[] = {"problem", "options"};
        std::string_view options;
        const std::optional<Once> once =
            fields(kFields, [&](int field) { return field == 0 ? problem() : value('{', options); });
        if (!once || !once->has(0) || !ends()) return std::nullopt;
        return Request{std::move(problem_), std::string(options)};
    }

  private:
    // The object that is next, each field of which is one of these and there once; nothing for any other.
    template <std::size_t N, class Field>
    std::optional<Once> fields(const std::string_view (&names)[N], Field field) {
        Once once;
        const bool read = scanner_.object([&](std::string_view name) {
            const int place = place_in(names, name);
            return place >= 0 && once.note(place) && field(place);
        });
        return read ? std::optional(once) : std::nullopt;
    }

    bool ends() { return scanner_.at_end() && finish(problem_); }

    // A value that begins like this, as text: who reads it says whether it is one.
    bool value(char first, std::string_view& text) {
        if (!scanner_.sees(first)) return false;
        const std::size_t begin = scanner_.position();
        if (!scanner_.skip()) return false;
        text = text_.substr(begin, scanner_.position() - begin);
        return true;
    }

    bool problem() {
        constexpr std::string_view kFields[] = {
            "version",  "name",        "pools",     "buffers",        "conflicts", "exclusive", "relative",
            "in_place", "reuse_costs", "objective", "bank_conflicts", "symbols",   "points",    "aim"};
        const std::optional<Once> once = fields(kFields, [&](int field) {
            switch (field) {
                case 0:
                    return is_integer(1);
                case 1:
                    return label();
                case 2:
                    return related_ ? any_pools() : pools();
                case 3:
                    return scanner_.list([&] { return buffer(); });
                case 9:
                    return objective();
                case 10:
                    return banks_ != nullptr && scanner_.list([&] { return bank_conflict(); });
                case 8:
                    return !symbolic_ && scanner_.take('[') && scanner_.take(']');
                case 11:
                case 12:
                case 13:
                    return symbolic_ && of_symbols(kFields[field]);
                default:
                    return related_ ? relations(field) : scanner_.take('[') && scanner_.take(']');
            }
        });
        return once && once->has(0) && !problem_.sizes.empty();
    }

    // What is said of symbols, as text; of these themselves it comes first.
    bool of_symbols(std::string_view name) {
        std::string_view said;
        if (!value(name == "aim" ? '"' : '[', said)) return false;
        std::string& to = name == "symbols" ? symbols_ : of_points_;
        to.append(to.empty() && name == "symbols" ? "{\"" : ", \"").append(name).append("\": ").append(said);
        return true;
    }

    // A number, or a formula, which is a string.
    bool size(std::int64_t& bytes, std::int64_t& formula) {
        if (!symbolic_ || !scanner_.sees('"')) return scanner_.integer(bytes);
        if (!scanner_.string(string_)) return false;
        std::vector<std::string>& texts = problem_.formulas.texts;
        const auto [known, is_new] = formulas_.try_emplace(string_, static_cast<std::int64_t>(texts.size()));
        if (is_new) texts.push_back(string_);
        formula = known->second;
        return true;
    }

    // A list of what names two buffers each, which may come later.
    bool relations(int field) {
        constexpr std::string_view kTie[] = {"buffer", "base", "offset"};
        constexpr std::string_view kPlace[] = {"input", "output"};
        Named& to = related_names_[static_cast<std::size_t>(field - kFirstRelation)];
        const auto add = [&] { return to.one.add(string_) && to.other.add(other_); };
        return scanner_.list([&] {
            if (field == kFirstRelation || field == kFirstRelation + 1) {
                return scanner_.take('[') && scanner_.string(string_) && scanner_.take(',') &&
                       scanner_.string(other_) && scanner_.take(']') && add();
            }
            std::int64_t distance = 0;
            const auto read = [&](int part) {
                if (part == 2) return scanner_.integer(distance) && -kLimit <= distance && distance <= kLimit;
                return scanner_.string(part == 0 ? string_ : other_);
            };
            if (field == kInPlace) {
                const std::optional<Once> once = fields(kPlace, read);
                return once && once->has(0) && once->has(1) && add();
            }
            to.distances.emplace_back();
            const std::optional<Once> once = fields(kTie, read);
            to.distances.back() = distance;
            return once && once->has(0) && once->has(1) && once->has(2) && add();
        });
    }

    // The numbers of what relations name; and the pool of pins is the memory.
    bool find_related() {
        if (pinned_pool_ && *pinned_pool_ != problem_.pool) return false;
        Relations& to = problem_.relations;
        std::vector<std::int64_t>* const columns[] = {&to.conflicts, &to.exclusive, &to.ties, &to.in_place};
        for (std::size_t field = 0; field < std::size(columns); ++field) {
            const Named& named = related_names_[field];
            columns[field]->reserve(named.one.size() * (named.distances.empty() ? 2 : 3));
            for (std::size_t i = 0; i < named.one.size(); ++i) {
                const std::optional<Number> one = find(problem_.names, problem_.order, named.one[i]);
                const std::optional<Number> other = find(problem_.names, problem_.order, named.other[i]);
                if (!one || !other) return false;
                columns[field]->push_back(*one);
                columns[field]->push_back(*other);
                if (!named.distances.empty()) columns[field]->push_back(named.distances[i]);
            }
        }
        return true;
    }

    // The pool or the offset of a pin.
    bool pin(std::optional<std::int64_t>& offset, bool is_pool) {
        if (scanner_.word("null")) return true;
        if (!related_) return false;
        if (!is_pool) {
            return scanner_.integer(offset.emplace()) && 0 <= *offset && *offset <= kLimit;
        }
        if (!scanner_.string(string_)) return false;
        if (!pinned_pool_) pinned_pool_ = string_;
        return *pinned_pool_ == string_;
    }

    // The list of names that is next.
    bool names(std::vector<std::string>& to) {
        return scanner_.list([&] { return scanner_.string(to.emplace_back()); });
    }

    // Its buffers may come later.
    bool bank_conflict() {
        constexpr std::string_view kFields[] = {"buffers", "cost"};
        Banks::Conflict& conflict = banks_->conflicts.emplace_back();
        named_.emplace_back();
        const std::optional<Once> once = fields(kFields, [&](int field) {
            if (field == 0) return names(named_.back());
            return scanner_.word("null") || scanner_.integer(conflict.cost.emplace());
        });
        return once && once->has(0) && 0 <= conflict.cost.value_or(0) && conflict.cost.value_or(0) <= kLimit;
    }

    // The numbers of what conflicts name.
    bool find_named() {
        for (std::size_t i = 0; i < named_.size(); ++i) {
            for (const std::string& name : named_[i]) {
                const std::optional<Number> number = find(problem_.names, problem_.order, name);
                if (!number) return false;
                banks_->conflicts[i].buffers.push_back(*number);
            }
        }
        return true;
    }

    bool banks() {
        constexpr std::string_view kFields[] = {"size", "count", "offset"};
        return banks_ != nullptr && scanner_.list([&] {
            Banks::Run& run = banks_->runs.emplace_back();
            const std::optional<Once> once = fields(kFields, [&](int field) {
                return scanner_.integer(field == 0 ? run.size : field == 1 ? run.count : run.offset);
            });
            const bool has_range = run.size >= 1 && run.count >= 1 && 0 <= run.offset && run.offset <= kLimit;
            return once && once->has(0) && has_range && run.size <= (kLimit - run.offset) / run.count;
        });
    }

    bool rule(Banks::Rule& rule, bool is_list) {
        if (scanner_.word("null")) return true;
        if (banks_ == nullptr) return false;
        if (!is_list) {
            rule.within = scanner_.word("true");
            return rule.within || scanner_.word("false");
        }
        rule.some.emplace();
        return scanner_.list(
            [&] { return scanner_.integer(rule.some->emplace_back()) && rule.some->back() >= 0; });
    }

    bool is_integer(std::int64_t wanted) {
        std::int64_t value;
        return scanner_.integer(value) && value == wanted;
    }

    bool label() {
        return scanner_.word("null") || (scanner_.string(string_) && characters(string_) <= kLongestName);
    }

    bool objective() {
        if (!symbolic_ && scanner_.word("null")) return true;
        if (!scanner_.take('[')) return false;
        problem_.fit_only = !symbolic_ && scanner_.take(']');
        has_terms_ = !problem_.fit_only;
        if (!problem_.fit_only && banks_ != nullptr) return terms();
        return problem_.fit_only || (scanner_.string(string_) && string_ == "peak" && scanner_.take(']'));
    }

    // From the first of them to the end of the list.
    bool terms() {
        banks_->objective.clear();
        do {
            if (!scanner_.string(string_) || (string_ != "peak" && string_ != "bank_cost")) return false;
            const Banks::Term term = string_ == "peak" ? Banks::Term::peak : Banks::Term::bank_cost;
            banks_->objective.push_back(term);
        } while (scanner_.take(','));
        return scanner_.take(']');
    }

    bool pools() { return scanner_.take('[') && pool() && scanner_.take(']'); }

    // One memory of which no more than the capacity is said, or the text of others.
    bool any_pools() {
        const Scanner before = scanner_;
        is_pooled_ = !pools();
        if (is_pooled_) {
            scanner_ = before;
            if (!scanner_.sees('[') || !scanner_.skip()) return false;
        }
        text_of_pools_ = text_.substr(before.position(), scanner_.position() - before.position());
        return text_of_pools_.size() <= kMostTextOfPools;
    }

    // Pins and ties, and other terms than the usual ones, are left to the ordinary readers.
    bool settle_pools() {
        if (symbolic_) problem_.formulas.symbols = symbols_ + of_points_ + "}";
        Pools& to = problem_.pools;
        if (!is_pooled_ && to.lists.empty() && to.accesses.empty()) return true;
        problem_.pool.clear();
        problem_.capacity = kLimit;
        problem_.bounded = false;
        to.text = text_of_pools_.empty() ? std::string_view(R"([{"id": "memory"}])") : text_of_pools_;
        const std::size_t count = problem_.sizes.size();
        if (!to.list_of.empty()) to.list_of.resize(count, Pools::kAny);
        if (!to.accesses.empty()) to.accesses.resize(count, Pools::kAsBytes);
        for (auto* column : {&to.list_of, &to.accesses}) column->shrink_to_fit();
        const bool usual = symbolic_ || !has_terms_;
        return usual && problem_.relations.pins.empty() && related_names_[kTies].one.size() == 0;
    }

    // The pools that a buffer may go to, by the number of the list of their names.
    bool allowed(std::int64_t& list) {
        if (scanner_.word("null")) return true;
        some_.clear();
        if (!related_ || !names(some_)) return false;
        std::vector<std::vector<std::string>>& lists = problem_.pools.lists;
        const auto [known, is_new] = lists_.try_emplace(some_, static_cast<std::int64_t>(lists.size()));
        if (is_new) lists.push_back(some_);
        list = known->second;
        return lists.size() <= kMostLists;
    }

    bool accesses(std::int64_t& count) {
        if (scanner_.word("null")) return true;
        return related_ && scanner_.integer(count) && 0 <= count && count <= kLimit;
    }

    // A value of this buffer in a column that begins with the first buffer of which it says anything.
    void note(std::vector<std::int64_t>& column, std::int64_t value, std::int64_t usual) const {
        if (value == usual) return;
        column.resize(problem_.sizes.size(), usual);
        column.push_back(value);
    }

    bool pool() {
        constexpr std::string_view kFields[] = {"id",   "capacity", "alignment", "reserved",
                                                "base", "cost",     "banks"};
        const std::optional<Once> once = fields(kFields, [&](int field) {
            switch (field) {
                case 0:
                    return scanner_.string(problem_.pool) && is_name(problem_.pool);
                case 1:
                    return capacity();
                case 2:
                    return is_integer(1);
                case 3:
                    return scanner_.take('[') && scanner_.take(']');
                case 4:
                    return scanner_.word("null");
                case 6:
                    return banks();
                default:
                    return is_integer(0);
            }
        });
        return once && once->has(0);
    }

    bool capacity() {
        if (scanner_.word("null")) return true;
        problem_.bounded = true;
        return scanner_.integer(problem_.capacity) && 0 <= problem_.capacity && problem_.capacity <= kLimit;
    }

    bool buffer() {
        constexpr std::string_view kFields[] = {"id",        "size",  "lifetime",    "alignment",
                                                "lifetimes", "pools", "accesses",    "pool",
                                                "offset",    "group", "within_bank", "banks"};
        if (problem_.sizes.size() + 1 >= std::numeric_limits<Number>::max()) return false;
        Buffer result;
        Banks::Rule of_banks{static_cast<Number>(problem_.sizes.size()), false, {}};
        std::optional<std::int64_t> offset;
        std::int64_t list = Pools::kAny, moved = Pools::kAsBytes, formula = Formulas::kNumber;
        bool has_pool = false;
        const std::optional<Once> once = fields(kFields, [&](int field) {
            switch (field) {
                case 0:
                    return scanner_.string(id_);
                case 1:
                    return size(result.size, formula);
                case 2:
                    return scanner_.take('[') && scanner_.integer(result.begin) && scanner_.take(',') &&
                           scanner_.integer(result.end) && scanner_.take(']');
                case 3:
                    return scanner_.integer(result.alignment);
                case 5:
                    return allowed(list);
                case 6:
                    return !symbolic_ && accesses(moved);
                case 7:
                    has_pool = !scanner_.sees('n');
                    return pin(offset, true);
                case 8:
                    return pin(offset, false);
                case 9:
                    return scanner_.word("null") || (scanner_.string(string_) && is_name(string_));
                case 10:
                case 11:
                    return !symbolic_ && rule(of_banks, field == 11);
                default:
                    return scanner_.word("null");
            }
        });
        if (of_banks.within || of_banks.some) banks_->rules.push_back(std::move(of_banks));
        if (has_pool != offset.has_value()) return false;
        note(problem_.relations.pins, offset.value_or(Relations::kFree), Relations::kFree);
        note(problem_.pools.list_of, list, Pools::kAny);
        note(problem_.pools.accesses, moved, Pools::kAsBytes);
        note(problem_.formulas.of_buffer, formula, Formulas::kNumber);
        return once && once->has(0) && once->has(1) && once->has(2) && add(problem_, id_, result);
    }

    // As fields of a problem are numbered.
    static constexpr int kFirstRelation = 4;
    static constexpr int kInPlace = 7;
    // As relations are numbered.
    static constexpr std::size_t kTies = 2;
    // Of more, the ordinary readers make objects.
    static constexpr std::size_t kMostTextOfPools = 1 << 14;
    static constexpr std::size_t kMostLists = 1 << 8;
    struct Named {
        Names one, other;
        std::vector<std::int64_t> distances;
    };

    std::string_view text_;
    Scanner scanner_;
    Banks* banks_;
    bool related_, symbolic_;
    std::string symbols_, of_points_;
    std::unordered_map<std::string, std::int64_t> formulas_;
    std::vector<std::vector<std::string>> named_;  // by bank conflict
    std::array<Named, 4> related_names_;           // by field
    std::optional<std::string> pinned_pool_;
    bool is_pooled_ = false, has_terms_ = false;
    std::string_view text_of_pools_;
    std::map<std::vector<std::string>, std::int64_t> lists_;
    std::vector<std::string> some_;
    Problem problem_;
    std::string id_, string_, other_;
};

}  // namespace

std::optional<Problem> read_json(std::string_view text) {
    text = without_mark(text);
    return is_readable(text) ? Reader(text).read() : std::nullopt;
}

std::optional<Problem> read_related_json(std::string_view text) {
    text = without_mark(text);
    return is_readable(text) ? Reader(text, {.relations = true}).read() : std::nullopt;
}

std::optional<Problem> read_symbolic_json(std::string_view text) {
    text = without_mark(text);
    return is_readable(text) ? Reader(text, {.relations = true, .symbols = true}).read() : std::nullopt;
}

std::optional<BankedProblem> read_banked_json(std::string_view text) {
    text = without_mark(text);
    if (!is_readable(text)) return std::nullopt;
    BankedProblem read;
    std::optional<Problem> problem = Reader(text, {.banks = &read.banks}).read();
    if (!problem) return std::nullopt;
    if (problem->fit_only) read.banks.objective.clear();
    read.problem = std::move(*problem);
    return read;
}

std::optional<Request> read_request(std::string_view text) {
    text = without_mark(text);
    return is_readable(text) ? Reader(text).read_request() : std::nullopt;
}

}  // namespace memstow::plain
