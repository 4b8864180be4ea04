// The most bytes that live at one moment, for the same lifetimes and many sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/instance.hpp"

namespace memstow::shapes {

class LiveEvents {
  public:
    // Of each of these buffers a lifetime [begin, end); a buffer may have several.
    LiveEvents(std::span<const std::int64_t> buffers, std::span<const std::int64_t> begins,
               std::span<const std::int64_t> ends);

    // One more than the largest number of a buffer.
    std::int64_t buffers() const { return buffers_; }

    // With sizes by buffer, each within 0 and 2^62; nothing where there are more than 2^62 bytes.
    std::optional<Bytes> most(std::span<const Bytes> sizes) const;

  private:
    struct Event {
        std::int64_t time, buffer;
        bool begins;
    };
    std::vector<Event> events_;
    std::int64_t buffers_ = 0;
};

}  // namespace memstow::shapes
