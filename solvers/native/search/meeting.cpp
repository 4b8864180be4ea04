#include "search/meeting.hpp"

namespace memstow::search {
namespace {

// Rows at which they may meet, and pairs of ways for each.
constexpr std::size_t kMostRows = 16, kMostPairs = 1024;

using Milestone = Sweep::Milestone;
struct Meeting {
    const Milestone *here, *there;
};

// An order that both trees allow: that of the second is what follows each other in all of its orders.
class CommonOrder {
  public:
    CommonOrder(Index tiles, const Meeting& at) : first_(tiles), second_(tiles), chosen_(tiles, 0) {
        first_.restore(at.here->trees);
        second_.restore(at.there->trees);
    }

    std::vector<Index> of(OrderTrees::Node one, OrderTrees::Node other) {
        const OrderTrees::Mark mark = first_.mark();
        for (const std::vector<Index>& block : second_.blocks(other)) {
            for (const Index tile : block) chosen_[tile] = 1;
            one = first_.together(one, chosen_);
            for (const Index tile : block) chosen_[tile] = 0;
            if (one == OrderTrees::kNone) break;
        }
        std::vector<Index> order;
        if (one != OrderTrees::kNone) order = first_.sorted(one, std::vector<Bytes>(chosen_.size(), 0));
        first_.forget(mark);
        return order;
    }
    std::int64_t steps() const { return first_.steps() + second_.steps(); }

  private:
    OrderTrees first_, second_;
    std::vector<char> chosen_;
};

// The milestones at the same time, in the middle of what both have reached first: near the rows where they
// got stuck they are likely to be wrong. A milestone is what is known before its row: of the first sweep the
// rows before it, of the second those from it on.
std::vector<Meeting> meetings(Index rows, const Sweep::Reached& forwards, const Sweep::Reached& backwards) {
    std::vector<Meeting> all;
    for (const auto& here : forwards.milestones) {
        for (const auto& there : backwards.milestones) {
            if (here->row + there->row == rows + 1) all.push_back({here.get(), there.get()});
        }
    }
    std::vector<Meeting> likeliest;
    const std::size_t middle = all.size() / 2;
    for (std::size_t far = 0; far <= middle && likeliest.size() < kMostRows; ++far) {
        if (middle + far < all.size()) likeliest.push_back(all[middle + far]);
        if (far > 0) likeliest.push_back(all[middle - far]);
    }
    return likeliest;
}

// Joins the likeliest two ways that have a common order there.
bool join(const TileRows& first, const SweepSteps& forwards, const TileRows& second,
          const SweepSteps& backwards, const Meeting& at, CommonOrder& common, std::size_t memory,
          Stacking& stacking, std::int64_t& work) {
    const std::vector<Sweep::Way>&ones = at.here->ways, &others = at.there->ways;
    std::size_t pairs = 0;
    for (std::size_t sum = 0; sum + 1 < ones.size() + others.size(); ++sum) {
        for (std::size_t k = sum < others.size() ? 0 : sum - others.size() + 1; k <= sum && k < ones.size();
             ++k) {
            if (++pairs > kMostPairs) return false;
            const std::vector<Index> order = common.of(ones[k].tree, others[sum - k].tree);
            if (order.empty()) continue;
            std::vector<Bytes> place(first.tiles().size(), 0);
            for (std::size_t rank = 0; rank < order.size(); ++rank) place[order[rank]] = rank;
            return retrace(first, forwards, ones[k].step, at.here->row - 1, place, memory, stacking, work) &&
                   retrace(second, backwards, others[sum - k].step, at.there->row - 1, place, memory,
                           stacking, work);
        }
    }
    return false;
}

}  // namespace

std::optional<std::vector<Bytes>> meet(const TileRows& first, const Sweep::Reached& forwards,
                                       const TileRows& second, const Sweep::Reached& backwards,
                                       std::size_t memory, const Decision::Stop& stop) {
    const Index tiles = count_of(first.tiles());
    for (const Meeting& at : meetings(first.count(), forwards, backwards)) {
        CommonOrder common(tiles, at);
        Stacking stacking(tiles);
        std::int64_t work = 0;
        const bool joined =
            join(first, forwards.steps, second, backwards.steps, at, common, memory, stacking, work);
        const bool over = stop(work + common.steps());
        if (joined) return stacking.offsets(first.tiles());
        if (over) break;
    }
    return {};
}

}  // namespace memstow::search
