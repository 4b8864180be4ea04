#include "reuse/cover_program.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace memstow::reuse {
namespace {

constexpr double kSmallestPivot = 1e-7;
constexpr double kTolerance = 1e-9;  // of the largest cap
constexpr std::int64_t kStepsBetweenRebuilds = 1500;
constexpr std::size_t kCandidates = 40;
// Needs are changed by less than this share, so that few steps make no progress.
constexpr double kPerturbation = 1e-5;

}  // namespace

CoverProgram::CoverProgram(std::vector<double> needs, std::vector<double> caps, double most,
                           std::uint32_t seed)
    : tolerance_(kTolerance * *std::max_element(caps.begin(), caps.end())),
      chains_(count_of(needs)),
      rows_(chains_ + 1),
      needs_(std::move(needs)),
      caps_(std::move(caps)) {
    std::uint32_t noise = seed;
    for (double& need : needs_) {
        noise = noise * 1664525U + 1013904223U;
        need *= 1 + kPerturbation * (noise >> 8) / (1U << 24);
    }
    needs_.push_back(most);
    caps_.push_back(0);
    const std::size_t m = needs_.size();
    in_basis_.assign(m * 2, 0);
    inverse_.assign(m * m, 0);
    for (std::size_t row = 0; row < m; ++row) {
        basis_.push_back(static_cast<Index>(row));
        in_basis_[row] = 1;
        inverse_[row * m + row] = 1;
    }
    at_ = needs_;
    prices_ = caps_;
    direction_.assign(m, 0);
}

void CoverProgram::add(const std::vector<Entry>& entries, double cost, Index mark) {
    columns_.values.insert(columns_.values.end(), entries.begin(), entries.end());
    columns_.close();
    costs_.push_back(cost);
    marks_.push_back(mark);
    in_basis_.push_back(0);
}

// What is missing of the new rows joins the basis.
void CoverProgram::add_rows(const std::vector<double>& needs, const std::vector<double>& caps,
                            const Lists<Entry>& more) {
    const Index before = rows_, added = count_of(needs);
    rows_ += added;
    needs_.insert(needs_.end(), needs.begin(), needs.end());
    caps_.insert(caps_.end(), caps.begin(), caps.end());
    Lists<Entry> columns;
    for (Index column = 0; column < columns_.size(); ++column) {
        for (const auto& entries : {columns_[column], more[column]}) {
            columns.values.insert(columns.values.end(), entries.begin(), entries.end());
        }
        columns.close();
    }
    columns_ = std::move(columns);
    for (Index& id : basis_) id += id < before ? 0 : id < 2 * before ? added : 2 * added;
    for (Index row = before; row < rows_; ++row) basis_.push_back(row);
    in_basis_.assign(2 * needs_.size() + costs_.size(), 0);
    for (const Index id : basis_) in_basis_[id] = 1;
    const std::size_t m = needs_.size();
    inverse_.assign(m * m, 0);
    at_.assign(m, 0);
    prices_.assign(m, 0);
    direction_.assign(m, 0);
    candidates_.clear();
    if (!rebuild()) stuck_ = true;
}

std::vector<std::pair<Index, double>> CoverProgram::used() const {
    std::vector<std::pair<Index, double>> all;
    for (std::size_t row = 0; row < basis_.size(); ++row) {
        if (basis_[row] >= 2 * rows_ && at_[row] > 0) all.emplace_back(basis_[row] - 2 * rows_, at_[row]);
    }
    return all;
}

double CoverProgram::value() const {
    double sum = 0;
    for (std::size_t row = 0; row < needs_.size(); ++row) sum += needs_[row] * prices_[row];
    return sum;
}

double CoverProgram::reduced_cost(Index id) const {
    if (id < rows_) return caps_[id] - prices_[id];
    if (id < 2 * rows_) return id == rows_ + chains_ ? 1 : prices_[id - rows_];
    double cost = costs_[id - 2 * rows_];
    for (const Entry& entry : columns_[id - 2 * rows_]) cost -= entry.amount * prices_[entry.row];
    return cost;
}

