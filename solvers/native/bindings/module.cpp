// The door between Python and the native core: converts arguments and results, nothing else.
#include "bindings/bindings.hpp"

NB_MODULE(_native, m) {
    using namespace memstow::bindings;
    m.doc() = "The native core of memstow.";
    // Callers may still hold objects at exit: that is not a leak.
    nb::set_leak_warnings(false);

    // In this order: each uses types that those before it bind.
    bind_budget(m);
    bind_instance(m);
    bind_score(m);
    bind_bounds(m);
    bind_greedy(m);
    bind_classics(m);
    bind_exact(m);
    bind_windows(m);
    bind_improve(m);
    bind_assign(m);
    bind_banks(m);
    bind_reuse(m);
    bind_order(m);
    bind_stripes(m);
    bind_columns(m);
    bind_reduction(m);
    bind_run(m);
    bind_recompute(m);
    bind_shapes(m);
    bind_proof(m);
}
