// Memory by classes of sizes, for when there is no time left to look for gaps: each item takes a place that
// one of its class has left, or a new one above all. A step takes the same time however many items there are.
#pragma once

#include <array>
#include <bit>
#include <optional>
#include <vector>

#include "core/instance.hpp"
#include "greedy/placer.hpp"

namespace memstow::greedy {

class Shelves {
  public:
    explicit Shelves(Bytes begin) : begin_(begin), end_(begin) {}

    // No place is below it.
    Bytes begin() const { return begin_; }

    std::optional<Bytes> take(const Choice& choice, Bytes size) {
        const Class of = class_of(size);
        std::vector<Bytes>& left = left_[of.number];
        if (!left.empty() && align_up(choice, left.back()) == left.back()) {
            const Bytes offset = left.back();
            left.pop_back();
            return offset;
        }
        const std::optional<Bytes> offset = align_up(choice, end_);
        if (!offset || *offset > kLimit - of.size) return std::nullopt;
        end_ = *offset + of.size;
        return offset;
    }

    void give_back(Bytes offset, Bytes size) { left_[class_of(size).number].push_back(offset); }

  private:
    // Sizes in a class differ by at most an eighth.
    static constexpr int kSteps = 3;

    struct Class {
        std::size_t number;
        Bytes size;  // the largest in it
    };

    static Class class_of(Bytes size) {
        const auto last = static_cast<std::uint64_t>(size - 1);
        const int shift = std::max(0, static_cast<int>(std::bit_width(last)) - kSteps - 1);
        const std::uint64_t step = last >> shift;
        return {static_cast<std::size_t>(shift) * (std::size_t{1} << (kSteps + 1)) + step,
                static_cast<Bytes>((step + 1) << shift)};
    }

    Bytes begin_;
    Bytes end_;
    std::array<std::vector<Bytes>, 64 << (kSteps + 1)> left_;
};

}  // namespace memstow::greedy
