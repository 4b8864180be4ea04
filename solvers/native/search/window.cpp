#include "search/window.hpp"

#include <algorithm>
#include <numeric>

namespace memstow::search {
namespace {

bool known(const Instance& instance, Index part) {
    const Index item = instance.parts[part].item;
    return instance.parts_of(item).size() == 1 && instance.parts[part].delta == 0 &&
           instance.choices[item].size() == 1 && instance.rows[part].size() == 1 &&
           instance.lives[part].size() == 1 && instance.rows[part][0].end <= instance.time_rows;
}

// The spans of each row, as `row_of` tells it.
template <class RowOf>
Lists<Index> spans_by(const std::vector<Span>& spans, Index rows, RowOf row_of) {
    Lists<Index> lists;
    lists.values.resize(spans.size());
    std::iota(lists.values.begin(), lists.values.end(), 0);
    std::stable_sort(lists.values.begin(), lists.values.end(),
                     [&](Index a, Index b) { return row_of(spans[a]) < row_of(spans[b]); });
    Index next = 0;
    for (Index row = 0; row < rows; ++row) {
        while (next < count_of(spans) && row_of(spans[lists.values[next]]) == row) ++next;
        lists.start.push_back(next);
    }
    return lists;
}

}  // namespace

Ground::Ground(const Instance& instance) : row_count_(instance.time_rows) {
    add_spans(instance);
    by_begin_ = spans_by(spans_, row_count_, [](const Span& span) { return span.rows.begin; });
    by_end_ = spans_by(spans_, row_count_, [](const Span& span) { return span.rows.end - 1; });
    set_loads();
}

void Ground::add_spans(const Instance& instance) {
    const Index count = count_of(instance.parts);
    std::vector<bool> takes_part(instance.parts.size());
    for (Index part = 0; part < count; ++part) takes_part[part] = known(instance, part);
    for (const ExemptPair& pair : instance.exempt) takes_part[pair.first] = takes_part[pair.second] = false;
    for (Index part = 0; part < count; ++part) {
        if (!takes_part[part]) continue;
        const Choice& choice = instance.choices[instance.parts[part].item][0];
        cell_ = std::gcd(std::gcd(cell_, choice.modulus), choice.residue);
    }
    cell_ = std::max<Bytes>(cell_, 1);
    for (Index part = 0; part < count; ++part) {
        if (!takes_part[part]) continue;
        const Bytes size = instance.parts[part].size;
        const Bytes cells = (size + cell_ - 1) / cell_;
        spare_ = std::max(spare_, cells * cell_ - size);
        spans_.push_back({part, instance.rows[part][0], cells});
    }
}

void Ground::set_loads() {
    loads_.assign(row_count_ + 1, 0);
    for (const Span& span : spans_) {
        loads_[span.rows.begin] += span.size;
        loads_[span.rows.end] -= span.size;
    }
    std::partial_sum(loads_.begin(), loads_.end(), loads_.begin());
    loads_.pop_back();
}

Window::Window(const Ground& ground, Index row) : ground_(&ground), begin_(row), end_(row + 1) {
    for (Index k = 0; k < count_of(ground.spans()); ++k) {
        const RowRange& rows = ground.spans()[k].rows;
        if (rows.begin <= row && row < rows.end) members_.push_back(k);
    }
}

bool Window::widen(std::ptrdiff_t most) {
    bool wider = false;
    for (;;) {
        const bool below = begin_ > 0;
        const bool above = end_ < ground_->rows();
        if (!below && !above) return wider;
        const bool up = !below || (above && load(end_) >= load(begin_ - 1));
        const std::span<const Index> more = up ? ground_->beginning(end_) : ground_->ending(begin_ - 1);
        const std::ptrdiff_t cut = cut_ + std::ssize(more) + (up ? cut_above() : cut_below());
        if (cut > most) return wider;
        cut_ = cut;
        members_.insert(members_.end(), more.begin(), more.end());
        up ? ++end_ : --begin_;
        wider = true;
    }
}

std::ptrdiff_t Window::cut_above() const {
    const std::span<const Index> last = ground_->ending(end_ - 1);
    return std::count_if(last.begin(), last.end(), [&](Index k) { return rows_of(k).begin <= begin_; });
}

std::ptrdiff_t Window::cut_below() const {
    const std::span<const Index> first = ground_->beginning(begin_);
    return std::count_if(first.begin(), first.end(), [&](Index k) { return rows_of(k).end >= end_; });
}

Rest rest_of(const Ground& ground, RowRange window, const std::vector<Index>& members) {
    Rest rest;
    std::vector<Span> inner;
    std::vector<Index> marks;
    for (const Index member : members) {
        const Span& span = ground.spans()[member];
        const Index begin = std::max(span.rows.begin, window.begin);
        const Index end = std::min(span.rows.end, window.end);
        if (begin == window.begin && end == window.end) {
            rest.spanning.push_back(span.part);
            rest.below += span.size;
            continue;
        }
        inner.push_back({span.part, {begin, end}, span.size});
        marks.push_back(begin);
        marks.push_back(end);
    }
    std::sort(marks.begin(), marks.end());
    marks.erase(std::unique(marks.begin(), marks.end()), marks.end());
    const auto at = [&](Index row) {
        return static_cast<Index>(std::lower_bound(marks.begin(), marks.end(), row) - marks.begin());
    };
    Instance& to = rest.instance;
    to.pools.push_back({kLimit, {}});
    for (const Span& span : inner) {
        const Index item = count_of(rest.parts);
        rest.parts.push_back(span.part);
        to.choices.add({0, 1, 0, 0, kLimit, 0});
        to.parts.push_back({item, 0, span.size});
        to.item_parts.push_back(count_of(to.parts));
        to.rows.values.push_back({at(span.rows.begin), at(span.rows.end)});
        to.rows.close();
        to.lives.values.push_back({at(span.rows.begin), at(span.rows.end)});
        to.lives.close();
    }
    to.row_count = to.time_rows = std::max<Index>(count_of(marks) - 1, 0);
    return rest;
}

}  // namespace memstow::search
