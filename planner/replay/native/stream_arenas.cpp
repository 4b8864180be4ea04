#include "stream_arenas.hpp"

#include <algorithm>
#include <utility>

namespace memstow::replay {

StreamArenas::StreamArenas(const std::vector<StepTable>& tables, std::function<void()> wait)
    : wait_(std::move(wait)) {
    arenas_.reserve(tables.size());
    for (const StepTable& table : tables) arenas_.push_back({.plan = StepAllocator(table)});
}

void StreamArenas::begin_step(Stream stream) {
    const auto in_vain = std::count_if(arenas_.begin() + 1, arenas_.end(), is_in_vain);
    // A stream that had one bad step keeps its arena unless others may be in its place.
    const bool is_unsettled = in_vain > 1 || is_one_without_;
    for (Arena& arena : arenas_) {
        arena.is_withheld = is_unsettled && is_in_vain(arena);
        arena.is_settled = arena.is_claimed && !is_in_vain(arena);
        arena.is_claimed = false;
        arena.placed = 0;
    }
    is_one_without_ = false;
    const auto has_held = [](const Arena& arena) { return arena.plan.has_held(); };
    if (std::any_of(arenas_.begin(), arenas_.end(), has_held)) wait_for_device();
    claim(arenas_.front(), stream);
}

std::optional<std::size_t> StreamArenas::arena_of(Stream stream) const {
    for (std::size_t i = 0; i < arenas_.size(); ++i) {
        if (arenas_[i].is_claimed && arenas_[i].stream == stream) return i;
    }
    return std::nullopt;
}

std::optional<std::size_t> StreamArenas::arena_of(Stream stream, Bytes size) {
    if (const std::optional<std::size_t> arena = arena_of(stream)) return arena;
    std::size_t best = 0;
    int most = 0;
    bool is_like_one = false;
    for (std::size_t i = 1; i < arenas_.size(); ++i) {
        const Arena& arena = arenas_[i];
        const int like = likeness(arena, stream, size);
        is_like_one |= like > 0;
        if (like <= most || arena.is_claimed || (arena.is_withheld && arena.stream == stream)) continue;
        best = i;
        most = like;
    }
    if (most == 0) {
        is_one_without_ |= is_like_one;
        return std::nullopt;
    }
    claim(arenas_[best], stream);
    return best;
}

std::optional<Bytes> StreamArenas::allocate(std::size_t arena, Bytes size) {
    const std::optional<Bytes> offset = arenas_[arena].plan.allocate(size);
    if (offset) ++arenas_[arena].placed;
    return offset;
}

// Whether its stream had it, and little of what was recorded happened there.
bool StreamArenas::is_in_vain(const Arena& arena) {
    return arena.is_claimed && 2 * arena.placed < arena.plan.recorded();
}

int StreamArenas::likeness(const Arena& arena, Stream stream, Bytes size) {
    if (arena.is_used && arena.stream == stream) return 3;
    const StepFollower& follower = arena.plan.follower();
    return follower.begins_with(size) ? 2 : !arena.is_settled && follower.has(size) ? 1 : 0;
}

void StreamArenas::claim(Arena& arena, Stream stream) {
    if (arena.is_used && arena.stream != stream) wait_for_device();
    arena.is_used = true;
    arena.is_claimed = true;
    arena.stream = stream;
    arena.plan.begin_step(stream);
}

void StreamArenas::wait_for_device() {
    wait_();
    for (Arena& arena : arenas_) arena.plan.release_held();
}

std::size_t StreamArenas::live() const {
    std::size_t live = 0;
    for (const Arena& arena : arenas_) live += arena.plan.live();
    return live;
}

Bytes StreamArenas::high_water() const {
    Bytes high_water = 0;
    for (const Arena& arena : arenas_) high_water += arena.plan.high_water();
    return high_water;
}

std::uint64_t StreamArenas::taken() const {
    std::uint64_t taken = 0;
    for (const Arena& arena : arenas_) taken += arena.plan.taken();
    return taken;
}

}  // namespace memstow::replay
