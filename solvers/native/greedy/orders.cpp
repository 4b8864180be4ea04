#include "greedy/orders.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "greedy/placer.hpp"

namespace memstow {

namespace {

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

// The largest value of a range of rows, in logarithmic time.
class RangeMaximum {
  public:
    explicit RangeMaximum(const std::vector<double>& values) : n_(values.size()), tree_(2 * n_) {
        std::copy(values.begin(), values.end(), tree_.begin() + static_cast<std::ptrdiff_t>(n_));
        for (std::size_t i = n_; i-- > 1;) tree_[i] = std::max(tree_[2 * i], tree_[2 * i + 1]);
    }
    double operator()(RowRange rows) const {
        double most = 0;
        for (std::size_t l = at(rows.begin) + n_, r = at(rows.end) + n_; l < r; l >>= 1, r >>= 1) {
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

Traits::Traits(const Instance& instance) {
    const auto n = at(instance.item_count());
    for (std::vector<double>* trait : {&size, &life, &start, &end, &degree, &pressure, &density}) {
        trait->assign(n, 0);
    }
    pinned.resize(n);

    const auto row_count = at(instance.row_count);
    std::vector<double> load(row_count + 1, 0);
    std::vector<double> begun(row_count + 1, 0);  // ranges that begin before the row
    std::vector<double> ended(row_count + 1, 0);  // ranges that end at the row or before
    for (Index part = 0; part < static_cast<Index>(instance.parts.size()); ++part) {
        for (const RowRange& rows : instance.rows[part]) {
            const auto bytes = static_cast<double>(instance.parts[at(part)].size);
            load[at(rows.begin)] += bytes;
            load[at(rows.end)] -= bytes;
            if (at(rows.begin) + 1 <= row_count) begun[at(rows.begin) + 1] += 1;
            ended[at(rows.end)] += 1;
        }
    }
    std::partial_sum(load.begin(), load.end(), load.begin());
    std::partial_sum(begun.begin(), begun.end(), begun.begin());
    std::partial_sum(ended.begin(), ended.end(), ended.begin());
    load.pop_back();
    const RangeMaximum busiest(load);

    for (Index item = 0; item < instance.item_count(); ++item) {
        const std::size_t i = at(item);
        size[i] = static_cast<double>(extent_of(instance, item));
        start[i] = static_cast<double>(row_count);
        pinned[i] = is_pinned(instance, item);
        for (Index part = instance.item_parts[i]; part < instance.item_parts[i + 1]; ++part) {
            for (const RowRange& rows : instance.rows[part]) {
                life[i] += rows.end - rows.begin;
                start[i] = std::min(start[i], static_cast<double>(rows.begin));
                end[i] = std::max(end[i], static_cast<double>(rows.end));
                degree[i] += begun[at(rows.end)] - ended[at(rows.begin)] - 1;
                pressure[i] = std::max(pressure[i], busiest(rows));
            }
        }
        const auto [cheap, dear] =
            std::minmax_element(instance.choices[item].begin(), instance.choices[item].end(),
                                [](const Choice& a, const Choice& b) { return a.cost < b.cost; });
        density[i] = static_cast<double>(dear->cost - cheap->cost) / size[i];
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
        case Order::input:
            return "input";
    }
    return "";
}

std::vector<Index> arrange(const Traits& t, Order order) {
    struct Key {
        std::array<double, 3> values;
        Index item;
    };
    const auto key = [&](std::size_t i) -> std::array<double, 3> {
        const double pin = t.pinned[i] ? 1 : 0;
        switch (order) {
            case Order::size:
                return {pin, t.size[i], t.life[i]};
            case Order::life:
                return {pin, t.life[i], t.size[i]};
            case Order::area:
                return {pin, t.size[i] * t.life[i], t.size[i]};
            case Order::start:
                return {pin, -t.start[i], t.life[i]};
            case Order::start_size:
                return {pin, -t.start[i], t.size[i]};
            case Order::end:
                return {pin, t.end[i], t.life[i]};
            case Order::end_size:
                return {pin, t.end[i], t.size[i]};
            case Order::degree:
                return {pin, t.degree[i], t.size[i]};
            case Order::pressure:
                return {pin, t.pressure[i], t.size[i]};
            case Order::pressure_area:
                return {pin, t.pressure[i], t.size[i] * t.life[i]};
            case Order::pressure_life:
                return {pin, t.pressure[i], t.life[i]};
            case Order::size_life:
                return {pin, t.size[i] * t.size[i] * t.life[i], t.size[i]};
            case Order::size_degree:
                return {pin, t.size[i] * t.degree[i], t.size[i]};
            case Order::density:
                return {pin, t.density[i], t.size[i]};
            case Order::input:
                return {pin, 0, 0};
        }
        return {};
    };
    std::vector<Key> keys(t.size.size());
    for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = {key(i), static_cast<Index>(i)};
    std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
        return a.values != b.values ? a.values > b.values : a.item < b.item;
    });
    std::vector<Index> items;
    items.reserve(keys.size());
    for (const Key& k : keys) items.push_back(k.item);
    return items;
}

}  // namespace memstow
