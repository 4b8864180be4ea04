#include "proof/place_program.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>

namespace memstow::proof {
namespace {

constexpr double kTiny = 1e-9, kTolerance = 1e-7;
constexpr double kEndless = std::numeric_limits<double>::infinity();
constexpr int kMostPivots = 2'000;  // of one solution: what takes more has to do with what is known then
constexpr int kRebuildAfter = 500;
constexpr int kMostIdle = 40;  // rows
constexpr Bytes kMostShares = 40;
constexpr double kMostMissing = 0.999;  // of a cover, else there is little to gain
constexpr int kMostRounds = 50;
constexpr std::size_t kMostNew = 20;              // rows of a round
constexpr std::size_t kMostAmounts = 16'000'000;  // of all rows, which are 128 MB
constexpr Bytes kMostSum = Bytes{1} << 62, kOver = kMostSum + 1;
constexpr Bytes kScales[] = {1, 1 << 4, 1 << 8, 1 << 12, 1 << 16, 1 << 20, 1 << 26, Bytes{1} << 32};

constexpr Bytes plus(Bytes a, Bytes b) { return a > kMostSum - b ? kOver : a + b; }
constexpr Bytes times(Bytes a, Bytes b) { return b != 0 && a > kMostSum / b ? kOver : a * b; }

}  // namespace

PlaceProgram::PlaceProgram(std::vector<std::vector<Bytes>> costs) : costs_(std::move(costs)) {
    for (Index u = 0; u < count_of(costs_); ++u) {
        const auto& mine = costs_[u];
        allowed_.emplace_back(mine.size());
        std::iota(allowed_.back().begin(), allowed_.back().end(), Index{0});
        base_.push_back(static_cast<Index>(std::min_element(mine.begin(), mine.end()) - mine.begin()));
        first_.push_back(count_of(columns_));
        whole_.push_back(-1);
        const Bytes least = mine.empty() ? 0 : mine[base_[u]];
        constant_ += static_cast<double>(least);
        for (Index place = 0; place < count_of(mine); ++place) {
            const double cost = static_cast<double>(mine[place] - least);
            columns_.push_back({u, place, 0, place == base_[u] ? 0.0 : 1.0, cost});
            reduced_.push_back(cost);
        }
    }
}

void PlaceProgram::add(std::vector<Part> parts, Bytes room) { limits_.push_back({std::move(parts), room}); }

void PlaceProgram::suggest(Bytes scale, std::vector<std::pair<Index, Bytes>> prices) {
    suggested_.push_back({0, scale, std::move(prices)});
}

double PlaceProgram::value(const Column& column) const {
    return column.row >= 0 ? rows_[column.row].value : column.at_high ? column.high : column.low;
}

// How much of a unit is there.
double PlaceProgram::share(Index unit, Index place) const {
    if (place != base_[unit]) return value(columns_[column_of(unit, place)]);
    double rest = 1;
    for (Index other = 0; other < count_of(costs_[unit]); ++other) {
        if (other != place) rest -= value(columns_[column_of(unit, other)]);
    }
    return rest;
}

std::vector<std::vector<double>> PlaceProgram::shares() const {
    std::vector<std::vector<double>> all(costs_.size());
    for (Index u = 0; u < count_of(costs_); ++u) {
        for (Index k = 0; k < count_of(costs_[u]); ++k) all[u].push_back(share(u, k));
    }
    return all;
}

double PlaceProgram::share(const Part& part) const {
    double there = 0;
    for (const Index place : part.places) there += share(part.unit, place);
    return there;
}

void PlaceProgram::set_bounds(Index at, double low, double high) {
    Column& column = columns_[at];
    column.low = low;
    column.high = high;
    if (column.row < 0) column.at_high = reduced_[at] < 0 && high < kEndless;
}

void PlaceProgram::restrict_to(Index unit, std::vector<Index> places) {
    allowed_[unit] = std::move(places);
    const auto& now = allowed_[unit];
    const auto may = [&](Index place) { return std::find(now.begin(), now.end(), place) != now.end(); };
    const bool leaves_base = !may(base_[unit]);
    for (Index place = 0; place < count_of(costs_[unit]); ++place) {
        if (place == base_[unit]) continue;
        const bool is_there = leaves_base && now.size() == 1 && may(place);
        set_bounds(column_of(unit, place), is_there ? 1 : 0, may(place) ? 1 : 0);
    }
    if (leaves_base && now.size() > 1) keep_whole(unit);
    if (whole_[unit] >= 0) set_bounds(whole_[unit], 0, leaves_base ? 0 : 1);
}

// A row in terms of the basis at hand.
void PlaceProgram::add_row(const std::vector<std::pair<Index, double>>& entries, double room, double high,
                           Index limit) {
    const Index slack = count_of(columns_), number = count_of(rows_);
    for (Row& row : rows_) row.amounts.push_back(0);
    columns_.push_back({-1, limit, 0, high, 0, false, number});
    reduced_.push_back(0);
    Row fresh{slack, std::vector<double>(columns_.size()), room, 0};
    for (const auto& [column, amount] : entries) fresh.amounts[column] += amount;
    fresh.amounts[slack] = 1;
    for (const auto& [column, amount] : entries) {
        const Index basic = columns_[column].row;
        if (basic < 0) continue;
        const double factor = fresh.amounts[column];
        if (factor == 0) continue;
        for (std::size_t k = 0; k < fresh.amounts.size(); ++k)
            fresh.amounts[k] -= factor * rows_[basic].amounts[k];
        fresh.amounts[column] = 0;
        fresh.constant -= factor * rows_[basic].constant;
    }
    rows_.push_back(std::move(fresh));
    originals_.emplace_back(entries, room);
    slacks_.push_back(slack);
}

void PlaceProgram::activate(Limit& limit, Index number) {
    limit.is_active = true;
    std::vector<std::pair<Index, double>> entries;
    Bytes most = 1;
    for (const Part& part : limit.parts) most = std::max(most, part.weight);
    limit.unit = static_cast<double>(most);
    double room = static_cast<double>(limit.room) / limit.unit;
    for (const Part& part : limit.parts) {
        const double weight = static_cast<double>(part.weight) / limit.unit;
        const auto holds = [&](Index place) {
            return std::find(part.places.begin(), part.places.end(), place) != part.places.end();
        };
        const bool has_base = holds(base_[part.unit]);
        if (has_base) room -= weight;
        for (Index place = 0; place < count_of(costs_[part.unit]); ++place) {
            if (place == base_[part.unit] || holds(place) == has_base) continue;
            entries.emplace_back(column_of(part.unit, place), has_base ? -weight : weight);
        }
    }
    add_row(entries, room, kEndless, number);
}

// The x of a unit are at most 1.
void PlaceProgram::keep_whole(Index unit) {
    if (whole_[unit] >= 0) return;
    std::vector<std::pair<Index, double>> entries;
    for (Index place = 0; place < count_of(costs_[unit]); ++place) {
        if (place != base_[unit]) entries.emplace_back(column_of(unit, place), 1.0);
    }
    whole_[unit] = count_of(columns_);
    add_row(entries, 1, 1, -1);
}

// Rows that the solution breaks, the worst first.
bool PlaceProgram::add_violated() {
    const auto is_full = [&] {
        return (rows_.size() + kMostNew) * (columns_.size() + kMostNew) > kMostAmounts;
    };
    bool any = false;
    for (Index u = 0; u < count_of(costs_) && !is_full(); ++u) {
        if (whole_[u] >= 0 || costs_[u].size() < 3 || share(u, base_[u]) > -kTolerance) continue;
        keep_whole(u);
        any = true;
    }
    std::vector<std::pair<double, Index>> broken;
    for (Index k = 0; k < count_of(limits_) && !is_full(); ++k) {
        if (limits_[k].is_active) continue;
        double taken = 0, norm = 1;
        for (const Part& part : limits_[k].parts) {
            const auto weight = static_cast<double>(part.weight);
            norm += weight;
            taken += weight * share(part);
        }
        const double over = (taken - static_cast<double>(limits_[k].room)) / norm;
        if (over > kTolerance) broken.emplace_back(-over, k);
    }
    std::sort(broken.begin(), broken.end());
    if (broken.size() > kMostNew) broken.resize(kMostNew);
    for (const auto& [over, k] : broken) activate(limits_[k], k);
    return any || !broken.empty();
}

// Rows of limits that are kept with room to spare, where that is most of them.
void PlaceProgram::drop_idle() {
    const auto is_idle = [&](Index at) {
        const Column& column = columns_[at];
        return column.unit < 0 && column.place >= 0 && column.row >= 0;
    };
    const auto idle = std::count_if(slacks_.begin(), slacks_.end(), is_idle);
    if (idle < kMostIdle || 2 * static_cast<std::size_t>(idle) < rows_.size()) return;
    std::vector<Index> becomes(columns_.size(), -1);
    Index kept = 0;
    for (Index at = 0; at < count_of(columns_); ++at) {
        if (is_idle(at)) {
            limits_[columns_[at].place].is_active = false;
            continue;
        }
        columns_[kept] = columns_[at];
        reduced_[kept] = reduced_[at];
        becomes[at] = kept++;
    }
    columns_.resize(kept);
    reduced_.resize(columns_.size());
    std::erase_if(rows_, [&](const Row& row) { return becomes[row.basic] < 0; });
    for (Index r = 0; r < count_of(rows_); ++r) {
        Row& row = rows_[r];
        for (Index at = 0; at < count_of(row.amounts); ++at) {
            if (becomes[at] >= 0) row.amounts[becomes[at]] = row.amounts[at];
        }
        row.amounts.resize(columns_.size());
        row.basic = becomes[row.basic];
        columns_[row.basic].row = r;
    }
    Index rest = 0;
    for (Index k = 0; k < count_of(slacks_); ++k) {
        if (becomes[slacks_[k]] < 0) continue;
        slacks_[rest] = becomes[slacks_[k]];
        if (rest != k) originals_[rest] = std::move(originals_[k]);
        ++rest;
    }
    slacks_.resize(rest);
    originals_.resize(slacks_.size());
    for (Index& at : whole_) at = at < 0 ? at : becomes[at];
}

void PlaceProgram::find_values() {
    std::vector<std::pair<Index, double>> set;
    for (Index at = 0; at < count_of(columns_); ++at) {
        const double there = columns_[at].row < 0 ? value(columns_[at]) : 0;
        if (there != 0) set.emplace_back(at, there);
    }
    for (Row& row : rows_) {
        row.value = row.constant;
        for (const auto& [at, there] : set) row.value -= row.amounts[at] * there;
    }
}

// The same basis from the rows as they were, without the errors of all steps since; or as much of it as can
// be had.
void PlaceProgram::rebuild(Budget& budget) {
    std::vector<Index> basis;
    for (const Row& row : rows_) basis.push_back(row.basic);
    for (Column& column : columns_) column.row = -1;
    for (Index at = 0; at < count_of(columns_); ++at) reduced_[at] = columns_[at].cost;
    for (std::size_t r = 0; r < rows_.size(); ++r) {
        Row& row = rows_[r];
        std::fill(row.amounts.begin(), row.amounts.end(), 0.0);
        for (const auto& [column, amount] : originals_[r].first) row.amounts[column] += amount;
        row.basic = slacks_[r];
        row.amounts[row.basic] = 1;
        row.constant = originals_[r].second;
        columns_[row.basic].row = static_cast<Index>(r);
    }
    std::vector<char> is_wanted(columns_.size()), is_taken(rows_.size());
    for (const Index at : basis) is_wanted[at] = 1;
    for (std::size_t r = 0; r < rows_.size(); ++r) is_taken[r] = is_wanted[rows_[r].basic];
    for (const Index at : basis) {
        if (columns_[at].row >= 0) continue;
        budget.count(1 + count_of(rows_) * std::int64_t{count_of(columns_)} / 8);
        if (budget.spent()) break;
        Index best = -1;
        for (Index r = 0; r < count_of(rows_); ++r) {
            if (is_taken[r] != 0) continue;
            if (best < 0 || std::abs(rows_[r].amounts[at]) > std::abs(rows_[best].amounts[at])) best = r;
        }
        if (best < 0 || std::abs(rows_[best].amounts[at]) < kTiny) continue;  // its slack stays
        is_taken[best] = 1;
        pivot(best, at);
    }
    for (Index at = 0; at < count_of(columns_); ++at) {
        Column& column = columns_[at];
        if (column.row < 0) column.at_high = reduced_[at] < 0 && column.high < kEndless;
    }
    pivots_ = 0;
    find_values();
}

void PlaceProgram::pivot(Index at, Index entering) {
    Row& row = rows_[at];
    const double by = 1 / row.amounts[entering];
    std::vector<Index> filled;
    for (Index k = 0; k < count_of(row.amounts); ++k) {
        if (row.amounts[k] == 0) continue;
        row.amounts[k] *= by;
        filled.push_back(k);
    }
    row.constant *= by;
    row.amounts[entering] = 1;
    const auto clear = [&](std::vector<double>& amounts) {
        const double factor = amounts[entering];
        if (factor == 0) return factor;
        for (const Index k : filled) amounts[k] -= factor * row.amounts[k];
        amounts[entering] = 0;
        return factor;
    };
    for (Row& other : rows_) {
        if (&other != &row) other.constant -= clear(other.amounts) * row.constant;
    }
    clear(reduced_);
    columns_[row.basic].row = -1;
    columns_[entering].row = at;
    row.basic = entering;
    ++pivots_;
}

// A step of the dual simplex method: what is basic goes to its bound. Whether something can make up for it.
bool PlaceProgram::step(Index at, bool rises) {
    Row& row = rows_[at];
    Index entering = -1;
    double best = kEndless;
    for (Index k = 0; k < count_of(columns_); ++k) {
        const Column& column = columns_[k];
        const double amount = row.amounts[k];
        if (column.row >= 0 || column.low >= column.high || std::abs(amount) < kTiny) continue;
        if ((amount < 0) != (column.at_high != rises)) continue;
        const double ratio = std::abs(reduced_[k]) / std::abs(amount);
        const bool is_tied = entering >= 0 && std::abs(ratio - best) < kTiny;
        if (is_tied ? std::abs(amount) > std::abs(row.amounts[entering]) : ratio < best) {
            entering = k;
            best = ratio;
        }
    }
    if (entering < 0) return false;
    Column& leaving = columns_[row.basic];
    const double bound = rises ? leaving.low : leaving.high;
    const double by = (row.value - bound) / row.amounts[entering];
    const double becomes = value(columns_[entering]) + by;
    for (Row& other : rows_) other.value -= other.amounts[entering] * by;
    leaving.at_high = !rises;
    pivot(at, entering);
    row.value = becomes;
    return true;
}

double PlaceProgram::objective() const {
    double sum = constant_;
    for (const Column& column : columns_) {
        if (column.cost != 0) sum += column.cost * value(column);
    }
    return sum;
}

PlaceProgram::End PlaceProgram::improve(double target, Budget& budget) {
    find_values();
    for (int pivots = 0; pivots < kMostPivots; ++pivots) {
        budget.count(1 + count_of(rows_) * std::int64_t{count_of(columns_)} / 8);
        if (budget.spent()) return End::open;
        if (pivots_ > kRebuildAfter) rebuild(budget);
        Index worst = -1;
        double most = kTolerance;
        bool rises = false;
        for (Index r = 0; r < count_of(rows_); ++r) {
            const Column& column = columns_[rows_[r].basic];
            const double below = column.low - rows_[r].value, above = rows_[r].value - column.high;
            if (std::max(below, above) <= most) continue;
            most = std::max(below, above);
            worst = r;
            rises = below > above;
        }
        if (worst < 0) return End::optimal;
        if (!step(worst, rises)) {
            broken_ = worst;
            rises_ = rises;
            return End::impossible;
        }
        if (pivots % 8 == 7 && objective() > target) return End::above;
    }
    return End::open;
}

void PlaceProgram::solve(Bytes target, Budget& budget) {
    drop_idle();
    const double wanted = static_cast<double>(target) * (1 + 1e-9) + 0.1;
    for (int round = 0; round < kMostRounds; ++round) {
        end_ = improve(wanted, budget);
        if (end_ != End::optimal || objective() > wanted || !add_violated()) return;
    }
}

PlaceProgram::Leaf PlaceProgram::leaf(Bytes target) const {
    const auto most = [](const std::vector<Bytes>& mine) {
        return mine.empty() ? 0 : *std::max_element(mine.begin(), mine.end());
    };
    Bytes all = 1;
    for (const auto& mine : costs_) all = plus(all, most(mine));
    Leaf best{shown(1, {}), 1, {}};
    for (const Leaf& leaf : suggested_) {
        const Bytes bound = shown(leaf.scale, leaf.prices);
        if (bound > best.bound) best = {bound, leaf.scale, leaf.prices};
    }
    // Where there is no solution, any bound can be had: by as much as the broken row is added.
    double extra = 0;
    if (end_ == End::impossible) {
        const Row& row = rows_[broken_];
        const Column& basic = columns_[row.basic];
        const double short_by = rises_ ? basic.low - row.value : row.value - basic.high;
        extra = std::max(static_cast<double>(target) - objective(), 1.0) * 1.01 / short_by;
    }
    for (const Bytes scale : kScales) {
        for (const double more : {extra, 8 * extra}) {
            if (best.bound >= target || times(scale, all) > kMostSum / 4) return best;
            std::vector<std::pair<Index, Bytes>> prices;
            for (Index at = 0; at < count_of(columns_); ++at) {
                if (columns_[at].unit >= 0 || columns_[at].place < 0) continue;
                double price = columns_[at].row < 0 ? reduced_[at] : 0;
                if (more > 0) price += (rises_ ? more : -more) * rows_[broken_].amounts[at];
                const double unit = limits_[columns_[at].place].unit;
                const double scaled = std::round(price * static_cast<double>(scale) / unit);
                if (scaled >= 1 && scaled < 0x1p60)
                    prices.emplace_back(columns_[at].place, static_cast<Bytes>(scaled));
            }
            std::sort(prices.begin(), prices.end());
            const Bytes bound = shown(scale, prices);
            if (bound > best.bound) best = {bound, scale, std::move(prices)};
            if (extra == 0) break;
        }
    }
    return best;
}

// What a leaf shows, as checkers count.
Bytes PlaceProgram::shown(Bytes scale, const std::vector<std::pair<Index, Bytes>>& prices) const {
    std::vector<Bytes> dearer(columns_.size());
    Bytes rooms = 0, total = 0;
    for (const auto& [number, price] : prices) {
        rooms = plus(rooms, times(price, limits_[number].room));
        for (const Part& part : limits_[number].parts) {
            for (const Index place : part.places) {
                Bytes& sum = dearer[column_of(part.unit, place)];
                sum = plus(sum, times(price, part.weight));
            }
        }
    }
    for (Index u = 0; u < count_of(costs_); ++u) {
        Bytes least = allowed_[u].empty() ? 0 : kOver;
        for (const Index place : allowed_[u])
            least = std::min(least, plus(times(scale, costs_[u][place]), dearer[column_of(u, place)]));
        total = plus(total, least);
    }
    if (total > kMostSum || rooms > kMostSum || total <= rooms) return 0;
    return (total - rooms - 1) / scale + 1;
}

std::vector<std::pair<Index, std::vector<Index>>> PlaceProgram::covers(Index limits) const {
    struct Member {
        double missing;
        Bytes weight;
        Index unit;
    };
    std::vector<std::tuple<double, Index, std::vector<Index>>> broken;
    std::set<std::vector<Index>> known;
    std::vector<Member> members;
    for (Index k = 0; k < limits; ++k) {
        members.clear();
        for (const Part& part : limits_[k].parts) {
            if (part.weight > 0) members.push_back({std::max(1 - share(part), 0.0), part.weight, part.unit});
        }
        std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
            return a.missing * static_cast<double>(b.weight) < b.missing * static_cast<double>(a.weight);
        });
        Bytes sum = 0;
        std::size_t count = 0;
        while (count < members.size() && sum <= limits_[k].room) sum = plus(sum, members[count++].weight);
        if (sum <= limits_[k].room || sum > kMostSum) continue;
        members.resize(count);
        // Without those that it does not take, beginning with what is missing most.
        std::stable_sort(members.begin(), members.end(),
                         [](const Member& a, const Member& b) { return a.missing > b.missing; });
        std::vector<Index> units;
        double missing = 0;
        for (const Member& one : members) {
            if (sum - one.weight > limits_[k].room) {
                sum -= one.weight;
            } else {
                units.push_back(one.unit);
                missing += one.missing;
            }
        }
        std::sort(units.begin(), units.end());
        if (missing < kMostMissing && known.insert(units).second) broken.emplace_back(missing, k, units);
    }
    std::sort(broken.begin(), broken.end());
    std::vector<std::pair<Index, std::vector<Index>>> worst;
    for (auto& [missing, k, units] : broken) {
        if (worst.size() < kMostNew) worst.emplace_back(k, std::move(units));
    }
    return worst;
}

