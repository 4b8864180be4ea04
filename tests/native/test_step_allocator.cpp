#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "check.hpp"
#include "replay_steps.hpp"
#include "step_allocator.hpp"

using namespace memstow::replay;
using namespace replay_steps;

namespace {

int other_stream_place = 0;
constexpr Stream kStream = nullptr;
const Stream kOtherStream = &other_stream_place;

StepTable only_table(const std::string& text) {
    std::vector<StepTable> tables = read_step_tables(text);
    CHECK(tables.size() == 1);
    return std::move(tables.front());
}

// Runs the events, and checks each place against all that are live. `count` is how many allocations got a
// place.
class Run {
  public:
    explicit Run(StepAllocator& plan) : plan_(plan) {}

    void step(const std::vector<Event>& events) {
        plan_.begin_step(kStream);
        others_.clear();
        older_.merge(places_);
        // Of two with one number one is kept.
        for (const auto& [number, offset] : places_) free_place(offset);
        places_.clear();
        for (const Event& event : events) event.is_free ? free(event) : allocate(event);
    }

    // What outlives the steps.
    void free_all() {
        for (const auto* places : {&places_, &older_}) {
            for (const auto& [number, offset] : *places) free_place(offset);
        }
        places_.clear();
        older_.clear();
    }

    std::size_t count = 0;

  private:
    void allocate(const Event& event) {
        const std::optional<Bytes> offset = plan_.allocate(event.size);
        if (!offset) {
            others_.insert(event.number);
            return;
        }
        ++count;
        CHECK(live_.add(*offset, event.size));
        places_[event.number] = *offset;
    }

    void free(const Event& event) {
        if (const auto place = places_.extract(event.number)) {
            free_place(place.mapped());
        } else if (others_.erase(event.number) == 1) {
            plan_.free_elsewhere(event.size);
        } else if (const auto older = older_.extract(event.number)) {
            free_place(older.mapped());
        }
    }

    void free_place(Bytes offset) {
        CHECK(plan_.free(offset, kStream));
        live_.remove(offset);
    }

