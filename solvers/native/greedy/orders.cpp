#include "greedy/orders.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "greedy/placer.hpp"

namespace memstow::greedy {

namespace {

// The largest value of a range of rows, in logarithmic time.
class RangeMaximum {
  public:
    explicit RangeMaximum(const std::vector<double>& values) : n_(values.size()), tree_(2 * n_) {
        std::copy(values.begin(), values.end(), tree_.begin() + n_);
        for (std::size_t i = n_; i-- > 1;) tree_[i] = std::max(tree_[2 * i], tree_[2 * i + 1]);
    }
    double operator()(RowRange rows) const {
        double most = 0;
        for (std::size_t l = rows.begin + n_, r = rows.end + n_; l < r; l >>= 1, r >>= 1) {
            if (l & 1) most = std::max(most, tree_[l++]);
            if (r & 1) most = std::max(most, tree_[--r]);
        }
        return most;
    }

  private:
    std::size_t n_;
    std::vector<double> tree_;
};

}  // namespace

Traits::Traits(const Instance& instance, bool of_rows) {
    const auto n = instance.item_count();
    for (std::vector<double>* trait : {&size, &life, &start, &end}) trait->assign(n, 0);
    pinned.resize(n);
    for (Index item = 0; item < instance.item_count(); ++item) {
        const std::size_t i = item;
        size[i] = extent_of(instance, item);
        start[i] = instance.row_count;
        pinned[i] = is_pinned(instance, item);
        for (Index part = instance.item_parts[i]; part < instance.item_parts[i + 1]; ++part) {
            for (const RowRange& rows : instance.rows[part]) {
                life[i] += rows.end - rows.begin;
                start[i] = std::min<double>(start[i], rows.begin);
                end[i] = std::max<double>(end[i], rows.end);
            }
        }
    }
    if (of_rows) look_at_rows(instance);
}

void Traits::look_at_rows(const Instance& instance) {
    has_rows = true;
    const auto n = instance.item_count();
    for (std::vector<double>* trait : {&degree, &pressure, &density}) trait->assign(n, 0);
    const auto row_count = instance.row_count;
    std::vector<double> load(row_count + 1, 0);
    std::vector<double> begun(row_count + 1, 0);  // ranges that begin before the row
    std::vector<double> ended(row_count + 1, 0);  // ranges that end at the row or before
    for (Index part = 0; part < count_of(instance.parts); ++part) {
        for (const RowRange& rows : instance.rows[part]) {
            const double bytes = instance.parts[part].size;
            load[rows.begin] += bytes;
            load[rows.end] -= bytes;
            if (rows.begin + 1 <= row_count) begun[rows.begin + 1] += 1;
            ended[rows.end] += 1;
        }
    }
    std::partial_sum(load.begin(), load.end(), load.begin());
    std::partial_sum(begun.begin(), begun.end(), begun.begin());
    std::partial_sum(ended.begin(), ended.end(), ended.begin());
    load.pop_back();
    const RangeMaximum busiest(load);
    const double most = load.empty() ? 0 : *std::ranges::max_element(load);
    std::vector<Index> fullest(row_count + 1, 0);  // rows before this one that have the most live bytes
    for (Index row = 0; row < row_count; ++row) fullest[row + 1] = fullest[row] + (load[row] == most ? 1 : 0);
    common.assign(n, false);

    for (Index item = 0; item < instance.item_count(); ++item) {
        const std::size_t i = item;
        for (Index part = instance.item_parts[i]; part < instance.item_parts[i + 1]; ++part) {
            Index covered = 0;
            for (const RowRange& rows : instance.rows[part]) {
                covered += fullest[rows.end] - fullest[rows.begin];
                degree[i] += begun[rows.end] - ended[rows.begin] - 1;
                pressure[i] = std::max(pressure[i], busiest(rows));
            }
            if (covered == fullest.back()) common[i] = true;
        }
        const auto [cheap, dear] =
            std::minmax_element(instance.choices[item].begin(), instance.choices[item].end(),
                                [](const Choice& a, const Choice& b) { return a.cost < b.cost; });
        density[i] = (dear->cost - cheap->cost) / size[i];
    }
}

bool is_of_rows(Order order) {
    switch (order) {
        case Order::degree:
        case Order::pressure:
        case Order::pressure_area:
        case Order::pressure_life:
        case Order::size_degree:
        case Order::density:
        case Order::common_life:
            return true;
        default:
            return false;
    }
}

std::string_view name_of(Order order) {
    switch (order) {
        case Order::size:
            return "size";
        case Order::life:
            return "life";
        case Order::area:
            return "area";
        case Order::start:
            return "start";
        case Order::start_size:
            return "start-size";
        case Order::end:
            return "end";
        case Order::end_size:
            return "end-size";
        case Order::degree:
            return "degree";
        case Order::pressure:
            return "pressure";
        case Order::pressure_area:
            return "pressure-area";
        case Order::pressure_life:
            return "pressure-life";
        case Order::size_life:
            return "size-life";
        case Order::size_degree:
            return "size-degree";
        case Order::density:
            return "density";
        case Order::common_life:
            return "common-life";
        case Order::input:
            return "input";
    }
    return "";
}

std::vector<Index> arrange(const Traits& t, Order order) {
    // Looked up again for each comparison: of a million items the keys would take more memory than the
    // traits.
    const auto key = [&](std::size_t i) -> std::array<double, 2> {
        switch (order) {
            case Order::size:
                return {t.size[i], t.life[i]};
            case Order::life:
                return {t.life[i], t.size[i]};
            case Order::area:
                return {t.size[i] * t.life[i], t.size[i]};
            case Order::start:
                return {-t.start[i], t.life[i]};
            case Order::start_size:
                return {-t.start[i], t.size[i]};
            case Order::end:
                return {t.end[i], t.life[i]};
            case Order::end_size:
                return {t.end[i], t.size[i]};
            case Order::degree:
                return {t.degree[i], t.size[i]};
            case Order::pressure:
                return {t.pressure[i], t.size[i]};
            case Order::pressure_area:
                return {t.pressure[i], t.size[i] * t.life[i]};
            case Order::pressure_life:
                return {t.pressure[i], t.life[i]};
            case Order::size_life:
                return {t.size[i] * t.size[i] * t.life[i], t.size[i]};
            case Order::size_degree:
                return {t.size[i] * t.degree[i], t.size[i]};
            case Order::density:
                return {t.density[i], t.size[i]};
            case Order::common_life:
                // Where these are together, what is left of each of the fullest rows is in one piece, and
                // what lives around one of them alone fills that as memory that is freed is used again.
                return t.common[i] ? std::array{t.life[i], t.size[i]}
                                   : std::array{-1 - t.end[i], -t.start[i]};
            case Order::input:
                return {0, 0};
        }
        return {};
    };
    std::vector<Index> items(t.size.size());
    std::iota(items.begin(), items.end(), 0);
    const auto others =
        std::stable_partition(items.begin(), items.end(), [&](std::size_t i) { return t.pinned[i]; });
    const auto before = [&](Index a, Index b) {
        const auto of_a = key(a), of_b = key(b);
        return of_a != of_b ? of_a > of_b : a < b;
    };
    std::sort(items.begin(), others, before);
    std::sort(others, items.end(), before);
    return items;
}

}  // namespace memstow::greedy
