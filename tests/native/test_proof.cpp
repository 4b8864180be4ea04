// The search of proofs against brute force: it refutes a height exactly where no layout is that low.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>

#include "check.hpp"
#include "proof/cost_proof.hpp"
#include "proof/proof_search.hpp"

using namespace memstow;

namespace {

struct TinyQuestion {
    std::vector<proof::Item> items;
    std::vector<Range> reserved;
    std::vector<std::vector<Index>> moments;
    std::vector<std::vector<Range>> barred;
    std::vector<std::pair<Index, Index>> exempt, listed;
    std::vector<proof::Question::Group> groups;

    proof::Question question() const {
        return {items, reserved, barred, moments, exempt, listed, {}, false, groups};
    }
};

TinyQuestion tiny_question(std::mt19937_64& random) {
    const auto below = [&](std::uint64_t limit) { return static_cast<Bytes>(random() % limit); };
    TinyQuestion tiny;
    const Index count = static_cast<Index>(2 + below(4));
    for (Index i = 0; i < count; ++i) {
        const Bytes modulus = below(2) == 0 ? 1 : 1 + below(4);
        tiny.items.push_back({static_cast<std::uint64_t>(i * 3), 1 + below(4), modulus,
                              below(2) == 0 ? 0 : below(modulus), below(8) == 0 ? below(6) : kUnplaced,
                              static_cast<Index>(below(2))});
    }
    if (below(3) == 0) tiny.reserved.push_back({1 + below(3), 4 + below(3)});
    // The second one is that of items which may not be everywhere.
    tiny.barred = {tiny.reserved, tiny.reserved};
    if (tiny.reserved.empty()) tiny.barred[1].push_back({below(4), 4 + below(3)});
    for (Bytes k = 0; k < 4; ++k) {
        std::vector<Index> moment;
        for (Index i = 0; i < count; ++i) {
            if (below(5) < 3) moment.push_back(i);
        }
        tiny.moments.push_back(moment);
    }
    if (below(3) == 0) tiny.exempt.emplace_back(0, 1);
    if (below(3) == 0) tiny.listed.emplace_back(0, count - 1);
    if (below(3) == 0) tiny.groups.push_back({{0, 0}, {count - 1, below(7) - 3}});
    return tiny;
}

// Whether the next item may be there, beside those before it.
bool fits(const proof::Question& question, const std::vector<Bytes>& offsets, Bytes at) {
    const Index i = count_of(offsets);
    bool good = question.at_least(proof::kBottom, i, at) == at;
    for (Index j = 0; j < i; ++j) {
        const bool apart =
            offsets[j] + question.items[j].size <= at || at + question.items[i].size <= offsets[j];
        good = good && (apart || !question.conflict(i, j));
    }
    for (const auto& tie : question.ties[i])
        good = good && (tie.to > i || offsets[tie.to] == at + tie.distance);
    return good;
}

bool has_layout(const proof::Question& question, Bytes height, std::vector<Bytes>& offsets) {
    const Index i = count_of(offsets);
    if (i == question.count()) return true;
    for (Bytes at = 0; at + question.items[i].size <= height; ++at) {
        if (!fits(question, offsets, at)) continue;
        offsets.push_back(at);
        if (has_layout(question, height, offsets)) return true;
        offsets.pop_back();
    }
    return false;
}

// The least cost of a layout; nothing if there is none.
std::optional<Bytes> least_cost(const proof::Question& question, const std::vector<proof::OpenPair>& pairs,
                                Bytes height, std::vector<Bytes>& offsets) {
    const Index i = count_of(offsets);
    Bytes cost = 0;
    if (i == question.count()) {
        for (const proof::OpenPair& pair : pairs) {
            const Bytes x = offsets[pair.first], y = offsets[pair.second];
            const bool share =
                x < y + question.items[pair.second].size && y < x + question.items[pair.first].size;
            cost += share ? pair.cost : 0;
        }
        return cost;
    }
    std::optional<Bytes> least;
    for (Bytes at = 0; at + question.items[i].size <= height; ++at) {
        if (!fits(question, offsets, at)) continue;
        offsets.push_back(at);
        const auto below = least_cost(question, pairs, height, offsets);
        offsets.pop_back();
        if (below) least = std::min(least.value_or(*below), *below);
    }
    return least;
}

}  // namespace

