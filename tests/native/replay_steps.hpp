// Steps that allocate and free at random, plans of them, and steps that differ from what was recorded.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "live_ranges.hpp"

namespace replay_steps {

using memstow::replay::Bytes;

// `number` names what is allocated, and what is freed.
struct Event {
    std::size_t number;
    Bytes size;
    bool is_free;
};

struct Step {
    std::vector<Event> events;
    std::vector<Bytes> offsets;  // by number
    Bytes arena = 0;
};

// Live ranges, byte by byte where that matters: whatever overlaps one that is live is a defect.
class Live {
  public:
    bool add(Bytes begin, Bytes size) {
        const auto next = ranges_.lower_bound(begin);
        if (next != ranges_.end() && next->first < begin + size) return false;
        if (next != ranges_.begin() && std::prev(next)->second > begin) return false;
        ranges_[begin] = begin + size;
        return true;
    }
    void remove(Bytes begin) { ranges_.erase(begin); }

    // The lowest multiple of the unit where as many bytes are free.
    Bytes lowest(Bytes size) const {
        Bytes begin = 0;
        for (const auto& [from, to] : ranges_) {
            if (begin + size <= from) break;
            begin = std::max(begin, to);
        }
        return begin;
    }

  private:
    std::map<Bytes, Bytes> ranges_;
};

inline std::size_t below(std::mt19937& random, std::size_t limit) { return random() % limit; }

// Layers of a few sizes, again and again, as training has them: what a layer keeps is freed in the opposite
// order.
inline Step random_step(std::mt19937& random, std::size_t allocations, Bytes unit) {
    std::vector<Bytes> sizes(3 + below(random, 12));
    for (Bytes& size : sizes) size = unit * (1 + below(random, 40));
    Step step;
    Live live;
    std::vector<std::size_t> kept;
    std::vector<std::size_t> passing;
    const auto free_one = [&](std::vector<std::size_t>& of, std::size_t i) {
        const std::size_t number = of[i];
        of.erase(of.begin() + static_cast<std::ptrdiff_t>(i));
        live.remove(step.offsets[number]);
        step.events.push_back({number, 0, true});
    };
    while (step.offsets.size() < allocations) {
        const bool is_backward = step.offsets.size() > allocations / 2;
        while (passing.size() > 3) free_one(passing, below(random, passing.size()));
        if (is_backward && !kept.empty() && below(random, 2) == 0) free_one(kept, kept.size() - 1);
        const Bytes size = sizes[below(random, sizes.size())];
        const Bytes offset = live.lowest(size);
        live.add(offset, size);
        const std::size_t number = step.offsets.size();
        step.offsets.push_back(offset);
        step.arena = std::max(step.arena, offset + size);
        step.events.push_back({number, size, false});
        (!is_backward && below(random, 3) == 0 ? kept : passing).push_back(number);
    }
    // Some outlive the step.
    while (passing.size() > 1) free_one(passing, 0);
    while (kept.size() > 1) free_one(kept, kept.size() - 1);
    for (Event& event : step.events) {
        if (!event.is_free) continue;
        const auto is_its = [&](const Event& other) { return other.number == event.number; };
        event.size = std::find_if(step.events.begin(), step.events.end(), is_its)->size;
    }
    return step;
}

// As planner/formats/step_table.py writes them.
inline std::string table_of(const Step& step, Bytes unit) {
    std::ostringstream text;
    text << "memstow-replay 1 " << unit << ' ' << step.arena << ' ' << step.events.size() << '\n';
    for (const Event& event : step.events) {
        if (event.is_free) {
            text << "- " << event.number << '\n';
        } else {
            text << "+ " << event.size << ' ' << step.offsets[event.number] << '\n';
        }
    }
    return text.str();
}

// The step with some events left out, added, resized, and out of order: so many in a thousand.
inline std::vector<Event> changed(std::mt19937& random, const Step& step, std::size_t in_thousand,
                                  Bytes unit) {
    std::vector<Event> events;
    std::vector<Bytes> size_of(step.offsets.size(), 0);  // 0: left out
    std::size_t next_number = step.offsets.size();
    std::vector<Event> added;
    for (const Event& event : step.events) {
        if (event.is_free) {
            if (size_of[event.number] != 0) events.push_back({event.number, size_of[event.number], true});
            continue;
        }
        size_of[event.number] = event.size;
        if (below(random, 1000) < in_thousand) {
            switch (below(random, 4)) {
                case 0:
                    size_of[event.number] = 0;
                    continue;
                case 1: {
                    const Bytes size = below(random, 2) == 0 ? event.size : unit * (1 + below(random, 60));
                    added.push_back({next_number++, size, false});
                    events.push_back(added.back());
                    break;
                }
                case 2:
                    size_of[event.number] = unit * (1 + below(random, 60)) - below(random, unit);
                    break;
                default:
                    break;
            }
        }
        events.push_back({event.number, size_of[event.number], false});
        if (!added.empty() && below(random, 8) == 0) {
            events.push_back({added.back().number, added.back().size, true});
            added.pop_back();
        }
    }
    for (const Event& event : added) events.push_back({event.number, event.size, true});
    // Neighbours change places, but for what belongs together.
    for (std::size_t i = 1; i < events.size(); ++i) {
        if (below(random, 4000) < in_thousand && events[i - 1].number != events[i].number) {
            std::swap(events[i - 1], events[i]);
        }
    }
    return events;
}

}  // namespace replay_steps
