#include "step_allocator.hpp"

#include <algorithm>

namespace memstow::replay {

StepAllocator::StepAllocator(const StepTable& table)
    : live_(offsets_of(table)), follower_(table), events_(table.events) {
    const NumberIndex sizes(sizes_of(table));
    const auto end_of_step = static_cast<Index>(events_.size());
    entries_.reserve(table.allocations.size());
    for (const auto& [size, offset] : table.allocations) {
        const Index size_number = sizes.find(size);
        const Index place = live_.place_of(offset);
        entries_.push_back(
            {size, offset, place, live_.places_below(offset + size), 0, end_of_step, size_number});
        if (size_number >= places_of_size_.size()) places_of_size_.resize(size_number + 1);
        places_of_size_[size_number].push_back(place);
    }
    for (std::vector<Index>& places : places_of_size_) {
        std::sort(places.begin(), places.end());
        places.erase(std::unique(places.begin(), places.end()), places.end());
    }
    for (Index i = 0; i < end_of_step; ++i) {
        Entry& entry = entries_[events_[i].allocation];
        (events_[i].is_free ? entry.until : entry.from) = i;
    }
    places_.resize(offsets_of(table).size());
    held_.reserve(places_.size());
}

void StepAllocator::begin_step(Stream stream) {
    ++step_;
    stream_ = stream;
    follower_.begin_step();
}

std::optional<Bytes> StepAllocator::allocate(Bytes size) {
    const Index i = follower_.allocated(size);
    if (i == kNone) return std::nullopt;
    const Entry& entry = entries_[i];
    Index place = entry.place;
    if (live_.is_occupied(entry.offset, entry.below)) {
        place = other_place(entry);
        if (place == kNone) {
            ++taken_;
            return std::nullopt;
        }
    }
    const Bytes offset = live_.begin_of(place);
    live_.insert(place, offset + entry.size);
    places_[place] = {entry.size, step_, stream_, Use::live};
    ++live_count_;
    high_water_ = std::max(high_water_, offset + size);
    return offset;
}

Index StepAllocator::other_place(const Entry& entry) const {
    int comparisons = 0;
    for (const Index place : places_of_size_[entry.size_number]) {
        if (++comparisons > kMostComparisons) break;
        const Bytes begin = live_.begin_of(place);
        const Bytes end = begin + entry.size;
        if (live_.is_occupied(begin, live_.places_below(end)) || is_planned(entry, begin, comparisons))
            continue;
        return place;
    }
    return kNone;
}

// Whether bytes from `begin` belong to an allocation that is to come while the entry is live, as far as
// recorded.
bool StepAllocator::is_planned(const Entry& entry, Bytes begin, int& comparisons) const {
    for (Index i = entry.from + 1; i < entry.until; ++i) {
        if (++comparisons > kMostComparisons) return true;
        if (events_[i].is_free) continue;
        const Entry& other = entries_[events_[i].allocation];
        if (other.offset < begin + entry.size && begin < other.offset + other.size) return true;
    }
    return false;
}

bool StepAllocator::share(Bytes offset, Stream stream) {
    const Index place = live_.place_of(offset);
    if (place == kNone || (places_[place].use != Use::live && places_[place].use != Use::shared))
        return false;
    if (stream != places_[place].stream) places_[place].use = Use::shared;
    return true;
}

bool StepAllocator::free(Bytes offset, Stream stream) {
    const Index i = live_.place_of(offset);
    if (i == kNone || places_[i].use == Use::none || places_[i].use == Use::held) return false;
    Place& place = places_[i];
    --live_count_;
    if (place.use == Use::shared || stream != place.stream || stream != stream_) {
        place.use = Use::held;
        held_.push_back(i);
    } else {
        place.use = Use::none;
        live_.erase(i);
    }
    if (place.step == step_) follower_.freed(place.size);
    return true;
}

void StepAllocator::release_held() {
    for (const Index i : held_) {
        places_[i].use = Use::none;
        live_.erase(i);
    }
    held_.clear();
}

}  // namespace memstow::replay
