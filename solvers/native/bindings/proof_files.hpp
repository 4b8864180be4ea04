// What bindings that write proofs share.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

#include "core/number_file.hpp"

namespace memstow::bindings {

namespace nb = nanobind;

// Lets `write` write to the path about what has this digest, without the interpreter; where that fails there
// is an OSError.
template <typename Write>
auto write_about(const std::string& path, const nb::bytes& digest, Write write) {
    Digest hash{};
    if (digest.size() != hash.size()) throw nb::value_error("a digest has 32 bytes");
    std::copy_n(static_cast<const std::uint8_t*>(digest.data()), hash.size(), hash.begin());
    try {
        const nb::gil_scoped_release release;
        return write(hash);
    } catch (const std::system_error& error) {
        errno = error.code().value();
        PyErr_SetFromErrnoWithFilename(PyExc_OSError, path.c_str());
        throw nb::python_error();
    }
}

}  // namespace memstow::bindings
