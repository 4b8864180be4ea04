// Values of Python and of the native core, each made from the other.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/instance.hpp"
#include "core/score.hpp"

namespace memstow::bindings {

namespace nb = nanobind;

// Objects of our own classes in Python, which the readers below look into. Signatures, and with them the stub
// of the module, say of which class one is.
inline bool is_any(PyObject*) { return true; }

struct InstanceObject : nb::object {
    NB_OBJECT_DEFAULT(InstanceObject, nb::object, "memstow.solvers.instance.Instance", is_any)
};
struct DescriptionObject : nb::object {
    NB_OBJECT_DEFAULT(DescriptionObject, nb::object, "memstow.solvers.instance.Description", is_any)
};
struct LayoutObject : nb::object {
    NB_OBJECT_DEFAULT(LayoutObject, nb::object, "memstow.solvers.instance.Layout", is_any)
};
struct TermObjects : nb::object {
    NB_OBJECT_DEFAULT(TermObjects, nb::object, "collections.abc.Iterable[memstow.solvers.solver.Term]",
                      is_any)
};
struct KeptObjects : nb::object {
    NB_OBJECT_DEFAULT(KeptObjects, nb::object, "collections.abc.Iterable[memstow.solvers.solver.HintPlace]",
                      is_any)
};

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
    std::vector<std::pair<Index, Index>> conflicts = {};  // of parts, as they are listed
};

// A layout that Python reads as the bytes of two arrays of 64-bit integers: pools and offsets.
struct Placed {
    Layout layout;
};

Index to_index(std::int64_t value);

// Empty for None. A place that the instance does not have is no place.
Layout to_layout(const Instance& instance, LayoutObject from);

std::vector<Term> to_terms(TermObjects from);

// From a hint of Python, or none.
Hint to_hint(const Hint* hint);

nb::int_ to_python(Value value);

// Called with a better layout: its height, and the place of every item.
using OnHeight = std::function<void(Bytes height, const Placed& placed)>;

// The same for a solver to call, from any thread and without the interpreter's lock. Refers to `on_height`.
std::function<void(const Layout&, Bytes)> holding_the_lock(const OnHeight& on_height);

// Values of the terms, or None while the layout does not fit.
std::optional<nb::typed<nb::list, nb::int_>> to_python(const Score& score);

}  // namespace memstow::bindings
