// The lines of buffers and pairs in the canonical form of a problem, whose digest is that of the problem.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memstow::model {

// The lines of these instances of `Buffer`, in the order of their ids; nothing where an id is no UTF-8.
// `everywhere` has the ids of all pools; `other` returns the line of a buffer that has one of the fields that
// are rare, or is not as most are in another way.
std::optional<std::string> buffer_lines(nanobind::handle buffers, nanobind::handle everywhere,
                                        const std::vector<nanobind::str>& rare, nanobind::handle other);

// The lines of pairs that have no direction, sorted, each once: the word, then the smaller id and the larger
// one.
std::string pair_lines(std::string_view word, nanobind::list ones, nanobind::list others);

}  // namespace memstow::model
