#include <array>
#include <set>
#include <string>
#include <utility>

#include "check.hpp"
#include "replay_steps.hpp"
#include "stream_arenas.hpp"

using namespace memstow::replay;
using namespace replay_steps;

namespace {

std::array<int, 6> places_of_streams{};

Stream stream(std::size_t number) { return &places_of_streams[number]; }

// What one stream of a step allocates and frees, with the stream that does it now.
struct OfStream {
    Stream stream;
    std::vector<Event> events;
};

struct StreamEvent {
    std::size_t part;
    Event event;
};

// The events of all parts, each part in its order.
std::vector<StreamEvent> merged(std::mt19937& random, const std::vector<OfStream>& parts) {
    std::vector<StreamEvent> all;
    std::vector<std::size_t> next(parts.size(), 0);
    std::size_t left = 0;
    for (const OfStream& part : parts) left += part.events.size();
    while (left > 0) {
        const std::size_t part = below(random, parts.size());
        // A run of one stream, as host code has them.
        for (std::size_t run = 1 + below(random, 8); run > 0 && next[part] < parts[part].events.size();
             --run) {
            all.push_back({part, parts[part].events[next[part]++]});
            --left;
        }
    }
    return all;
}

std::string text_of(const std::vector<Step>& steps, Bytes unit) {
    std::string text;
    for (const Step& step : steps) text += table_of(step, unit);
    return text;
}

std::vector<Step> random_steps(std::mt19937& random, std::size_t count, std::size_t most, Bytes unit) {
    std::vector<Step> steps;
    for (std::size_t i = 0; i < count; ++i)
        steps.push_back(random_step(random, 20 + below(random, most), unit));
    return steps;
}

bool begin_alike(const std::vector<Step>& steps) {
    std::set<Bytes> sizes;
    for (const Step& step : steps) sizes.insert(step.events.front().size);
    return sizes.size() < steps.size();
}

// Runs steps on arenas, and knows of each unit who may use it: nothing gets bytes that are live, or that
// another stream may still use since the last wait.
class Referee {
  public:
    Referee(const std::vector<Step>& steps, Bytes unit)
        : unit_(unit), plan_(read_step_tables(text_of(steps, unit)), [this] { wait(); }) {
        for (const Step& step : steps) units_.emplace_back(step.arena / unit);
    }
    Referee(const Referee&) = delete;
    Referee& operator=(const Referee&) = delete;

    void begin(Stream on) {
        plan_.begin_step(on);
        others_.clear();
    }

    // Whether it has a place in an arena.
    bool allocate(std::size_t name, Bytes size, Stream on) {
        const auto arena = plan_.arena_of(on, size);
        const auto offset = arena ? plan_.allocate(*arena, size) : std::optional<Bytes>();
        if (!offset) {
            if (arena) others_[name] = {*arena, size};
            return false;
        }
        CHECK(*offset % unit_ == 0);
        const Bytes begin = *offset / unit_;
        const Bytes end = begin + (size + unit_ - 1) / unit_;
        CHECK(end <= units_[*arena].size());
        for (Bytes i = begin; i < end; ++i) {
            Unit& unit = units_[*arena][i];
            CHECK(!unit.is_live && !unit.has_several && (!unit.has_user || unit.user == on));
            unit = {.user = on, .has_user = true, .has_several = false, .is_live = true};
        }
        places_[name] = {*arena, begin, end, on};
        return true;
    }

    void use(std::size_t name, Stream on) {
        const auto place = places_.find(name);
        if (place == places_.end()) return;
        CHECK(plan_.plan(place->second.arena).share(place->second.begin * unit_, on));
        note(place->second, on);
    }

    void free(std::size_t name, Stream on) {
        if (const auto other = others_.extract(name)) {
            plan_.plan(other.mapped().arena).free_elsewhere(other.mapped().size);
            return;
        }
        const auto place = places_.extract(name);
        if (!place) return;
        const Range range = place.mapped();
        note(range, on);
        for (Bytes i = range.begin; i < range.end; ++i) units_[range.arena][i].is_live = false;
        CHECK(plan_.plan(range.arena).free(range.begin * unit_, on));
        CHECK(!plan_.plan(range.arena).free(range.begin * unit_, on));
    }

    void free_all() {
        while (!places_.empty()) free(places_.begin()->first, places_.begin()->second.stream);
    }

    // The stream on which it was made; nothing where it has no place.
    Stream stream_of(std::size_t name) const {
        const auto place = places_.find(name);
        return place == places_.end() ? nullptr : place->second.stream;
    }

    StreamArenas& plan() { return plan_; }
    int waits() const { return waits_; }

