#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "check.hpp"
#include "picture.hpp"
#include "plan.hpp"
#include "problem.hpp"
#include "text.hpp"

using namespace memstow::plain;

namespace {

const std::string kCsv = "id,lower,upper,size,alignment\nb,0,5,4,1\na\xc3\xa4,3,9,0,8\nc,-2,4,7,\n";
const std::string kJson =
    R"({"version": 1, "pools": [{"id": "s", "capacity": 99}], "buffers": [)"
    R"({"id": "b", "size": 4, "lifetime": [0, 5]}, {"lifetime": [3, 9], "size": 6, "id": "\u00e4\ud83d\ude42"},)"
    R"({"id": "c", "size": 7, "lifetime": [-2, 4], "alignment": 8, "group": "g"}]})";
const std::string kBanked =
    R"({"version": 1, "pools": [{"id": "s", "banks": [{"size": 8, "count": 2, "offset": 16}, {"size": 4}]}],)"
    R"( "buffers": [{"id": "b", "size": 4, "lifetime": [0, 5], "within_bank": true, "banks": [2, 0]},)"
    R"( {"id": "c", "size": 0, "lifetime": [0, 1], "banks": null}, {"id": "a", "size": 7, "lifetime": [1, 2]}],)"
    R"( "bank_conflicts": [{"buffers": ["b", "a"]}, {"cost": 3, "buffers": ["a", "b", "c"]}],)"
    R"( "objective": ["bank_cost", "peak"]})";
const std::string kPooled =
    R"({"version": 1, "conflicts": [["c", "b"]], "buffers": [)"
    R"({"id": "b", "size": 4, "lifetime": [0, 5], "pools": ["q", "p"]}, {"id": "c", "size": 6, "lifetime": [1, 2]},)"
    R"( {"id": "a", "size": 7, "lifetime": [0, 3], "accesses": 9, "pools": ["q", "p"]},)"
    R"( {"id": "d", "size": 0, "lifetime": [0, 1], "accesses": 5, "pools": ["p"]}],)"
    R"( "pools": [{"id": "p", "capacity": 8, "cost": 2}, {"id": "q", "reserved": [{"offset": 1, "size": 2}]}]})";
const std::string kSymbolic =
    R"({"symbols": [{"id": "s", "min": 1, "max": 4}], "aim": "sum", "version": 1, "objective": ["peak"],)"
    R"( "buffers": [{"id": "b", "size": 3, "lifetime": [0, 1], "pool": "memory", "offset": 0},)"
    R"( {"id": "a", "size": "2 * s", "lifetime": [0, 2]}, {"id": "c", "size": "s", "lifetime": [1, 2]},)"
    R"( {"id": "d", "size": "2 * s", "lifetime": [2, 3], "group": "g"}], "points": [{"at": {"s": 2}}],)"
    R"( "conflicts": [["a", "d"]]})";
const std::string kRequest = R"({"problem": )" + kJson + R"(, "options": {"seed": [1, "}"]}})";
const std::string kPlan =
    R"({"status": "feasible", "placements": [{"buffer": "c", "pool": "s", "offset": 8},)"
    R"( {"pool": "s", "offset": 0, "buffer": "b"}, {"buffer": "\u00e4\ud83d\ude42", "offset": 16, "pool": "s"}],)"
    R"( "objective": [{"term": "peak", "certificate": {"kind": "live_bytes", "buffers": ["b", "c"]}}]})";
const std::string kCsvPlan = "offset,id,size\r\n8,c,\r\n 00,b,4\r\n+64,a\xc3\xa4,0,,\r\n";

