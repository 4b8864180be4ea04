// Instances of the classes of the wire schema, straight from the text of a document or from columns.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "scanner.hpp"

namespace memstow::model {

// What a field may hold: a kind for each way in which a value may look in JSON. A value that looks like none
// of them, or is not within its limits, is not plain: the ordinary readers say what is the matter with it.
struct Kind {
    struct Text {
        std::size_t shortest = 0;
        std::size_t longest = 0;
        bool may_hold_nul = false;
        std::vector<std::string> words;  // these only, where there are any
    };
    struct Integer {
        std::int64_t least = 0;
        std::int64_t most = 0;
    };
    struct List {
        std::vector<std::shared_ptr<Kind>> members;  // the one of all elements, or one for each
        bool any_length = false;
        std::size_t shortest = 0;
        std::size_t longest = 0;
    };
    struct Field {
        std::string name;
        nanobind::object key;  // the name as Python has it
        std::shared_ptr<Kind> kind;
        nanobind::object value;  // where the document says nothing; none: it must
    };
    struct Object {
        nanobind::object holder;
        std::vector<Field> fields;
    };

    bool null = false;
    std::optional<Text> text;
    std::optional<Integer> integer;
    std::optional<List> list;
    std::optional<Object> object;
};

// The value of this kind that is all of the text; nothing for any other.
nanobind::object read(const Kind& kind, std::string_view text);

// So many instances of a class, as a tuple. Each field has a value for all of them, or a list with one for
// each.
struct Column {
    nanobind::object key;
    nanobind::object values;
};
nanobind::object instances(nanobind::handle holder, const std::vector<Column>& columns, std::size_t count);

}  // namespace memstow::model
