// The lines of buffers in the canonical form of a problem, whose digest is that of the problem.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <vector>

namespace memstow::model {

// The lines of these instances of `Buffer`, in the order of their ids; nothing where an id is no UTF-8.
// `everywhere` has the ids of all pools; `other` returns the line of a buffer that has one of the fields that
// are rare, or is not as most are in another way.
std::optional<std::string> buffer_lines(nanobind::handle buffers, nanobind::handle everywhere,
                                        const std::vector<nanobind::str>& rare, nanobind::handle other);

}  // namespace memstow::model