std::string mutated(std::string text, std::mt19937& random) {
    const auto below = [&](std::size_t most) { return static_cast<std::size_t>(random() % most); };
    using namespace std::literals;
    constexpr std::string_view kPieces = "\0\"\\,\n\r[]{}:-+0129eEu.\xff\xc3\xed\xa0\xf4"sv;
    for (std::size_t edits = 1 + below(4); edits > 0; --edits) {
        const std::size_t at = below(text.size() + 1);
        switch (below(4)) {
            case 0:
                text.insert(at, 1, kPieces[below(kPieces.size())]);
                break;
            case 1:
                text.erase(at, 1 + below(5));
                break;
            case 2:
                text = text.substr(0, at) + text.substr(below(text.size() + 1));
                break;
            default:
                text.insert(at, text.substr(below(text.size() + 1), below(40)));
        }
        if (text.empty()) text = " ";
    }
    return text;
}

// Uses all that can be made of a problem: the sanitizers look.
void use(Problem problem) {
    const std::size_t count = problem.sizes.size();
    CHECK(problem.begins.size() == count && problem.ends.size() == count && problem.names.size() == count);
    CHECK(problem.alignments.size() == 1 || problem.alignments.size() == count);
    std::vector<std::int64_t> offsets(count);
    for (std::size_t i = 0; i < count; ++i) {
        CHECK(0 <= problem.sizes[i] && problem.sizes[i] <= kLimit && problem.begins[i] < problem.ends[i]);
        CHECK(is_utf8(problem.names[i]));
        CHECK(find(problem.names, problem.order, problem.names[i]) == static_cast<Number>(i));
        offsets[i] = problem.sizes[i] > kLimit / 2 ? 0 : static_cast<std::int64_t>(i);
    }
    const Pools& pools = problem.pools;
    CHECK(pools.list_of.empty() || pools.list_of.size() == count);
    CHECK(pools.accesses.empty() || pools.accesses.size() == count);
    CHECK(pools.any() || (pools.list_of.empty() && pools.accesses.empty()));
    CHECK(accesses_of_lists(problem).size() == pools.lists.size() + 1);
    problem.pools.allowed.assign(pools.lists.size(), "*");
    CHECK(!canonical(problem, 0, count).empty());
    CHECK(!placements_as_json(problem, offsets.data(), 0, offsets.size()).empty());
    CHECK(plan_as_csv(problem, offsets.data()).has_value() || count > 0);
    const Picture made = picture(problem, offsets.data(), 7, 3);
    CHECK(std::is_sorted(made.times.begin(), made.times.end()));
    CHECK(made.levels.size() % 7 == 0);
}

}  // namespace

TEST(plain_problems_are_read) {
    const auto csv = read_csv(kCsv);
    CHECK(csv.has_value());
    CHECK(csv->sizes == std::vector<std::int64_t>({4, 0, 7}));
    CHECK(csv->alignments == std::vector<std::int64_t>({1, 8, 1}));
    CHECK(csv->names[1] == "a\xc3\xa4");
    const auto json = read_json(kJson);
    CHECK(json.has_value());
    CHECK(json->pool == "s" && json->bounded && json->capacity == 99);
    CHECK(json->names[1] == "\xc3\xa4\xf0\x9f\x99\x82");
    use(*csv);
    use(*json);
    const auto request = read_request(kRequest);
    CHECK(request.has_value());
    CHECK(request->options == R"({"seed": [1, "}"]})");
    use(request->problem);
}

