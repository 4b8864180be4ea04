// The door between Python and what is native of the model: plain values of its kinds, columns of its
// instances.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <utility>

#include "buffers.hpp"
#include "digest.hpp"
#include "graph.hpp"
#include "storages.hpp"
#include "values.hpp"

namespace {

namespace nb = nanobind;
using memstow::model::Class;
using memstow::model::Kind;
using Shared = std::shared_ptr<Kind>;

class NotPlain : public std::exception {
  public:
    const char* what() const noexcept override { return "the value is not plain"; }
};

Shared shared(Kind kind) { return std::make_shared<Kind>(std::move(kind)); }

Shared text(std::size_t shortest, std::size_t longest, const std::string& letters) {
    using enum Kind::Letters;
    static const std::map<std::string, Kind::Letters> kinds{
        {"any", kAny}, {"no NUL", kNoNul}, {"name", kName}, {"SHA-256", kDigest}};
    Kind kind;
    kind.text = {shortest, longest, kinds.at(letters)};
    return shared(std::move(kind));
}

Shared words(const std::vector<std::pair<std::string, nb::object>>& values) {
    Kind kind;
    for (const auto& [word, value] : values) kind.words.push_back({word, value});
    return shared(std::move(kind));
}

Shared truth() {
    Kind kind;
    kind.truth = true;
    return shared(std::move(kind));
}

Shared integer(std::int64_t least, std::int64_t most) {
    Kind kind;
    kind.integer = {least, most};
    return shared(std::move(kind));
}

Shared number(double least, double most) {
    Kind kind;
    kind.number = {least, most};
    return shared(std::move(kind));
}

Shared list_of(Shared element, std::size_t shortest, std::size_t longest) {
    Kind kind;
    kind.list = {{std::move(element)}, true, shortest, longest};
    return shared(std::move(kind));
}

Shared row_of(std::vector<Shared> members) {
    Kind kind;
    kind.list = {std::move(members), false, 0, 0};
    return shared(std::move(kind));
}

Shared table_of(Shared name, Shared member) {
    Kind kind;
    kind.table = {std::move(name), std::move(member)};
    return shared(std::move(kind));
}

Shared object_of(nb::type_object holder, nb::callable describe, std::vector<std::string> tags) {
    auto described = std::make_shared<Class>();
    described->holder = std::move(holder);
    described->describe = std::move(describe);
    described->tags = std::move(tags);
    Kind kind;
    kind.classes.push_back(std::move(described));
    return shared(std::move(kind));
}

Shared one_of(const std::vector<Shared>& kinds, bool null, const std::string& tag) {
    Kind kind;
    kind.null = null;
    kind.tag = tag;
    for (const Shared& alike : kinds) {
        if (alike->null) kind.null = true;
        if (alike->truth) kind.truth = true;
        if (alike->text) kind.text = alike->text;
        if (!alike->words.empty()) kind.words = alike->words;
        if (alike->integer) kind.integer = alike->integer;
        if (alike->number) kind.number = alike->number;
        if (alike->list) kind.list = alike->list;
        if (alike->table) kind.table = alike->table;
        if (!alike->tag.empty()) kind.tag = alike->tag;
        kind.classes.insert(kind.classes.end(), alike->classes.begin(), alike->classes.end());
    }
    return shared(std::move(kind));
}

nb::object or_not_plain(nb::object value) {
    if (!value.is_valid()) throw NotPlain();
    return value;
}

nb::object value_in(const Shared& kind, nb::bytes data) {
    return or_not_plain(memstow::model::read(*kind, {data.c_str(), data.size()}));
}

nb::object plain(const Shared& kind, nb::handle value) {
    return or_not_plain(memstow::model::plain(*kind, value));
}

void fill(const Shared& kind, nb::handle instance, nb::dict arguments) {
    if (!memstow::model::fill(*kind->classes.at(0), instance, arguments)) throw NotPlain();
}

nb::object instances(nb::type_object holder, const std::vector<std::pair<nb::str, nb::object>>& fields,
                     std::size_t count) {
    std::vector<memstow::model::Column> columns;
    for (const auto& [name, values] : fields) {
        if (PyList_Check(values.ptr()) && static_cast<std::size_t>(PyList_Size(values.ptr())) != count) {
            throw nb::value_error("a column has another length");
        }
        columns.push_back({memstow::model::Slot(holder, name), values});
    }
    return memstow::model::instances(holder, columns, count);
}

using memstow::model::BufferColumns;
using memstow::model::GraphColumns;
using memstow::model::Lists;
using memstow::model::Storages;

bool is_any(PyObject*) { return true; }

// An array of Python, as signatures name it.
struct IntArray : nb::object {
    NB_OBJECT_DEFAULT(IntArray, nb::object, "array.array[int]", is_any)
};

IntArray array_of(const std::vector<std::int64_t>& numbers) {
    const nb::bytes bytes(numbers.data(), numbers.size() * sizeof(std::int64_t));
    return nb::borrow<IntArray>(nb::module_::import_("array").attr("array")("q", bytes));
}

std::pair<IntArray, IntArray> arrays_of(const Lists& lists) {
    return {array_of(lists.start), array_of(lists.members)};
}

// A list of lists, for those who go through them in Python.
std::vector<std::vector<std::int64_t>> nested(const Lists& lists) {
    std::vector<std::vector<std::int64_t>> nested;
    nested.reserve(lists.count());
    for (std::size_t i = 0; i < lists.count(); ++i) nested.emplace_back(lists[i].begin(), lists[i].end());
    return nested;
}

using Ints = std::vector<std::int64_t>;

auto lives_of(const GraphColumns& graph, const Ints& begins, const Ints& ends, std::int64_t end) {
    const std::size_t operators = graph.outputs.count();
    if (begins.size() != operators || ends.size() != operators) {
        throw nb::value_error("a begin and an end are needed for each operator");
    }
    memstow::model::Lives lives = memstow::model::lives_of(graph, begins, ends, end);
    return std::pair{std::move(lives.lives), std::move(lives.shared)};
}

// The first and the second of each pair of operators in turn.
IntArray flat_edges(const Lists& successors) {
    Ints edges;
    edges.reserve(2 * successors.members.size());
    for (std::size_t i = 0; i < successors.count(); ++i) {
        for (const std::int64_t then : successors[i]) {
            edges.push_back(static_cast<std::int64_t>(i));
            edges.push_back(then);
        }
    }
    return array_of(edges);
}

}  // namespace

