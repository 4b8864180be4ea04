#include "values.hpp"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <structmember.h>

#include <algorithm>
#include <cmath>

#include "text.hpp"

namespace memstow::model {
namespace {

namespace nb = nanobind;
using plain::Scanner;

constexpr std::int64_t kLargestExact = std::int64_t{1} << 53;  // up to here each integer is a float

nb::object checked(PyObject* object) {
    if (object == nullptr) throw nb::python_error();
    return nb::steal(object);
}

nb::object blank(nb::handle holder) {
    return checked(PyType_GenericAlloc(reinterpret_cast<PyTypeObject*>(holder.ptr()), 0));
}

bool has_letters(std::string_view text, Kind::Letters letters) {
    if (letters == Kind::Letters::kAny) return true;
    if (letters == Kind::Letters::kNoNul) return text.find('\0') == std::string_view::npos;
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    if (letters == Kind::Letters::kDigest) {
        constexpr std::size_t kDigits = 64;
        return text.size() == kDigits &&
               std::ranges::all_of(text, [&](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
    }
    const auto is_letter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    return !text.empty() && is_letter(text[0]) &&
           std::all_of(text.begin(), text.end(), [&](char c) { return is_letter(c) || is_digit(c); });
}

bool is_within(const Kind::Text& kind, std::string_view text, std::size_t length) {
    return kind.shortest <= length && length <= kind.longest && has_letters(text, kind.letters);
}

nb::object word_of(const Kind& kind, std::string_view text) {
    for (const Kind::Word& word : kind.words) {
        if (word.word == text) return word.value;
    }
    return {};
}

bool is_within(const Kind::List& kind, std::size_t count) {
    return kind.any_length ? kind.shortest <= count && count <= kind.longest : count == kind.members.size();
}

const Kind* member_at(const Kind::List& kind, std::size_t place) {
    if (kind.any_length) return kind.members[0].get();
    return place < kind.members.size() ? kind.members[place].get() : nullptr;
}

nb::object tuple_of(std::vector<nb::object>& values, std::size_t begin) {
    const std::size_t count = values.size() - begin;
    nb::object tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(count)));
    for (std::size_t i = 0; i < count; ++i) {
        PyTuple_SetItem(tuple.ptr(), static_cast<Py_ssize_t>(i), values[begin + i].release().ptr());
    }
    values.resize(begin);
    return tuple;
}

// The fields that an instance gets one by one, and then those that nobody has named.
class Setter {
  public:
    Setter(Class& holder, nb::handle instance) : fields_(holder.described()), instance_(instance) {}

    // The field of that name, once; nothing where there is none. `is_name` compares a field with the name.
    template <class IsName>
    const Class::Field* next(IsName is_name) {
        // Most documents have the fields in the order of the class.
        const std::size_t count = fields_.size();
        for (std::size_t step = 0; step < count; ++step) {
            const std::size_t place = (begin_ + step) % count;
            if (!is_name(fields_[place])) continue;
            if ((seen_ >> place & 1) != 0) return nullptr;
            seen_ |= std::uint64_t{1} << place;
            begin_ = place + 1;
            return &fields_[place];
        }
        return nullptr;
    }

    void put(const Class::Field& field, nb::handle value) { field.slot.set(instance_, value); }

    bool put_others() {
        for (std::size_t i = 0; i < fields_.size(); ++i) {
            if ((seen_ >> i & 1) != 0) continue;
            const Class::Field& field = fields_[i];
            if (!field.value.is_valid()) return false;
            put(field, field.calls ? field.value() : field.value);
        }
        return true;
    }

  private:
    const std::vector<Class::Field>& fields_;
    nb::handle instance_;
    std::uint64_t seen_ = 0;
    std::size_t begin_ = 0;
};

// The texts of a document, one object for all places where one stands: a table without chains, since most of
// the time of looking one up is waiting for memory.
class Texts {
  public:
    nb::object operator[](std::string_view text) {
        if (2 * (count_ + 1) > slots_.size()) grow();
        const std::size_t hash = std::hash<std::string_view>{}(text);
        Entry& entry = find(hash, [&](nb::handle known) { return utf8(known) == text; });
        if (!entry.text.is_valid()) {
            ++count_;
            entry.hash = hash;
            entry.text =
                checked(PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size())));
        }
        return entry.text;
    }

  private:
    struct Entry {
        std::size_t hash = 0;
        nb::object text;
    };

