#include "memstow_replay.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cuda_runtime.hpp"
#include "stream_arenas.hpp"

namespace {

using memstow::replay::Bytes;
using memstow::replay::StepAllocator;
using memstow::replay::StepTable;
using memstow::replay::StreamArenas;

constexpr int kMostDevices = 64;

// As strict as device memory, whose alignment plans rely on.
constexpr std::size_t kProcessorAlignment = 512;

void* allocate_on_processor(std::size_t size, int, void*) {
    void* memory = nullptr;
    return posix_memalign(&memory, kProcessorAlignment, size) == 0 ? memory : nullptr;
}

void release_on_processor(void* memory, std::size_t, int, void*) { std::free(memory); }

constexpr memstow_replay_memory kProcessor{allocate_on_processor, release_on_processor, nullptr};

// Guards the source of memory, and how many allocations that were made with it are live, arenas among them.
// The source does not change while there are any, so that all of them go back to where they came from.
std::mutex choosing;
std::optional<memstow_replay_memory> chosen;
std::uint64_t live_anywhere = 0;

thread_local std::string last_error;

// Nothing where none was chosen and there is no CUDA runtime. The caller holds `choosing`.
std::optional<memstow_replay_memory> memory_in_use() {
    if (!chosen) {
        const memstow_replay_memory* cuda = memstow::replay::cuda_runtime();
        if (cuda != nullptr) chosen = *cuda;
    }
    return chosen;
}

void* allocate(std::size_t size, int device, void* stream) {
    std::optional<memstow_replay_memory> memory;
    {
        const std::lock_guard lock(choosing);
        memory = memory_in_use();
        if (!memory) return nullptr;
        ++live_anywhere;
    }
    void* allocated = memory->allocate(size, device, stream);
    if (allocated == nullptr) {
        const std::lock_guard lock(choosing);
        --live_anywhere;
    }
    return allocated;
}

void release(void* memory, std::size_t size, int device, void* stream) {
    std::optional<memstow_replay_memory> source;
    {
        const std::lock_guard lock(choosing);
        source = memory_in_use();
    }
    // Nothing can have been allocated without a source.
    if (!source) return;
    source->release(memory, size, device, stream);
    const std::lock_guard lock(choosing);
    // What was not allocated here, though the caller says so, is not counted.
    if (live_anywhere > 0) --live_anywhere;
}

void synchronize(int device) {
    std::optional<memstow_replay_memory> memory;
    {
        const std::lock_guard lock(choosing);
        memory = memory_in_use();
    }
    if (memory && memory->synchronize != nullptr) memory->synchronize(device);
}

// The arena of a stream, as memory.
struct ArenaMemory {
    char* begin = nullptr;
    Bytes size = 0;
};

// Memory of a step that is not of an arena.
struct Other {
    std::size_t size;
    std::size_t arena;  // that of its stream
};

// The plan of a device, and what it counts. Everything but the mutex is guarded by it.
struct Device {
    std::mutex mutex;
    std::optional<StreamArenas> plan;
    std::vector<ArenaMemory> arenas;
    bool is_in_step = false;
    // What this step allocated on streams that have arenas: their plans are told when it is freed.
    std::unordered_map<void*, Other> others_of_step;
    memstow_replay_statistics counts{};

