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
#include "proof/cost_proof.hpp"
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

proof::Question question_of(
    const std::vector<std::tuple<std::uint64_t, Bytes, Bytes, Bytes, Bytes, Index>>& items,
    const Ranges& reserved, const std::vector<Ranges>& barred, const std::vector<std::vector<Index>>& moments,
    const Pairs& exempt, const Pairs& listed, const std::vector<proof::Question::Group>& groups) {
    std::vector<proof::Item> all;
    for (const auto& [name, size, modulus, residue, pin, ranges] : items)
        all.push_back({name, size, modulus, residue, pin, ranges});
    std::vector<std::vector<Range>> all_barred;
    for (const Ranges& ranges : barred) all_barred.push_back(converted(ranges));
    return {std::move(all), converted(reserved), std::move(all_barred), moments, exempt, listed, groups};
}

// A file that cannot be written is an OSError which names it.
class NamedFile {
  public:
    NamedFile(std::string path, const nb::bytes& digest) : path_(std::move(path)) {
        const Digest hash = digest_of(digest);
        write_to(path_, [&] { file_.emplace(path_, hash); });
    }

    bool refute(const proof::Question& question, Bytes end, Bytes height, bool lays, Budget& budget) {
        return write_to(path_, [&] {
            if (lays && height >= 0) file_->lay(height);
            proof::ProofSearch search(question, *file_, budget);
            return search.refute(end, height) == proof::Outcome::proven;
        });
    }
    Bytes cost(proof::CostProof& costs, Bytes height, Bytes cost) {
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

  private:
    std::string path_;
    std::optional<proof::ProofFile> file_;  // none once it is finished
    std::uint64_t steps_ = 0;
};

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
        "places, whose differences are their distances.")
        .def(nb::new_(&question_of), nb::arg("items"), nb::arg("reserved"), nb::arg("barred"),
             nb::arg("moments"), nb::arg("exempt"), nb::arg("listed"), nb::arg("groups"));
    nb::class_<proof::CostProof>(
        m, "CostProof",
        "What layouts pay for pairs of items that share memory: both items, the cost, and "
        "the number of the pair in\n"
        "the problem. With `lays`, of several pools. Items of all questions are the same.")
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
             nb::arg("lays"), nb::arg("budget"),
             "Write that no layout ends by `end`, which is what the height comes to; with `lays`, of several "
             "pools.\n"
             "Whether that is shown: if not, the file is of no use.")
        .def("cost", &NamedFile::cost, nb::arg("costs"), nb::arg("height"), nb::arg("cost"),
             "Write that layouts up to the height cost so much, as is known, or less where that takes too "
             "long; "
             "returns\n"
             "how much.")
        .def("finish", &NamedFile::finish, "Write the end.")
        .def_prop_ro("steps", &NamedFile::steps);
}

}  // namespace memstow::bindings
