// A plain problem: buffers with one lifetime each, in one memory, of which only the peak counts. A related
// one has pins and relations between buffers as well, or several pools; a symbolic one is such a problem with
// sizes that are formulas.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "names.hpp"

namespace memstow::plain {

// No size, offset or capacity is above this, and no time is farther from 0.
inline constexpr std::int64_t kLimit = std::int64_t{1} << 62;
// The longest id, in characters.
inline constexpr std::size_t kLongestName = 1024;

// What holds of buffers beside their sizes and lives, by their numbers.
struct Relations {
    static constexpr std::int64_t kFree = -1;

    std::vector<std::int64_t> pins;  // by buffer, an offset or `kFree`; empty: none has one
    // Two numbers of each pair one behind the other.
    std::vector<std::int64_t> conflicts, exclusive, in_place;
    std::vector<std::int64_t> ties;  // likewise: a buffer, its base, its distance from that

    bool any() const {
        return !(pins.empty() && conflicts.empty() && exclusive.empty() && in_place.empty() && ties.empty());
    }
};

// Several pools, or one of which more is said than its capacity, and where buffers may go.
struct Pools {
    static constexpr std::int64_t kAny = -1;
    static constexpr std::int64_t kAsBytes = -1;

    std::string text;  // in JSON, for those who know the models; empty: the memory is the only one
    std::vector<std::vector<std::string>> lists;  // of names, each list once
    std::vector<std::int64_t> list_of;            // by buffer, or `kAny`; empty: of all buffers
    std::vector<std::int64_t> accesses;           // by buffer, or `kAsBytes`; empty: of all buffers
    // What the text and the lists have come to.
    std::vector<std::string> names;    // by pool
    std::vector<std::string> allowed;  // by list, as the canonical form has it

    bool any() const { return !text.empty(); }
};

// Sizes that are formulas of symbols.
struct Formulas {
    static constexpr std::int64_t kNumber = -1;

    std::string symbols;                  // an object in JSON with them, their points and the aim
    std::vector<std::string> texts;       // each formula once, as the first buffers have them
    std::vector<std::int64_t> of_buffer;  // by buffer, its formula, or `kNumber`; empty: none has one

    bool any() const { return !symbols.empty(); }
};

struct Problem {
    Names names;
    // Those that are formulas have the values that were put last, at first 0.
    std::vector<std::int64_t> sizes, begins, ends;
    // One for each buffer, or one for all of them.
    std::vector<std::int64_t> alignments;
    std::string pool = "memory";
    std::int64_t capacity = kLimit;
    bool bounded = false;
    bool fit_only = false;      // any plan that fits will do; else the peak is to be minimised
    std::vector<Number> order;  // of the names
    Relations relations;        // none of a plain problem
    Pools pools;                // likewise; then neither `pool` nor `capacity` says anything

    Formulas formulas;  // likewise

    bool is_related() const { return relations.any() || pools.any(); }

    std::int64_t alignment(std::size_t buffer) const {
        return alignments.size() == 1 ? alignments[0] : alignments[buffer];
    }
    // Bytes moved.
    std::int64_t accesses(std::size_t buffer) const {
        const bool said = !pools.accesses.empty() && pools.accesses[buffer] != Pools::kAsBytes;
        return said && sizes[buffer] > 0 ? pools.accesses[buffer] : sizes[buffer];
    }
};

// One buffer, checked as the models check it.
struct Buffer {
    std::int64_t size = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t alignment = 1;

    bool valid() const {
        return 0 <= size && size <= kLimit && 1 <= alignment && alignment <= kLimit && -kLimit <= begin &&
               begin < end && end <= kLimit;
    }
};

// Whether UTF-8 text may be an id.
bool is_name(std::string_view name);

// Adds a buffer whose id is UTF-8; false where it is not valid.
bool add(Problem& problem, std::string_view name, const Buffer& buffer);

// What is left to do when all buffers are there; false where the problem is not plain: an id is there twice,
// or there is no buffer with bytes or with a formula.
bool finish(Problem& problem);

// Gives the buffers with formulas these sizes, one for each formula.
void put_sizes(Problem& problem, std::span<const std::int64_t> of_formulas);

// Whether the pins and relations are plainly right: what has none has sound ones, and where they could
// contradict each other or the memory, the ordinary checks have to say whether they do.
bool are_plainly_sound(const Problem& problem);

// Bytes moved by the buffers that may go anywhere, and by those of each list; of more than 2^62, one more.
std::vector<std::int64_t> accesses_of_lists(const Problem& problem);

// The banks of the memory, and what depends on them.
struct Banks {
    // Equal banks one after the other.
    struct Run {
        std::int64_t offset = 0;
        std::int64_t size = 0;
        std::int64_t count = 1;
    };
    // What one buffer says of the banks that it may be in.
    struct Rule {
        Number buffer;
        bool within = false;                            // all of its bytes are in one
        std::optional<std::vector<std::int64_t>> some;  // the numbers of those that it may be in
    };
    // No two of the buffers may touch one bank, or each two that do pay.
    struct Conflict {
        std::vector<Number> buffers;
        std::optional<std::int64_t> cost;
    };
    enum class Term { peak, bank_cost };

    std::vector<Run> runs;
    std::vector<Rule> rules;  // by buffer
    std::vector<Conflict> conflicts;
    std::vector<Term> objective{Term::peak};
};

// A problem that is plain but for its banks; whether these overlap, and so on, is for others to say.
struct BankedProblem {
    Problem problem;
    Banks banks;
};

// Each reader has no answer for a problem that is not plain, or not valid: the ordinary readers say what is
// the matter with it.
std::optional<Problem> read_csv(std::string_view text);
std::optional<Problem> read_json(std::string_view text);
// Plain, or related; whether its relations and pools are sound is for others to say. With pools it has
// neither pins nor ties.
std::optional<Problem> read_related_json(std::string_view text);
std::optional<BankedProblem> read_banked_json(std::string_view text);
// The same as `read_related_json` where there are symbols, and sizes may be formulas: whether they are is for
// others to say.
std::optional<Problem> read_symbolic_json(std::string_view text);

// A problem in native JSON as the member `problem` of an object, with nothing beside it but `options`.
struct Request {
    Problem problem;
    std::string options;  // the text of an object, which somebody else reads; empty where there is none
};

std::optional<Request> read_request(std::string_view text);

}  // namespace memstow::plain