TEST(pools_are_read_and_written) {
    CHECK(!read_json(kPooled).has_value());
    std::optional<Problem> read = read_related_json(kPooled);
    CHECK(read.has_value());
    use(*read);
    Pools& pools = read->pools;
    CHECK(pools.text.find("reserved") != std::string::npos);
    CHECK(pools.lists == std::vector<std::vector<std::string>>({{"q", "p"}, {"p"}}));
    CHECK(pools.list_of == std::vector<std::int64_t>({0, Pools::kAny, 0, 1}));
    CHECK(pools.accesses == std::vector<std::int64_t>({Pools::kAsBytes, Pools::kAsBytes, 9, 5}));
    CHECK(accesses_of_lists(*read) == std::vector<std::int64_t>({6, 13, 0}));
    pools.names = {"p", "q"};
    pools.allowed = {"2 1:q 1:p", "1 1:p"};
    CHECK(canonical(*read, 0, 9) ==
          "buffer 1:a 7 1 9 - 1 0 3 2 1:q 1:p\nbuffer 1:b 4 1 4 - 1 0 5 2 1:q 1:p\n"
          "buffer 1:c 6 1 6 - 1 1 2 *\nbuffer 1:d 0 1 0 - 1 0 1 1 1:p\n");
    const std::int64_t offsets[] = {0, 1, 2, 3}, homes[] = {1, 0, 1, 0};
    CHECK(placements_as_json(*read, offsets, 0, 2, homes) ==
          "{\"buffer\": \"b\", \"pool\": \"q\", \"offset\": 0},\n"
          "    {\"buffer\": \"c\", \"pool\": \"p\", \"offset\": 1}");
}

TEST(symbols_are_read_and_written) {
    CHECK(!read_related_json(kSymbolic).has_value());
    CHECK(!read_symbolic_json(kPooled).has_value());
    std::optional<Problem> read = read_symbolic_json(kSymbolic);
    CHECK(read.has_value());
    use(*read);
    const Formulas& formulas = read->formulas;
    CHECK(formulas.symbols ==
          R"({"symbols": [{"id": "s", "min": 1, "max": 4}], "aim": "sum", "points": [{"at": {"s": 2}}]})");
    CHECK(formulas.texts == std::vector<std::string>({"2 * s", "s"}));
    CHECK(formulas.of_buffer == std::vector<std::int64_t>({Formulas::kNumber, 0, 1, 0}));
    CHECK(read->sizes == std::vector<std::int64_t>({3, 0, 0, 0}));
    put_sizes(*read, std::vector<std::int64_t>({8, 5}));
    CHECK(read->sizes == std::vector<std::int64_t>({3, 8, 5, 8}));
    CHECK(canonical_sizes(*read, 0, 9) == "size 1:a 3:2*s\nsize 1:c 1:s\nsize 1:d 3:2*s\n");
    CHECK(canonical(*read, 0, 2) == "buffer 1:a 0 1 0 - 1 0 2 *\nbuffer 1:b 3 1 3 0 1 0 1 *\n");
    const std::int64_t offsets[] = {0, 1, 20, 2};
    CHECK(peaks(*read, offsets, nullptr) == std::vector<std::int64_t>({25}));
    for (const std::string_view other : {"\"accesses\": 1", "\"banks\": null", "\"within_bank\": null"}) {
        std::string text(kSymbolic);
        text.insert(text.find("\"size\""), std::string(other) + ", ");
        CHECK(!read_symbolic_json(text).has_value());
    }
}

TEST(banks_are_read_and_written) {
    const auto read = read_banked_json(kBanked);
    CHECK(read.has_value());
    CHECK(!read_json(kBanked).has_value());
    const Banks& banks = read->banks;
    CHECK(banks.runs.size() == 2 && banks.runs[0].offset == 16 && banks.runs[1].count == 1);
    CHECK(banks.rules.size() == 1 && banks.rules[0].within && banks.rules[0].some->size() == 2);
    CHECK(banks.conflicts.size() == 2 && !banks.conflicts[0].cost && banks.conflicts[1].cost == 3);
    CHECK(banks.conflicts[1].buffers == std::vector<Number>({2, 0, 1}));
    CHECK(banks.objective == std::vector<Banks::Term>({Banks::Term::bank_cost, Banks::Term::peak}));
    CHECK(canonical(read->problem, banks) ==
          "banks 1:s 3 0 4 16 24 24 32\nin_bank 1:b 1 2 0 2\nbank_conflict 1:a 1:b -\n");
    const auto plain = read_banked_json(kJson);
    CHECK(plain.has_value() && canonical(plain->problem, plain->banks).empty());
}