    template <class IsEqual>
    Entry& find(std::size_t hash, IsEqual is_equal) {
        std::size_t at = hash;
        while (true) {
            Entry& entry = slots_[at++ & (slots_.size() - 1)];
            if (!entry.text.is_valid() || (entry.hash == hash && is_equal(entry.text))) return entry;
        }
    }

    void grow() {
        std::vector<Entry> before(std::max<std::size_t>(64, 4 * slots_.size()));
        before.swap(slots_);
        for (Entry& entry : before) {
            if (entry.text.is_valid()) find(entry.hash, [](nb::handle) { return false; }) = std::move(entry);
        }
    }

    std::vector<Entry> slots_;  // as many as a power of two
    std::size_t count_ = 0;
};

// Of text. Nothing where the value is not plain; floats, tables and choices of classes are left to others.
class Reader {
  public:
    explicit Reader(std::string_view text) : scanner_(text) {}

    nb::object all(const Kind& kind) {
        nb::object value = read(kind);
        return value.is_valid() && scanner_.at_end() ? value : nb::object();
    }

  private:
    nb::object read(const Kind& kind) {
        if (scanner_.sees('"')) return text(kind);
        if (scanner_.sees('[')) return kind.list ? list(*kind.list) : nb::object();
        if (scanner_.sees('{')) return kind.classes.size() == 1 ? object(*kind.classes[0]) : nb::object();
        if (scanner_.sees('n')) return kind.null && scanner_.word("null") ? nb::none() : nb::object();
        return kind.integer ? integer(*kind.integer) : nb::object();
    }

    nb::object text(const Kind& kind) {
        if (!scanner_.string(string_)) return {};
        const std::string_view read = string_;
        if (!kind.words.empty()) return word_of(kind, read);
        if (!kind.text) return {};
        const std::size_t length = read.size() <= 1 ? read.size() : plain::characters(read);
        if (!is_within(*kind.text, read, length)) return {};
        return texts_[read];
    }

    nb::object integer(const Kind::Integer& kind) {
        std::int64_t value;
        if (!scanner_.integer(value) || value < kind.least || value > kind.most) return {};
        return checked(PyLong_FromLongLong(value));
    }

    nb::object list(const Kind::List& kind) {
        const std::size_t begin = values_.size();
        const bool whole = scanner_.list([&] {
            const Kind* member = member_at(kind, values_.size() - begin);
            nb::object value = member != nullptr ? read(*member) : nb::object();
            if (!value.is_valid()) return false;
            values_.push_back(std::move(value));
            return true;
        });
        return whole && is_within(kind, values_.size() - begin) ? tuple_of(values_, begin) : nb::object();
    }

    nb::object object(Class& holder) {
        nb::object instance = blank(holder.holder);
        Setter setter(holder, instance);
        const bool whole = scanner_.object([&](std::string_view name) {
            const Class::Field* field =
                setter.next([&](const Class::Field& candidate) { return candidate.name == name; });
            const nb::object value = field != nullptr ? read(*field->kind) : nb::object();
            if (value.is_valid()) setter.put(*field, value);
            return value.is_valid();
        });
        return whole && setter.put_others() ? instance : nb::object();
    }

    Scanner scanner_;
    std::string string_;
    std::vector<nb::object> values_;  // of the lists that have begun
    Texts texts_;
};

nb::object plain_text(const Kind& kind, nb::handle value) {
    const std::optional<std::string_view> text = utf8(value);
    if (!text) return {};
    if (!kind.words.empty()) return word_of(kind, *text);
    const auto length = static_cast<std::size_t>(PyUnicode_GetLength(value.ptr()));
    return kind.text && is_within(*kind.text, *text, length) ? nb::borrow(value) : nb::object();
}

nb::object plain_integer(const Kind& kind, nb::handle value) {
    int overflow;
    const std::int64_t number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    if (overflow != 0) return {};
    if (kind.integer) {
        const bool fits = kind.integer->least <= number && number <= kind.integer->most;
        return fits ? nb::borrow(value) : nb::object();
    }
    if (!kind.number || number < -kLargestExact || number > kLargestExact) return {};
    const auto exact = static_cast<double>(number);
    if (exact < kind.number->least || exact > kind.number->most) return {};
    return checked(PyFloat_FromDouble(exact));
}

nb::object plain_number(const Kind& kind, nb::handle value) {
    const double number = PyFloat_AsDouble(value.ptr());
    const bool fits =
        kind.number && std::isfinite(number) && kind.number->least <= number && number <= kind.number->most;
    return fits ? nb::borrow(value) : nb::object();
}

