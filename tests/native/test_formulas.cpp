// Formulas as solvers read them and as the judge reads them: neither knows the other, both say the same.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "check.hpp"
#include "formulas.hpp"
#include "shapes/formulas.hpp"

namespace {

using Values = std::vector<std::int64_t>;

constexpr std::int64_t kLimit = std::int64_t{1} << 62;

std::string formula(std::mt19937& random, int depth) {
    static const char* const leaves[] = {"s", "t", "0", "1", "7", "64", "4611686018427387904"};
    if (depth == 0 || random() % 5 == 0) return leaves[random() % 7];
    const auto part = [&] { return formula(random, depth - 1); };
    switch (random() % 9) {
        case 0:
            return part() + " + " + part();
        case 1:
            return part() + "-" + part();
        case 2:
            return part() + "*" + part();
        case 3:
            return "(" + part() + ")//(" + part() + ")";
        case 4:
            return "(" + part() + ")%(" + part() + ")";
        case 5:
            return "-(" + part() + ")";
        case 6:
            return "ceil_div(" + part() + ", " + part() + ")";
        case 7:
            return "align(" + part() + "," + part() + ")";
        default:
            return (random() % 2 ? "min(" : "max(") + part() + ", " + part() + ", " + part() + ")";
    }
}

}  // namespace

TEST(both_read_the_same_values_and_extremes) {
    std::mt19937 random(18);
    const std::vector<std::string> names = {"s", "t"};
    int monotone = 0;
    for (int turn = 0; turn < 4000; ++turn) {
        const std::string text = formula(random, 4);
        memstow::shapes::Formulas ours(names, {{0, 12, 3}, {1, 5, 1}});
        memstow::judge::Formulas theirs(names, {{0, 12, 3}, {1, 5, 1}});
        const bool read = !ours.read(text);
        CHECK(read == theirs.read(text));
        if (!read) continue;
        std::int64_t low = kLimit, high = -kLimit;
        bool everywhere = true;
        for (std::int64_t s = 0; s <= 12; s += 3) {
            for (std::int64_t t = 1; t <= 5; ++t) {
                const Values at = {s, t};
                const auto result =
                    memstow::shapes::value_of(ours.nodes(0), std::vector<std::optional<std::int64_t>>{s, t});
                const auto* const known = std::get_if<std::int64_t>(&result);
                const std::int64_t value = known == nullptr ? 0 : *known;
                const auto judged = theirs.value(0, at);
                CHECK(judged.has_value() == (known != nullptr) && judged.value_or(0) == value);
                everywhere = everywhere && known != nullptr;
                if (known == nullptr) continue;
                low = std::min(low, value);
                high = std::max(high, value);
            }
        }
        const auto all = ours.of_all_values(0);
        CHECK(all.has_value() == everywhere);
        CHECK(!all || (all->low == low && all->high == high));
        const auto simple = ours.if_monotone(0);
        CHECK(!simple || (all && simple->low == low && simple->high == high));
        monotone += simple.has_value();
        const auto largest = theirs.largest(0, 1000, 1000, std::nullopt, false);
        CHECK(!largest || (everywhere && largest->value == high && largest->seen == high));
        const auto below = theirs.largest(0, 1000, 1000, 0, true);
        CHECK(!below || (below->value > 0) == (low < 0));
        CHECK(!theirs.is_never_below(0, 0) || (everywhere && low >= 0));
    }
    CHECK(monotone > 400);
}

TEST(neither_reads_what_is_no_formula) {
    for (const char* text :
         {"", " ", "s t", "2s", "s+", "(s", "s)", "u", "min()", "align(s)", "s/2", "s\xc3\xa9"}) {
        CHECK(memstow::shapes::Formulas({"s", "t"}, {{0, 1, 1}, {0, 1, 1}}).read(text).has_value());
        CHECK(!memstow::judge::Formulas({"s", "t"}, {{0, 1, 1}, {0, 1, 1}}).read(text));
    }
    // A number beyond 2^62 is a formula without a value to one, and no formula to the other.
    memstow::shapes::Formulas ours({}, {});
    CHECK(!ours.read("9223372036854775808").has_value());
    CHECK(std::holds_alternative<memstow::shapes::NoValue>(memstow::shapes::value_of(ours.nodes(0), {})));
    CHECK(!memstow::judge::Formulas({}, {}).read("9223372036854775808"));
    for (const int depth : {64, 65, 3000}) {
        const std::string deep = std::string(static_cast<std::size_t>(depth), '(') + "s" +
                                 std::string(static_cast<std::size_t>(depth), ')');
        CHECK(memstow::shapes::Formulas({"s"}, {{0, 1, 1}}).read(deep).has_value() == (depth != 64));
        CHECK(memstow::judge::Formulas({"s"}, {{0, 1, 1}}).read(deep) == (depth == 64));
    }
}
