#include "improve/conflicts.hpp"

#include <utility>

namespace memstow::improve {

namespace {

// Checkpoints closer than this would save nothing.
constexpr std::size_t kLeastSpans = 32;

}  // namespace

Conflicts::Conflicts(const Instance& instance, const std::vector<char>& takes_part) : instance_(instance) {
    list_spans(takes_part);
    set_checkpoints();
    list_exempt();
    list_explicit(takes_part);
}

void Conflicts::list_spans(const std::vector<char>& takes_part) {
    for (Index part = 0; part < count_of(instance_.parts); ++part) {
        if (!takes_part[instance_.parts[part].item]) continue;
        for (const RowRange& rows : instance_.rows[part]) {
            if (rows.begin < instance_.time_rows) spans_.push_back({rows, part});
        }
    }
    std::stable_sort(spans_.begin(), spans_.end(),
                     [](const Span& a, const Span& b) { return a.rows.begin < b.rows.begin; });
}

// A checkpoint once as many spans began as were live at the last one: lists add up to a few times the spans.
void Conflicts::set_checkpoints() {
    checkpoint_.resize(instance_.time_rows, 0);
    std::vector<Span> live;
    Index next = 0;
    std::size_t since = 0;  // spans before the last checkpoint
    std::size_t enough = 0;
    for (Index row = 0; row < instance_.time_rows; ++row) {
        if (row == 0 || next - since >= enough) {
            std::erase_if(live, [&](const Span& span) { return span.rows.end <= row; });
            const Index begin = count_of(live_);
            live_.insert(live_.end(), live.begin(), live.end());
            checkpoints_.push_back({next, begin, count_of(live_)});
            since = next;
            enough = std::max(kLeastSpans, live.size());
        }
        checkpoint_[row] = count_of(checkpoints_) - 1;
        for (; next < count_of(spans_) && spans_[next].rows.begin == row; ++next)
            live.push_back(spans_[next]);
    }
}

void Conflicts::list_exempt() {
    if (instance_.exempt.empty()) return;
    lenient_.resize(instance_.parts.size(), false);
    for (const ExemptPair& pair : instance_.exempt) {
        lenient_[pair.first] = lenient_[pair.second] = true;
        (pair.in_place ? in_place_ : free_).insert(key(pair.first, pair.second));
    }
}

void Conflicts::list_explicit(const std::vector<char>& takes_part) {
    std::vector<std::pair<Index, Index>> entries;  // row, part
    for (Index part = 0; part < count_of(instance_.parts); ++part) {
        if (!takes_part[instance_.parts[part].item]) continue;
        for (const RowRange& rows : instance_.rows[part]) {
            for (Index row = std::max(rows.begin, instance_.time_rows); row < rows.end; ++row) {
                entries.emplace_back(row - instance_.time_rows, part);
            }
        }
    }
    std::sort(entries.begin(), entries.end());
    auto next = entries.begin();
    for (Index row = 0; row < instance_.row_count - instance_.time_rows; ++row) {
        for (; next != entries.end() && next->first == row; ++next) members_.values.push_back(next->second);
        members_.close();
    }
}

}  // namespace memstow::improve
