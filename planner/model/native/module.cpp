// The door between Python and the reader of documents: takes the description of a kind, and texts of it.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "values.hpp"

namespace {

namespace nb = nanobind;
using memstow::model::Kind;
using Shared = std::shared_ptr<Kind>;

constexpr std::size_t kMostFields = 64;

Shared text(std::size_t shortest, std::size_t longest, bool may_hold_nul, std::vector<std::string> words) {
    Kind kind;
    kind.text = {shortest, longest, may_hold_nul, std::move(words)};
    return std::make_shared<Kind>(std::move(kind));
}

Shared integer(std::int64_t least, std::int64_t most) {
    Kind kind;
    kind.integer = {least, most};
    return std::make_shared<Kind>(std::move(kind));
}

Shared list_of(Shared element, std::size_t shortest, std::size_t longest) {
    Kind kind;
    kind.list = {{std::move(element)}, true, shortest, longest};
    return std::make_shared<Kind>(std::move(kind));
}

Shared row_of(std::vector<Shared> members) {
    Kind kind;
    kind.list = {std::move(members), false, 0, 0};
    return std::make_shared<Kind>(std::move(kind));
}

// Each field as its name, its kind, whether it has a default, and that.
using FieldArguments = std::tuple<std::string, Shared, bool, nb::object>;

Shared object_of(nb::type_object holder, const std::vector<FieldArguments>& fields) {
    if (fields.size() > kMostFields) throw nb::value_error("there are too many fields");
    Kind::Object found{holder, {}};
    for (const auto& [name, kind, has_default, value] : fields) {
        found.fields.push_back(
            {name, nb::str(name.data(), name.size()), kind, has_default ? value : nb::object()});
    }
    Kind kind;
    kind.object = std::move(found);
    return std::make_shared<Kind>(std::move(kind));
}

Shared one_of(const std::vector<Shared>& kinds, bool null) {
    Kind kind;
    kind.null = null;
    for (const Shared& it : kinds) {
        if (it->null) kind.null = true;
        if (it->text) kind.text = it->text;
        if (it->integer) kind.integer = it->integer;
        if (it->list) kind.list = it->list;
        if (it->object) kind.object = it->object;
    }
    return std::make_shared<Kind>(std::move(kind));
}

nb::object value_in(const Shared& kind, nb::bytes data) {
    const nb::object value = memstow::model::read(*kind, {data.c_str(), data.size()});
    return value.is_valid() ? value : nb::none();
}

nb::object instances(nb::type_object holder, const std::vector<std::pair<nb::str, nb::object>>& fields,
                     std::size_t count) {
    std::vector<memstow::model::Column> columns;
    for (const auto& [name, values] : fields) {
        if (PyList_Check(values.ptr()) && static_cast<std::size_t>(PyList_Size(values.ptr())) != count) {
            throw nb::value_error("a column has another length");
        }
        columns.push_back({name, values});
    }
    return memstow::model::instances(holder, columns, count);
}

}  // namespace

NB_MODULE(_instances, m) {
    m.doc() = "Instances of the classes of the wire schema, from documents or from columns.";
    nb::set_leak_warnings(false);
    nb::class_<Kind>(m, "Kind", "What a field may hold.");
    m.def("text", &text, nb::arg("shortest"), nb::arg("longest"), nb::arg("may_hold_nul"), nb::arg("words"),
          "Text of so many characters; one of these words, if there are any.");
    m.def("integer", &integer, nb::arg("least"), nb::arg("most"), "An integer in this range.");
    m.def("list_of", &list_of, nb::arg("element"), nb::arg("shortest"), nb::arg("longest"),
          "A list of so many elements of one kind.");
    m.def("row_of", &row_of, nb::arg("members"), "A list with one member of each of these kinds.");
    m.def(
        "object_of", &object_of, nb::arg("holder"), nb::arg("fields"),
        "An object that becomes an instance: of each field name, kind, whether it has a default, and that.");
    m.def("one_of", &one_of, nb::arg("kinds"), nb::arg("null"),
          "A value of one of these kinds, which look different, or null.");
    m.def("value_in", &value_in, nb::arg("kind"), nb::arg("data"),
          "The value that is all of the JSON text; None where it is not plain.");
    m.def("instances", &instances, nb::arg("holder"), nb::arg("fields"), nb::arg("count"),
          "So many instances, as a tuple: each field has a list with a value for each, or one for all.");
}
