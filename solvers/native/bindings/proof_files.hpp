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

inline Digest digest_of(const nb::bytes& bytes) {
    Digest digest{};
    if (bytes.size() != digest.size()) throw nb::value_error("a digest has 32 bytes");
    std::copy_n(static_cast<const std::uint8_t*>(bytes.data()), digest.size(), digest.begin());
    return digest;
}

// Writes to the path, without the interpreter; where that fails there is an OSError which names it.
template <typename Write>
auto write_to(const std::string& path, Write write) {
    try {
        const nb::gil_scoped_release release;
        return write();
    } catch (const std::system_error& error) {
        errno = error.code().value();
        PyErr_SetFromErrnoWithFilename(PyExc_OSError, path.c_str());
        throw nb::python_error();
    }
}

}  // namespace memstow::bindings
