#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "bindings/convert.hpp"
#include "bindings/proof_files.hpp"
#include "proof/chain_tree.hpp"
#include "proof/cost_proof.hpp"
#include "proof/place_program.hpp"
#include "proof/proof_search.hpp"

namespace memstow::bindings {
namespace {

using Pairs = std::vector<std::pair<Index, Index>>;

using Ranges = std::vector<std::pair<Bytes, Bytes>>;
using Numbers = std::vector<std::uint64_t>;

std::vector<Range> converted(const Ranges& ranges) {
    std::vector<Range> all;
    for (const auto& [begin, end] : ranges) all.push_back({begin, end});
    return all;
}

proof::Question question_of(
    const std::vector<std::tuple<std::uint64_t, Bytes, Bytes, Bytes, Bytes, Index>>& items,
    const Ranges& reserved, const std::vector<Ranges>& barred, const std::vector<std::vector<Index>>& moments,
    const Pairs& exempt, const Pairs& listed, const Pairs& in_place, bool ties_count,
    const std::vector<proof::Question::Group>& groups) {
    std::vector<proof::Item> all;
    for (const auto& [name, size, modulus, residue, pin, ranges] : items)
        all.push_back({name, size, modulus, residue, pin, ranges});
    std::vector<std::vector<Range>> all_barred;
    for (const Ranges& ranges : barred) all_barred.push_back(converted(ranges));
    return {std::move(all),
            converted(reserved),
            std::move(all_barred),
            moments,
            exempt,
            listed,
            in_place,
            ties_count,
            groups};
}

// A file that cannot be written is an OSError which names it.
class NamedFile {
  public:
    NamedFile(std::string path, const nb::bytes& digest) : path_(std::move(path)) {
        digest_ = digest_of(digest);
        write_to(path_, [&] { file_.emplace(path_, digest_); });
    }

    bool refute(const proof::Question& question, Bytes end, Bytes height, bool lays, Budget& budget,
                const std::optional<std::string>& earlier) {
        return write_to(path_, [&] {
            if (lays && height >= 0) file_->lay(height);
            proof::ProofSearch search(question, *file_, budget);
            if (earlier) {
                const auto space = lays ? std::optional(height) : std::nullopt;
                search.go_on_from({*earlier, digest_, space, question.ties_count()});
            }
            return search.refute(end, height) == proof::Outcome::proven;
        });
    }
    void lay(Bytes height) {
        write_to(path_, [&] { file_->lay(height); });
    }
    Bytes name_heights(const std::vector<Bytes>& heights) {
        return write_to(path_, [&] { return file_->name_heights(heights); });
    }
    void rows(Bytes divisor, const std::vector<Numbers>& buffers) {
        write_to(path_, [&] { file_->rows(divisor, buffers); });
    }
    void peaks(std::uint64_t term, Bytes height, const Numbers& tree) {
        write_to(path_, [&] { file_->peaks(term, height, tree); });
    }
    void row(std::uint64_t pool, Bytes divisor, const Numbers& buffers) {
        write_to(path_, [&] { file_->row(pool, divisor, buffers); });
    }
    void chains(std::uint64_t pool, Bytes worth, const std::vector<std::pair<std::uint64_t, Bytes>>& prices,
                const Numbers& tree) {
        write_to(path_, [&] { file_->chains(pool, worth, prices, tree); });
    }
    void keep_within(Bytes height, const std::vector<std::pair<std::uint64_t, Numbers>>& pools,
                     const proof::ProofFile& steps) {
        write_to(path_, [&] { file_->keep_within(height, pools, steps); });
    }
    void spent(std::uint64_t term) {
        write_to(path_, [&] { file_->spent(term); });
    }
    void cost(std::uint64_t term, Bytes height, const Numbers& tree) {
        write_to(path_, [&] { file_->cost(term, height, tree); });
    }
    Bytes reuse_cost(proof::CostProof& costs, Bytes height, Bytes cost) {
        return write_to(path_, [&] { return costs.write(height, cost, *file_); });
    }
    void finish() {
        write_to(path_, [&] {
            file_->finish();
            steps_ = file_->steps();
            file_.reset();
        });
    }
    std::uint64_t steps() const { return file_ ? file_->steps() : steps_; }
    std::uint64_t limits() const { return file_ ? file_->limits() : 0; }
    std::uint64_t lemmas() const { return file_ ? file_->lemmas() : 0; }
    std::uint64_t conclusions() const { return file_ ? file_->conclusions() : 0; }
    Bytes concluded() const { return file_ ? file_->concluded() : -1; }