NB_MODULE(_instances, m) {
    m.doc() = "Plain values and instances of the classes of the wire schema.";
    nb::set_leak_warnings(false);
    nb::exception<NotPlain>(m, "NotPlainError", PyExc_ValueError).attr("__doc__") =
        "The value may be right or wrong: pydantic knows.";
    nb::class_<Kind>(m, "Kind", "What a field may hold.");
    m.def("text", &text, nb::arg("shortest"), nb::arg("longest"), nb::arg("letters"),
          "Text of so many characters: any, those of a name or a SHA-256, or without NUL.");
    m.def("words", &words, nb::arg("values"), "One of these words, each with the value that it stands for.");
    m.def("truth", &truth, "true and false.");
    m.def("integer", &integer, nb::arg("least"), nb::arg("most"), "An integer in this range.");
    m.def("number", &number, nb::arg("least"), nb::arg("most"), "A finite number in this range.");
    m.def("list_of", &list_of, nb::arg("element"), nb::arg("shortest"), nb::arg("longest"),
          "A list of so many elements of one kind.");
    m.def("row_of", &row_of, nb::arg("members"), "A list with one member of each of these kinds.");
    m.def("table_of", &table_of, nb::arg("name"), nb::arg("member"),
          "An object that stays one, of any names of a kind.");
    m.def("object_of", &object_of, nb::arg("holder"), nb::arg("describe"), nb::arg("tags"),
          nb::sig("def object_of(holder: type, describe: collections.abc.Callable[[], "
                  "collections.abc.Sequence[tuple[str, Kind, bool, object, bool]]], "
                  "tags: collections.abc.Sequence[str]) -> Kind"),
          "An object that becomes an instance. `describe` returns of each field name, kind, whether it is "
          "required, the default, and whether that is called; `tags` are for `one_of`.");
    m.def("one_of", &one_of, nb::arg("kinds"), nb::arg("null"), nb::arg("tag"),
          "A value of one of these kinds, which look different, or null; of classes the tag tells which.");
    m.def("value_in", &value_in, nb::arg("kind"), nb::arg("data"), "The value that is all of the JSON text.");
    m.def("plain", &plain, nb::arg("kind"), nb::arg("value").none(),
          nb::sig("def plain(kind: Kind, value: object) -> typing.Any"), "The value as a field holds it.");
    m.def("fill", &fill, nb::arg("kind"), nb::arg("instance"), nb::arg("arguments"),
          nb::sig("def fill(kind: Kind, instance: object, arguments: dict[str, object]) -> None"),
          "Set the fields of a new instance of a class.");
    m.def("instances", &instances, nb::arg("holder"), nb::arg("fields"), nb::arg("count"),
          nb::sig("def instances(holder: type, "
                  "fields: collections.abc.Sequence[tuple[str, object]], count: int) -> "
                  "tuple[typing.Any, ...]"),
          "So many instances, as a tuple: each field has a list with a value for each, or one for all.");
    nb::class_<BufferColumns>(m, "BufferColumns", "Buffers of one life each, as columns.")
        .def_prop_ro("sizes", [](const BufferColumns& self) { return array_of(self.sizes); })
        .def_prop_ro("begins", [](const BufferColumns& self) { return array_of(self.begins); })
        .def_prop_ro("ends", [](const BufferColumns& self) { return array_of(self.ends); })
        .def_prop_ro(
            "kinds", [](const BufferColumns& self) { return array_of(self.kind); },
            "Equal for those of one alignment that name the same pools.")
        .def_ro("largest", &BufferColumns::largest, "By kind, the first of the largest of these buffers.");
    m.def(
        "columns_of_buffers", &memstow::model::columns_of_buffers, nb::arg("buffers"), nb::arg("rare"),
        nb::sig(
            "def columns_of_buffers(buffers: tuple[typing.Any, ...], rare: collections.abc.Sequence[str]) -> "
            "BufferColumns | None"),
        "The columns; None where a buffer has not one life of 64-bit times, or a rare field.");
    m.def(
        "buffer_lines",
        [](nb::tuple buffers, nb::tuple everywhere, const std::vector<nb::str>& rare,
           nb::callable other) -> std::optional<nb::bytes> {
            const auto lines = memstow::model::buffer_lines(buffers, everywhere, rare, other);
            return lines ? std::optional(nb::bytes(lines->data(), lines->size())) : std::nullopt;
        },
        nb::arg("buffers"), nb::arg("everywhere"), nb::arg("rare"), nb::arg("other"),
        nb::sig("def buffer_lines(buffers: tuple[typing.Any, ...], everywhere: tuple[str, ...], "
                "rare: collections.abc.Sequence[str], other: collections.abc.Callable[[typing.Any], str]) -> "
                "bytes | None"),
        "The lines of buffers in a canonical form, in the order of their ids; None where an id is no UTF-8. "
        "`everywhere` has the ids of all pools; `other` returns the line of a buffer that has one of the "
        "fields that "
        "are rare, or is not as most are in another way.");
    m.def(
        "pair_lines",
        [](const std::string& word, nb::list ones, nb::list others) {
            const std::string lines = memstow::model::pair_lines(word, ones, others);
            return nb::bytes(lines.data(), lines.size());
        },
        nb::arg("word"), nb::arg("ones"), nb::arg("others"),
        nb::sig("def pair_lines(word: str, ones: list[str], others: list[str]) -> bytes"),
        "The lines of pairs without a direction in a canonical form: sorted, each once, the smaller id "
        "first.");
    m.def(
        "pair_numbers",
        [](const nb::dict& numbers, const nb::list& ones, const nb::list& others, bool sorted) {
            auto result = memstow::model::pair_numbers(numbers, ones, others, sorted);
            return std::pair{std::move(result.pairs), result.all};
        },
        nb::arg("numbers"), nb::arg("ones"), nb::arg("others"), nb::arg("sorted"),
        nb::sig("def pair_numbers(numbers: dict[str, int], ones: list[str], others: list[str], sorted: bool) "
                "-> tuple[list[tuple[int, int]], bool]"),
        "The numbers of pairs without a direction, the smaller first: sorted, each once, or as listed; and "
        "whether all are of two names that have a number.");
    m.def("placement_lines", &memstow::model::placement_lines, nb::arg("placements"),
          nb::sig("def placement_lines(placements: tuple[typing.Any, ...]) -> str | None"),
          "Placements as elements of a list in native JSON; None where a name is no UTF-8.");
    nb::class_<GraphColumns>(
        m, "GraphColumns",
        "Tensors and operators of a graph by number; -1 stands for a tensor that the graph does not have.")
        .def(nb::new_(&memstow::model::columns_of), nb::arg("graph"))
        .def_prop_ro(
            "tensor_number", [](const GraphColumns& self) { return self.tensor_number; },
            nb::sig("def tensor_number(self) -> dict[str, int]"),
            "By id; of an id that stands twice, the last.")
        .def_prop_ro(
            "operator_number", [](const GraphColumns& self) { return self.operator_number; },
            nb::sig("def operator_number(self) -> dict[str, int]"))
        .def_ro("has_shapes", &GraphColumns::has_shapes, "Whether a tensor has a shape, or no size.")
        .def_ro("has_pools", &GraphColumns::has_pools, "Whether a tensor or a temporary names pools.")
        .def_ro("has_temporaries", &GraphColumns::has_temporaries)
        .def_ro("has_windows", &GraphColumns::has_windows)
        .def_ro(
            "has_unknown", &GraphColumns::has_unknown,
            "Whether an operator, or an input or output of the graph, is about a tensor that is not there.")
        .def_prop_ro("is_made_once", &memstow::model::is_made_once,
                     "Whether all data has one maker, and nothing else is made but what lies elsewhere.")
        .def_prop_ro("has_plain_pairs", &memstow::model::has_plain_pairs,
                     "Whether each pair in place is data: an input and an output of its operator.")
        .def_prop_ro(
            "kinds", [](const GraphColumns& self) { return nb::bytes(self.kind.data(), self.kind.size()); },
            "By tensor, the first letter of its kind.")
        .def_prop_ro(
            "inputs", [](const GraphColumns& self) { return arrays_of(self.inputs); },
            "Where the tensors that an operator reads begin among all that are read, by operator, and these.")
        .def_prop_ro(
            "outputs", [](const GraphColumns& self) { return arrays_of(self.outputs); },
            "The same of what operators make.")
        .def_prop_ro(
            "pairs", [](const GraphColumns& self) { return arrays_of(self.pairs); },
            "The same of the pairs in place, with two tensors for each.")
        .def_prop_ro(
            "inputs_of_graph", [](const GraphColumns& self) { return array_of(self.inputs_of_graph); },
            "The inputs of the graph.")
        .def_prop_ro(
            "kept", [](const GraphColumns& self) { return array_of(self.kept); }, "The outputs of the graph.")
        .def_prop_ro(
            "is_listed_in_order", &memstow::model::is_listed_in_order,
            "Whether nobody reads what an operator makes that is listed later, or what it makes itself.")
        .def("producers", &memstow::model::producers,
             "By tensor, the first operator that makes it; -1 of a state and of what nobody makes.")
        .def(
            "successors",
            [](const GraphColumns& self, const std::vector<std::pair<std::int64_t, std::int64_t>>& pairs) {
                return nested(memstow::model::successors(self, pairs));
            },
            nb::arg("pairs"),
            "By operator, those that read what it makes, and seconds of pairs that it is first of; "
            "ascending.")
        .def(
            "edges",
            [](const GraphColumns& self, const std::vector<std::pair<std::int64_t, std::int64_t>>& pairs) {
                return flat_edges(memstow::model::successors(self, pairs));
            },
            nb::arg("pairs"), "The same as pairs, one after the other: the first of each and the second.")
        .def("lives", &lives_of, nb::arg("begins"), nb::arg("ends"), nb::arg("end"),
             "By tensor its life, None for always, where operators run from `begins` until `ends`, all until "
             "`end`; and the pairs in place whose input dies at the operator.")
        .def(
            "readers", [](const GraphColumns& self) { return nested(memstow::model::readers(self)); },
            "By tensor, the operators that read it, each once, ascending.");
    nb::class_<Storages>(m, "Storages", "Bytes of a graph that live as one.")
        .def(nb::new_(&memstow::model::storages_of), nb::arg("graph"), nb::arg("sizes"), nb::arg("groups"),
             "`sizes` are by tensor; `groups` of views: the tensor around each, and of each of its tensors "
             "the "
             "first byte there and the end.")
        .def_prop_ro("size", [](const Storages& self) { return array_of(self.size); })
        .def_prop_ro(
            "writers", [](const Storages& self) { return arrays_of(self.writers); },
            "Where the operators that write a storage begin among all of them, and these.")
        .def_prop_ro(
            "readers", [](const Storages& self) { return arrays_of(self.readers); },
            "The same of those that read one.")
        .def_prop_ro(
            "from_start", [](const Storages& self) { return array_of(self.from_start); },
            "1 where an input of the graph lies there.")
        .def_prop_ro(
            "to_end", [](const Storages& self) { return array_of(self.to_end); }, "1 where an output does.")
        .def_ro("tensor", &Storages::tensor, "A tensor that lies there.")
        .def_ro("outer", &Storages::outer, "The tensor around it.")
        .def_ro("begin", &Storages::begin, "Of a piece of a group its first byte there; -1 of others.")
        .def_prop_ro(
            "in_place", [](const Storages& self) { return array_of(self.in_place); },
            "Of each pair in place: the operator, the storage of the input and that of the output.");
}
