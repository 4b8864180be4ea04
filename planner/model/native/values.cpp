#include "values.hpp"

#include <algorithm>

#include "text.hpp"

namespace memstow::model {
namespace {

namespace nb = nanobind;
using plain::Scanner;

nb::object checked(PyObject* made) {
    if (made == nullptr) throw nb::python_error();
    return nb::steal(made);
}

nb::object blank(nb::handle holder) {
    return checked(PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(holder.ptr()), 0));
}

// Past the methods of the class, by which an instance refuses to be changed.
void set(nb::handle instance, nb::handle key, nb::handle value) {
    if (PyObject_GenericSetAttr(instance.ptr(), key.ptr(), value.ptr()) != 0) throw nb::python_error();
}

struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

class Reader {
  public:
    explicit Reader(std::string_view text) : scanner_(text) {}

    nb::object all(const Kind& kind) {
        nb::object value = read(kind);
        return value.is_valid() && scanner_.at_end() ? value : nb::object();
    }

  private:
    // Nothing where the value is not plain.
    nb::object read(const Kind& kind) {
        if (scanner_.sees('"')) return kind.text ? text(*kind.text) : nb::object();
        if (scanner_.sees('[')) return kind.list ? list(*kind.list) : nb::object();
        if (scanner_.sees('{')) return kind.object ? object(*kind.object) : nb::object();
        if (scanner_.sees('n')) return kind.null && scanner_.word("null") ? nb::none() : nb::object();
        return kind.integer ? integer(*kind.integer) : nb::object();
    }

    nb::object text(const Kind::Text& kind) {
        if (!scanner_.string(string_)) return {};
        const std::string_view read = string_;
        if (!kind.words.empty()) {
            if (std::find(kind.words.begin(), kind.words.end(), read) == kind.words.end()) return {};
        } else if (!kind.may_hold_nul && read.find('\0') != std::string_view::npos) {
            return {};
        } else if (const std::size_t length = read.size() <= 1 ? read.size() : plain::characters(read);
                   length < kind.shortest || length > kind.longest) {
            return {};
        }
        // A name stands at many places: one object for all of them.
        if (const auto known = texts_.find(read); known != texts_.end()) return known->second;
        nb::object made =
            checked(PyUnicode_FromStringAndSize(read.data(), static_cast<Py_ssize_t>(read.size())));
        return texts_.emplace(std::string(read), std::move(made)).first->second;
    }

    nb::object integer(const Kind::Integer& kind) {
        std::int64_t value;
        if (!scanner_.integer(value) || value < kind.least || value > kind.most) return {};
        return checked(PyLong_FromLongLong(value));
    }

    nb::object list(const Kind::List& kind) {
        const std::size_t begin = values_.size();
        const bool whole = scanner_.list([&] {
            const std::size_t place = values_.size() - begin;
            if (!kind.any_length && place >= kind.members.size()) return false;
            nb::object value = read(*kind.members[kind.any_length ? 0 : place]);
            if (!value.is_valid()) return false;
            values_.push_back(std::move(value));
            return true;
        });
        const std::size_t count = values_.size() - begin;
        const bool fits =
            kind.any_length ? kind.shortest <= count && count <= kind.longest : count == kind.members.size();
        if (!whole || !fits) return {};
        nb::object made = checked(PyTuple_New(static_cast<Py_ssize_t>(count)));
        for (std::size_t i = 0; i < count; ++i) {
            PyTuple_SetItem(made.ptr(), static_cast<Py_ssize_t>(i), values_[begin + i].release().ptr());
        }
        values_.resize(begin);
        return made;
    }

    nb::object object(const Kind::Object& kind) {
        nb::object instance = blank(kind.holder);
        std::uint64_t seen = 0;
        std::size_t next = 0;
        const bool whole = scanner_.object([&](std::string_view name) {
            // Most documents have the fields in the order of the class.
            std::size_t place = next;
            while (place < kind.fields.size() && kind.fields[place].name != name) ++place;
            if (place == kind.fields.size()) {
                place = 0;
                while (place < next && kind.fields[place].name != name) ++place;
                if (place == next) return false;
            }
            if ((seen >> place & 1) != 0) return false;
            seen |= std::uint64_t{1} << place;
            next = place + 1;
            const nb::object value = read(*kind.fields[place].kind);
            if (!value.is_valid()) return false;
            set(instance, kind.fields[place].key, value);
            return true;
        });
        if (!whole) return {};
        for (std::size_t i = 0; i < kind.fields.size(); ++i) {
            if ((seen >> i & 1) != 0) continue;
            const Kind::Field& field = kind.fields[i];
            if (!field.value.is_valid()) return {};
            set(instance, field.key, field.value);
        }
        return instance;
    }

    Scanner scanner_;
    std::string string_;
    std::vector<nb::object> values_;  // of the lists that have begun
    std::unordered_map<std::string, nb::object, Hash, std::equal_to<>> texts_;
};

}  // namespace

nb::object read(const Kind& kind, std::string_view text) {
    text = plain::without_mark(text);
    return plain::is_readable(text) ? Reader(text).all(kind) : nb::object();
}

nb::object instances(nb::handle holder, const std::vector<Column>& columns, std::size_t count) {
    nb::object made = checked(PyTuple_New(static_cast<Py_ssize_t>(count)));
    for (std::size_t i = 0; i < count; ++i) {
        const auto place = static_cast<Py_ssize_t>(i);
        nb::object instance = blank(holder);
        for (const Column& column : columns) {
            PyObject* const values = column.values.ptr();
            set(instance, column.key, PyList_Check(values) ? PyList_GetItem(values, place) : values);
        }
        PyTuple_SetItem(made.ptr(), place, instance.release().ptr());
    }
    return made;
}

}  // namespace memstow::model
