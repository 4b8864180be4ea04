// A plain problem from native JSON.
#include <algorithm>
#include <limits>

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

bool is_name(std::string_view name) { return !name.empty() && characters(name) <= kLongestName; }

// The position in the list; -1 where it is not there.
template <std::size_t N>
int place_in(const std::string_view (&names)[N], std::string_view name) {
    for (std::size_t i = 0; i < N; ++i) {
        if (names[i] == name) return static_cast<int>(i);
    }
    return -1;
}

class Reader {
  public:
    explicit Reader(std::string_view text) : scanner_(text) {}

    std::optional<Problem> read() {
        constexpr std::string_view kFields[] = {"version",     "name",      "pools",    "buffers",
                                                "conflicts",   "exclusive", "relative", "in_place",
                                                "reuse_costs", "objective"};
        Once once;
        const bool read = scanner_.object([&](std::string_view name) {
            const int field = place_in(kFields, name);
            if (field < 0 || !once.note(field)) return false;
            switch (field) {
                case 0:
                    return is_integer(1);
                case 1:
                    return label();
                case 2:
                    return pools();
                case 3:
                    return scanner_.list([&] { return buffer(); });
                case 9:
                    return objective();
                default:
                    return scanner_.take('[') && scanner_.take(']');
            }
        });
        const bool whole = read && scanner_.at_end() && once.has(0) && !problem_.sizes.empty();
        return whole && finish(problem_) ? std::optional(std::move(problem_)) : std::nullopt;
    }

  private:
    bool is_integer(std::int64_t wanted) {
        std::int64_t value;
        return scanner_.integer(value) && value == wanted;
    }

    bool label() {
        return scanner_.word("null") || (scanner_.string(text_) && characters(text_) <= kLongestName);
    }

    bool objective() {
        return scanner_.word("null") ||
               (scanner_.take('[') && scanner_.string(text_) && text_ == "peak" && scanner_.take(']'));
    }

    bool pools() { return scanner_.take('[') && pool() && scanner_.take(']'); }

    bool pool() {
        constexpr std::string_view kFields[] = {"id", "capacity", "alignment", "reserved", "base", "cost"};
        Once once;
        const bool read = scanner_.object([&](std::string_view name) {
            const int field = place_in(kFields, name);
            if (field < 0 || !once.note(field)) return false;
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
                default:
                    return is_integer(0);
            }
        });
        return read && once.has(0);
    }

    bool capacity() {
        if (scanner_.word("null")) return true;
        problem_.bounded = true;
        return scanner_.integer(problem_.capacity) && 0 <= problem_.capacity && problem_.capacity <= kLimit;
    }

    bool buffer() {
        constexpr std::string_view kFields[] = {"id",    "size",     "lifetime", "alignment", "lifetimes",
                                                "pools", "accesses", "pool",     "offset",    "group"};
        if (problem_.sizes.size() + 1 >= std::numeric_limits<Number>::max()) return false;
        Once once;
        Buffer made;
        const bool read = scanner_.object([&](std::string_view name) {
            const int field = place_in(kFields, name);
            if (field < 0 || !once.note(field)) return false;
            switch (field) {
                case 0:
                    return scanner_.string(id_);
                case 1:
                    return scanner_.integer(made.size);
                case 2:
                    return scanner_.take('[') && scanner_.integer(made.begin) && scanner_.take(',') &&
                           scanner_.integer(made.end) && scanner_.take(']');
                case 3:
                    return scanner_.integer(made.alignment);
                case 9:
                    return scanner_.word("null") || (scanner_.string(text_) && is_name(text_));
                default:
                    return scanner_.word("null");
            }
        });
        return read && once.has(0) && once.has(1) && once.has(2) && add(problem_, id_, made);
    }

    Scanner scanner_;
    Problem problem_;
    std::string id_, text_;
};

}  // namespace

std::optional<Problem> read_json(std::string_view text) {
    text = without_mark(text);
    if (count(text, ',') + count(text, '[') + count(text, '{') > kMostValues || !is_utf8(text)) {
        return std::nullopt;
    }
    return Reader(text).read();
}

}  // namespace memstow::plain
