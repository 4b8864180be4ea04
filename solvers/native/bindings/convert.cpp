#include "bindings/convert.hpp"

#include <limits>
#include <stdexcept>

namespace memstow::bindings {

Index to_index(std::int64_t value) {
    if (value < 0 || value > std::numeric_limits<Index>::max() / 4)
        throw std::length_error("too many entries");
    return value;
}

Layout to_layout(const Instance& instance, LayoutObject from) {
    if (from.is_none()) return {};
    const Column pool(from, "pool");
    const Column offset(from, "offset");
    Layout layout(instance.item_count());
    if (pool.size() != layout.size() || offset.size() != layout.size())
        throw std::length_error("not of this instance");
    for (std::size_t item = 0; item < layout.size(); ++item) {
        const bool known = pool[item] >= 0 && pool[item] < count_of(instance.pools);
        if (known && offset[item] >= 0) layout[item] = {static_cast<Index>(pool[item]), offset[item]};
    }
    return layout;
}

std::vector<Term> to_terms(TermObjects from) {
    std::vector<Term> terms;
    for (const nb::handle term : from) {
        terms.push_back({nb::cast<TermKind>(term.attr("kind")), nb::cast<Index>(term.attr("pool"))});
    }
    return terms;
}

Hint to_hint(const Hint* hint) { return hint == nullptr ? Hint{} : *hint; }

nb::int_ to_python(Value value) {
    constexpr Value kWord = Value{1} << 62;
    return nb::int_(nb::int_(static_cast<std::int64_t>(value / kWord)) * nb::int_(std::int64_t{1} << 62) +
                    nb::int_(static_cast<std::int64_t>(value % kWord)));
}

std::optional<nb::typed<nb::list, nb::int_>> to_python(const Score& score) {
    if (!score.fits()) return std::nullopt;
    nb::typed<nb::list, nb::int_> values;
    for (const Value value : score.values) values.append(to_python(value));
    return values;
}

std::function<void(const Layout&, Bytes)> holding_the_lock(const OnHeight& on_height) {
    return [&on_height](const Layout& layout, Bytes height) {
        const nb::gil_scoped_acquire acquire;
        on_height(height, Placed{layout});
    };
}

}  // namespace memstow::bindings
