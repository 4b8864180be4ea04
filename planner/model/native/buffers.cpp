#include "buffers.hpp"

#include <algorithm>
#include <utility>

#include "text.hpp"
#include "values.hpp"

namespace memstow::model {
namespace {

namespace nb = nanobind;

class Reader {
  public:
    Reader(nb::handle holder, const std::vector<nb::str>& rare)
        : size_(holder, nb::str("size")),
          lifetime_(holder, nb::str("lifetime")),
          alignment_(holder, nb::str("alignment")),
          pools_(holder, nb::str("pools")) {
        for (const nb::str& name : rare) rare_.emplace_back(holder, name);
    }

    bool add(nb::handle buffer, BufferColumns& columns) {
        const nb::object life = lifetime_.of(buffer);
        const bool has_rare = std::any_of(rare_.begin(), rare_.end(),
                                          [&](const Slot& slot) { return !slot.of(buffer).is_none(); });
        if (has_rare || !PyTuple_Check(life.ptr())) return false;
        const auto size = integer(size_.of(buffer));
        const auto begin = integer(PyTuple_GetItem(life.ptr(), 0));
        const auto end = integer(PyTuple_GetItem(life.ptr(), 1));
        if (!size || !begin || !end) return false;
        const auto number = static_cast<std::int64_t>(columns.sizes.size());
        const std::size_t kind = kind_of(alignment_.of(buffer), pools_.of(buffer));
        if (kind == columns.largest.size()) columns.largest.push_back(number);
        std::int64_t& largest = columns.largest[kind];
        columns.sizes.push_back(*size);
        if (*size > columns.sizes[static_cast<std::size_t>(largest)]) largest = number;
        columns.begins.push_back(*begin);
        columns.ends.push_back(*end);
        columns.kind.push_back(static_cast<std::int64_t>(kind));
        return true;
    }

  private:
    std::size_t kind_of(const nb::object& alignment, const nb::object& pools) {
        // Most have the very alignment and pools of the one before.
        if (!alignment.is(alignment_before_) || !pools.is(pools_before_)) {
            const nb::tuple key = nb::make_tuple(alignment, pools);
            PyObject* const known = PyDict_GetItemWithError(kinds_.ptr(), key.ptr());
            if (known == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
            kind_before_ = known != nullptr ? PyLong_AsSize_t(known) : nb::len(kinds_);
            if (known == nullptr) kinds_[key] = kind_before_;
            alignment_before_ = alignment;
            pools_before_ = pools;
        }
        return kind_before_;
    }

    Slot size_, lifetime_, alignment_, pools_;
    std::vector<Slot> rare_;
    nb::dict kinds_;
    nb::object alignment_before_, pools_before_;
    std::size_t kind_before_ = 0;
};

}  // namespace

std::optional<BufferColumns> columns_of_buffers(nb::handle buffers, const std::vector<nb::str>& rare) {
    BufferColumns columns;
    const std::size_t count = nb::len(buffers);
    if (count == 0) return columns;
    const auto buffer = [&](std::size_t i) {
        return nb::handle(PyTuple_GetItem(buffers.ptr(), static_cast<Py_ssize_t>(i)));
    };
    Reader reader(buffer(0).type(), rare);
    for (auto* column : {&columns.sizes, &columns.begins, &columns.ends, &columns.kind}) {
        column->reserve(count);
    }
    for (std::size_t i = 0; i < count; ++i) {
        if (!reader.add(buffer(i), columns)) return std::nullopt;
    }
    return columns;
}

PairNumbers pair_numbers(const nb::dict& numbers, const nb::list& ones, const nb::list& others, bool sorted) {
    PairNumbers result;
    const auto number = [&](nb::handle name) -> std::int64_t {
        PyObject* const known = PyDict_GetItemWithError(numbers.ptr(), name.ptr());
        if (known == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
        return known != nullptr ? PyLong_AsLongLong(known) : -1;
    };
    const std::size_t count = std::min(nb::len(ones), nb::len(others));
    result.pairs.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t one = number(ones[i]), other = number(others[i]);
        if (one < 0 || other < 0 || one == other) {
            result.all = false;
        } else {
            result.pairs.emplace_back(std::min(one, other), std::max(one, other));
        }
    }
    if (sorted) {
        std::sort(result.pairs.begin(), result.pairs.end());
        result.pairs.erase(std::unique(result.pairs.begin(), result.pairs.end()), result.pairs.end());
    }
    return result;
}

std::optional<std::string> placement_lines(nb::handle placements) {
    std::string text;
    const std::size_t count = nb::len(placements);
    const auto placement = [&](std::size_t i) {
        return nb::handle(PyTuple_GetItem(placements.ptr(), static_cast<Py_ssize_t>(i)));
    };
    if (count == 0) return text;
    const nb::handle holder = placement(0).type();
    const Slot buffer(holder, nb::str("buffer")), pool(holder, nb::str("pool"));
    const Slot offset(holder, nb::str("offset"));
    text.reserve(64 * count);
    for (std::size_t i = 0; i < count; ++i) {
        const nb::object named = buffer.of(placement(i)), home = pool.of(placement(i));
        const auto name = utf8(named), pool_name = utf8(home);
        const auto place = integer(offset.of(placement(i)));
        if (!name || !pool_name || !place) return std::nullopt;
        text.append(i == 0 ? "{\"buffer\": " : ",\n    {\"buffer\": ");
        plain::append_json(text, *name);
        text.append(", \"pool\": ");
        plain::append_json(text, *pool_name);
        text.append(", \"offset\": ").append(std::to_string(*place)).push_back('}');
    }
    return text;
}

}  // namespace memstow::model
