// Which of several items a search tries first: by what the strategy says of their sizes and lives, with some
// noise, and by how often each was still unplaced at a dead end.
#pragma once

#include <vector>

#include "search/decision.hpp"
#include "search/packing.hpp"

namespace memstow::search {

class Preferences {
  public:
    explicit Preferences(const Packing& packing)
        : packing_(packing),
          weights_(kKinds, std::vector<double>(packing.items.size(), 0)),
          weight_(&weights_[0]),
          preference_(packing.items.size(), 0) {}

    // From now on as this strategy says.
    void use(const Strategy& strategy);
    // Draws the noise of a new run.
    void draw(std::uint64_t seed);
    void learn(Index item) { (*weight_)[item] += 1; }
    void forget() {
        for (std::vector<double>& weights : weights_) weights.assign(weights.size(), 0);
    }
    // The preferred ones first.
    void sort(std::vector<Index>::iterator first, std::vector<Index>::iterator last) const;

  private:
    double base(Index item, double longest, double widest, double largest) const;
    double life(Index item) const;

    const Packing& packing_;
    Strategy strategy_;
    // Each kind of strategy learns for itself, across restarts until told to forget.
    static constexpr std::size_t kKinds = 4 * 3 * 2 * 2;  // orders, sides, choice of row, height
    std::vector<std::vector<double>> weights_;
    std::vector<double>* weight_;     // of the kind in use
    std::vector<double> preference_;  // by item
};

}  // namespace memstow::search
