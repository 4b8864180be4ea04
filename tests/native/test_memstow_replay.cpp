#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "check.hpp"
#include "memstow_replay.h"
#include "replay_steps.hpp"

using namespace replay_steps;

namespace {

constexpr Bytes kUnit = 512;

void* const kStream = nullptr;
int other_stream_place = 0;
void* const kOtherStream = &other_stream_place;
int third_stream_place = 0;
void* const kThirdStream = &third_stream_place;

int load(const std::string& table, int device) {
    return memstow_replay_load(table.data(), table.size(), device);
}

memstow_replay_statistics statistics(int device) {
    memstow_replay_statistics read{};
    CHECK(memstow_replay_read(device, &read) == 0);
    return read;
}

bool says(const char* part) { return std::string(memstow_replay_error()).find(part) != std::string::npos; }

// Allocates and frees on one stream of a device, and writes into each allocation what must still be there at
// its end.
class Program {
  public:
    Program(int device, void* stream, unsigned char first) : device_(device), stream_(stream), mark_(first) {}

    void run(const std::vector<Event>& events) {
        for (const Event& event : events) event.is_free ? free(event.number) : allocate(event);
    }

    void allocate(const Event& event) {
        if (memory_.count(event.number) != 0) return;
        auto* memory = static_cast<unsigned char*>(memstow_malloc(event.size, device_, stream_));
        CHECK(memory != nullptr);
        mark_ = static_cast<unsigned char>(mark_ * 5 + 7);
        std::memset(memory, mark_, event.size);
        memory_[event.number] = {memory, event.size, mark_};
    }

    void free(std::size_t number) {
        const auto entry = memory_.find(number);
        if (entry == memory_.end()) return;
        const auto [memory, size, mark] = entry->second;
        CHECK(memory[0] == mark && std::memcmp(memory, memory + 1, size - 1) == 0);
        memstow_free(memory, size, device_, stream_);
        memory_.erase(entry);
    }

    void free_all() {
        while (!memory_.empty()) free(memory_.begin()->first);
    }

    void* at(std::size_t number) { return memory_.at(number).memory; }

  private:
    struct Allocation {
        unsigned char* memory;
        Bytes size;
        unsigned char mark;
    };

    int device_;
    void* stream_;
    unsigned char mark_;
    std::map<std::size_t, Allocation> memory_;
};

// A source of memory that counts.
std::atomic<int> allocations = 0;
std::atomic<int> waits = 0;

void* counted_allocate(std::size_t size, int, void*) {
    if (size > Bytes{1} << 40) return nullptr;
    ++allocations;
    return std::malloc(size);
}
void counted_release(void* memory, std::size_t, int, void*) {
    --allocations;
    std::free(memory);
}
void counted_wait(int) { ++waits; }

constexpr memstow_replay_memory kCounted{counted_allocate, counted_release, counted_wait};

// Two allocations, one after the other, in one place.
const std::string kTable = "memstow-replay 1 512 1024 4\n+ 1024 0\n- 0\n+ 1024 0\n- 1\n";
const std::string kOtherTable = "memstow-replay 1 512 2048 2\n+ 2048 0\n- 0\n";

}  // namespace

TEST(steps_that_repeat_have_their_memory_in_one_arena_and_keep_what_is_written) {
    CHECK(memstow_replay_use_processor() == 0);
    std::mt19937 random(1);
    const Step recorded = random_step(random, 500, kUnit);
    CHECK(load(table_of(recorded, kUnit), 0) == 0);
    Program program(0, kStream, 1);
    for (int step = 0; step < 3; ++step) {
        CHECK(memstow_replay_begin(0, kStream) == 0);
        program.run(recorded.events);
        CHECK(memstow_replay_end(0) == 0);
        program.free_all();
    }
    const memstow_replay_statistics counts = statistics(0);
    CHECK(counts.arena == recorded.arena && counts.high_water == recorded.arena);
    CHECK(counts.planned == 3 * 500 && counts.unplanned == 0 && counts.taken == 0 && counts.steps == 3);
    CHECK(counts.other_bytes == 0 && counts.other_peak == 0 && counts.live == 0);
    CHECK(memstow_replay_unload(0) == 0);
}

