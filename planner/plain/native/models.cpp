#include "models.hpp"

namespace memstow::plain {
namespace {

namespace nb = nanobind;

// The names of the fields, made once for all buffers.
struct Fields {
    nb::str id{"id"}, size{"size"}, lifetime{"lifetime"}, alignment{"alignment"};
    std::vector<nb::str> none;  // a plain buffer does not have them
};

// An integer of at most 64 bits.
bool integer(nb::handle from, std::int64_t& to) {
    int overflow = 0;
    to = PyLong_AsLongLongAndOverflow(from.ptr(), &overflow);
    if (to == -1 && PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        return false;
    }
    return overflow == 0;
}

bool text(nb::handle from, std::string_view& to) {
    Py_ssize_t length = 0;
    const char* const data = PyUnicode_AsUTF8AndSize(from.ptr(), &length);
    if (data == nullptr) {
        PyErr_Clear();  // surrogates
        return false;
    }
    to = {data, static_cast<std::size_t>(length)};
    return true;
}

bool add_one(Problem& problem, const Fields& fields, nb::handle from) {
    for (const nb::str& name : fields.none) {
        if (!nb::getattr(from, name).is_none()) return false;
    }
    const nb::object life = nb::getattr(from, fields.lifetime);
    if (!PyTuple_Check(life.ptr()) || PyTuple_Size(life.ptr()) != 2) return false;
    const nb::object id = nb::getattr(from, fields.id);
    Buffer buffer;
    std::string_view name;
    return text(id, name) && integer(nb::getattr(from, fields.size), buffer.size) &&
           integer(PyTuple_GetItem(life.ptr(), 0), buffer.begin) &&
           integer(PyTuple_GetItem(life.ptr(), 1), buffer.end) &&
           integer(nb::getattr(from, fields.alignment), buffer.alignment) && add(problem, name, buffer);
}

}  // namespace

std::optional<Problem> of_buffers(nb::handle buffers, const std::vector<nb::str>& none) {
    const Fields fields{.none = none};
    Problem problem;
    for (nb::handle buffer : buffers) {
        if (!add_one(problem, fields, buffer)) return std::nullopt;
    }
    return !problem.sizes.empty() && finish(problem) ? std::optional(std::move(problem)) : std::nullopt;
}

}  // namespace memstow::plain
