// Columns of the buffers that Python has as objects.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "problem.hpp"

namespace memstow::plain {

// Of a tuple of `planner.model.problem.Buffer`; nothing where a buffer is not plain or not valid.
std::optional<Problem> of_buffers(nanobind::handle buffers, const std::vector<nanobind::str>& none);

}  // namespace memstow::plain
