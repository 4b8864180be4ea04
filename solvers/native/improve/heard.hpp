// What other runs have found, as it looks from above the items that live throughout, if these are left out.
#pragma once

#include <algorithm>

#include "core/exchange.hpp"
#include "improve/throughout.hpp"

namespace memstow::improve {

class Heard {
  public:
    // Either may be nothing.
    Heard(const Exchange* others, const AboveThroughout* above) : others_(others), above_(above) {}

    // Of the lowest layout of others, at most; kLimit while there is none.
    Bytes height() const {
        const Bytes height = others_ == nullptr ? kLimit : others_->height();
        if (above_ == nullptr || height == kLimit) return height;
        return height - above_->base() + above_->step() - 1;
    }
    // No layout is lower.
    Bytes bound() const {
        const Bytes bound = others_ == nullptr ? 0 : others_->bound();
        return above_ == nullptr ? bound : std::max<Bytes>(0, bound - above_->base());
    }
    // A search for a layout of at most this height is pointless.
    bool settles(Bytes height) const { return this->height() <= height || bound() > height; }
    // Of at most that height.
    Layout layout() const {
        return above_ == nullptr ? others_->layout() : above_->lowered(others_->layout());
    }

  private:
    const Exchange* others_;
    const AboveThroughout* above_;
};

}  // namespace memstow::improve