TEST(steps_that_differ_get_other_memory_and_keep_what_is_written) {
    CHECK(memstow_replay_use_processor() == 0);
    std::mt19937 random(2);
    for (int round = 0; round < 10; ++round) {
        const Step recorded = random_step(random, 300, kUnit);
        CHECK(load(table_of(recorded, kUnit), 0) == 0);
        Program program(0, kStream, 1);
        for (int step = 0; step < 4; ++step) {
            CHECK(memstow_replay_begin(0, kStream) == 0);
            program.run(changed(random, recorded, 50, kUnit));
            CHECK(memstow_replay_end(0) == 0);
            if (step % 2 == 0) program.free_all();
        }
        const memstow_replay_statistics counts = statistics(0);
        CHECK(counts.unplanned > 0 && counts.planned > counts.unplanned);
        program.free_all();
        CHECK(statistics(0).other_bytes == 0);
        CHECK(memstow_replay_unload(0) == 0);
    }
}

TEST(workers_that_allocate_at_once_on_one_stream_or_several_never_share_bytes) {
    CHECK(memstow_replay_use_processor() == 0);
    std::mt19937 random(3);
    for (int round = 0; round < 4; ++round) {
        const std::vector<Step> recorded{random_step(random, 200, kUnit), random_step(random, 150, kUnit)};
        CHECK(load(table_of(recorded[0], kUnit) + table_of(recorded[1], kUnit), 0) == 0);
        // Two workers on the stream of the step, two on another one, and one that was not recorded.
        const std::vector<std::pair<void*, std::size_t>> workers{
            {kStream, 0}, {kStream, 0}, {kOtherStream, 1}, {kOtherStream, 1}, {kThirdStream, 1}};
        std::vector<std::vector<Event>> parts;
        std::vector<Program> programs;
        for (const auto& [stream, part] : workers) {
            parts.push_back(changed(random, recorded[part], 50, kUnit));
            programs.emplace_back(0, stream, static_cast<unsigned char>(50 * parts.size()));
        }
        for (int step = 0; step < 3; ++step) {
            CHECK(memstow_replay_begin(0, kStream) == 0);
            std::vector<std::thread> threads;
            for (std::size_t i = 0; i < programs.size(); ++i) {
                threads.emplace_back([&, i] {
                    programs[i].run(parts[i]);
                    memstow_replay_statistics counts{};
                    memstow_replay_read(0, &counts);
                    programs[i].free_all();
                });
            }
            for (std::thread& thread : threads) thread.join();
        }
        CHECK(statistics(0).planned > 0 && statistics(0).live == 0);
        CHECK(memstow_replay_unload(0) == 0);
    }
}

TEST(each_stream_of_a_step_has_an_arena_and_all_or_none_are_allocated) {
    CHECK(memstow_replay_use(&kCounted) == 0);
    const std::string empty = "memstow-replay 1 512 0 0\n";
    CHECK(load(kTable + empty + "memstow-replay 1 1 4611686018427387904 0\n", 0) == -1);
    CHECK(says("bytes for the arena") && allocations == 0);
    CHECK(load(kTable + empty + kOtherTable, 0) == 0);
    CHECK(allocations == 2 && statistics(0).arena == 1024 + 2048);
    waits = 0;
    CHECK(memstow_replay_begin(0, kStream) == 0);
    Program program(0, kStream, 1);
    Program beside(0, kOtherStream, 2);
    program.allocate({0, 1024, false});
    beside.allocate({0, 2048, false});
    // In this step the arena has its stream.
    Program late(0, kThirdStream, 3);
    late.allocate({0, 2048, false});
    CHECK(statistics(0).planned == 2 && statistics(0).unplanned == 1 && statistics(0).live == 2);
    CHECK(statistics(0).high_water == 1024 + 2048 && waits == 0);
    for (Program* each : {&program, &beside, &late}) each->free_all();
    CHECK(memstow_replay_begin(0, kStream) == 0);
    CHECK(waits == 0);
    late.allocate({0, 2048, false});
    CHECK(waits == 1 && statistics(0).planned == 3);
    CHECK(load(kTable, 0) == -1 && says("are live"));
    late.free_all();
    CHECK(memstow_replay_unload(0) == 0);
    CHECK(allocations == 0);
}