  private:
    std::string path_;
    Digest digest_;
    std::optional<proof::ProofFile> file_;  // none once it is finished
    std::uint64_t steps_ = 0;
};

// Steps that are kept, and whether there is a layout where they are none.
std::pair<std::optional<proof::ProofFile>, bool> kept_steps(const proof::Question& question, Bytes end,
                                                            Bytes height, Budget& budget) {
    proof::ProofFile steps;
    proof::ProofSearch search(question, steps, budget);
    const proof::Outcome outcome = search.refute(end, height);
    if (outcome != proof::Outcome::proven) return {std::nullopt, outcome == proof::Outcome::layout};
    return {std::move(steps), false};
}

// Prices, tolls, the worth and the nodes of a tree; sets that are too much together, with what a unit of that
// costs; and what a cost of 1 is in these prices.
using ChainAnswer = std::tuple<std::vector<Bytes>, std::vector<Bytes>, Bytes, std::vector<Index>,
                               std::vector<std::pair<std::vector<Index>, Bytes>>, Bytes>;

ChainAnswer chain_limits(const std::vector<std::pair<std::uint64_t, Bytes>>& buffers, Bytes room, Bytes cell,
                         const Pairs& apart, const std::vector<std::tuple<Index, Index, Bytes>>& costs,
                         const Ranges& spans, std::optional<Bytes> wanted, const reuse::AddressPrices* known,
                         Budget& budget) {
    proof::Linked linked{{}, room, cell, reuse::LinkPairs(count_of(buffers)), {}, converted(spans)};
    for (const auto& [name, cells] : buffers) {
        linked.names.push_back(name);
        linked.units.push_back(cells);
    }
    for (const auto& [a, b] : apart) linked.pairs.set_apart(a, b);
    for (const auto& [a, b, cost] : costs) {
        linked.pairs.add({a, b, std::min(linked.units[a], linked.units[b]), cost});
    }
    proof::ChainLimits limits = proof::chain_limits(linked, wanted, known, budget);
    std::vector<std::pair<std::vector<Index>, Bytes>> crowds;
    for (reuse::Crowd& crowd : limits.crowds) crowds.emplace_back(std::move(crowd.links), crowd.price);
    proof::ChainTree& tree = limits.tree;
    return {std::move(tree.prices), std::move(tree.tolls), tree.worth,
            std::move(tree.nodes),  std::move(crowds),     limits.scale};
}

using Parts = std::vector<std::tuple<Index, std::vector<Index>, Bytes>>;

void add_limit(proof::PlaceProgram& program, const Parts& parts, Bytes room) {
    std::vector<proof::PlaceProgram::Part> all;
    for (const auto& [unit, places, weight] : parts) all.push_back({unit, places, weight});
    program.add(std::move(all), room);
}

std::tuple<Bytes, Bytes, std::vector<std::pair<Index, Bytes>>> leaf_of(const proof::PlaceProgram& program,
                                                                       Bytes target) {
    const proof::PlaceProgram::Leaf leaf = program.leaf(target);
    return {leaf.bound, leaf.scale, leaf.prices};
}

proof::CostProof costs_of(const std::vector<std::tuple<Index, Index, Bytes, std::uint64_t>>& pairs,
                          Bytes fixed, bool lays) {
    std::vector<proof::OpenPair> all;
    for (const auto& [first, second, cost, name] : pairs) all.push_back({first, second, cost, name});
    return {std::move(all), fixed, lays};
}

}  // namespace

void bind_proof(nb::module_& m) {
    nb::class_<proof::Question>(
        m, "ProofQuestion",
        "Buffers that proofs have rules for, and where each may be.\n\n"
        "Items, ascending, are their index in the problem, size, modulus, residue, pin, "
        "or -1, and which\n"
        "ranges are barred; the other lists name them by their place in this one. A "
        "group has items and their\n"
        "places, whose differences are their distances. Pairs in place tie or are apart, or, where ties do "
        "not\n"
        "count, may overlap.")
        .def(nb::new_(&question_of), nb::arg("items"), nb::arg("reserved"), nb::arg("barred"),
             nb::arg("moments"), nb::arg("exempt"), nb::arg("listed"), nb::arg("in_place"),
             nb::arg("ties_count"), nb::arg("groups"))
        .def_ro("rows", &proof::Question::rows,
                "Sets of items that conflict pairwise; where ties count, they may be pairs in place.")
        .def(
            "kept_steps", &kept_steps, nb::arg("end"), nb::arg("height"), nb::arg("budget"),
            nb::call_guard<nb::gil_scoped_release>(),
            "Steps of a proof that none of its layouts ends by `end`, which is what the height comes to; and "
            "whether\n"
            "there is none because there is a layout.");
    nb::class_<proof::ProofFile>(m, "ProofSteps", "Steps of a proof that are not in a file.")
        .def_prop_ro("size", [](const proof::ProofFile& steps) { return steps.kept_bytes(); });
    nb::class_<proof::PlaceProgram>(
        m, "PlaceProgram",
        "What units cost, each in each of its pools, which are numbered from 0 for each; and limits.")
        .def(nb::init<std::vector<std::vector<Bytes>>>(), nb::arg("costs"))
        .def(
            "add", &add_limit, nb::arg("parts"), nb::arg("room"),
            "Another limit, numbered from 0. Its parts: a unit, some of its pools, and what it weighs there.")
        .def("suggest", &proof::PlaceProgram::suggest, nb::arg("scale"), nb::arg("prices"),
             "Prices of limits, ascending, that leaves take where those of the solution show less.")
        .def("restrict_to", &proof::PlaceProgram::restrict_to, nb::arg("unit"), nb::arg("places"),
             "Let a unit be in these of its pools alone, from now on.")
        .def("solve", &proof::PlaceProgram::solve, nb::arg("target"), nb::arg("budget"),
             nb::call_guard<nb::gil_scoped_release>(),
             "Find prices that show the target, or as much as prices can.")
        .def("leaf", &leaf_of, nb::arg("target"), "What prices show, their scale, and those of limits.")
        .def("covers", &proof::PlaceProgram::covers, nb::arg("limits"),
             "Units that are more than one of the first limits leaves room for, though nearly all are there: "
             "the limits, and them.")
        .def("divisors", &proof::PlaceProgram::divisors, nb::arg("limits"),
             "Some of the first limits, and what to divide them by so that the solution breaks what is left.")
        .def("divided", &proof::PlaceProgram::divided, nb::arg("first"),
             "A unit that is in one of its pools in part, one of the first so many if there is one; None if "
             "each is in one pool.")
        .def("places", &proof::PlaceProgram::places, "The pool of each unit.")
        .def("shares", &proof::PlaceProgram::shares, "How much of each unit is in each of its pools.");
    m.def(
        "chain_limits", &chain_limits, nb::arg("buffers"), nb::arg("room"), nb::arg("cell"), nb::arg("apart"),
        nb::arg("costs"), nb::arg("spans"), nb::arg("wanted").none(), nb::arg("known").none(),
        nb::arg("budget"), nb::call_guard<nb::gil_scoped_release>(),
        "Prices of buffers and tolls of pairs that show what layouts pay by what each cell of a pool holds, "
        "as "
        "much as is\n"
        "wanted, if the budget allows, or else what soon comes of it; what no chain is worth more than, a "
        "tree "
        "that shows\n"
        "that, of buffers or -1 for a leaf, empty where there is none; sets of buffers that are too much "
        "together, with the\n"
        "price of what is; and what a cost of 1 is in these prices. Buffers have a number elsewhere and take "
        "cells; all\n"
        "else names them by their place, in the order in which lives begin. Pairs of `costs` have the first "
        "earlier;\n"
        "`spans` are where they are in a layout to begin with, empty where it has none. Prices that are "
        "known "
        "may be\n"
        "wrong: then they show less.");
    nb::class_<proof::CostProof>(
        m, "CostProof",
        "What layouts pay for pairs of items that share memory: both items, the cost, and "
        "the number of the pair in\n"
        "the problem, after all its buffers. With `lays`, of several pools. Items of all questions are the "
        "same.")
        .def(nb::new_(&costs_of), nb::arg("pairs"), nb::arg("fixed"), nb::arg("lays"))
        .def("raise_bound", &proof::CostProof::raise, nb::arg("question"), nb::arg("end"), nb::arg("height"),
             nb::arg("wanted"), nb::arg("budget"), nb::call_guard<nb::gil_scoped_release>(),
             "Look for a proof that layouts that end by `end`, which is what the height comes to, cost as "
             "much "
             "as is\n"
             "wanted. Returns what they are known to cost.");
    nb::class_<NamedFile>(m, "ProofFile", "A proof about the problem with this digest, while it is written.")
        .def(nb::init<std::string, const nb::bytes&>(), nb::arg("path"), nb::arg("digest"))
        .def("refute", &NamedFile::refute, nb::arg("question"), nb::arg("end"), nb::arg("height"),
             nb::arg("lays"), nb::arg("budget"), nb::arg("earlier") = nb::none(),
             "Write that no layout ends by `end`, which is what the height comes to; with `lays`, of several "
             "pools.\n"
             "Whether that is shown; if not, a later search can go on from this file, as from an earlier "
             "one.")
        .def("reuse_cost", &NamedFile::reuse_cost, nb::arg("costs"), nb::arg("height"), nb::arg("cost"),
             "Write that layouts up to the height cost so much, as is known, or less where that takes too "
             "long; "
             "returns\n"
             "how much.")
        .def("lay", &NamedFile::lay, nb::arg("height"), "What follows is about this height.")
        .def("name_heights", &NamedFile::name_heights, nb::arg("heights"),
             "A height of each pool, one of their sum, and the most of each cost. Returns what stands for "
             "them as a\n"
             "height.")
        .def("rows", &NamedFile::rows, nb::arg("divisor"), nb::arg("buffers"),
             "A limit: what fits below the sum of all peaks, by buffers in each pool.")
        .def("peaks", &NamedFile::peaks, nb::arg("term"), nb::arg("height"), nb::arg("tree"),
             "What layouts up to the height cost at least, by the peaks of pools.")
        .def("row", &NamedFile::row, nb::arg("pool"), nb::arg("divisor"), nb::arg("buffers"),
             "A limit: what fits into a pool.")
        .def("chains", &NamedFile::chains, nb::arg("pool"), nb::arg("worth"), nb::arg("prices"),
             nb::arg("tree"),
             "A limit: what cells of a pool hold, by prices of buffers and tolls of pairs, ascending.")
        .def("keep_within", &NamedFile::keep_within, nb::arg("height"), nb::arg("pools"), nb::arg("steps"),
             "A limit: not all of these buffers are in the pools named, and pairs apart, as the steps show.")
        .def("spent", &NamedFile::spent, nb::arg("term"),
             "A limit: what layouts up to the height laid pay in a term.")
        .def("cost", &NamedFile::cost, nb::arg("term"), nb::arg("height"), nb::arg("tree"),
             "What layouts up to the height cost at least.")
        .def("finish", &NamedFile::finish, "Write the end.")
        .def_prop_ro("steps", &NamedFile::steps)
        .def_prop_ro("limits", &NamedFile::limits, "How many are stated.")
        .def_prop_ro("lemmas", &NamedFile::lemmas, "How many are stated.")
        .def_prop_ro("conclusions", &NamedFile::conclusions, "How many there are.")
        .def_prop_ro("concluded", &NamedFile::concluded,
                     "The greatest height that no layout is known to be within; -1: none.");
}

}  // namespace memstow::bindings
