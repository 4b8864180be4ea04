#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "check.hpp"
#include "replay.hpp"

using namespace memstow::judge;

namespace {

using Numbers = std::vector<std::int64_t>;
using Pairs = std::vector<std::pair<std::int64_t, std::int64_t>>;

struct Sample {
    std::string kinds;
    std::vector<Numbers> inputs, outputs, pairs;
    Numbers given, kept;

    static Uses uses(const std::vector<Numbers>& lists) {
        Uses uses{{0}, {}};
        for (const Numbers& list : lists) {
            uses.tensors.insert(uses.tensors.end(), list.begin(), list.end());
            uses.begins.push_back(static_cast<std::int64_t>(uses.tensors.size()));
        }
        return uses;
    }

    Program program() const { return {kinds, uses(inputs), uses(outputs), uses(pairs), given, kept}; }
};

Sample random_sample(std::mt19937& random) {
    const auto below = [&](std::int64_t most) { return static_cast<std::int64_t>(random() % most); };
    Sample sample;
    const std::int64_t tensors = 2 + below(5);
    const auto some = [&] {
        Numbers numbers(static_cast<std::size_t>(below(3)));
        for (std::int64_t& number : numbers) number = below(tensors);
        return numbers;
    };
    for (std::int64_t i = 0; i < tensors; ++i) sample.kinds.push_back("ddddscde"[below(8)]);
    for (std::int64_t i = below(5); i > 0; --i) {
        sample.inputs.push_back(some());
        sample.outputs.push_back(some());
        Numbers& pairs = sample.pairs.emplace_back();
        for (const std::int64_t input : sample.inputs.back()) {
            for (const std::int64_t output : sample.outputs.back()) {
                if (below(2) == 0) pairs.insert(pairs.end(), {input, output});
            }
        }
    }
    sample.given = some();
    sample.kept = some();
    return sample;
}

bool has(const Numbers& numbers, std::int64_t number) {
    return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

// The same by the words of the definition, one tensor at a time.
std::optional<Run> run_by_definition(const Sample& sample, const Numbers& order) {
    const auto count = static_cast<std::int64_t>(order.size());
    Run run;
    Numbers read(sample.kinds.size(), -1);
    for (std::size_t tensor = 0; tensor < sample.kinds.size(); ++tensor) {
        const auto number = static_cast<std::int64_t>(tensor);
        std::int64_t first = 0, last_made = 0, needed = 0;
        for (std::int64_t place = 1; place <= count; ++place) {
            const auto entry = static_cast<std::size_t>(order[static_cast<std::size_t>(place - 1)]);
            if (has(sample.outputs[entry], number)) {
                if (first == 0) first = place;
                last_made = needed = place;
            }
            if (has(sample.inputs[entry], number)) needed = read[tensor] = place;
        }
        for (std::int64_t place = 1; place <= count; ++place) {
            const auto entry = static_cast<std::size_t>(order[static_cast<std::size_t>(place - 1)]);
            const bool reads = has(sample.inputs[entry], number) && sample.kinds[tensor] != 's';
            if (reads && last_made >= place) return std::nullopt;
        }
        run.born.push_back(has(sample.given, number) ? 0 : first);
        run.needed.push_back(has(sample.kept, number) ? count + 1 : needed);
    }
    for (std::int64_t place = 1; place <= count; ++place) {
        const Numbers& pairs =
            sample.pairs[static_cast<std::size_t>(order[static_cast<std::size_t>(place - 1)])];
        for (std::size_t j = 0; j < pairs.size(); j += 2) {
            const auto source = static_cast<std::size_t>(pairs[j]);
            const bool dies = read[source] == place && !has(sample.kept, pairs[j]);
            if (sample.kinds[source] == 'd' && dies) run.shared.emplace_back(pairs[j], pairs[j + 1]);
        }
    }
    return run;
}

}  // namespace

TEST(replay_says_what_its_definition_says) {
    std::mt19937 random(7);
    int allowed = 0;
    for (int trial = 0; trial < 3000; ++trial) {
        const Sample sample = random_sample(random);
        Numbers order(sample.inputs.size());
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), random);
        const std::optional<Run> expected = run_by_definition(sample, order);
        const std::optional<Run> run = sample.program().run(order);
        CHECK(run.has_value() == expected.has_value());
        if (!run) continue;
        allowed += order.size() > 1;
        CHECK(run->born == expected->born);
        CHECK(run->needed == expected->needed);
        CHECK(run->shared == expected->shared);
    }
    CHECK(allowed > 300);
}

TEST(replay_runs_each_operator_once) {
    const Program program = Sample{"dd", {{0}, {0}}, {{1}, {}}, {{}, {}}, {0}, {1}}.program();
    CHECK(program.run(Numbers{1, 0}).has_value());
    for (const Numbers& order : std::vector<Numbers>{{0}, {0, 0}, {0, 2}, {0, -1}, {0, 1, 0}}) {
        CHECK(!program.run(order).has_value());
    }
}

TEST(replay_finds_what_no_graph_has) {
    CHECK((Sample{"dd", {{0}, {0}}, {{1}, {1}}, {{}, {}}, {0}, {}}.program().has_two_producers()));
    CHECK((Sample{"d", {{}}, {{0}}, {{}}, {0}, {}}.program().has_two_producers()));
    CHECK((!Sample{"s", {{0}, {0}}, {{0}, {0}}, {{}, {}}, {}, {}}.program().has_two_producers()));
    CHECK((Sample{"ddd", {{0}}, {{1}}, {{0, 2}}, {0}, {}}.program().has_wrong_pair()));
    CHECK((Sample{"ddd", {{0}}, {{1}}, {{2, 1}}, {0}, {}}.program().has_wrong_pair()));
    CHECK((!Sample{"ddd", {{0}}, {{1}}, {{0, 1}}, {0}, {}}.program().has_wrong_pair()));
    bool refused = false;
    try {
        (void)Sample{"d", {{0}}, {{1}}, {{}}, {}, {}}.program();
    } catch (const std::invalid_argument&) {
        refused = true;
    }
    CHECK(refused);
}
