#include "shapes/live.hpp"

#include <algorithm>
#include <tuple>

namespace memstow::shapes {

LiveEvents::LiveEvents(std::span<const std::int64_t> buffers, std::span<const std::int64_t> begins,
                       std::span<const std::int64_t> ends) {
    events_.reserve(2 * buffers.size());
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        if (begins[i] >= ends[i]) continue;
        buffers_ = std::max(buffers_, buffers[i] + 1);
        events_.push_back({begins[i], buffers[i], true});
        events_.push_back({ends[i], buffers[i], false});
    }
    // What ends gives way to what begins.
    std::sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
        return std::tuple(a.time, a.begins, a.buffer) < std::tuple(b.time, b.begins, b.buffer);
    });
}

std::optional<Bytes> LiveEvents::most(std::span<const Bytes> sizes) const {
    Bytes live = 0;
    Bytes most = 0;
    for (const Event& event : events_) {
        const Bytes size = sizes[event.buffer];
        if (event.begins && size > kLimit - live) return std::nullopt;
        live += event.begins ? size : -size;
        most = std::max(most, live);
    }
    return most;
}

}  // namespace memstow::shapes
