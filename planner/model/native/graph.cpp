#include "graph.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <set>

#include "values.hpp"

namespace memstow::model {
namespace {

namespace nb = nanobind;

constexpr char kData = 'd';
constexpr char kState = 's';
constexpr char kConstant = 'c';

nb::handle member(nb::handle tuple, std::size_t place) {
    PyObject* const element = PyTuple_GetItem(tuple.ptr(), static_cast<Py_ssize_t>(place));
    if (element == nullptr) throw nb::python_error();
    return element;
}

// One field of the elements of a tuple.
class Field {
  public:
    Field(nb::handle elements, const char* name) {
        if (nb::len(elements) > 0) slot_.emplace(member(elements, 0).type(), nb::str(name));
    }
    nb::object of(nb::handle element) const { return slot_->of(element); }

  private:
    std::optional<Slot> slot_;
};

// The numbers of elements by name; of a name that stands twice, that of the last.
class Numbers {
  public:
    explicit Numbers(nb::handle elements) {
        const Field id(elements, "id");
        const std::size_t count = nb::len(elements);
        places_.resize(std::bit_ceil(2 * count + 1));
        for (std::size_t i = 0; i < count; ++i) {
            const nb::object name = id.of(member(elements, i));
            by_name_[name] = i;
            place_of(name.ptr()) = {name.ptr(), static_cast<std::int64_t>(i)};
        }
        // Where a name stands twice, which of its numbers is right does not depend on the object.
        if (nb::len(by_name_) < count) places_.assign(1, {});
    }

    const nb::dict& by_name() const { return by_name_; }

    std::int64_t operator[](nb::handle name) {
        const Place& place = place_of(name.ptr());
        if (place.name != nullptr) return place.number;
        PyObject* const known = PyDict_GetItemWithError(by_name_.ptr(), name.ptr());
        if (known != nullptr) return PyLong_AsLongLong(known);
        if (PyErr_Occurred() != nullptr) throw nb::python_error();
        return GraphColumns::kUnknown;
    }

  private:
    // A reader of documents has one object for all places where a name stands, which is found without the
    // name itself: most of the time of looking one up is waiting for memory.
    struct Place {
        PyObject* name = nullptr;
        std::int64_t number = 0;
    };

    Place& place_of(PyObject* name) {
        std::size_t at = (reinterpret_cast<std::uintptr_t>(name) >> 4) * 0x9e3779b97f4a7c15u >> 20;
        while (true) {
            Place& place = places_[at++ & (places_.size() - 1)];
            if (place.name == nullptr || place.name == name) return place;
        }
    }

    nb::dict by_name_;
    std::vector<Place> places_;  // as many as a power of two
};

// The numbers of names in a tuple; whether each is known.
bool add_numbers(Numbers& numbers, nb::handle names, std::vector<std::int64_t>& to) {
    bool all = true;
    const std::size_t count = nb::len(names);
    for (std::size_t i = 0; i < count; ++i) {
        to.push_back(numbers[member(names, i)]);
        all = all && to.back() != GraphColumns::kUnknown;
    }
    return all;
}

void add_tensors(nb::handle tensors, GraphColumns& columns) {
    const Field kind(tensors, "kind"), size(tensors, "size"), shape(tensors, "shape"),
        pools(tensors, "pools");
    const std::size_t count = nb::len(tensors);
    columns.kind.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const nb::handle tensor = member(tensors, i);
        const char* const word = PyUnicode_AsUTF8AndSize(kind.of(tensor).ptr(), nullptr);
        if (word == nullptr) throw nb::python_error();
        columns.kind.push_back(word[0]);
        columns.has_shapes = columns.has_shapes || size.of(tensor).is_none() || !shape.of(tensor).is_none();
        columns.has_pools = columns.has_pools || !pools.of(tensor).is_none();
    }
}

void add_operators(nb::handle operators, Numbers& tensors, GraphColumns& columns) {
    const Field inputs(operators, "inputs"), outputs(operators, "outputs"), pairs(operators, "in_place");
    const Field temporaries(operators, "temporaries"), window(operators, "window");
    const std::size_t count = nb::len(operators);
    for (std::size_t i = 0; i < count; ++i) {
        const nb::handle entry = member(operators, i);
        const bool known = add_numbers(tensors, inputs.of(entry), columns.inputs.members) &
                           add_numbers(tensors, outputs.of(entry), columns.outputs.members);
        columns.has_unknown = columns.has_unknown || !known;
        const nb::object in_place = pairs.of(entry);
        for (std::size_t j = 0; j < nb::len(in_place); ++j) {
            add_numbers(tensors, member(in_place, j), columns.pairs.members);
        }
        columns.inputs.end();
        columns.outputs.end();
        columns.pairs.end();
        const nb::object inside = temporaries.of(entry);
        for (std::size_t j = 0; j < nb::len(inside); ++j) {
            columns.has_temporaries = true;
            columns.has_pools = columns.has_pools || !nb::getattr(member(inside, j), "pools").is_none();
        }
        columns.has_windows = columns.has_windows || !window.of(entry).is_none();
    }
}

bool holds(std::span<const std::int64_t> members, std::int64_t member) {
    return std::find(members.begin(), members.end(), member) != members.end();
}

}  // namespace