  private:
    struct Unit {
        Stream user = nullptr;
        bool has_user = false;
        bool has_several = false;
        bool is_live = false;
    };
    struct Range {
        std::size_t arena;
        Bytes begin;
        Bytes end;
        Stream stream;
    };
    struct Other {
        std::size_t arena;
        Bytes size;
    };

    void note(const Range& range, Stream on) {
        for (Bytes i = range.begin; i < range.end; ++i) {
            Unit& unit = units_[range.arena][i];
            unit.has_several |= unit.user != on;
        }
    }

    void wait() {
        ++waits_;
        // What is live may be used after the wait as well.
        for (std::vector<Unit>& units : units_) {
            for (Unit& unit : units) {
                if (!unit.is_live) unit = {};
            }
        }
    }

    Bytes unit_;
    int waits_ = 0;
    std::vector<std::vector<Unit>> units_;
    std::map<std::size_t, Range> places_;
    std::map<std::size_t, Other> others_;
    StreamArenas plan_;
};

// Names of what different parts allocate in different steps differ.
std::size_t name_of(std::size_t step, const StreamEvent& each) {
    return (step * 8 + each.part) * 1'000'000 + each.event.number;
}

// How many allocations have a place.
std::size_t run(std::mt19937& random, Referee& referee, const std::vector<OfStream>& parts,
                std::size_t step) {
    referee.begin(parts.front().stream);
    std::size_t count = 0;
    for (const StreamEvent& each : merged(random, parts)) {
        const Stream on = parts[each.part].stream;
        if (each.event.is_free) {
            referee.free(name_of(step, each), on);
        } else {
            count += referee.allocate(name_of(step, each), each.event.size, on);
        }
    }
    return count;
}

// Two small tables which begin alike: the second and third of a step.
const std::string kSimilar =
    "memstow-replay 1 1 8 2\n+ 8 0\n- 0\n"
    "memstow-replay 1 1 8 6\n+ 8 0\n- 0\n+ 2 0\n- 1\n+ 2 0\n- 2\n"
    "memstow-replay 1 1 8 6\n+ 8 0\n- 0\n+ 3 0\n- 1\n+ 3 0\n- 2\n";

// So many of these sizes, one after the other, have a place.
int placed(StreamArenas& plan, Stream on, const std::vector<Bytes>& sizes) {
    int count = 0;
    for (const Bytes size : sizes) {
        const auto arena = plan.arena_of(on, size);
        const auto offset = arena ? plan.allocate(*arena, size) : std::optional<Bytes>();
        if (!offset) continue;
        ++count;
        CHECK(plan.plan(*arena).free(*offset, on));
    }
    return count;
}

}  // namespace

TEST(each_stream_of_a_step_that_repeats_has_the_places_of_its_table) {
    std::mt19937 random(1);
    for (int round = 0; round < 20; ++round) {
        const Bytes unit = Bytes{1} << below(random, 10);
        std::vector<Step> steps;
        // Where two begin alike, the first step may take one for the other.
        do {
            steps = random_steps(random, 1 + below(random, 4), 200, unit);
        } while (begin_alike(steps));
        Referee referee(steps, unit);
        std::vector<OfStream> parts;
        Bytes arenas = 0;
        std::size_t all = 0;
        for (std::size_t i = 0; i < steps.size(); ++i) {
            parts.push_back({stream(i), steps[i].events});
            arenas += steps[i].arena;
            all += steps[i].offsets.size();
        }
        for (std::size_t step = 0; step < 3; ++step) {
            CHECK(run(random, referee, parts, step) == all);
            referee.free_all();
        }
        CHECK(referee.plan().high_water() == arenas);
        CHECK(referee.plan().taken() == 0 && referee.plan().live() == 0 && referee.waits() == 0);
        // Other streams in the place of these: their arenas come after a wait.
        for (OfStream& part : parts) part.stream = stream(static_cast<std::size_t>(&part - parts.data()) + 1);
        run(random, referee, parts, 3);
        referee.free_all();
        CHECK(referee.waits() > 0);
    }
}

