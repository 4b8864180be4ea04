// Plain values of the wire schema: from the text of a document, from Python's values, or from columns.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scanner.hpp"

namespace memstow::model {

struct Kind;

// A field of a class with slots, past the methods by which an instance refuses to be changed.
class Slot {
  public:
    Slot(nanobind::handle holder, nanobind::handle name);
    nanobind::object of(nanobind::handle instance) const;
    void set(nanobind::handle instance, nanobind::handle value) const;

  private:
    // Where the instance has the field; nothing where only the descriptor knows.
    PyObject** place(nanobind::handle instance) const;

    nanobind::object descriptor_;
    descrgetfunc get_;
    descrsetfunc set_;
    PyTypeObject* type_ = nullptr;
    Py_ssize_t offset_ = 0;
};

// The UTF-8 of text; nothing where a character is half of one.
std::optional<std::string_view> utf8(nanobind::handle text);

// An integer of at most 64 bits.
std::optional<std::int64_t> integer(nanobind::handle value);

// A class of the wire schema. Its fields are described when the first of its objects is read.
struct Class {
    struct Field {
        std::string name;
        nanobind::object key;  // the name as Python has it
        std::shared_ptr<Kind> kind;
        Slot slot;
        nanobind::object value;  // where the document says nothing; none: it must
        bool calls = false;      // whether the value is a function that makes one
    };

    nanobind::object holder;
    nanobind::object describe;  // returns the fields
    std::vector<Field> fields;
    bool is_described = false;
    std::vector<std::string> tags;  // of a choice of classes: what its tag may say

    const std::vector<Field>& described();
};

// What a field may hold: a kind for each way in which a value may look in JSON. A value that looks like none
// of them, or is not within its limits, is not plain: pydantic says what is the matter with it.
struct Kind {
    enum class Letters { kAny, kNoNul, kName, kDigest };
    struct Text {
        std::size_t shortest = 0;
        std::size_t longest = 0;
        Letters letters = Letters::kAny;
    };
    struct Word {
        std::string word;
        nanobind::object value;
    };
    struct Integer {
        std::int64_t least = 0;
        std::int64_t most = 0;
    };
    struct Number {
        double least = 0;
        double most = 0;
    };
    struct List {
        std::vector<std::shared_ptr<Kind>> members;  // the one of all elements, or one for each
        bool any_length = false;
        std::size_t shortest = 0;
        std::size_t longest = 0;
    };
    struct Table {
        std::shared_ptr<Kind> name;
        std::shared_ptr<Kind> member;
    };

    bool null = false;
    bool truth = false;
    std::optional<Text> text;
    std::vector<Word> words;
    std::optional<Integer> integer;
    std::optional<Number> number;
    std::optional<List> list;
    std::optional<Table> table;
    std::vector<std::shared_ptr<Class>> classes;  // if several, the tag tells which of them
    std::string tag;
};

// The value of this kind that is all of the text; nothing for any other.
nanobind::object read(const Kind& kind, std::string_view text);

// The value as a field of this kind holds it; nothing where it is not plain.
nanobind::object plain(const Kind& kind, nanobind::handle value);

// Set the fields of a new instance from a dict of arguments; false where one of them is not plain.
bool fill(Class& holder, nanobind::handle instance, nanobind::handle arguments);

// So many instances of a class, as a tuple. Each field has a value for all of them, or a list with one for
// each.
struct Column {
    Slot slot;
    nanobind::object values;
};
nanobind::object instances(nanobind::handle holder, const std::vector<Column>& columns, std::size_t count);

}  // namespace memstow::model