    // What begins there, if that is within an arena.
    std::optional<std::pair<StepAllocator*, Bytes>> planned_at(const void* memory) {
        const auto address = reinterpret_cast<std::uintptr_t>(memory);
        for (std::size_t i = 0; i < arenas.size(); ++i) {
            const auto begin = reinterpret_cast<std::uintptr_t>(arenas[i].begin);
            if (address >= begin && address - begin < arenas[i].size)
                return std::pair(&plan->plan(i), address - begin);
        }
        return std::nullopt;
    }
};

// Never destroyed: a program that ends frees what it has after the objects of libraries are gone.
auto& devices = *new std::array<Device, kMostDevices>();

// Null for what is no device that could have a plan.
Device* device_at(int device) { return device < 0 || device >= kMostDevices ? nullptr : &devices[device]; }

// Runs what may throw, for a caller that takes 0 or -1.
template <class Work>
int attempt(Work work) {
    try {
        work();
        return 0;
    } catch (const std::exception& error) {
        last_error = error.what();
        return -1;
    }
}

Device& required(int device) {
    Device* there = device_at(device);
    if (there == nullptr) throw std::invalid_argument("there is no device " + std::to_string(device));
    return *there;
}

void use(const memstow_replay_memory& memory) {
    const std::lock_guard lock(choosing);
    const bool is_same = chosen && chosen->allocate == memory.allocate && chosen->release == memory.release &&
                         chosen->synchronize == memory.synchronize;
    if (live_anywhere != 0 && !is_same) {
        throw std::logic_error(
            "memory is in use from elsewhere; choose where it comes from before plans are loaded");
    }
    chosen = memory;
}

void release_arenas(std::vector<ArenaMemory>& arenas, int number) {
    for (const ArenaMemory& arena : arenas) {
        if (arena.begin != nullptr) release(arena.begin, arena.size, number, nullptr);
    }
    arenas.clear();
}

void unload(Device& device, int number) {
    if (device.plan && device.plan->live() != 0) {
        throw std::logic_error("allocations of the plan are live; free them before it is dropped");
    }
    device.plan.reset();
    device.is_in_step = false;
    device.others_of_step.clear();
    if (!device.arenas.empty()) synchronize(number);
    release_arenas(device.arenas, number);
}

// All or none of them.
std::vector<ArenaMemory> allocate_arenas(const std::vector<StepTable>& tables, int number) {
    std::vector<ArenaMemory> arenas;
    for (const StepTable& table : tables) {
        // Without memory it is nobody's.
        if (table.arena == 0) {
            arenas.emplace_back();
            continue;
        }
        void* arena = allocate(table.arena, number, nullptr);
        if (arena != nullptr) {
            arenas.push_back({static_cast<char*>(arena), table.arena});
            continue;
        }
        release_arenas(arenas, number);
        const std::lock_guard choice(choosing);
        if (!memory_in_use()) throw std::runtime_error("there is no CUDA runtime");
        throw std::runtime_error("there are not " + std::to_string(table.arena) +
                                 " bytes for the arena on device " + std::to_string(number) +
                                 ": there is no such device, or less of its memory is free");
    }
    return arenas;
}

void load(Device& device, std::string_view text, int number) {
    const std::vector<StepTable> tables = memstow::replay::read_step_tables(text);
    StreamArenas plan(tables, [number] { synchronize(number); });
    const std::lock_guard lock(device.mutex);
    unload(device, number);
    device.arenas = allocate_arenas(tables, number);
    device.plan.emplace(std::move(plan));
    const memstow_replay_statistics before = device.counts;
    device.counts = {};
    for (const ArenaMemory& arena : device.arenas) device.counts.arena += arena.size;
    device.counts.other_bytes = before.other_bytes;
    device.counts.other_peak = before.other_peak;
}

void begin(Device& device, const void* stream) {
    const std::lock_guard lock(device.mutex);
    if (!device.plan) throw std::logic_error("the device has no plan");
    device.plan->begin_step(stream);
    device.is_in_step = true;
    device.others_of_step.clear();
    ++device.counts.steps;
}

// Where the plan has the allocation; null where it has none.
void* planned(Device& device, std::size_t size, const void* stream) {
    if (!device.is_in_step) return nullptr;
    const std::optional<std::size_t> arena = device.plan->arena_of(stream, size);
    const std::optional<Bytes> offset = arena ? device.plan->allocate(*arena, size) : std::optional<Bytes>();
    if (!offset) {
        ++device.counts.unplanned;
        return nullptr;
    }
    ++device.counts.planned;
    return device.arenas[*arena].begin + *offset;
}

void add_other(Device& device, void* memory, std::size_t size, const void* stream) {
    const std::lock_guard lock(device.mutex);
    device.counts.other_bytes += size;
    device.counts.other_peak = std::max(device.counts.other_peak, device.counts.other_bytes);
    if (!device.is_in_step) return;
    const std::optional<std::size_t> arena = device.plan->arena_of(stream);
    if (arena) device.others_of_step.insert_or_assign(memory, Other{size, *arena});
}

// Whether it was of an arena, or is no memory that is live there.
bool free_planned(Device& device, void* memory, std::size_t size, const void* stream) {
    const std::lock_guard lock(device.mutex);
    if (const auto place = device.planned_at(memory)) {
        place->first->free(place->second, stream);
        return true;
    }
    device.counts.other_bytes -= std::min<Bytes>(device.counts.other_bytes, size);
    const auto other = device.others_of_step.find(memory);
    if (other != device.others_of_step.end()) {
        device.plan->plan(other->second.arena).free_elsewhere(other->second.size);
        device.others_of_step.erase(other);
    }
    return false;
}

}  // namespace

void* memstow_malloc(size_t size, int device, void* stream) {
    if (size == 0) return nullptr;
    Device* there = device_at(device);
    if (there != nullptr) {
        const std::lock_guard lock(there->mutex);
        if (void* memory = planned(*there, size, stream)) return memory;
    }
    void* memory = allocate(size, device, stream);
    if (memory == nullptr) {
        std::fprintf(stderr, "memstow_replay: there are not %zu bytes on device %d\n", size, device);
    } else if (there != nullptr) {
        add_other(*there, memory, size, stream);
    }
    return memory;
}

void memstow_free(void* memory, size_t size, int device, void* stream) {
    if (memory == nullptr) return;
    Device* there = device_at(device);
    if (there != nullptr && free_planned(*there, memory, size, stream)) return;
    release(memory, size, device, stream);
}

void memstow_record_stream(void* memory, void* stream) {
    for (Device& device : devices) {
        const std::lock_guard lock(device.mutex);
        const auto place = device.planned_at(memory);
        if (!place) continue;
        place->first->share(place->second, stream);
        return;
    }
}

int memstow_replay_use(const memstow_replay_memory* memory) {
    return attempt([&] {
        if (memory == nullptr || memory->allocate == nullptr || memory->release == nullptr) {
            throw std::invalid_argument("memory needs a function that allocates and one that releases");
        }
        use(*memory);
    });
}

int memstow_replay_use_processor(void) {
    return attempt([] { use(kProcessor); });
}

int memstow_replay_load(const char* table, size_t length, int device) {
    return attempt([&] { load(required(device), std::string_view(table, length), device); });
}

int memstow_replay_unload(int device) {
    return attempt([&] {
        Device& there = required(device);
        const std::lock_guard lock(there.mutex);
        unload(there, device);
    });
}

int memstow_replay_begin(int device, void* stream) {
    return attempt([&] { begin(required(device), stream); });
}

int memstow_replay_end(int device) {
    return attempt([&] {
        Device& there = required(device);
        const std::lock_guard lock(there.mutex);
        there.is_in_step = false;
        there.others_of_step.clear();
    });
}

int memstow_replay_read(int device, memstow_replay_statistics* statistics) {
    return attempt([&] {
        Device& there = required(device);
        const std::lock_guard lock(there.mutex);
        *statistics = there.counts;
        if (there.plan) {
            statistics->high_water = there.plan->high_water();
            statistics->taken = there.plan->taken();
            statistics->live = there.plan->live();
        }
    });
}

const char* memstow_replay_error(void) { return last_error.c_str(); }
