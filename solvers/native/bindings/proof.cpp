#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/convert.hpp"
#include "bindings/proof_files.hpp"
#include "proof/proof_search.hpp"

namespace memstow::bindings {
namespace {

using Pairs = std::vector<std::pair<Index, Index>>;

using Ranges = std::vector<std::pair<Bytes, Bytes>>;

std::vector<Range> converted(const Ranges& ranges) {
    std::vector<Range> all;
    for (const auto& [begin, end] : ranges) all.push_back({begin, end});
    return all;
}

// What became of it; the steps of the proof, and the nodes of the search.
struct Written {
    proof::Outcome outcome;
    std::uint64_t steps;
    std::int64_t nodes;
};

Written write_proof(const std::string& path, const nb::bytes& digest,
                    const std::vector<std::tuple<std::uint64_t, Bytes, Bytes, Bytes, Bytes, Index>>& items,
                    const Ranges& reserved, const std::vector<Ranges>& barred,
                    const std::vector<std::vector<Index>>& moments, const Pairs& exempt, const Pairs& listed,
                    const std::vector<proof::Question::Group>& groups, Bytes end, Bytes height, bool lays,
                    Budget& budget) {
    std::vector<proof::Item> all;
    for (const auto& [name, size, modulus, residue, pin, ranges] : items)
        all.push_back({name, size, modulus, residue, pin, ranges});
    std::vector<std::vector<Range>> all_barred;
    for (const Ranges& ranges : barred) all_barred.push_back(converted(ranges));
    const proof::Question question(std::move(all), converted(reserved), std::move(all_barred), moments,
                                   exempt, listed, groups);
    return write_about(path, digest, [&](const Digest& hash) -> Written {
        proof::ProofFile file(path, hash);
        if (lays && height >= 0) file.lay(height);
        proof::ProofSearch search(question, file, budget);
        const proof::Outcome outcome = search.refute(end, height);
        if (outcome == proof::Outcome::proven) file.finish();
        return {outcome, file.steps(), search.nodes()};
    });
}

}  // namespace

void bind_proof(nb::module_& m) {
    nb::class_<Written>(m, "WrittenProof", "What became of a proof.")
        .def_prop_ro("proven", [](const Written& self) { return self.outcome == proof::Outcome::proven; })
        .def_prop_ro("has_layout", [](const Written& self) { return self.outcome == proof::Outcome::layout; })
        .def_ro("steps", &Written::steps)
        .def_ro("nodes", &Written::nodes);
    m.def("write_proof", &write_proof, nb::arg("path"), nb::arg("digest"), nb::arg("items"),
          nb::arg("reserved"), nb::arg("barred"), nb::arg("moments"), nb::arg("exempt"), nb::arg("listed"),
          nb::arg("groups"), nb::arg("end"), nb::arg("height"), nb::arg("lays"), nb::arg("budget"),
          "Write a proof that no layout ends by `end`, which is what the height comes to; with `lays`, of "
          "several\n"
          "pools. Items, ascending, are their index in the problem, size, modulus, residue, pin, or -1, and "
          "which\n"
          "ranges are barred; the other lists name them by their place in this one. A group has items and "
          "their\n"
          "places, whose differences are their distances.");
}

}  // namespace memstow::bindings