TEST(a_million_events_on_several_streams_never_share_bytes_that_another_may_use) {
    std::mt19937 random(2);
    std::size_t events = 0;
    std::size_t places = 0;
    while (events < 1'000'000) {
        const Bytes unit = Bytes{1} << below(random, 10);
        const std::vector<Step> steps = random_steps(random, 1 + below(random, 4), 400, unit);
        Referee referee(steps, unit);
        std::vector<std::size_t> streams{0, 1, 2, 3, 4, 5};
        const std::size_t in_thousand = below(random, 200);
        for (std::size_t step = 0; step < 6; ++step) {
            // Streams rarely change their parts.
            if (below(random, 4) == 0)
                std::swap(streams[below(random, streams.size())], streams[below(random, streams.size())]);
            std::vector<OfStream> parts;
            for (std::size_t i = 0; i < steps.size(); ++i)
                parts.push_back({stream(streams[i]), changed(random, steps[i], in_thousand, unit)});
            if (below(random, 2) == 0) referee.free_all();
            referee.begin(stream(streams[below(random, 8) == 0 ? below(random, streams.size()) : 0]));
            for (const StreamEvent& each : merged(random, parts)) {
                ++events;
                const bool is_astray = below(random, 1000) < in_thousand;
                const Stream on = is_astray ? stream(below(random, streams.size())) : parts[each.part].stream;
                const std::size_t name = name_of(step, each);
                // What outlives its step is used and freed later on.
                const std::size_t older = name_of(below(random, step + 1), each);
                if (older != name && below(random, 8) == 0) {
                    const Stream other = stream(below(random, streams.size()));
                    const Stream made = referee.stream_of(older);
                    if (below(random, 2) == 0) referee.use(older, other);
                    if (made != nullptr) referee.free(older, below(random, 4) == 0 ? other : made);
                }
                if (!each.event.is_free) {
                    places += referee.allocate(name, each.event.size, on);
                    if (below(random, 1000) < in_thousand)
                        referee.use(name, stream(below(random, streams.size())));
                } else {
                    // Mostly on the stream that made it, as PyTorch frees.
                    const Stream made = referee.stream_of(name);
                    referee.free(name, is_astray || made == nullptr ? on : made);
                }
            }
        }
        referee.free_all();
        CHECK(referee.plan().live() == 0);
    }
    CHECK(4 * places > events);
}

TEST(streams_that_have_the_arena_of_another_change_them) {
    StreamArenas plan(read_step_tables(kSimilar), [] {});
    plan.begin_step(stream(0));
    // The one with the third table comes first, and both begin alike.
    CHECK(placed(plan, stream(2), {8, 3, 3}) == 1);
    CHECK(placed(plan, stream(1), {8, 2, 2}) == 1);
    for (int step = 0; step < 3; ++step) {
        plan.begin_step(stream(0));
        CHECK(placed(plan, stream(2), {8, 3, 3}) == 3);
        CHECK(placed(plan, stream(1), {8, 2, 2}) == 3);
    }
}

TEST(a_stream_that_was_not_recorded_loses_an_arena_to_the_one_that_was) {
    StreamArenas plan(read_step_tables(kSimilar), [] {});
    const auto step = [&plan] {
        plan.begin_step(stream(0));
        placed(plan, stream(3), {2});
        return std::pair(placed(plan, stream(1), {8, 2, 2}), placed(plan, stream(2), {8, 3, 3}));
    };
    step();
    step();
    for (int i = 0; i < 3; ++i) CHECK(step() == std::pair(3, 3));
}

TEST(a_stream_keeps_its_arena_after_one_step_that_differs) {
    int waits = 0;
    StreamArenas plan(read_step_tables(kSimilar), [&waits] { ++waits; });
    for (const std::vector<Bytes>& sizes : {std::vector<Bytes>{8, 2, 2}, {5}, {7, 8}, {8, 2, 2}}) {
        plan.begin_step(stream(0));
        const auto arena = plan.arena_of(stream(1), sizes[0]);
        CHECK(arena == std::size_t{1});
    }
    // A step without it, and one on its own stream.
    plan.begin_step(stream(0));
    plan.begin_step(stream(1));
    CHECK(waits == 1 && plan.arena_of(stream(1), 8) == std::size_t{0});
    // Nothing here is of this size.
    CHECK(!plan.arena_of(stream(4), 77));
}

TEST(what_outlives_a_change_of_streams_waits_for_all_that_were_named) {
    StreamArenas plan(read_step_tables("memstow-replay 1 1 8 4\n+ 8 0\n- 0\n+ 8 0\n- 1\n"), [] {});
    plan.begin_step(stream(0));
    CHECK(plan.allocate(0, 8) == Bytes{0});
    plan.begin_step(stream(1));
    // The stream of this step is another than the one on which it was made.
    CHECK(plan.plan(0).share(0, stream(1)));
    plan.begin_step(stream(0));
    CHECK(plan.plan(0).free(0, stream(0)));
    CHECK(!plan.allocate(0, 8));
    plan.begin_step(stream(0));
    CHECK(plan.allocate(0, 8) == Bytes{0});
}