// A column that lowers the value, from a short list for as long as there is one on it.
Index CoverProgram::entering() {
    for (const bool again : {false, true}) {
        if (again) list_candidates();
        double least = -tolerance_;
        Index best = -1;
        for (const Index id : candidates_) {
            if (in_basis_[id] != 0) continue;
            const double cost = reduced_cost(id);
            if (cost < least) {
                least = cost;
                best = id;
            }
        }
        if (best >= 0) return best;
    }
    return -1;
}

void CoverProgram::list_candidates() {
    std::vector<std::pair<double, Index>> all;
    for (Index id = 0; id < count_of(in_basis_); ++id) {
        const double cost = in_basis_[id] != 0 ? 0 : reduced_cost(id);
        if (cost < -tolerance_) all.emplace_back(cost, id);
    }
    const std::size_t kept = std::min(all.size(), kCandidates);
    std::partial_sort(all.begin(), all.begin() + kept, all.end());
    candidates_.clear();
    for (std::size_t k = 0; k < kept; ++k) candidates_.push_back(all[k].second);
}

void CoverProgram::find_direction(Index id) {
    const std::size_t m = needs_.size();
    for (std::size_t row = 0; row < m; ++row) {
        const double* mine = inverse_.data() + row * m;
        double sum = 0;
        if (id < rows_) {
            sum = mine[id];
        } else if (id < 2 * rows_) {
            sum = -mine[id - rows_];
        } else {
            for (const Entry& entry : columns_[id - 2 * rows_]) sum += entry.amount * mine[entry.row];
        }
        direction_[row] = sum;
    }
}

// The inverse of the basis, what each of it is at, and the prices, from the columns; against rounding.
bool CoverProgram::rebuild() {
    since_rebuilt_ = 0;
    const std::size_t m = needs_.size();
    std::vector<double> matrix(m * m, 0);
    for (std::size_t k = 0; k < m; ++k) {
        const Index id = basis_[k];
        if (id < rows_) {
            matrix[static_cast<std::size_t>(id) * m + k] = 1;
        } else if (id < 2 * rows_) {
            matrix[static_cast<std::size_t>(id - rows_) * m + k] = -1;
        } else {
            for (const Entry& entry : columns_[id - 2 * rows_]) {
                matrix[static_cast<std::size_t>(entry.row) * m + k] = entry.amount;
            }
        }
    }
    std::fill(inverse_.begin(), inverse_.end(), 0);
    for (std::size_t row = 0; row < m; ++row) inverse_[row * m + row] = 1;
    for (std::size_t k = 0; k < m; ++k) {
        std::size_t pick = k;
        for (std::size_t row = k + 1; row < m; ++row) {
            if (std::abs(matrix[row * m + k]) > std::abs(matrix[pick * m + k])) pick = row;
        }
        const double pivot = matrix[pick * m + k];
        if (std::abs(pivot) < kSmallestPivot) return false;
        for (std::size_t c = 0; c < m; ++c) {
            std::swap(matrix[pick * m + c], matrix[k * m + c]);
            std::swap(inverse_[pick * m + c], inverse_[k * m + c]);
            matrix[k * m + c] /= pivot;
            inverse_[k * m + c] /= pivot;
        }
        for (std::size_t row = 0; row < m; ++row) {
            const double times = matrix[row * m + k];
            if (row == k || times == 0) continue;
            for (std::size_t c = 0; c < m; ++c) {
                matrix[row * m + c] -= times * matrix[k * m + c];
                inverse_[row * m + c] -= times * inverse_[k * m + c];
            }
        }
    }
    std::fill(prices_.begin(), prices_.end(), 0);
    for (std::size_t row = 0; row < m; ++row) {
        const double* mine = inverse_.data() + row * m;
        const Index id = basis_[row];
        const double cost = id < rows_ ? caps_[id] : id < 2 * rows_ ? 0 : costs_[id - 2 * rows_];
        at_[row] = 0;
        for (std::size_t c = 0; c < m; ++c) {
            at_[row] += mine[c] * needs_[c];
            prices_[c] += cost * mine[c];
        }
    }
    return true;
}