// Whether it is a tuple of instances of the only class that its elements may be of: that stays what it is.
bool is_of_instances(const Kind::List& kind, nb::handle value) {
    if (!PyTuple_CheckExact(value.ptr()) || !kind.any_length || kind.members[0]->classes.size() != 1) {
        return false;
    }
    const nb::handle holder = kind.members[0]->classes[0]->holder;
    const Py_ssize_t count = PyTuple_Size(value.ptr());
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (!nb::handle(PyTuple_GetItem(value.ptr(), i)).type().is(holder)) return false;
    }
    return true;
}

nb::object plain_list(const Kind::List& kind, nb::handle value) {
    const bool is_list = PyList_Check(value.ptr());
    const auto size = [&] { return is_list ? PyList_Size(value.ptr()) : PyTuple_Size(value.ptr()); };
    if (!is_within(kind, static_cast<std::size_t>(size()))) return {};
    if (is_of_instances(kind, value)) return nb::borrow(value);
    std::vector<nb::object> values;
    values.reserve(static_cast<std::size_t>(size()));
    for (Py_ssize_t i = 0; i < size(); ++i) {
        const nb::object element =
            nb::borrow(is_list ? PyList_GetItem(value.ptr(), i) : PyTuple_GetItem(value.ptr(), i));
        const Kind* member = member_at(kind, values.size());
        nb::object read = member != nullptr ? plain(*member, element) : nb::object();
        if (!read.is_valid()) return {};
        values.push_back(std::move(read));
    }
    return is_within(kind, values.size()) ? tuple_of(values, 0) : nb::object();
}

nb::object plain_table(const Kind::Table& kind, nb::handle value) {
    nb::dict table;
    PyObject *name, *member;
    Py_ssize_t at = 0;
    while (PyDict_Next(value.ptr(), &at, &name, &member) != 0) {
        const nb::object held = nb::borrow(member);
        const nb::object key = plain(*kind.name, nb::borrow(name));
        const nb::object read = key.is_valid() ? plain(*kind.member, held) : nb::object();
        if (!read.is_valid()) return {};
        if (PyDict_SetItem(table.ptr(), key.ptr(), read.ptr()) != 0) throw nb::python_error();
    }
    return table;
}

// The class of an object: the only one, or the one that its tag names.
Class* class_of(const Kind& kind, nb::handle value) {
    if (kind.tag.empty()) return kind.classes.empty() ? nullptr : kind.classes[0].get();
    const nb::str tag(kind.tag.data(), kind.tag.size());
    PyObject* named = PyDict_GetItemWithError(value.ptr(), tag.ptr());
    if (named == nullptr || !PyUnicode_CheckExact(named)) return nullptr;
    const std::optional<std::string_view> text = utf8(nb::handle(named));
    if (!text) return nullptr;
    for (const std::shared_ptr<Class>& entry : kind.classes) {
        if (std::find(entry->tags.begin(), entry->tags.end(), *text) != entry->tags.end()) return entry.get();
    }
    return nullptr;
}

nb::object plain_object(const Kind& kind, nb::handle value) {
    if (kind.table) return plain_table(*kind.table, value);
    Class* const holder = class_of(kind, value);
    if (holder == nullptr) return {};
    nb::object instance = blank(holder->holder);
    return fill(*holder, instance, value) ? instance : nb::object();
}

// An instance of one of the classes, or one of the members of an enumeration.
bool is_instance(const Kind& kind, nb::handle value) {
    const nb::handle type = value.type();
    return std::any_of(kind.classes.begin(), kind.classes.end(),
                       [&](const auto& entry) { return entry->holder.is(type); }) ||
           std::any_of(kind.words.begin(), kind.words.end(),
                       [&](const auto& entry) { return entry.value.is(value); });
}

}  // namespace

Slot::Slot(nb::handle holder, nb::handle name) : descriptor_(nb::getattr(holder, name)) {
    PyTypeObject* const type = Py_TYPE(descriptor_.ptr());
    get_ = reinterpret_cast<descrgetfunc>(PyType_GetSlot(type, Py_tp_descr_get));
    set_ = reinterpret_cast<descrsetfunc>(PyType_GetSlot(type, Py_tp_descr_set));
    if (get_ == nullptr || set_ == nullptr) throw nb::type_error("the class has no such slot");
    if (type != &PyMemberDescr_Type) return;
    const PyMemberDef* const member = reinterpret_cast<PyMemberDescrObject*>(descriptor_.ptr())->d_member;
    if (member->type != T_OBJECT_EX) return;
    type_ = PyDescr_TYPE(descriptor_.ptr());
    offset_ = member->offset;
}

