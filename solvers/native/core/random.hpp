// A small generator of our own (SplitMix64), so that a seed gives the same run with every standard library.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memstow {

class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        state_ += 0x9E3779B97F4A7C15u;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }
    // In [0, 1).
    double unit() { return (next() >> 11) * 0x1.0p-53; }
    // From 0 to n - 1; n is far below 2^64, so the bias is nothing.
    std::size_t below(std::size_t n) { return (next() % n); }

  private:
    std::uint64_t state_;
};

}  // namespace memstow
