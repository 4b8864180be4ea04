// The door between Python and the columns: converts arguments and results, nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

#include "models.hpp"
#include "picture.hpp"
#include "plan.hpp"
#include "problem.hpp"

namespace {

namespace nb = nanobind;
using memstow::plain::Formulas;
using memstow::plain::Picture;
using memstow::plain::Plan;
using memstow::plain::Pools;
using memstow::plain::Problem;
using memstow::plain::Relations;

using Ints = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using View = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu, nb::memview>;

nb::bytes bytes_of(std::string_view text) { return nb::bytes(text.data(), text.size()); }
nb::bytes bytes_of(const std::vector<std::int64_t>& values) {
    return nb::bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof values[0]);
}

nb::str text_of(std::string_view text) { return nb::str(text.data(), text.size()); }

std::unique_ptr<Problem> kept(std::optional<Problem> problem) {
    return problem ? std::make_unique<Problem>(std::move(*problem)) : nullptr;
}

// Lets other threads of Python work meanwhile, where that is worth the turns it takes.
class Released {
  public:
    explicit Released(std::size_t bytes) {
        if (bytes > kFew) release_.emplace();
    }

  private:
    static constexpr std::size_t kFew = 1 << 16;
    std::optional<nb::gil_scoped_release> release_;
};

std::unique_ptr<Problem> read_csv(nb::bytes data) {
    const std::string_view text(data.c_str(), data.size());
    const Released released(text.size());
    return kept(memstow::plain::read_csv(text));
}

std::unique_ptr<Problem> read_json(nb::bytes data, bool related) {
    const std::string_view text(data.c_str(), data.size());
    const Released released(text.size());
    return kept(related ? memstow::plain::read_related_json(text) : memstow::plain::read_json(text));
}

std::unique_ptr<Problem> read_symbolic(nb::bytes data) {
    const std::string_view text(data.c_str(), data.size());
    const Released released(text.size());
    return kept(memstow::plain::read_symbolic_json(text));
}

void put_sizes(Problem& problem, const Ints& of_formulas) {
    if (of_formulas.size() != problem.formulas.texts.size()) throw nb::value_error("a size for each formula");
    const auto is_none = [](std::int64_t size) { return size < 0 || size > memstow::plain::kLimit; };
    if (std::any_of(of_formulas.data(), of_formulas.data() + of_formulas.size(), is_none))
        throw nb::value_error("sizes from 0 to 2^62");
    memstow::plain::put_sizes(problem, {of_formulas.data(), of_formulas.size()});
}

std::optional<std::pair<std::unique_ptr<Problem>, nb::bytes>> read_request(nb::bytes data) {
    const std::string_view text(data.c_str(), data.size());
    std::optional<memstow::plain::Request> read;
    {
        const Released released(text.size());
        read = memstow::plain::read_request(text);
    }
    if (!read) return std::nullopt;
    return std::pair(std::make_unique<Problem>(std::move(read->problem)), bytes_of(read->options));
}

std::unique_ptr<Plan> read_plan(const Problem& problem, nb::bytes data, bool is_json) {
    const std::string_view text(data.c_str(), data.size());
    nb::gil_scoped_release release;
    std::optional<Plan> plan =
        is_json ? memstow::plain::read_plan(problem, text) : memstow::plain::read_plan_csv(problem, text);
    return plan ? std::make_unique<Plan>(std::move(*plan)) : nullptr;
}

// The offsets, one for each buffer.
const std::int64_t* whole(const Problem& problem, const Ints& offsets) {
    if (offsets.size() != problem.sizes.size()) throw nb::value_error("an offset for each buffer is needed");
    return offsets.data();
}

// The numbers of pools, one for each buffer; none where there are not several.
const std::int64_t* whole_homes(const Problem& problem, const Ints& homes) {
    if (homes.size() == 0) return nullptr;
    const auto pools = static_cast<std::int64_t>(problem.pools.names.size());
    const auto is_none = [&](std::int64_t home) { return home < 0 || home >= pools; };
    if (std::any_of(homes.data(), homes.data() + homes.size(), is_none))
        throw nb::index_error("no such pool");
    return whole(problem, homes);
}

template <std::vector<std::int64_t> Problem::* column>
View view_of(nb::handle self) {
    const std::vector<std::int64_t>& values = nb::cast<const Problem&>(self).*column;
    return View(values.data(), {values.size()}, self);
}

template <std::vector<std::int64_t> Relations::* column>
View relations_of(nb::handle self) {
    const std::vector<std::int64_t>& values = nb::cast<const Problem&>(self).relations.*column;
    return View(values.data(), {values.size()}, self);
}

