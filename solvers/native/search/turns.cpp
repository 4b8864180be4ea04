#include "search/turns.hpp"

#include <algorithm>
#include <utility>

#include "search/exact.hpp"

namespace memstow::search {
namespace {

constexpr std::int64_t kFirstTurn = 4000;
constexpr std::int64_t kLongerTurns = 4;

// Where the items of the packing are in the layout, and where the last of them ends.
std::pair<Bytes, std::vector<Bytes>> laid(const Packing& packing, const Layout& layout) {
    std::vector<Bytes> offsets;
    Bytes top = 0;
    for (const PackingItem& item : packing.items) {
        const Bytes offset = layout[item.original].offset;
        offsets.push_back(offset);
        top = offset < 0 ? kLimit : std::max(top, offset + item.top);
    }
    return {top, std::move(offsets)};
}

}  // namespace

Turns::Turns(const Components& components, std::vector<Index> searchable, Progress& progress, Budget& budget)
    : components_(components),
      progress_(progress),
      budget_(budget),
      pieces_(components.count()),
      waiting_(searchable.begin(), searchable.end()),
      nodes_(kFirstTurn) {}

bool Turns::has_had_its_turn(const Piece& piece) const {
    return std::all_of(piece.ladders.begin(), piece.ladders.end(),
                       [this](const auto& ladder) { return !matters(*ladder) || ladder->nodes >= nodes_; });
}

void Turns::close_some() {
    const bool others = !waiting_.empty() || !later_.empty();
    std::vector<Index> kept;
    for (const Index at : open_) {
        Piece& piece = pieces_[at];
        const bool done = progress_.settled(at);
        const bool turn_over = !done && others && has_had_its_turn(piece);
        if (turn_over) later_.push_back(at);
        if (!done && !turn_over) {
            kept.push_back(at);
            continue;
        }
        for (const auto& opened : piece.opened) opened->closed.store(true, std::memory_order_relaxed);
        piece.opened.clear();
    }
    open_.swap(kept);
}

// False when the budget is spent before one is open.
bool Turns::open_some() {
    std::int64_t entries = 0;
    for (const Index at : open_) entries += components_.entries(at);
    while (!waiting_.empty() && open_.size() < kMostOpen && !progress_.over() && !budget_.spent()) {
        const Index at = waiting_.front();
        if (!progress_.settled(at)) {
            entries += components_.entries(at);
            if (!open_.empty() && entries > kMostEntries) break;
            if (!open(at)) return false;
            open_.push_back(at);
        }
        waiting_.pop_front();
    }
    return true;
}

void Turns::refill() {
    for (;;) {
        close_some();
        if (!open_some()) return;
        if (!open_.empty() || !waiting_.empty() || later_.empty()) return;
        waiting_.assign(later_.begin(), later_.end());
        later_.clear();
        nodes_ = times_more(nodes_, kLongerTurns);
    }
}

// False when the budget is spent before it is open.
bool Turns::open(Index component) {
    Piece& piece = pieces_[component];
    std::vector<Packing> parts = packings(components_.instance_of(component), &budget_);
    if (parts.empty()) return false;
    const auto items = components_.items(component);
    const bool first = piece.ladders.empty();
    for (Packing& packing : parts) {
        for (PackingItem& item : packing.items) item.original = items[item.original];
        if (first) piece.ladders.push_back(first_ladder(component, packing));
        piece.opened.push_back(std::make_shared<Opened>());
        piece.opened.back()->packing = std::move(packing);
    }
    return true;
}

std::unique_ptr<Ladder> Turns::first_ladder(Index component, const Packing& packing) {
    auto ladder = std::make_unique<Ladder>(packing, &budget_);
    auto [top, offsets] = laid(packing, progress_.layout());
    ladder->improve(top, std::move(offsets), 0);
    progress_.raise_bound(component, ladder->bound(), {ladder->bound() - 1, 1});
    return ladder;
}

Turns::Pick Turns::least_searched() const {
    Pick pick{0, nullptr, nullptr};
    for (const Index at : open_) {
        const Piece& piece = pieces_[at];
        for (std::size_t k = 0; k < piece.ladders.size(); ++k) {
            Ladder* const ladder = piece.ladders[k].get();
            if (!matters(*ladder)) continue;
            if (pick.ladder != nullptr && ladder->nodes >= pick.ladder->nodes) continue;
            pick = {at, ladder, piece.opened[k]};
        }
    }
    return pick;
}

Bytes Turns::top(Index component) const {
    Bytes top = 0;
    for (const auto& ladder : pieces_[component].ladders) top = std::max(top, ladder->top());
    return top;
}

std::size_t Turns::count() const {
    std::size_t count = waiting_.size() + later_.size();
    for (const Index at : open_) count += pieces_[at].ladders.size();
    return count;
}

}  // namespace memstow::search