GraphColumns columns_of(nb::handle graph) {
    GraphColumns columns;
    const nb::object tensors = nb::getattr(graph, "tensors"), operators = nb::getattr(graph, "operators");
    Numbers numbers(tensors);
    columns.tensor_number = numbers.by_name();
    columns.operator_number = Numbers(operators).by_name();
    add_tensors(tensors, columns);
    add_operators(operators, numbers, columns);
    const bool known = add_numbers(numbers, nb::getattr(graph, "inputs"), columns.inputs_of_graph) &
                       add_numbers(numbers, nb::getattr(graph, "outputs"), columns.kept);
    columns.has_unknown = columns.has_unknown || !known;
    return columns;
}

std::vector<std::int64_t> producers(const GraphColumns& graph) {
    std::vector<std::int64_t> producers(graph.kind.size(), GraphColumns::kUnknown);
    for (std::size_t i = 0; i < graph.outputs.count(); ++i) {
        for (const std::int64_t tensor : graph.outputs[i]) {
            if (tensor == GraphColumns::kUnknown) continue;
            const auto place = static_cast<std::size_t>(tensor);
            if (graph.kind[place] == kState || producers[place] != GraphColumns::kUnknown) continue;
            producers[place] = static_cast<std::int64_t>(i);
        }
    }
    return producers;
}

Lists readers(const GraphColumns& graph) {
    // Counted first, so that each list has its place; a name may stand twice among the inputs of an operator.
    const std::size_t tensors = graph.kind.size();
    std::vector<std::int64_t> latest(tensors, GraphColumns::kUnknown);
    Lists readers;
    readers.start.assign(tensors + 1, 0);
    const auto each = [&](auto visit) {
        std::fill(latest.begin(), latest.end(), GraphColumns::kUnknown);
        for (std::size_t i = 0; i < graph.inputs.count(); ++i) {
            const auto reader = static_cast<std::int64_t>(i);
            for (const std::int64_t tensor : graph.inputs[i]) {
                if (tensor == GraphColumns::kUnknown) continue;
                const auto place = static_cast<std::size_t>(tensor);
                if (latest[place] == reader) continue;
                latest[place] = reader;
                visit(place, reader);
            }
        }
    };
    each([&](std::size_t tensor, std::int64_t) { ++readers.start[tensor + 1]; });
    for (std::size_t i = 0; i < tensors; ++i) readers.start[i + 1] += readers.start[i];
    std::vector<std::int64_t> next(readers.start.begin(), readers.start.end() - 1);
    readers.members.resize(static_cast<std::size_t>(readers.start.back()));
    each([&](std::size_t tensor, std::int64_t reader) {
        readers.members[static_cast<std::size_t>(next[tensor]++)] = reader;
    });
    return readers;
}

Lists successors(const GraphColumns& graph, const std::vector<std::pair<std::int64_t, std::int64_t>>& pairs) {
    const Lists read = readers(graph);
    std::vector<std::vector<std::int64_t>> after(graph.outputs.count());
    const std::vector<std::int64_t> producer = producers(graph);
    for (std::size_t tensor = 0; tensor < producer.size(); ++tensor) {
        if (producer[tensor] == GraphColumns::kUnknown) continue;
        std::vector<std::int64_t>& them = after[static_cast<std::size_t>(producer[tensor])];
        them.insert(them.end(), read[tensor].begin(), read[tensor].end());
    }
    for (const auto& [first, second] : pairs) after.at(static_cast<std::size_t>(first)).push_back(second);
    Lists successors;
    for (std::vector<std::int64_t>& them : after) {
        std::sort(them.begin(), them.end());
        them.erase(std::unique(them.begin(), them.end()), them.end());
        successors.members.insert(successors.members.end(), them.begin(), them.end());
        successors.end();
    }
    return successors;
}

