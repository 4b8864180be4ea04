#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include "check.hpp"
#include "places.hpp"

using namespace memstow::judge;

namespace {

using Values = std::vector<std::int64_t>;

constexpr std::int64_t kNoEnd = std::int64_t{1} << 62;

struct Sample {
    Values sizes, begins, ends, alignments, offsets;

    Columns columns() const { return {sizes, begins, ends, alignments}; }
};

Sample random_sample(std::mt19937& random) {
    const auto below = [&](std::int64_t most) { return static_cast<std::int64_t>(random() % most); };
    Sample sample;
    const std::int64_t count = below(6);
    const bool one_alignment = below(2) == 0;
    for (std::int64_t i = 0; i < count; ++i) {
        sample.sizes.push_back(below(5));
        sample.begins.push_back(below(5) - 2);
        sample.ends.push_back(sample.begins.back() + 1 + below(4));
        if (!one_alignment) sample.alignments.push_back(1 + below(3));
        sample.offsets.push_back(below(9));
    }
    if (one_alignment) sample.alignments = {1 + below(4)};
    return sample;
}

std::int64_t alignment_of(const Sample& sample, std::size_t i) {
    return sample.alignments.size() == 1 ? sample.alignments[0] : sample.alignments[i];
}

bool together(const Sample& sample, std::size_t i, std::size_t j) {
    return sample.begins[i] < sample.ends[j] && sample.begins[j] < sample.ends[i];
}

bool apart(const Sample& sample, const Values& offsets, std::size_t i, std::size_t j) {
    return sample.sizes[i] == 0 || sample.sizes[j] == 0 || offsets[i] + sample.sizes[i] <= offsets[j] ||
           offsets[j] + sample.sizes[j] <= offsets[i];
}

// Pair by pair.
bool is_valid(const Sample& sample, const Values& offsets, std::int64_t capacity) {
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        if (offsets[i] + sample.sizes[i] > capacity || offsets[i] % alignment_of(sample, i) != 0)
            return false;
        for (std::size_t j = 0; j < i; ++j) {
            if (together(sample, i, j) && !apart(sample, offsets, i, j)) return false;
        }
    }
    return true;
}

// Tries every offset of every buffer below the height.
bool fits(const Sample& sample, Values& offsets, std::int64_t height) {
    const std::size_t i = offsets.size();
    if (i == sample.sizes.size()) return true;
    for (std::int64_t offset = 0; offset + sample.sizes[i] <= height; offset += alignment_of(sample, i)) {
        offsets.push_back(offset);
        bool good = true;
        for (std::size_t j = 0; j < i && good; ++j) {
            good = !together(sample, i, j) || apart(sample, offsets, i, j);
        }
        if (good && fits(sample, offsets, height)) return true;
        offsets.pop_back();
    }
    return false;
}

}  // namespace