template <std::vector<std::int64_t> Pools::* column>
View pools_of(nb::handle self) {
    const std::vector<std::int64_t>& values = nb::cast<const Problem&>(self).pools.*column;
    return View(values.data(), {values.size()}, self);
}

template <std::vector<std::int64_t> Formulas::* column>
View formulas_of(nb::handle self) {
    const std::vector<std::int64_t>& values = nb::cast<const Problem&>(self).formulas.*column;
    return View(values.data(), {values.size()}, self);
}

}  // namespace

NB_MODULE(_columns, m) {
    m.doc() = "Plain problems and their plans as columns.";
    nb::set_leak_warnings(false);
    nb::class_<Problem>(m, "Columns", "Buffers with one lifetime each, in one memory.")
        .def("__len__", [](const Problem& self) { return self.sizes.size(); })
        .def_prop_ro("sizes", &view_of<&Problem::sizes>)
        .def_prop_ro("begins", &view_of<&Problem::begins>)
        .def_prop_ro("ends", &view_of<&Problem::ends>)
        .def_prop_ro("alignments", &view_of<&Problem::alignments>,
                     "One for each buffer, or one for all of them.")
        .def_prop_ro("pins", &relations_of<&Relations::pins>, "By buffer, an offset or -1; or nothing.")
        .def_prop_ro("conflicts", &relations_of<&Relations::conflicts>, "Pairs one behind the other.")
        .def_prop_ro("exclusive", &relations_of<&Relations::exclusive>)
        .def_prop_ro("in_place", &relations_of<&Relations::in_place>, "Inputs and outputs.")
        .def_prop_ro("ties", &relations_of<&Relations::ties>, "Buffers, bases and distances.")
        .def_prop_ro("related", &Problem::is_related, "Whether there are pins, relations or several pools.")
        .def_prop_ro(
            "pools_text", [](const Problem& self) { return bytes_of(self.pools.text); },
            "The pools in JSON; nothing where there is one memory, of which only the capacity is said.")
        .def_prop_ro(
            "lists", [](const Problem& self) { return self.pools.lists; },
            "Each list of names of pools that some buffer has.")
        .def_prop_ro("list_of", &pools_of<&Pools::list_of>,
                     "By buffer, the number of its list, or -1: it may go anywhere; or nothing.")
        .def_prop_ro("accesses", &pools_of<&Pools::accesses>,
                     "By buffer, the bytes moved, or -1: those it has; or nothing.")
        .def("accesses_of_lists", &memstow::plain::accesses_of_lists,
             "Bytes moved by buffers that may go anywhere, and by those of each list; above 2^62, one more.")
        .def(
            "set_pools",
            [](Problem& self, std::vector<std::string> names, std::vector<std::string> allowed) {
                if (allowed.size() != self.pools.lists.size()) throw nb::value_error("a text for each list");
                self.pools.names = std::move(names);
                self.pools.allowed = std::move(allowed);
            },
            nb::arg("names"), nb::arg("allowed"),
            "What the pools are called, and how the canonical form has each list of them.")
        .def_prop_ro(
            "symbols_text", [](const Problem& self) { return bytes_of(self.formulas.symbols); },
            "The symbols, points and aim of a symbolic problem as an object in JSON; nothing of any other.")
        .def_prop_ro(
            "formulas", [](const Problem& self) { return self.formulas.texts; },
            "Each formula that is a size, in the order of the first buffers that have them.")
        .def_prop_ro("formula_of", &formulas_of<&Formulas::of_buffer>,
                     "By buffer, the number of its formula, or -1; or nothing.")
        .def("put_sizes", &put_sizes, nb::arg("of_formulas"),
             "Gives the buffers with formulas these sizes, one for each formula.")
        .def("are_plainly_sound", &memstow::plain::are_plainly_sound,
             "Whether pins and relations are right; False as well where the ordinary checks have to say so.")
        .def_prop_ro("pool", [](const Problem& self) { return text_of(self.pool); })
        .def_prop_ro(
            "capacity",
            [](const Problem& self) { return self.bounded ? std::optional(self.capacity) : std::nullopt; })
        .def_rw("fit_only", &Problem::fit_only)
        .def(
            "set_memory",
            [](Problem& self, const std::string& pool, std::optional<std::int64_t> capacity) {
                self.pool = pool;
                self.bounded = capacity.has_value();
                self.capacity = capacity.value_or(memstow::plain::kLimit);
            },
            nb::arg("pool"), nb::arg("capacity").none(),
            "The memory, where it was not read with the buffers.")
        .def(
            "name",
            [](const Problem& self, std::size_t buffer) {
                if (buffer >= self.sizes.size()) throw nb::index_error();
                return text_of(self.names[buffer]);
            },
            nb::arg("buffer"), "The id of this buffer.")
        .def(
            "canonical",
            [](const Problem& self, std::size_t first, std::size_t last) {
                return bytes_of(memstow::plain::canonical(self, first, last));
            },
            nb::arg("first"), nb::arg("last"),
            "The lines of the canonical form for these buffers in the order of their ids.")
        .def(
            "canonical_sizes",
            [](const Problem& self, std::size_t first, std::size_t last) {
                return bytes_of(memstow::plain::canonical_sizes(self, first, last));
            },
            nb::arg("first"), nb::arg("last"), "The lines of those of them that have formulas, likewise.")
        .def(
            "peaks",
            [](const Problem& self, const Ints& offsets, const Ints& homes) {
                return memstow::plain::peaks(self, whole(self, offsets), whole_homes(self, homes));
            },
            nb::arg("offsets"), nb::arg("homes"),
            "By pool, where the last buffer ends; `homes`: by buffer, the number of its pool, where there "
            "are several.")
        .def(
            "placements",
            [](const Problem& self, const Ints& offsets, std::size_t first, std::size_t last,
               const Ints& homes) {
                return bytes_of(memstow::plain::placements_as_json(self, whole(self, offsets), first, last,
                                                                   whole_homes(self, homes)));
            },
            nb::arg("offsets"), nb::arg("first"), nb::arg("last"), nb::arg("homes"),
            "The placements of these buffers as elements of a JSON list, from the second on after a comma; "
            "`homes`: by buffer, the number of its pool, where there are several.")
        .def(
            "names",
            [](const Problem& self, const std::vector<std::int64_t>& members) {
                for (const std::int64_t member : members) {
                    if (member < 0 || static_cast<std::size_t>(member) >= self.sizes.size())
                        throw nb::index_error();
                }
                return bytes_of(memstow::plain::names_as_json(self, members));
            },
            nb::arg("members"), "The ids of these buffers as elements of a JSON list.")
        .def(
            "as_csv",
            [](const Problem& self, const Ints& offsets) -> std::optional<nb::bytes> {
                const auto text = memstow::plain::plan_as_csv(self, whole(self, offsets));
                return text ? std::optional(bytes_of(*text)) : std::nullopt;
            },
            nb::arg("offsets"), "The plan as CSV; None where an id would need quotes.")
        .def(
            "picture",
            [](const Problem& self, const Ints& offsets, int width, int rows) {
                Picture picture = memstow::plain::picture(self, whole(self, offsets), width, rows);
                return std::pair(bytes_of(picture.times), bytes_of(picture.levels));
            },
            nb::arg("offsets"), nb::arg("width"), nb::arg("rows"),
            "The times at which anything changes, and how full each spot is, row by row from the lowest.");
    nb::class_<Plan>(m, "PlanColumns", "What is long in a plan, and the rest of its document.")
        .def_prop_ro("offsets", [](const Plan& self) { return bytes_of(self.offsets); })
        .def_prop_ro("members", [](const Plan& self) { return bytes_of(self.members); })
        .def_prop_ro("frame", [](const Plan& self) { return bytes_of(self.frame); });
    m.def("read_csv", &read_csv, nb::arg("data"), nb::sig("def read_csv(data: bytes) -> Columns | None"),
          "The plain problem of a CSV; None where it is not plain.");
    m.def("read_json", &read_json, nb::arg("data"), nb::arg("related"),
          nb::sig("def read_json(data: bytes, related: bool) -> Columns | None"),
          "The plain problem of native JSON, or one with pins, relations and pools; None where it is not.");
    m.def("read_symbolic", &read_symbolic, nb::arg("data"),
          nb::sig("def read_symbolic(data: bytes) -> Columns | None"),
          "The same of a problem with symbols, whose sizes may be formulas, and are 0 at first.");
    m.def(
        "read_request", &read_request, nb::arg("data"),
        "The plain problem of a request to plan it, and the text of its options; None where it is not one.");
    m.def("read_plan", &read_plan, nb::arg("problem"), nb::arg("data"), nb::arg("is_json"),
          nb::sig("def read_plan(problem: Columns, data: bytes, is_json: bool) -> PlanColumns | None"),
          "The plan of native JSON or CSV that places each buffer once; None where it is not so.");
    m.def(
        "of_buffers",
        [](nb::handle buffers, const std::vector<nb::str>& none) {
            return kept(memstow::plain::of_buffers(buffers, none));
        },
        nb::arg("buffers"), nb::arg("none"),
        nb::sig("def of_buffers(buffers: collections.abc.Sequence[memstow.planner.model.problem.Buffer], "
                "none: collections.abc.Sequence[str]) -> Columns | None"),
        "The columns of buffers of the models; None where one is not plain, or has one of these fields.");
}
