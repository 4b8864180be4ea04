// The door between Python and the readers of recordings: converts arguments and results, nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

#include "recording.hpp"
#include "refused.hpp"

namespace {

namespace nb = nanobind;
using namespace nb::literals;
using memstow::recorded::Lives;
using memstow::recorded::Recordings;
using memstow::recorded::Refused;

using View = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu, nb::memview>;

template <std::vector<std::int64_t> Lives::* column>
View view_of(nb::handle self) {
    const std::vector<std::int64_t>& values = nb::cast<const Lives&>(self).*column;
    return View(values.data(), {values.size()}, self);
}

std::string_view text_of(const nb::bytes& data) { return {data.c_str(), data.size()}; }

std::unique_ptr<Recordings> read(Recordings (*reader)(std::string_view), const nb::bytes& data) {
    const std::string_view text = text_of(data);
    const nb::gil_scoped_release release;
    return std::make_unique<Recordings>(reader(text));
}

// What a recording has in its texts need not be UTF-8.
nb::str label_of(const Recordings& self, std::uint32_t label) {
    const std::string& text = self.labels[label];
    return nb::steal<nb::str>(
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace"));
}

}  // namespace

NB_MODULE(_recordings, m) {
    m.doc() = "Allocations that PyTorch recorded.";
    nb::set_leak_warnings(false);
    nb::exception<Refused> refused(m, "RefusedError", PyExc_ValueError);
    refused.attr("__doc__") = "A file that cannot be read: a code, and what is wrong with it.";
    // In the place of the translator that takes the message alone.
    nb::register_exception_translator(
        [](const std::exception_ptr& thrown, void* type) {
            try {
                std::rethrow_exception(thrown);
            } catch (const Refused& why) {
                PyErr_SetObject(static_cast<PyObject*>(type), nb::make_tuple(why.code(), why.what()).ptr());
            }
        },
        refused.ptr());
    nb::class_<Lives>(m, "Lives", "The allocations of one device, in their order, and what they add up to.")
        .def_prop_ro("begins", &view_of<&Lives::begins>)
        .def_prop_ro("ends", &view_of<&Lives::ends>)
        .def_prop_ro("sizes", &view_of<&Lives::sizes>, "Rounded as the allocator does.")
        .def_prop_ro("requested", &view_of<&Lives::requested>)
        .def_prop_ro("offsets", &view_of<&Lives::offsets>, "In the allocator's own plan.")
        .def_ro("labels", &Lives::labels)
        .def_ro("pools", &Lives::pools)
        .def_prop_ro(
            "stream_pools",
            [](const Lives& self) {
                std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> pools;
                for (const auto& pool : self.stream_pools) {
                    pools.emplace_back(pool.stream, pool.pool.first, pool.pool.second);
                }
                return pools;
            },
            "The stream of each pool, and the pool of memory that its segments are of, zeros for that of "
            "all.")
        .def_prop_ro(
            "users",
            [](const Lives& self) {
                std::vector<std::tuple<std::uint32_t, std::int64_t, std::int64_t>> users;
                for (const auto& user : self.users) users.emplace_back(user.label, user.bytes, user.count);
                return users;
            },
            "Labels with their bytes and allocations when most of each pool is allocated, the largest first.")
        .def_ro("alignment", &Lives::alignment)
        .def_ro("at_start", &Lives::at_start)
        .def_ro("unpaired", &Lives::unpaired)
        .def_ro("end", &Lives::end)
        .def_ro("unseen", &Lives::unseen)
        .def_ro("reserved", &Lives::reserved, "-1: not recorded.")
        .def_ro("allocated", &Lives::allocated)
        .def_ro("least", &Lives::least)
        .def_ro("requested_most", &Lives::requested_most)
        .def_ro("allocated_at", &Lives::allocated_at);
    nb::class_<Recordings>(m, "Recordings", "What was recorded of each device.")
        .def_prop_ro(
            "devices",
            [](const Recordings& self) {
                std::vector<std::tuple<int, std::int64_t, std::size_t>> devices;
                for (const auto& device : self.devices) {
                    devices.emplace_back(device.type, device.number, device.events.size());
                }
                return devices;
            },
            "Type, number and how many events there are.")
        .def(
            "iterations",
            [](const Recordings& self, std::size_t device) {
                std::vector<std::pair<std::size_t, std::string>> iterations;
                for (const auto& [first_event, name] : self.devices.at(device).iterations) {
                    iterations.emplace_back(first_event, name);
                }
                return iterations;
            },
            "device"_a, "How many events are before each step of a training, and what it is called.")
        .def_ro("has_settings", &Recordings::has_settings)
        .def_ro("expandable_segments", &Recordings::expandable_segments)
        .def("label", &label_of, "label"_a)
        .def(
            "lives",
            [](const Recordings& self, std::size_t device) {
                if (device >= self.devices.size()) throw nb::index_error("there is no such device");
                const nb::gil_scoped_release release;
                return std::make_unique<Lives>(memstow::recorded::lives(self, self.devices[device]));
            },
            "device"_a, "By number in `devices`.");
    m.def(
        "read_snapshot", [](const nb::bytes& data) { return read(memstow::recorded::read_snapshot, data); },
        "data"_a);
    m.def(
        "read_trace", [](const nb::bytes& text) { return read(memstow::recorded::read_trace, text); },
        "text"_a);
    m.def(
        "read_stalloc_log",
        [](const nb::bytes& text) { return read(memstow::recorded::read_stalloc_log, text); }, "text"_a);
    m.def(
        "is_trace", [](const nb::bytes& text) { return memstow::recorded::is_trace(text_of(text)); },
        "text"_a);
}