    StepAllocator& plan_;
    Live live_;
    std::map<std::size_t, Bytes> places_;
    std::map<std::size_t, Bytes> older_;  // of steps before
    std::set<std::size_t> others_;
};

// Why the text is refused; nothing where it is not.
std::string refusal(const std::string& text) {
    try {
        read_step_tables(text);
        return "";
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
}

bool is_refused(const std::string& text, const std::string& because) {
    return refusal(text).find(because) != std::string::npos;
}

}  // namespace

TEST(a_step_that_repeats_gets_the_places_of_the_plan_and_needs_no_more) {
    std::mt19937 random(1);
    for (int round = 0; round < 40; ++round) {
        const Bytes unit = Bytes{1} << below(random, 10);
        const Step recorded = random_step(random, 1 + below(random, 300), unit);
        StepAllocator plan(only_table(table_of(recorded, unit)));
        for (int repetition = 0; repetition < 3; ++repetition) {
            plan.begin_step(kStream);
            std::set<std::size_t> left;
            for (const Event& event : recorded.events) {
                if (event.is_free) {
                    CHECK(plan.free(recorded.offsets[event.number], kStream));
                    left.erase(event.number);
                } else {
                    CHECK(plan.allocate(event.size) == recorded.offsets[event.number]);
                    left.insert(event.number);
                }
            }
            CHECK(plan.live() == left.size());
            for (const std::size_t number : left) CHECK(plan.free(recorded.offsets[number], kStream));
        }
        CHECK(plan.high_water() == recorded.arena);
        CHECK(plan.taken() == 0);
    }
}

TEST(a_million_events_of_steps_that_differ_never_share_bytes) {
    std::mt19937 random(2);
    std::size_t events = 0;
    while (events < 1'000'000) {
        const Bytes unit = Bytes{1} << below(random, 10);
        const Step recorded = random_step(random, 20 + below(random, 1500), unit);
        StepAllocator plan(only_table(table_of(recorded, unit)));
        Run run(plan);
        for (int repetition = 0; repetition < 4; ++repetition) {
            const std::vector<Event> step = changed(random, recorded, below(random, 500), unit);
            // What outlives one step is live when the next begins, or not.
            if (below(random, 2) == 0) run.free_all();
            run.step(step);
            events += step.size();
            CHECK(plan.high_water() <= recorded.arena);
        }
        run.free_all();
        CHECK(plan.live() == 0);
    }
}

TEST(a_step_is_followed_again_after_what_differs) {
    std::mt19937 random(3);
    std::size_t placed = 0;
    std::size_t all = 0;
    for (int round = 0; round < 20; ++round) {
        const Step recorded = random_step(random, 1000, 512);
        StepAllocator plan(only_table(table_of(recorded, 512)));
        Run run(plan);
        const std::vector<Event> step = changed(random, recorded, 20, 512);
        run.step(step);
        placed += run.count;
        all += static_cast<std::size_t>(
            std::count_if(step.begin(), step.end(), [](const Event& event) { return !event.is_free; }));
    }
    CHECK(placed * 100 > all * 95);
    CHECK(placed < all);
}

TEST(an_allocation_whose_place_is_taken_gets_another_that_nobody_needs_meanwhile) {
    // 0 outlives its step, so 2 cannot have its place; 1 and 3 are live with 2, 4 is not.
    StepAllocator plan(
        only_table("memstow-replay 1 1 30 10\n+ 10 0\n+ 10 10\n- 1\n- 0\n+ 10 0\n+ 10 10\n"
                   "- 2\n- 3\n+ 10 20\n- 4\n"));
    plan.begin_step(kStream);
    CHECK(plan.allocate(10) == 0u);
    CHECK(plan.allocate(10) == 10u);
    CHECK(plan.free(10, kStream));
    CHECK(plan.allocate(10) == 20u);
    CHECK(plan.taken() == 0);
}

TEST(sizes_are_those_of_the_plan_up_to_its_unit) {
    StepAllocator plan(only_table("memstow-replay 1 512 1024 2\n+ 1024 0\n- 0\n"));
    for (const Bytes size : {Bytes{512}, Bytes{1025}, Bytes{0}, ~Bytes{0}, ~Bytes{0} - 600}) {
        plan.begin_step(kStream);
        CHECK(!plan.allocate(size));
    }
    plan.begin_step(kStream);
    CHECK(plan.allocate(513) == 0u);
    CHECK(plan.high_water() == 513);
    // Neither twice, nor what begins nowhere.
    CHECK(!plan.free(512, kStream));
    CHECK(plan.free(0, kStream));
    CHECK(!plan.free(0, kStream));
}

TEST(a_place_that_is_held_or_shared_is_taken_until_it_is_released) {
    const std::string table = "memstow-replay 1 1 8 4\n+ 8 0\n- 0\n+ 8 0\n- 1\n";
    for (const bool is_shared : {false, true}) {
        StepAllocator plan(only_table(table));
        plan.begin_step(kStream);
        CHECK(plan.allocate(8) == 0u);
        if (is_shared) CHECK(plan.share(0, kOtherStream));
        CHECK(plan.free(0, is_shared ? kStream : kOtherStream));
        CHECK(plan.has_held() && plan.live() == 0);
        CHECK(!plan.free(0, kStream) && !plan.share(0, kOtherStream));
        CHECK(!plan.allocate(8));
        plan.begin_step(kStream);
        CHECK(!plan.allocate(8));
        plan.release_held();
        CHECK(!plan.has_held());
        plan.begin_step(kStream);
        CHECK(plan.allocate(8) == 0u);
    }
}

TEST(a_step_without_allocations_places_nothing) {
    StepAllocator plan(only_table("memstow-replay 1 512 0 0\n"));
    plan.begin_step(kStream);
    CHECK(!plan.allocate(512));
    CHECK(!plan.free(0, kStream));
}

TEST(step_tables_that_cannot_be_are_refused) {
    CHECK(refusal("memstow-replay 1 4 8 3\n+ 8 0\n- 0\n+ 4 4\n").empty());
    for (const char* text : {"", "memstow", "memstow-replay 2 4 8 0\n", "{}"})
        CHECK(is_refused(text, "begins with"));
    for (const char* text :
         {"memstow-replay 1 ", "memstow-replay 1 4", "memstow-replay 1 4 8 1", "memstow-replay 1 4 8 x\n",
          "memstow-replay 1 4 -8 0\n", "memstow-replay 1 04 8 0\n", "memstow-replay 1  4 8 0\n",
          "memstow-replay 1 4 8 1\n+ 8\n ", "memstow-replay 1 4 8 1\n+ 8 0", "memstow-replay 1 4 8 1\n- x\n",
          "memstow-replay 1 4 99999999999999999999 0\n"}) {
        CHECK(is_refused(text, "of the form"));
    }
    CHECK(is_refused("memstow-replay 1 4 8 1\n* 8 0\n", "+ or -"));
    CHECK(is_refused("memstow-replay 1 0 8 0\n", "the unit"));
    CHECK(is_refused("memstow-replay 1 4 6 0\n", "the unit"));
    CHECK(is_refused("memstow-replay 1 4 8 1\n+ 6 0\n", "the unit"));
    CHECK(is_refused("memstow-replay 1 4 8 1\n+ 4 2\n", "the unit"));
    CHECK(is_refused("memstow-replay 1 4 8 1\n+ 0 4\n", "the unit"));
    CHECK(is_refused("memstow-replay 1 4 8 1\n+ 8 4\n", "line 2: the allocation does not end within"));
    CHECK(is_refused("memstow-replay 1 1 4611686018427387904 1\n+ 4611686018427387904 1\n",
                     "within the arena"));
    CHECK(is_refused("memstow-replay 1 1 4611686018427387905 0\n", "larger than any memory"));
    CHECK(is_refused("memstow-replay 1 4 8 1000000000000\n", "fewer events"));
    CHECK(is_refused("memstow-replay 1 4 8 2\n+ 8 0\n", "fewer events"));
    CHECK(is_refused("memstow-replay 1 4 8 1\n+ 8 0\n- 0\n", "more lines"));
    CHECK(is_refused("memstow-replay 1 4 8 2\n+ 8 0\n- 1\n", "line 3: the allocation is freed before"));
    // Of two tables the second.
    const std::string first = "memstow-replay 1 4 8 2\n+ 8 0\n- 0\n";
    CHECK(is_refused(first + "memstow-replay 1 4 8 2\n+ 8 0\n+ 4 4\n", "line 6: the allocation shares"));
    CHECK(is_refused(first + "memstow-replay 1 4 8 1\n- 0\n", "line 5: the allocation is freed before"));
    CHECK(is_refused("memstow-replay 1 4 8 3\n+ 8 0\n- 0\n- 0\n", "line 4: the allocation is freed before"));
    CHECK(is_refused("memstow-replay 1 4 8 2\n+ 8 0\n+ 4 4\n", "line 3: the allocation shares bytes"));
}

TEST(step_tables_with_damage_are_refused_or_hold_together) {
    std::mt19937 random(4);
    const std::string characters = "0123456789 +-\n\tx";
    int read = 0;
    int refused = 0;
    for (int round = 0; round < 4000; ++round) {
        const Bytes unit = Bytes{1} << below(random, 4);
        std::string text = table_of(random_step(random, 1 + below(random, 8), unit), unit);
        for (std::size_t damage = 1 + below(random, 2); damage > 0; --damage) {
            const std::size_t at = below(random, text.size());
            switch (below(random, 4)) {
                case 0:
                    text.erase(at, 1 + below(random, 4));
                    break;
                case 1:
                    text.insert(at, 1, characters[below(random, characters.size())]);
                    break;
                case 2:
                    text.resize(at);
                    break;
                default:
                    text[at] = characters[below(random, characters.size())];
            }
            if (text.empty()) break;
        }
        if (!refusal(text).empty()) {
            ++refused;
            continue;
        }
        ++read;
        const StepTable table = only_table(text);
        Live live;
        for (const auto& [allocation, is_free] : table.events) {
            const auto& [size, offset] = table.allocations[allocation];
            if (is_free) {
                live.remove(offset);
            } else {
                CHECK(offset + size <= table.arena && live.add(offset, size));
            }
        }
        StepAllocator plan(table);
        plan.begin_step(kStream);
    }
    CHECK(read > 0 && refused > read);
}

TEST(live_ranges_are_as_if_each_was_compared) {
    std::mt19937 random(5);
    for (const std::size_t count : {1u, 2u, 63u, 64u, 65u, 4096u, 5000u}) {
        std::set<Bytes> chosen;
        while (chosen.size() < count) chosen.insert(below(random, 20 * count));
        LiveRanges ranges({chosen.begin(), chosen.end()});
        std::map<Bytes, Bytes> live;
        for (int round = 0; round < 3000; ++round) {
            const Index place = static_cast<Index>(below(random, count));
            const Bytes begin = ranges.begin_of(place);
            CHECK(ranges.place_of(begin) == place);
            const Bytes end = begin + 1 + below(random, 100);
            const bool is_occupied = std::any_of(live.begin(), live.end(), [&](const auto& other) {
                return other.first < end && begin < other.second;
            });
            CHECK(ranges.is_occupied(begin, ranges.places_below(end)) == is_occupied);
            if (!is_occupied) {
                ranges.insert(place, end);
                live[begin] = end;
            } else if (!live.empty() && below(random, 3) > 0) {
                const auto other =
                    std::next(live.begin(), static_cast<std::ptrdiff_t>(below(random, live.size())));
                ranges.erase(ranges.place_of(other->first));
                live.erase(other);
            }
        }
        CHECK(ranges.place_of(20 * count + 1) == kNone);
    }
}
