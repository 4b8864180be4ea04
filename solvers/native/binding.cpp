// The door between Python and the native core: converts arguments and results, nothing else.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

NB_MODULE(_native, m) { m.doc() = "The native core of memstow."; }