TEST(proofs_are_there_exactly_where_no_layout_is) {
    const auto path =
        std::filesystem::temp_directory_path() / ("memstow-test-" + std::to_string(std::random_device{}()));
    std::mt19937_64 random(7);
    int refuted = 0;
    for (int k = 0; k < 400; ++k) {
        const TinyQuestion tiny = tiny_question(random);
        const proof::Question question = tiny.question();
        for (Bytes height = 1; height <= 14; ++height) {
            proof::ProofFile file(path.string(), {});
            Budget budget;
            proof::ProofSearch search(question, file, budget);
            const proof::Outcome outcome = search.refute(height, height);
            std::vector<Bytes> offsets;
            const bool there = has_layout(question, height, offsets);
            CHECK(outcome == (there ? proof::Outcome::layout : proof::Outcome::proven));
            refuted += outcome == proof::Outcome::proven ? 1 : 0;
        }
    }
    CHECK(refuted > 100);
    std::filesystem::remove(path);
}

TEST(a_search_goes_on_from_the_lemmas_of_another_whatever_the_file_is) {
    const auto stem =
        std::filesystem::temp_directory_path() / ("memstow-test-" + std::to_string(std::random_device{}()));
    const std::string path = stem.string() + ".1", next = stem.string() + ".2";
    std::mt19937_64 random(11);
    int at_once = 0;
    for (int k = 0; k < 4000; ++k) {
        const proof::Question question = tiny_question(random).question();
        for (Bytes height = 1; height <= 14; ++height) {
            Budget budget;
            proof::ProofFile file(path, {});
            proof::ProofSearch search(question, file, budget);
            if (search.refute(height, height) != proof::Outcome::proven || file.lemmas() == 0) continue;
            file.finish();

            proof::ProofFile again(next, {});
            proof::ProofSearch later(question, again, budget);
            later.go_on_from({path, {}, std::nullopt, false});
            CHECK(later.refute(height, height) == proof::Outcome::proven);
            CHECK(again.lemmas() == file.lemmas());
            CHECK(later.nodes() == 0);
            ++at_once;

            std::fstream bytes(path, std::ios::in | std::ios::out | std::ios::binary);
            for (int change = 0; change < 3; ++change) {
                const auto size = std::filesystem::file_size(path);
                bytes.seekp(static_cast<std::streamoff>(random() % size));
                bytes.put(static_cast<char>(random()));
            }
            bytes.close();
            proof::ProofFile other(next, {});
            proof::ProofSearch misled(question, other, budget);
            misled.go_on_from({path, {}, std::nullopt, false});
            misled.refute(height, height);
        }
    }
    CHECK(at_once > 20);
    std::filesystem::remove(path);
    std::filesystem::remove(next);
}

TEST(positions_from_the_top_mirror_those_from_the_bottom) {
    std::mt19937_64 random(8);
    for (int k = 0; k < 200; ++k) {
        const proof::Question question = tiny_question(random).question();
        for (Index i = 0; i < question.count(); ++i) {
            const Bytes size = question.items[i].size;
            for (Bytes x = 0; x < 12; ++x) {
                const auto low = question.at_most(proof::kBottom, i, x);
                const auto mirrored = question.at_least(proof::kTop, i, -x - size);
                CHECK(low.has_value() == mirrored.has_value());
                if (low) CHECK(*mirrored == -*low - size);
            }
        }
    }
}

TEST(costs_are_raised_to_the_least_that_a_layout_pays_and_written_in_full) {
    const auto path =
        std::filesystem::temp_directory_path() / ("memstow-test-" + std::to_string(std::random_device{}()));
    std::mt19937_64 random(9);
    int paid = 0, without_layout = 0;
    for (int k = 0; k < 150; ++k) {
        const proof::Question question = tiny_question(random).question();
        std::vector<proof::OpenPair> pairs;
        for (Index i = 0; i < question.count(); ++i) {
            for (Index j = i + 1; j < question.count(); ++j) {
                const auto& ties = question.ties[i];
                const bool tied =
                    std::any_of(ties.begin(), ties.end(), [&](const auto& tie) { return tie.to == j; });
                if (!tied && random() % 4 != 0)
                    pairs.push_back({i, j, 1 + static_cast<Bytes>(random() % 5), pairs.size()});
            }
        }
        proof::CostProof costs(pairs, 2, false);
        proof::ProofFile file(path.string(), {});
        // The lowest heights that have a layout: what was shown of one is no bound for the next.
        for (Bytes height = 1, tried = 0; height <= 14 && tried < 3; ++height) {
            std::vector<Bytes> offsets;
            const auto least = least_cost(question, pairs, height, offsets);
            Budget budget;
            if (!least) {
                // Any cost is shown there.
                CHECK(pairs.empty() || costs.raise(question, height, height, 99, budget) == 99);
                CHECK(pairs.empty() || costs.write(height, 99, file) == 99);
                ++without_layout;
                continue;
            }
            ++tried;
            CHECK(costs.raise(question, height, height, *least + 99, budget) == *least + 2);
            CHECK(costs.write(height, *least + 2, file) == *least + 2);
            paid += *least > 0 ? 1 : 0;
        }
    }
    CHECK(paid > 20);
    CHECK(without_layout > 20);
    std::filesystem::remove(path);
}