PyObject** Slot::place(nb::handle instance) const {
    if (Py_TYPE(instance.ptr()) != type_) return nullptr;
    return reinterpret_cast<PyObject**>(reinterpret_cast<char*>(instance.ptr()) + offset_);
}

nb::object Slot::of(nb::handle instance) const {
    PyObject** const field = place(instance);
    if (field != nullptr && *field != nullptr) return nb::borrow(*field);
    return checked(get_(descriptor_.ptr(), instance.ptr(), nullptr));
}

void Slot::set(nb::handle instance, nb::handle value) const {
    if (PyObject** const field = place(instance)) {
        PyObject* const before = *field;
        *field = value.inc_ref().ptr();
        Py_XDECREF(before);
        return;
    }
    if (set_(descriptor_.ptr(), instance.ptr(), value.ptr()) != 0) throw nb::python_error();
}

std::optional<std::string_view> utf8(nb::handle text) {
    Py_ssize_t size;
    const char* const data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    if (data != nullptr) return std::string_view(data, static_cast<std::size_t>(size));
    PyErr_Clear();
    return std::nullopt;
}

std::optional<std::int64_t> integer(nb::handle value) {
    if (!PyLong_Check(value.ptr())) return std::nullopt;
    int overflow;
    const std::int64_t number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    return overflow == 0 ? std::optional(number) : std::nullopt;
}

const std::vector<Class::Field>& Class::described() {
    if (!is_described) {
        std::vector<Field> described;
        for (const nb::handle field : describe()) {
            const auto name = nb::cast<std::string>(field[0]);
            PyObject* key = PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size()));
            if (key == nullptr) throw nb::python_error();
            PyUnicode_InternInPlace(&key);
            const bool is_required = nb::cast<bool>(field[2]);
            described.push_back({name, nb::steal(key), nb::cast<std::shared_ptr<Kind>>(field[1]),
                                 Slot(holder, key), is_required ? nb::object() : nb::object(field[3]),
                                 nb::cast<bool>(field[4])});
        }
        if (described.size() > 64) throw nb::value_error("there are too many fields");
        fields = std::move(described);
        is_described = true;
    }
    return fields;
}

nb::object read(const Kind& kind, std::string_view text) {
    text = plain::without_mark(text);
    return plain::is_readable(text) ? Reader(text).all(kind) : nb::object();
}

nb::object plain(const Kind& kind, nb::handle value) {
    PyObject* const object = value.ptr();
    if (object == Py_None) return kind.null ? nb::none() : nb::object();
    if (PyUnicode_CheckExact(object)) return plain_text(kind, value);
    if (PyLong_CheckExact(object)) return plain_integer(kind, value);
    if (PyFloat_CheckExact(object)) return plain_number(kind, value);
    if (PyBool_Check(object)) return kind.truth ? nb::borrow(value) : nb::object();
    if (PyList_CheckExact(object) || PyTuple_CheckExact(object)) {
        return kind.list ? plain_list(*kind.list, value) : nb::object();
    }
    if (PyDict_CheckExact(object)) return plain_object(kind, value);
    return is_instance(kind, value) ? nb::borrow(value) : nb::object();
}

bool fill(Class& holder, nb::handle instance, nb::handle arguments) {
    Setter setter(holder, instance);
    PyObject *name, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(arguments.ptr(), &at, &name, &value) != 0) {
        if (!PyUnicode_CheckExact(name)) return false;
        const nb::object argument = nb::borrow(value);
        const Class::Field* field = setter.next([&](const Class::Field& candidate) {
            return candidate.key.ptr() == name || PyUnicode_Compare(candidate.key.ptr(), name) == 0;
        });
        const nb::object read = field != nullptr ? plain(*field->kind, argument) : nb::object();
        if (!read.is_valid()) return false;
        setter.put(*field, read);
    }
    return setter.put_others();
}

nb::object instances(nb::handle holder, const std::vector<Column>& columns, std::size_t count) {
    nb::object tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(count)));
    for (std::size_t i = 0; i < count; ++i) {
        const auto place = static_cast<Py_ssize_t>(i);
        nb::object instance = blank(holder);
        for (const Column& column : columns) {
            PyObject* const values = column.values.ptr();
            column.slot.set(instance, PyList_Check(values) ? PyList_GetItem(values, place) : values);
        }
        PyTuple_SetItem(tuple.ptr(), place, instance.release().ptr());
    }
    return tuple;
}

}  // namespace memstow::model