TEST(judge_accepts_exactly_what_is_valid_pair_by_pair) {
    std::mt19937 random(1);
    int accepted = 0;
    for (int round = 0; round < 20'000; ++round) {
        const Sample sample = random_sample(random);
        const std::int64_t capacity = 6 + static_cast<std::int64_t>(random() % 8);
        const Verdict verdict = judge(sample.columns(), sample.offsets, capacity);
        const bool valid = is_valid(sample, sample.offsets, capacity);
        CHECK((verdict.finding.defect == Defect::none) == valid);
        accepted += valid;
    }
    CHECK(accepted > 1000);
    CHECK(accepted < 19'000);
}

TEST(no_layout_is_below_the_least_peak) {
    std::mt19937 random(2);
    for (int round = 0; round < 3'000; ++round) {
        Sample sample = random_sample(random);
        // Stacked, each at a common multiple: always valid.
        std::int64_t top = 0;
        for (std::size_t i = 0; i < sample.sizes.size(); ++i) {
            sample.offsets[i] = top;
            top += (sample.sizes[i] + 11) / 12 * 12;
        }
        const Verdict verdict = judge(sample.columns(), sample.offsets, kNoEnd);
        CHECK(verdict.finding.defect == Defect::none);
        CHECK(verdict.least_peak <= verdict.peak);
        Values offsets;
        const auto least = static_cast<std::int64_t>(verdict.least_peak);
        if (least > 0) CHECK(!fits(sample, offsets, least - 1));
    }
}

TEST(live_bytes_are_the_most_at_one_moment) {
    std::mt19937 random(5);
    for (int round = 0; round < 3'000; ++round) {
        const Sample sample = random_sample(random);
        const Verdict verdict = judge(sample.columns(), sample.offsets, kNoEnd);
        std::int64_t most = 0;
        std::int64_t first = 0;
        for (std::int64_t moment = -3; moment < 12; ++moment) {
            std::int64_t live = 0;
            for (std::size_t i = 0; i < sample.sizes.size(); ++i) {
                if (sample.begins[i] <= moment && moment < sample.ends[i]) live += sample.sizes[i];
            }
            if (live > most) first = moment;
            most = std::max(most, live);
        }
        CHECK(verdict.live == most);
        if (most > 0) CHECK(verdict.moment == first);
    }
}

TEST(members_that_live_at_one_moment_prove_a_bound) {
    std::mt19937 random(6);
    int proofs = 0;
    for (int round = 0; round < 6'000; ++round) {
        const Sample sample = random_sample(random);
        const auto moment = static_cast<std::int64_t>(random() % 6) - 1;
        Values members;
        bool sound = true;
        for (std::size_t i = 0; i < sample.sizes.size(); ++i) {
            if (random() % 2 == 0) continue;
            members.push_back(static_cast<std::int64_t>(i));
            sound = sound && sample.sizes[i] > 0 && sample.begins[i] <= moment && moment < sample.ends[i];
        }
        const auto result = proven(sample.columns(), members, moment);
        CHECK(result.has_value() == (sound && !members.empty()));
        if (!result) continue;
        ++proofs;
        Values offsets;
        CHECK(!fits(sample, offsets, *result - 1));
        members.push_back(members[0]);
        CHECK(!proven(sample.columns(), members, moment));
    }
    CHECK(proofs > 300);
    const Sample one{{4}, {0}, {1}, {1}, {0}};
    CHECK(!proven(one.columns(), Values{1}, 0));
    CHECK(!proven(one.columns(), Values{-1}, 0));
}

TEST(judge_refuses_columns_that_are_no_problem) {
    const auto defect = [](const Sample& sample) {
        return judge(sample.columns(), sample.offsets, kNoEnd).finding.defect;
    };
    const Sample good{{4}, {0}, {1}, {1}, {0}};
    CHECK(defect(good) == Defect::none);
    CHECK(defect({{4}, {0, 1}, {1}, {1}, {0}}) == Defect::length);
    CHECK(defect({{4}, {0}, {1}, {1}, {0, 0}}) == Defect::length);
    CHECK(defect({{4}, {0}, {1}, {}, {0}}) == Defect::length);
    CHECK(defect({{-1}, {0}, {1}, {1}, {0}}) == Defect::size);
    CHECK(defect({{kNoEnd + 1}, {0}, {1}, {1}, {0}}) == Defect::size);
    CHECK(defect({{4}, {1}, {1}, {1}, {0}}) == Defect::lifetime);
    CHECK(defect({{4}, {0}, {1}, {0}, {0}}) == Defect::alignment);
    CHECK(defect({{4}, {0}, {1}, {1}, {-1}}) == Defect::place);
    CHECK(defect({{4}, {0}, {1}, {1}, {kNoEnd - 3}}) == Defect::place);
    CHECK(defect({{4}, {0}, {1}, {2}, {1}}) == Defect::unaligned);
}

TEST(judge_counts_beyond_64_bits) {
    Sample sample;
    for (int i = 0; i < 4; ++i) {
        sample.sizes.push_back(kNoEnd);
        sample.begins.push_back(std::numeric_limits<std::int64_t>::min() + i);
        sample.ends.push_back(std::numeric_limits<std::int64_t>::max());
        sample.offsets.push_back(0);
    }
    sample.alignments = {kNoEnd};
    const Verdict verdict = judge(sample.columns(), sample.offsets, kNoEnd);
    CHECK(verdict.finding.defect == Defect::overlap);
}
