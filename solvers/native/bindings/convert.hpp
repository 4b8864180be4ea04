// Values of Python and of the native core, each made from the other.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/instance.hpp"
#include "core/score.hpp"

namespace memstow::bindings {

namespace nb = nanobind;

// A Python array of 64-bit integers, read in place.
using Ints = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline std::span<const std::int64_t> span_of(const Ints& ints) { return {ints.data(), ints.size()}; }

// The same as an attribute of an object.
class Column {
  public:
    Column(nb::handle owner, const char* name) : array_(nb::cast<Ints>(owner.attr(name))) {}
    std::size_t size() const { return array_.size(); }
    std::int64_t operator[](std::size_t i) const { return array_.data()[i]; }

  private:
    Ints array_;
};

// An array of 64-bit integers as Python reads it.
inline nb::bytes bytes_of(std::span<const std::int64_t> values) {
    return nb::bytes(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

// An instance and what only reports need: a moment for each of its time rows.
struct NativeInstance {
    Instance instance;
    std::vector<std::int64_t> times;
};

// A layout that Python reads as the bytes of two arrays of 64-bit integers: pools and offsets.
struct Placed {
    Layout layout;
};

Index to_index(std::int64_t value);

// From solvers.instance.Layout; empty for None. A place that the instance does not have is no place.
Layout to_layout(const Instance& instance, nb::handle from);

// From a sequence of solvers.solver.Term.
std::vector<Term> to_terms(nb::handle from);

// From a hint of Python, or none.
Hint to_hint(const Hint* hint);

nb::int_ to_python(Value value);

// Called with a better layout: its height, and the place of every item.
using OnHeight = std::function<void(Bytes height, const Placed& placed)>;

// The same for a solver to call, from any thread and without the interpreter's lock. Refers to `on_height`.
std::function<void(const Layout&, Bytes)> holding_the_lock(const OnHeight& on_height);

// Values of the terms, or None while the layout does not fit.
nb::object to_python(const Score& score);

}  // namespace memstow::bindings