bool CoverProgram::step(Index id) {
    find_direction(id);
    const std::size_t m = needs_.size();
    std::size_t leaving = m;
    double least = 0;
    for (std::size_t row = 0; row < m; ++row) {
        if (direction_[row] < kSmallestPivot) continue;
        const double ratio = std::max(at_[row], 0.0) / direction_[row];
        if (leaving == m || ratio < least || (ratio == least && direction_[row] > direction_[leaving])) {
            leaving = row;
            least = ratio;
        }
    }
    if (leaving == m) return false;
    const double cost = reduced_cost(id);
    double* pivot = inverse_.data() + leaving * m;
    filled_.clear();
    for (std::size_t c = 0; c < m; ++c) {
        if (pivot[c] == 0) continue;
        filled_.push_back(static_cast<Index>(c));
        pivot[c] /= direction_[leaving];
        prices_[c] += cost * pivot[c];
    }
    const bool dense = filled_.size() * 3 > m;  // then one entry after the other is faster
    for (std::size_t row = 0; row < m; ++row) {
        const double times = direction_[row];
        if (row == leaving || times == 0) continue;
        double* mine = inverse_.data() + row * m;
        if (dense) {
            for (std::size_t c = 0; c < m; ++c) mine[c] -= times * pivot[c];
        } else {
            for (const Index c : filled_) mine[c] -= times * pivot[c];
        }
        at_[row] -= times * least;
    }
    at_[leaving] = least;
    in_basis_[basis_[leaving]] = 0;
    in_basis_[id] = 1;
    basis_[leaving] = id;
    ++steps_;
    return true;
}

// Drops the dearer half of the chains that are not in use, once there are many.
void CoverProgram::forget() {
    const Index most = 8 * rows_ + 2000;
    if (columns_.size() <= most) return;
    candidates_.clear();
    std::vector<std::pair<double, Index>> order;
    std::size_t stay = 0;
    for (Index column = 0; column < columns_.size(); ++column) {
        const Index id = column_id(column);
        const bool stays = in_basis_[id] != 0 || marks_[column] >= 0;
        stay += stays ? 1 : 0;
        order.emplace_back(stays ? -1e300 : reduced_cost(id), column);
    }
    std::sort(order.begin(), order.end());
    order.resize(std::max(order.size() / 2, stay));
    std::vector<Index> kept;
    for (const auto& [cost, column] : order) kept.push_back(column);
    std::sort(kept.begin(), kept.end());
    std::vector<Index> number(columns_.size(), -1);
    Lists<Entry> columns;
    std::vector<double> costs;
    std::vector<Index> marks;
    in_basis_.resize(2 * needs_.size());
    for (const Index column : kept) {
        number[column] = count_of(costs);
        columns.values.insert(columns.values.end(), columns_[column].begin(), columns_[column].end());
        columns.close();
        costs.push_back(costs_[column]);
        marks.push_back(marks_[column]);
        in_basis_.push_back(0);
    }
    columns_ = std::move(columns);
    costs_ = std::move(costs);
    marks_ = std::move(marks);
    for (Index& id : basis_) {
        if (id >= 2 * rows_) id = column_id(number[id - 2 * rows_]);
        in_basis_[id] = 1;
    }
}

bool CoverProgram::solve(std::int64_t most_steps, Budget& budget) {
    forget();
    const std::int64_t work = (std::int64_t{rows_} * rows_ + count_of(columns_.values)) / 8;
    for (std::int64_t taken = 0; taken < most_steps && !budget.spent(); ++taken) {
        if (++since_rebuilt_ > kStepsBetweenRebuilds && !rebuild()) stuck_ = true;
        const Index id = entering();
        if (id < 0) return true;
        if (stuck_ || !step(id)) stuck_ = true;
        if (stuck_) return false;
        budget.count(work);
    }
    return false;
}

}  // namespace memstow::reuse
