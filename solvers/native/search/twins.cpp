#include "search/twins.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace memstow::search {
namespace {

// All that matters of an item of a plain packing; empty for one without rows.
std::vector<Bytes> signature(const Packing& packing, Index i) {
    if (packing.rows_of[i].empty()) return {};
    const PackingItem& item = packing.items[i];
    std::vector<Bytes> all{item.size, item.top, item.modulus, item.residue, packing.rows_of[i].front()};
    for (Index row : packing.rows_of[i]) all.push_back(row);
    all.push_back(-1);
    for (const Range& range : packing.allowed[i]) {
        all.push_back(range.begin);
        all.push_back(range.end);
    }
    return all;
}

}  // namespace

void find_twins(Packing& packing) {
    packing.twin.assign(packing.items.size(), -1);
    if (!packing.plain) return;
    std::vector<Index> order(packing.items.size());
    std::iota(order.begin(), order.end(), 0);
    std::vector<std::vector<Bytes>> signatures;
    for (Index i : order) signatures.push_back(signature(packing, i));
    std::sort(order.begin(), order.end(),
              [&](Index a, Index b) { return std::tie(signatures[a], a) < std::tie(signatures[b], b); });
    for (std::size_t k = 1; k < order.size(); ++k) {
        const auto& before = signatures[order[k - 1]];
        if (!before.empty() && before == signatures[order[k]]) packing.twin[order[k]] = order[k - 1];
    }
}

}  // namespace memstow::search
