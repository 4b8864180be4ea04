// Buffers as columns: for those who go through all of them.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace memstow::model {

struct BufferColumns {
    std::vector<std::int64_t> sizes;
    std::vector<std::int64_t> begins;
    std::vector<std::int64_t> ends;
    std::vector<std::int64_t> kind;     // equal for those of one alignment that name the same pools
    std::vector<std::int64_t> largest;  // by kind, the largest of these buffers
};

// The columns of instances of `Buffer`; nothing where one has not one life of 64-bit times, or one of the
// rare fields.
std::optional<BufferColumns> columns_of_buffers(nanobind::handle buffers,
                                                const std::vector<nanobind::str>& rare);

}  // namespace memstow::model