std::vector<std::pair<Index, Bytes>> PlaceProgram::divisors(Index limits) const {
    std::vector<std::tuple<double, Index, Bytes>> broken;
    std::vector<std::pair<Bytes, double>>
        there;  // of each part that the solution has, its weight and how much
    std::set<Bytes> some;
    for (Index k = 0; k < limits; ++k) {
        there.clear();
        some.clear();
        double all = 0;
        for (const Part& part : limits_[k].parts) {
            if (const double taken = share(part); taken > kTolerance) there.emplace_back(part.weight, taken);
            all += static_cast<double>(part.weight) * share(part);
        }
        for (const auto& [weight, taken] : there) some.insert(weight);
        for (Bytes parts = 2; parts <= kMostShares; ++parts) some.insert(limits_[k].room / parts + 1);
        std::tuple<double, Index, Bytes> best{0, k, 1};
        for (const Bytes by : some) {
            // Else it cannot be broken, even if only the room were rounded.
            if (by < 2 || all <= static_cast<double>(limits_[k].room / by * by)) continue;
            double over = -static_cast<double>(limits_[k].room / by), norm = 1e-9;
            for (const auto& [weight, taken] : there) {
                const auto whole = static_cast<double>(weight / by);
                over += whole * taken;
                norm += whole * whole;
            }
            best = std::min(best, {-over / std::sqrt(norm), k, by});
        }
        if (std::get<0>(best) < -kTolerance * 1'000) broken.push_back(best);
    }
    std::sort(broken.begin(), broken.end());
    std::vector<std::pair<Index, Bytes>> worst;
    for (const auto& [over, k, by] : broken) {
        if (worst.size() < kMostNew) worst.emplace_back(k, by);
    }
    return worst;
}

std::optional<std::pair<Index, Index>> PlaceProgram::divided(Index first) const {
    std::optional<std::pair<Index, Index>> best;
    double most = 0;
    for (Index u = 0; u < count_of(costs_) && !(u >= first && best); ++u) {
        if (allowed_[u].size() < 2) continue;
        for (const Index place : allowed_[u]) {
            const double there = share(u, place), part = std::min(there, 1 - there);
            if (part < kTolerance * 10) continue;
            const double weight = part * (1 + columns_[column_of(u, place)].cost);
            if (weight <= most) continue;
            most = weight;
            best = {u, place};
        }
    }
    return best;
}

std::vector<Index> PlaceProgram::places() const {
    std::vector<Index> all;
    for (Index u = 0; u < count_of(costs_); ++u) {
        Index best = 0;
        for (Index place = 1; place < count_of(costs_[u]); ++place) {
            if (share(u, place) > share(u, best)) best = place;
        }
        all.push_back(best);
    }
    return all;
}

}  // namespace memstow::proof