TEST(allocations_outside_of_steps_and_on_other_streams_and_devices_get_other_memory) {
    CHECK(memstow_replay_use_processor() == 0);
    CHECK(load(kTable, 1) == 0);
    Program before(1, kStream, 1);
    before.allocate({0, 1024, false});
    CHECK(memstow_replay_begin(1, kStream) == 0);
    Program elsewhere(2, kStream, 2);
    elsewhere.allocate({0, 1024, false});
    Program far(100, kStream, 3);
    far.allocate({0, 1024, false});
    Program beside(1, kOtherStream, 4);
    beside.allocate({0, 1024, false});
    CHECK(statistics(1).planned == 0 && statistics(1).unplanned == 1);
    Program program(1, kStream, 5);
    program.allocate({0, 1024, false});
    CHECK(statistics(1).planned == 1);
    CHECK(memstow_replay_end(1) == 0);
    program.allocate({1, 1024, false});
    CHECK(statistics(1).planned == 1 && statistics(1).live == 1);
    CHECK(statistics(1).other_bytes == 3 * 1024 && statistics(2).other_bytes == 1024);
    for (Program* each : {&before, &elsewhere, &far, &beside, &program}) each->free_all();
    CHECK(memstow_replay_unload(1) == 0);
}

TEST(memory_of_other_streams_is_given_away_after_the_device_was_waited_for) {
    CHECK(memstow_replay_use(&kCounted) == 0);
    for (const bool is_recorded : {false, true}) {
        CHECK(load(kTable, 0) == 0);
        waits = 0;
        CHECK(memstow_replay_begin(0, kStream) == 0);
        void* first = memstow_malloc(1024, 0, kStream);
        if (is_recorded) memstow_record_stream(static_cast<char*>(first), kOtherStream);
        memstow_free(first, 1024, 0, is_recorded ? kStream : kOtherStream);
        void* second = memstow_malloc(1024, 0, kStream);
        CHECK(second != first && statistics(0).taken == 1 && waits == 0);
        memstow_free(second, 1024, 0, kStream);
        CHECK(memstow_replay_begin(0, kStream) == 0);
        CHECK(waits == 1);
        void* again = memstow_malloc(1024, 0, kStream);
        CHECK(again == first);
        // With the stream that it is on, nothing is new.
        memstow_record_stream(again, kStream);
        memstow_free(again, 1024, 0, kStream);
        CHECK(memstow_replay_begin(0, kStream) == 0);
        CHECK(waits == 1);
        CHECK(memstow_replay_begin(0, kOtherStream) == 0);
        CHECK(waits == 2);
        CHECK(memstow_replay_unload(0) == 0);
    }
    CHECK(allocations == 0);
}

TEST(what_cannot_be_done_is_refused_and_changes_nothing) {
    CHECK(memstow_replay_use(&kCounted) == 0);
    CHECK(memstow_replay_use(nullptr) == -1 && says("needs a function"));
    CHECK(memstow_replay_begin(0, kStream) == -1 && says("no plan"));
    CHECK(load(kTable, -1) == -1 && says("no device -1"));
    CHECK(load("memstow-replay 1 1 4611686018427387904 0\n", 0) == -1 && says("bytes for the arena"));
    CHECK(load(kTable, 0) == 0);
    CHECK(allocations == 1);
    CHECK(memstow_replay_use_processor() == -1 && says("memory is in use"));
    CHECK(memstow_replay_begin(0, kStream) == 0);
    void* memory = memstow_malloc(1024, 0, kStream);
    CHECK(load(kTable, 0) == -1 && says("are live"));
    CHECK(memstow_replay_unload(0) == -1 && says("are live"));
    CHECK(load("nothing", 0) == -1 && says("begins with"));
    CHECK(statistics(0).live == 1 && allocations == 1);
    // Neither what is within an allocation, nor what is free already.
    memstow_free(static_cast<char*>(memory) + 512, 512, 0, kStream);
    CHECK(statistics(0).live == 1);
    memstow_free(memory, 1024, 0, kStream);
    memstow_free(memory, 1024, 0, kStream);
    memstow_free(nullptr, 0, 0, kStream);
    CHECK(memstow_malloc(0, 0, kStream) == nullptr);
    CHECK(statistics(0).live == 0);
    CHECK(memstow_replay_unload(0) == 0);
    CHECK(allocations == 0);
}
