// How deep the recursion of a search may go. A row with much room can rise byte by byte, a level each, so
// that four buffers of a megabyte were enough for the end of the stack.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>

namespace memstow::search {

// The same on every machine, so that deterministic runs are: some five megabytes of the eight that a stack
// has.
inline constexpr int kDeepestLevel = 8192;  // twice what a packing of the most items needs
inline constexpr int kDeepestPair = 24576;
// Bytes of the stack that are left for all else, where a thread has so little that levels do not fit.
inline constexpr std::uintptr_t kStackReserve = 256 << 10;

// The lowest address of this thread's stack; 0 where that is not known.
inline std::uintptr_t stack_end() {
    pthread_attr_t attributes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
    void* end = nullptr;
    std::size_t size = 0;
    const bool known = pthread_attr_getstack(&attributes, &end, &size) == 0;
    pthread_attr_destroy(&attributes);
    return known ? reinterpret_cast<std::uintptr_t>(end) : 0;
}

// One level, for as long as it lives.
class Level {
  public:
    explicit Level(int& depth) : depth_(depth) { ++depth_; }
    ~Level() { --depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

    bool below(int deepest) const {
        thread_local const std::uintptr_t end = stack_end();
        const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
        return depth_ > deepest || here - end < kStackReserve;
    }

  private:
    int& depth_;
};

}  // namespace memstow::search
