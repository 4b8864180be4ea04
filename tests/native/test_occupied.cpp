#include <map>

#include "check.hpp"
#include "core/occupied.hpp"
#include "sample.hpp"

using namespace memstow;

namespace {

// Counts byte by byte and moment by moment.
Occupied counted(const Instance& instance, const Layout& layout, Index pool) {
    std::map<std::int64_t, std::set<Bytes>> bytes_at;
    for (Index i = 0; i < count_of(instance.parts); ++i) {
        const Part& part = instance.parts[i];
        if (layout[part.item].pool != pool) continue;
        for (const Lifetime& life : instance.lives[i]) {
            for (std::int64_t time = life.begin; time < life.end; ++time) {
                for (Bytes k = 0; k < part.size; ++k) {
                    bytes_at[time].insert(layout[part.item].offset + part.delta + k);
                }
            }
        }
    }
    Occupied most;
    for (const auto& [time, bytes] : bytes_at) {
        const auto now = static_cast<Bytes>(bytes.size());
        if (now > most.bytes) most = {now, time};
    }
    return most;
}

}  // namespace

TEST(the_first_of_several_moments_with_most_bytes_is_named) {
    const Instance instance = sample::build({{10, {{2, 4}}, {}}, {4, {{0, 1}}, {}}, {10, {{6, 9}}, {}}});
    const std::vector<Occupied> most = most_occupied(instance, {{0, 0}, {0, 0}, {0, 0}});
    CHECK(most.size() == 1);
    CHECK(most[0].bytes == 10);
    CHECK(most[0].time == 2);
}

TEST(bytes_that_parts_share_count_once) {
    // A rigid group of two parts of which five bytes are common, and an item beside it.
    const Instance instance = sample::build({{10, {{0, 3}}, {}, {{0, 5, 10}}, {{{1, 2}}}}, {3, {{1, 4}}, {}}},
                                            {{kLimit, {}}, {kLimit, {}}});
    const std::vector<Occupied> most = most_occupied(instance, {{0, 0}, {0, 20}});
    CHECK(most[0].bytes == 18);
    CHECK(most[0].time == 1);
    CHECK(most[1].bytes == 0);
    CHECK(!most[1].time.has_value());
}

TEST(what_is_occupied_is_what_counting_finds) {
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
        Random random(seed);
        const Instance instance = sample::random(random);
        Layout layout;
        for (Index item = 0; item < instance.item_count(); ++item) {
            const auto pool = static_cast<Index>(random.below(instance.pools.size()));
            layout.push_back({pool, static_cast<Bytes>(random.below(40))});
        }
        // Without shared bytes sizes are added up, which is right only where nothing overlaps.
        if (instance.exempt.empty() && instance.item_count() == count_of(instance.parts)) continue;
        const std::vector<Occupied> most = most_occupied(instance, layout);
        for (Index pool = 0; pool < count_of(instance.pools); ++pool) {
            const Occupied expected = counted(instance, layout, pool);
            CHECK(most[pool].bytes == expected.bytes);
            CHECK(most[pool].time == expected.time);
        }
    }
}
