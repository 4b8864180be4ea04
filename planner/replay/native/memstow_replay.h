/* An allocator of device memory that gives a step which repeats the addresses of a plan.
 *
 * memstow_malloc, memstow_free and memstow_record_stream are what torch.cuda.memory.CUDAPluggableAllocator
 * takes. The other functions say when a step begins and ends, and which plan it has. All may be called from
 * any thread. Functions that return an int return 0, or -1 where they did nothing; memstow_replay_error then
 * says why.
 *
 * Between memstow_replay_begin and memstow_replay_end an allocation gets its planned place if it is one of
 * the recorded step, on a stream that has an arena, and no live allocation has a byte of that place. All
 * others, and those outside of steps, get memory of their own.
 *
 * A plan has an arena for each stream of the recorded step. The first is of the stream that
 * memstow_replay_begin names; each other is of the stream that allocates as its table says.
 *
 * The streams of a device run beside each other, so bytes of the plan go from one allocation to the next
 * within one stream alone: what is freed on another stream, or was ever named to memstow_record_stream with
 * another, keeps its place until the next step begins, which then waits for the device. So does an arena that
 * goes from one stream to another.
 */
#ifndef MEMSTOW_REPLAY_H
#define MEMSTOW_REPLAY_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MEMSTOW_EXPORT __attribute__((visibility("default")))

/* NULL if there is no memory, which is said on standard error, or the size is 0. */
MEMSTOW_EXPORT void* memstow_malloc(size_t size, int device, void* stream);
MEMSTOW_EXPORT void memstow_free(void* memory, size_t size, int device, void* stream);
MEMSTOW_EXPORT void memstow_record_stream(void* memory, void* stream);

/* Where all memory comes from. `synchronize` waits for everything that runs on the device; it may be NULL
 * where nothing runs beside the caller. */
struct memstow_replay_memory {
    void* (*allocate)(size_t size, int device, void* stream);
    void (*release)(void* memory, size_t size, int device, void* stream);
    void (*synchronize)(int device);
};

/* Without one of these memory comes from the CUDA runtime, of which the first that the process has loaded, or
 * else finds, is used. Not while memory of another is in use. */
MEMSTOW_EXPORT int memstow_replay_use(const struct memstow_replay_memory* memory);
MEMSTOW_EXPORT int memstow_replay_use_processor(void);

/* Takes the plan of the steps of this device from the text of step tables, and allocates its arenas, each in
 * one piece. The plan before it must have no live allocations. */
MEMSTOW_EXPORT int memstow_replay_load(const char* table, size_t length, int device);
/* Drops the plan of this device and releases its arenas. */
MEMSTOW_EXPORT int memstow_replay_unload(int device);

MEMSTOW_EXPORT int memstow_replay_begin(int device, void* stream);
MEMSTOW_EXPORT int memstow_replay_end(int device);

/* Counts of a device since its plan was loaded, and of memory that is not of the plan since the process
 * began. */
struct memstow_replay_statistics {
    uint64_t arena;      /* bytes of all arenas */
    uint64_t high_water; /* ends of the highest allocation within each arena, added up */
    uint64_t live;       /* planned allocations that are live */
    uint64_t steps;
    uint64_t planned;     /* allocations that are or were within an arena */
    uint64_t taken;       /* allocations of the recorded step for which there was no place */
    uint64_t unplanned;   /* all allocations within steps that are not within an arena */
    uint64_t other_bytes; /* memory that is not of an arena: live */
    uint64_t other_peak;  /* and at most */
};

MEMSTOW_EXPORT int memstow_replay_read(int device, struct memstow_replay_statistics* statistics);

/* Why the last function of this thread that returned -1 did. */
MEMSTOW_EXPORT const char* memstow_replay_error(void);

#ifdef __cplusplus
}
#endif

#endif /* MEMSTOW_REPLAY_H */