Lists distinct_pairs(const GraphColumns& graph) {
    Lists distinct;
    std::set<std::pair<std::int64_t, std::int64_t>> seen;
    for (std::size_t i = 0; i < graph.pairs.count(); ++i) {
        const auto pairs = graph.pairs[i];
        seen.clear();
        for (std::size_t j = 0; j + 1 < pairs.size(); j += 2) {
            if (!seen.emplace(pairs[j], pairs[j + 1]).second) continue;
            distinct.members.push_back(pairs[j]);
            distinct.members.push_back(pairs[j + 1]);
        }
        distinct.end();
    }
    return distinct;
}

Lives lives_of(const GraphColumns& graph, std::span<const std::int64_t> begins,
               std::span<const std::int64_t> ends, std::int64_t end) {
    const Lists read = readers(graph);
    const std::vector<std::int64_t> producer = producers(graph);
    const std::size_t tensors = graph.kind.size();
    std::vector<char> there(tensors), kept(tensors);
    const auto note = [](const std::vector<std::int64_t>& named, std::vector<char>& in) {
        for (const std::int64_t tensor : named) {
            if (tensor != GraphColumns::kUnknown) in[static_cast<std::size_t>(tensor)] = 1;
        }
    };
    note(graph.inputs_of_graph, there);
    note(graph.kept, kept);
    Lives result;
    result.lives.resize(tensors);
    for (std::size_t i = 0; i < tensors; ++i) {
        if (graph.kind[i] == kState || graph.kind[i] == kConstant) continue;
        Lives::Life life{0, 1};
        if (producer[i] != GraphColumns::kUnknown && there[i] == 0) {
            const auto maker = static_cast<std::size_t>(producer[i]);
            life = {begins[maker], ends[maker]};
        }
        if (kept[i] != 0) {
            life.second = end;
        } else if (!read[i].empty()) {
            life.second = 0;
            for (const std::int64_t reader : read[i]) {
                life.second = std::max(life.second, ends[static_cast<std::size_t>(reader)]);
            }
        }
        result.lives[i] = life;
    }
    const Lists pairs = distinct_pairs(graph);
    for (std::size_t i = 0; i < pairs.count(); ++i) {
        for (std::size_t j = 0; j < pairs[i].size(); j += 2) {
            const std::int64_t source = pairs[i][j], target = pairs[i][j + 1];
            if (source == GraphColumns::kUnknown || target == GraphColumns::kUnknown) continue;
            const auto input = static_cast<std::size_t>(source);
            const bool dies = result.lives[input] && result.lives[input]->second == ends[i];
            const bool placed =
                graph.kind[input] == kData && graph.kind[static_cast<std::size_t>(target)] == kData;
            if (dies && kept[input] == 0 && placed) result.shared.emplace_back(source, target);
        }
    }
    return result;
}

bool is_listed_in_order(const GraphColumns& graph) {
    const Lists read = readers(graph);
    const std::vector<std::int64_t> producer = producers(graph);
    for (std::size_t tensor = 0; tensor < producer.size(); ++tensor) {
        const auto them = read[tensor];
        if (producer[tensor] != GraphColumns::kUnknown && !them.empty() && them.front() <= producer[tensor])
            return false;
    }
    return true;
}

bool is_made_once(const GraphColumns& graph) {
    std::vector<char> there(graph.kind.size());
    const auto is_new = [&](std::int64_t tensor) {
        return tensor != GraphColumns::kUnknown && there[static_cast<std::size_t>(tensor)]++ == 0;
    };
    for (const std::int64_t tensor : graph.inputs_of_graph) {
        if (tensor != GraphColumns::kUnknown) there[static_cast<std::size_t>(tensor)] = 1;
    }
    for (const std::int64_t tensor : graph.outputs.members) {
        if (!is_new(tensor)) return false;
        const char kind = graph.kind[static_cast<std::size_t>(tensor)];
        if (kind != kData && kind != 'e') return false;
    }
    for (std::size_t i = 0; i < there.size(); ++i) {
        if (graph.kind[i] == kData && there[i] == 0) return false;
    }
    return true;
}

bool has_plain_pairs(const GraphColumns& graph) {
    for (std::size_t i = 0; i < graph.pairs.count(); ++i) {
        const auto pairs = graph.pairs[i];
        for (std::size_t j = 0; j < pairs.size(); ++j) {
            const auto among = j % 2 == 0 ? graph.inputs[i] : graph.outputs[i];
            if (pairs[j] == GraphColumns::kUnknown || !holds(among, pairs[j])) return false;
            if (graph.kind[static_cast<std::size_t>(pairs[j])] != kData) return false;
        }
    }
    return true;
}

}  // namespace memstow::model