TEST(plans_are_read_by_name) {
    const auto problem = read_json(kJson);
    const auto plan = read_plan(*problem, kPlan);
    CHECK(plan.has_value());
    CHECK(plan->offsets == std::vector<std::int64_t>({0, 16, 8}));
    CHECK(plan->members == std::vector<std::int64_t>({0, 2}));
    CHECK(plan->frame.find(R"("placements": [])") != std::string::npos);
    CHECK(plan->frame.find(R"("buffers": []}}]})") != std::string::npos);
    const auto csv = read_plan_csv(*read_csv(kCsv), kCsvPlan);
    CHECK(csv.has_value());
    CHECK(csv->offsets == std::vector<std::int64_t>({0, 64, 8}));
}

TEST(broken_texts_are_survived) {
    std::mt19937 random(3);
    const auto problem = read_json(kJson);
    const auto csv_problem = read_csv(kCsv);
    int problems = 0;
    int plans = 0;
    for (int round = 0; round < check::rounds(60'000); ++round) {
        const auto csv = read_csv(mutated(kCsv, random));
        const auto json = read_json(mutated(kJson, random));
        const auto request = read_request(mutated(kRequest, random));
        const auto banked = read_banked_json(mutated(kBanked, random));
        const auto pooled = read_related_json(mutated(kPooled, random));
        std::optional<Problem> symbolic = read_symbolic_json(mutated(kSymbolic, random));
        const auto plan = read_plan(*problem, mutated(kPlan, random));
        const auto csv_plan = read_plan_csv(*csv_problem, mutated(kCsvPlan, random));
        if (csv) use(*csv);
        if (csv_plan) CHECK(csv_plan->offsets.size() == csv_problem->sizes.size());
        if (json) use(*json);
        if (request) use(request->problem);
        if (pooled) use(*pooled);
        if (symbolic) {
            put_sizes(*symbolic, std::vector<std::int64_t>(symbolic->formulas.texts.size(), 7));
            canonical_sizes(*symbolic, 0, symbolic->sizes.size());
            use(*symbolic);
        }
        if (banked) {
            use(banked->problem);
            std::int64_t count = 0;
            for (const Banks::Run& run : banked->banks.runs) count += std::min<std::int64_t>(run.count, 9999);
            if (count < 9999) canonical(banked->problem, banked->banks);
        }
        if (plan) CHECK(plan->offsets.size() == problem->sizes.size());
        problems += csv.has_value() + json.has_value();
        plans += plan.has_value() + csv_plan.has_value();
    }
    CHECK(problems > check::rounds(1000));
    CHECK(plans > check::rounds(200));
}

TEST(names_are_found_and_repeated_ones_are_told) {
    std::mt19937 random(4);
    for (int round = 0; round < 2000; ++round) {
        Names names;
        std::vector<std::string> all;
        for (int i = static_cast<int>(random() % 9); i >= 0; --i) {
            std::string name(1 + random() % 12, 'a');
            for (char& c : name) c = "ab\0\xc3"[random() % 3];
            all.push_back(name);
            CHECK(names.add(name));
        }
        const auto order = sorted(names);
        std::sort(all.begin(), all.end());
        const bool repeated = std::adjacent_find(all.begin(), all.end()) != all.end();
        CHECK(order.has_value() != repeated);
        if (!order) continue;
        for (std::size_t i = 0; i < all.size(); ++i) CHECK(names[(*order)[i]] == all[i]);
        CHECK(!find(names, *order, "abc").has_value());
    }
}

TEST(utf8_is_told_from_other_bytes) {
    for (const char* good : {"", "a", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x99\x82", "\xf4\x8f\xbf\xbf"}) {
        CHECK(is_utf8(good));
    }
    for (const char* bad :
         {"\x80", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff"}) {
        CHECK(!is_utf8(bad));
    }
}
