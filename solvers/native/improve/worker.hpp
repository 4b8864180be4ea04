// One thread of the improver: takes turns between searching keys for the skyline, ejecting items at a target
// height and, of large instances, growing a layout anew; each for as long as it helps.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "improve/ejection.hpp"
#include "improve/growth.hpp"
#include "improve/key_search.hpp"

namespace memstow::improve {

class Worker {
  public:
    struct Goal {
        Index pool;
        Bytes bound;
        Bytes unit;  // heights only matter in steps of it
    };
    Worker(const Instance& instance, const Goal& goal, const Layout& start, std::uint64_t seed,
           bool ejects_first, const Budget& budget);

    // Works until told to stop, or has a lower layout: then true.
    using Stop = std::function<bool(std::int64_t steps)>;
    bool work(const Stop& stop);

    // Takes a layout found elsewhere if it is lower.
    void adopt(const Layout& layout, Bytes height);
    const Layout& layout() const { return best_; }
    Bytes height() const { return height_; }
    std::int64_t moves() const { return ejection_ ? ejection_->moves : 0; }

  private:
    enum class Way { keys, ejection, growth };
    Way after(Way way) const;
    void end_turn();
    bool search(const Stop& stop);
    bool search_keys(const Stop& stop);
    bool eject(const Stop& stop);
    bool grow(const Stop& stop);
    void record(Layout layout);

    const Instance& instance_;
    Goal goal_;
    Layout best_;
    Bytes height_;
    std::uint64_t seed_;
    const Budget& budget_;
    bool dives_;  // whether keys can be searched
    bool grows_;
    // Made when their first turn comes: of a million items each takes half a second and a hundred megabytes.
    std::optional<Ejection> ejection_;
    std::optional<KeySearch> keys_;
    std::optional<Growth> growth_;
    Way way_;
    std::size_t grown_ = 0;  // items placed by the growth when its turn began
    std::int64_t left_;      // steps of this turn
    double share_ = 0.3;
    std::int64_t patience_;
};

// The largest end of a part in the pool.
Bytes height_of(const Instance& instance, Index pool, const Layout& layout);

}  // namespace memstow::improve
