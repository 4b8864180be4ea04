#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "bindings/bindings.hpp"
#include "bindings/convert.hpp"
#include "bindings/proof_files.hpp"
#include "core/budget.hpp"
#include "order/assemble.hpp"
#include "order/bounds.hpp"
#include "order/classics.hpp"
#include "order/late.hpp"
#include "order/least_peak.hpp"
#include "order/order_proof.hpp"
#include "order/state.hpp"

namespace memstow::bindings {
namespace {

using order::LeastPeak;
using order::LeastPeakOptions;
using Order = std::vector<Index>;
using OnOrder = std::function<void(Bytes, const Order&)>;
using OnOrderBound = std::function<void(Bytes)>;

std::vector<std::int64_t> column(nb::handle from, const char* name) {
    const Column values(from, name);
    std::vector<std::int64_t> result(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) result[i] = values[i];
    return result;
}

struct OrderObject : nb::object {
    NB_OBJECT_DEFAULT(OrderObject, nb::object, "memstow.solvers.orders.OrderInstance", is_any)
};

void read(order::Instance* self, OrderObject from) {
    order::Arrays arrays;
    arrays.extra = column(from, "extra");
    arrays.size = column(from, "size");
    arrays.writer_start = column(from, "writer_start");
    arrays.writers = column(from, "writers");
    arrays.reader_start = column(from, "reader_start");
    arrays.readers = column(from, "readers");
    arrays.from_start = column(from, "from_start");
    arrays.to_end = column(from, "to_end");
    arrays.before = column(from, "before");
    arrays.in_place = column(from, "in_place");
    arrays.listed = column(from, "listed");
    arrays.base = nb::cast<std::int64_t>(from.attr("base"));
    nb::gil_scoped_release release;
    new (self) order::Instance(order::assemble(arrays));
}

LeastPeak least_peak(const order::Instance& self, const LeastPeakOptions& options, Budget& budget,
                     const OnOrder& on_order, const OnOrderBound& on_bound) {
    nb::gil_scoped_release release;
    const order::LeastPeakEvents events{[&](Bytes peak, const Order& order) {
                                            if (!on_order) return;
                                            nb::gil_scoped_acquire acquire;
                                            on_order(peak, order);
                                        },
                                        [&](Bytes bound) {
                                            nb::gil_scoped_acquire acquire;
                                            on_bound(bound);
                                        }};
    return order::least_peak(self.graph, self.listed, options, budget, events);
}

std::vector<Bytes> needs(const order::Instance& self, const Order& order) {
    if (!order::is_order(self.graph, order)) throw nb::value_error("not an order of these operators");
    order::State state(self.graph);
    std::vector<Bytes> result;
    for (const Index v : order) {
        result.push_back(state.step(v).needs);
        state.run(v);
    }
    return result;
}

// The greatest cut bound, and its operator; the order is any one of the operators.
std::pair<Bytes, Index> cut_bound(const order::Instance& self, const Order& order, Budget& budget) {
    const std::vector<Bytes> needed = needs(self, order);
    nb::gil_scoped_release release;
    const order::Bound bound = order::cut_bound(self.graph, needed, budget, [](Bytes) {});
    return {bound.bytes, bound.op};
}

// Numbers of the bits that are set.
Order numbers(const std::vector<order::Word>& words, const Order& names) {
    Order result;
    for (std::size_t v = 0; v < names.size(); ++v) {
        if ((words[v / 64] >> (v % 64)) & 1U) result.push_back(names[v]);
    }
    return result;
}

// The sets of a refutation, in the numbers of the instance, with the chains that prove their commits.
struct Sets {
    Order late;                           // operators taken out
    std::vector<Order> changes, commits;  // changes: operators in this set or in the one before, not in both
    std::vector<std::vector<order::Chain>> chains;
};

Sets sets_of(const order::Instance& self, const order::Refuted& refuted) {
    nb::gil_scoped_release release;
    const order::WithoutLate core = order::without_late(self.graph);
    const order::Graph graph = refuted.backwards ? order::mirrored(core.graph) : core.graph;
    Order own(core.kept.size());
    std::iota(own.begin(), own.end(), 0);
    Sets result;
    for (Index v = 0; v < self.graph.size(); ++v) {
        if (!std::binary_search(core.kept.begin(), core.kept.end(), v)) result.late.push_back(v);
    }
    order::Cut cut(graph);
    std::vector<order::Word> last(refuted.kept.empty() ? 0 : refuted.kept.front().words.size(), 0);
    for (const order::DeadSet& set : refuted.kept) {
        for (std::size_t k = 0; k < last.size(); ++k) last[k] ^= set.words[k];
        result.changes.push_back(numbers(last, core.kept));
        last = set.words;
        result.commits.emplace_back();
        result.chains.emplace_back();
        if (set.commit.empty()) continue;
        std::vector<order::Word> more = set.commit;
        for (std::size_t k = 0; k < more.size(); ++k) more[k] &= ~set.words[k];
        result.commits.back() = numbers(more, core.kept);
        result.chains.back() = order::prove_commit(graph, cut, numbers(set.words, own), numbers(more, own));
    }
    return result;
}

std::vector<order::WayProof> prove_cut(const order::Instance& self, Index v) {
    if (v < 0 || v >= self.graph.size()) throw nb::index_error("there is no such operator");
    nb::gil_scoped_release release;
    return order::prove_cut(self.graph, v);
}

order::OrderProof write_order_proof(const order::Instance& self, const Order& order, Bytes height,
                                    const std::string& path, const nb::bytes& digest, std::size_t memory,
                                    const LeastPeak* known, Budget& budget) {
    if (!order::is_order(self.graph, order)) throw nb::value_error("not an order of these operators");
    const Digest hash = digest_of(digest);
    return write_to(path, [&] {
        return order::write_order_proof(self.graph, order, height, path, hash, memory, known, budget);
    });
}

Order order_within(const order::Instance& self, Bytes limit, std::uint64_t seed, Budget& budget) {
    nb::gil_scoped_release release;
    return order::order_within(self.graph, limit, seed, budget);
}

void make_options(LeastPeakOptions* self, Bytes enough, Bytes bound, int workers, std::size_t memory,
                  std::size_t most_kept) {
    new (self) LeastPeakOptions{enough, bound, workers, memory, most_kept};
}

std::vector<std::pair<Index, Index>> pairs_of(const order::WayProof& way) {
    std::vector<std::pair<Index, Index>> result;
    for (const order::Credit& credit : way.credits) {
        result.emplace_back(credit.pair.source, credit.pair.target);
    }
    return result;
}

void bind_proofs(nb::module_& m) {
    nb::class_<order::Chain>(m, "Chain", "Storages of which one is live in each set.")
        .def_ro("bytes", &order::Chain::bytes)
        .def_ro("credit", &order::Chain::credit)
        .def_ro("storages", &order::Chain::storages);
    nb::class_<order::WayProof>(m, "WayProof",
                                "One way to save in place, and the chains that prove its bound.")
        .def_prop_ro("pairs", &pairs_of)
        .def_ro("chains", &order::WayProof::chains);
    nb::class_<order::Refuted>(m, "RefutedOrders", "A search that ran dry: no order needs `limit` or less.")
        .def_ro("limit", &order::Refuted::limit)
        .def_ro("backwards", &order::Refuted::backwards)
        .def_ro("sets", &order::Refuted::sets)
        .def_prop_ro("kept", [](const order::Refuted& self) { return self.kept.size(); });
    nb::class_<Sets>(m, "RefutedSets", "The dead sets of a refutation.")
        .def_ro("late", &Sets::late)
        .def_ro("changes", &Sets::changes)
        .def_ro("commits", &Sets::commits)
        .def_ro("chains", &Sets::chains);
    nb::class_<order::OrderProof>(m, "WrittenOrderProof", "What a proof about all orders shows.")
        .def_ro("height", &order::OrderProof::height)
        .def_ro("steps", &order::OrderProof::steps);
    m.def("write_order_proof", &write_order_proof, nb::arg("instance"), nb::arg("order"), nb::arg("height"),
          nb::arg("path"), nb::arg("digest"), nb::arg("memory"), nb::arg("known").none(), nb::arg("budget"),
          "Write why no order keeps to the height, or to the greatest below for which that can be shown; the "
          "order\nis any one of the operators, and what is known of these is not looked for again.");
    m.def("prove_cut", &prove_cut, nb::arg("instance"), nb::arg("operator"),
          "What proves the cut bound of an operator.");
    m.def("cut_bound", &cut_bound, nb::arg("instance"), nb::arg("order"), nb::arg("budget"),
          "The greatest cut bound of all operators as far as there is time, and its operator.");
    m.def("refuted_sets", &sets_of, nb::arg("instance"), nb::arg("refuted"),
          "The dead sets that were kept, with what proves their commits.");
}

}  // namespace

void bind_order(nb::module_& m) {
    nb::class_<order::Instance>(m, "OrderInstance", "The arrays of solvers.orders.OrderInstance.")
        .def("__init__", &read, nb::arg("arrays"));
    nb::class_<LeastPeakOptions>(m, "LeastPeakOptions",
                                 "Where the search for an order ends, and what it may take.")
        .def("__init__", &make_options, nb::kw_only(), nb::arg("enough"), nb::arg("bound"),
             nb::arg("workers"), nb::arg("memory"), nb::arg("most_kept"));
    bind_proofs(m);
    nb::class_<LeastPeak>(m, "LeastPeak", "The best order found, and what is proven.")
        .def_ro("order", &LeastPeak::order)
        .def_ro("peak", &LeastPeak::peak)
        .def_ro("bound", &LeastPeak::bound)
        .def_ro("cut", &LeastPeak::cut)
        .def_ro("cut_bytes", &LeastPeak::cut_bytes)
        .def_ro("refuted", &LeastPeak::refuted)
        .def("proven", &order::proven_numbers, "What a proof rests on, as numbers for another process.");
    m.def(
        "proven_orders", [](const std::vector<Bytes>& numbers) { return order::proven_from(numbers); },
        nb::arg("numbers"), "What these numbers of another process say; a ValueError if that is nothing.");
    m.def("least_peak", &least_peak, nb::arg("instance"), nb::arg("options"), nb::arg("budget"),
          nb::arg("on_order").none(), nb::arg("on_bound"),
          "The order of operators with the least peak, and proofs.");
    m.def("order_within", &order_within, nb::arg("instance"), nb::arg("limit"), nb::arg("seed"),
          nb::arg("budget"), "An order that needs no more than the limit; empty where none was found.");
    m.def("order_needs", &needs, nb::arg("instance"), nb::arg("order"), "What each step of an order needs.");
    m.def(
        "lpmf", [](const order::Instance& self) { return order::least_peak_first(self.graph); },
        nb::arg("instance"), "Least peak memory first.");
    m.def(
        "depth_first", [](const order::Instance& self) { return order::depth_first(self.graph); },
        nb::arg("instance"), "Depth first from the results.");
}

}  // namespace memstow::bindings
