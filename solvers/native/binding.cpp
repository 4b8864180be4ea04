// The door between Python and the native core: converts arguments and results, nothing else.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "assemble.hpp"
#include "bounds.hpp"
#include "budget.hpp"
#include "greedy/classics.hpp"
#include "greedy/greedy.hpp"
#include "improve/improve.hpp"
#include "instance.hpp"
#include "occupied.hpp"
#include "reuse/cheapest.hpp"
#include "score.hpp"
#include "search/exact.hpp"

namespace nb = nanobind;
using namespace memstow;

namespace {

using Ints = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// A Python array of 64-bit integers, read in place.
class Column {
  public:
    Column(nb::handle owner, const char* name) : array_(nb::cast<Ints>(owner.attr(name))) {}
    std::size_t size() const { return array_.size(); }
    std::int64_t operator[](std::size_t i) const { return array_.data()[i]; }

  private:
    Ints array_;
};

Index to_index(std::int64_t value) {
    if (value < 0 || value > std::numeric_limits<Index>::max() / 4)
        throw std::length_error("too many entries");
    return value;
}

std::vector<Index> to_indices(const Column& column) {
    std::vector<Index> result(column.size());
    for (std::size_t i = 0; i < column.size(); ++i) result[i] = to_index(column[i]);
    return result;
}

// An instance and what only reports need: a moment for each of its time rows.
struct NativeInstance {
    Instance instance;
    std::vector<std::int64_t> times;
};

void read_pools(nb::handle from, Instance& to) {
    const Column capacity(from, "capacity");
    const Column start(from, "reserved_start");
    const Column begin(from, "reserved_begin");
    const Column end(from, "reserved_end");
    for (std::size_t p = 0; p < capacity.size(); ++p) {
        Pool pool{capacity[p], {}};
        for (Index r = start[p]; r < (start[p + 1]); ++r) {
            pool.reserved.push_back({begin[r], end[r]});
        }
        to.pools.push_back(std::move(pool));
    }
}

void read_choices(nb::handle from, Instance& to) {
    to.choices.start = to_indices(Column(from, "choice_start"));
    const Column pool(from, "choice_pool");
    const Column modulus(from, "choice_modulus");
    const Column residue(from, "choice_residue");
    const Column low(from, "choice_low");
    const Column high(from, "choice_high");
    const Column cost(from, "choice_cost");
    const Column rank(from, "choice_rank");
    to.choices.values.reserve(pool.size());
    for (std::size_t c = 0; c < pool.size(); ++c) {
        to.choices.values.push_back(
            {to_index(pool[c]), modulus[c], residue[c], low[c], high[c], cost[c], rank[c]});
    }
}

void read_parts(nb::handle from, Instance& to) {
    to.item_parts = to_indices(Column(from, "item_parts"));
    const Column delta(from, "part_delta");
    const Column size(from, "part_size");
    to.parts.reserve(size.size());
    for (Index item = 0; item < to.item_count(); ++item) {
        for (Index p = to.item_parts[item]; p < (to.item_parts[item + 1]); ++p) {
            to.parts.push_back({item, delta[p], size[p]});
        }
    }
    to.lives.start = to_indices(Column(from, "life_start"));
    const Column begin(from, "life_begin");
    const Column end(from, "life_end");
    to.lives.values.reserve(begin.size());
    for (std::size_t i = 0; i < begin.size(); ++i) to.lives.values.push_back({begin[i], end[i]});
}

std::unique_ptr<NativeInstance> read_instance(nb::handle from) {
    auto result = std::make_unique<NativeInstance>();
    Instance& to = result->instance;
    read_pools(from, to);
    read_choices(from, to);
    read_parts(from, to);
    const Column exempt(from, "exempt");
    for (std::size_t i = 0; i + 2 < exempt.size(); i += 3) {
        to.exempt.push_back({to_index(exempt[i]), to_index(exempt[i + 1]), exempt[i + 2] != 0});
    }
    const Column reuse(from, "reuse");
    for (std::size_t i = 0; i + 2 < reuse.size(); i += 3) {
        to.reuse.push_back({to_index(reuse[i]), to_index(reuse[i + 1]), reuse[i + 2]});
    }
    const Column listed(from, "conflicts");
    std::vector<std::pair<Index, Index>> conflicts;
    conflicts.reserve(listed.size() / 2);
    for (std::size_t i = 0; i + 1 < listed.size(); i += 2) {
        conflicts.emplace_back(to_index(listed[i]), to_index(listed[i + 1]));
    }
    nb::gil_scoped_release release;
    result->times = assemble_rows(to, conflicts);
    return result;
}

nb::int_ wide(WideBytes value) {
    constexpr WideBytes kWord = WideBytes{1} << 62;
    return nb::int_(nb::int_(static_cast<std::int64_t>(value / kWord)) * nb::int_(std::int64_t{1} << 62) +
                    nb::int_(static_cast<std::int64_t>(value % kWord)));
}

// (bytes, moment or None, parts)
nb::tuple to_python(const NativeInstance& from, const LiveBound& bound) {
    nb::object time = nb::none();
    if (bound.row >= 0) time = nb::int_(from.times[bound.row]);
    return nb::make_tuple(wide(bound.bytes), time, bound.parts);
}

using Terms = std::vector<std::pair<int, Index>>;

std::vector<Term> to_terms(const Terms& terms) {
    std::vector<Term> result;
    for (const auto& [kind, pool] : terms) result.push_back({static_cast<TermKind>(kind), pool});
    return result;
}

// Empty for None. A place that the instance does not have is no place.
Layout to_layout(const Instance& instance, nb::handle from) {
    if (from.is_none()) return {};
    const Column pool(from, "pool");
    const Column offset(from, "offset");
    Layout layout(instance.item_count());
    if (pool.size() != layout.size() || offset.size() != layout.size())
        throw std::length_error("not of this instance");
    for (std::size_t item = 0; item < layout.size(); ++item) {
        const bool known = pool[item] >= 0 && pool[item] < count_of(instance.pools);
        if (known && offset[item] >= 0) layout[item] = {static_cast<Index>(pool[item]), offset[item]};
    }
    return layout;
}

// (item, pool, offset, buffers that stay there)
using Places = std::vector<std::tuple<Index, Index, Bytes, std::int64_t>>;

Hint to_hint(const Instance& instance, nb::handle places, const Places& kept, std::int64_t buffers) {
    Hint hint{to_layout(instance, places), {}, buffers};
    for (const auto& [item, pool, offset, count] : kept) {
        if (item < 0 || item >= instance.item_count()) throw std::length_error("not of this instance");
        hint.kept.push_back({item, {pool, offset}, count});
    }
    return hint;
}

// (pools, offsets) as the bytes of two arrays of 64-bit integers.
using Placed = std::pair<nb::bytes, nb::bytes>;

Placed to_python(const Layout& layout) {
    std::vector<std::int64_t> pools(layout.size());
    std::vector<std::int64_t> offsets(layout.size());
    for (std::size_t item = 0; item < layout.size(); ++item) {
        pools[item] = layout[item].pool;
        offsets[item] = layout[item].offset;
    }
    const auto bytes = [](const std::vector<std::int64_t>& values) {
        return nb::bytes(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(std::int64_t));
    };
    return {bytes(pools), bytes(offsets)};
}

// Values of the terms, or None while the layout does not fit.
nb::object to_python(const Score& score) {
    if (!score.fits()) return nb::none();
    nb::list values;
    for (const Value value : score.values) values.append(wide(value));
    return values;
}

using OnScore = std::function<void(nb::object, const std::string&, const Placed&)>;

nb::tuple solve_greedily(const NativeInstance& self, const Terms& terms, nb::handle hint, const Places& kept,
                         std::int64_t hinted, const std::vector<std::int64_t>& lower_bounds,
                         std::uint64_t seed, Budget& budget, const std::optional<OnScore>& on_score) {
    GreedyOptions options;
    options.lower_bounds.assign(lower_bounds.begin(), lower_bounds.end());
    options.seed = seed;
    const Hint start = to_hint(self.instance, hint, kept, hinted);
    GreedyResult result;
    {
        nb::gil_scoped_release release;
        OnLayout on_layout;
        if (on_score) {
            on_layout = [&](const Layout& layout, const Score& score, const std::string& name) {
                nb::gil_scoped_acquire acquire;
                (*on_score)(to_python(score), name, to_python(layout));
            };
        }
        result = greedy(self.instance, to_terms(terms), start, options, budget, on_layout);
    }
    return nb::make_tuple(to_python(result.layout), to_python(result.score), result.name);
}

// What a layout is worth without a run: its values, or None where it does not fit.
nb::object score_of(const NativeInstance& self, const Terms& terms, const Places& kept, std::int64_t hinted,
                    nb::handle layout) {
    const Scorer scorer(self.instance, to_terms(terms), to_hint(self.instance, nb::none(), kept, hinted));
    return to_python(scorer(to_layout(self.instance, layout)));
}

Placed solve_classically(const NativeInstance& self, const std::string& name, Budget& budget) {
    Layout layout;
    {
        nb::gil_scoped_release release;
        layout = run_classic(name, self.instance, budget);
    }
    return to_python(layout);
}

using OnHeight = std::function<void(Bytes, const Placed&)>;
using OnBound = std::function<void(Bytes)>;

// Items as a list of indices.
using Items = std::vector<Index>;

nb::tuple search_exactly(const NativeInstance& self, nb::handle start, bool fit_only, Bytes bound,
                         Bytes limit, int workers, bool deterministic, std::uint64_t seed, Budget& budget,
                         const OnHeight& on_height, const OnBound& on_bound) {
    ExactOptions options;
    options.limit = limit;
    options.fit_only = fit_only;
    options.bound = bound;
    options.start = to_layout(self.instance, start);
    options.workers = workers;
    options.deterministic = deterministic;
    options.seed = seed;
    ExactResult result;
    {
        nb::gil_scoped_release release;
        ExactEvents events;
        events.incumbent = [&](const Layout& layout, Bytes height) {
            nb::gil_scoped_acquire acquire;
            on_height(height, to_python(layout));
        };
        events.bound = [&](Bytes proven, std::int64_t) {
            nb::gil_scoped_acquire acquire;
            on_bound(proven);
        };
        result = solve_exact(self.instance, options, budget, events);
    }
    std::vector<std::pair<Bytes, std::int64_t>> refuted;
    for (const Refutation& one : result.refuted) refuted.emplace_back(one.height, one.nodes);
    nb::object layout = nb::none();
    if (!result.layout.empty()) layout = nb::cast(to_python(result.layout));
    std::optional<Items> dead;
    if (result.status == ExactStatus::infeasible) dead = std::move(result.dead);
    return nb::make_tuple(layout, result.height, result.bound, refuted, dead);
}

std::pair<Placed, Bytes> improve_layout(const NativeInstance& self, nb::handle start, bool fit_only,
                                        Bytes bound, Bytes limit, int workers, bool deterministic,
                                        std::uint64_t seed, Budget& budget, const OnHeight& on_height) {
    improver::ImproveOptions options;
    options.bound = bound;
    options.limit = limit;
    options.fit_only = fit_only;
    options.seed = seed;
    options.workers = workers;
    options.deterministic = deterministic;
    const Layout from = to_layout(self.instance, start);
    improver::ImproveResult result;
    {
        nb::gil_scoped_release release;
        result =
            improver::improve(self.instance, from, options, budget, [&](const Layout& layout, Bytes height) {
                nb::gil_scoped_acquire acquire;
                on_height(height, to_python(layout));
            });
    }
    return {to_python(result.layout), result.height};
}

std::pair<Items, bool> shrink_dead_set(const NativeInstance& self, const Items& items, Bytes height,
                                       Budget& budget) {
    nb::gil_scoped_release release;
    DeadSet found = dead_set(self.instance, items, height, budget);
    return {std::move(found.items), found.smallest};
}

// (offsets by item or None, cost, top, bound, None or the dead items when there is no layout, searches that
// ran dry)
nb::tuple to_python(const Cheapest::Found& found, const Items& items) {
    nb::object offsets = nb::none();
    if (!found.offsets.empty()) offsets = nb::cast(found.offsets);
    std::optional<Items> dead;
    if (found.none) {
        dead.emplace();
        for (const Index item : found.dead) dead->push_back(items[item]);
    }
    return nb::make_tuple(offsets, found.cost, found.top, found.bound, dead, found.refuted);
}

// The items of one pool, and the search for their cheapest layout.
struct PoolSearch {
    Items items;
    Cheapest search;
};

using OnOffsets = std::function<void(Bytes, const Cheapest::Offsets&)>;

Cheapest::Events telling(const OnOffsets& on_value, const OnBound& on_bound) {
    Cheapest::Events events;
    events.value = [&on_value](Bytes value, const Cheapest::Offsets& offsets) {
        nb::gil_scoped_acquire acquire;
        on_value(value, offsets);
    };
    events.bound = [&on_bound](Bytes value) {
        nb::gil_scoped_acquire acquire;
        on_bound(value);
    };
    return events;
}

nb::tuple cheapest_within(PoolSearch& self, Bytes height, std::optional<Bytes> enough, Budget& budget,
                          const OnOffsets& on_cost, const OnBound& on_bound) {
    Cheapest::Found found;
    {
        nb::gil_scoped_release release;
        found = self.search.cheapest(height, enough, budget, telling(on_cost, on_bound));
    }
    return to_python(found, self.items);
}

nb::tuple lowest_within(PoolSearch& self, Bytes height, Bytes cost, Bytes bound, Budget& budget,
                        const OnOffsets& on_height, const OnBound& on_bound) {
    Cheapest::Found found;
    {
        nb::gil_scoped_release release;
        found = self.search.lowest({height, cost}, bound, budget, telling(on_height, on_bound));
    }
    return to_python(found, self.items);
}

}  // namespace

NB_MODULE(_native, m) {
    m.doc() = "The native core of memstow.";
    // What a caller still holds at exit is no defect.
    nb::set_leak_warnings(false);

    nb::class_<NativeInstance>(m, "Instance", "The arrays of solvers.instance.Instance, and their rows.")
        .def("__init__", [](NativeInstance* self, nb::handle from) {
            new (self) NativeInstance(std::move(*read_instance(from)));
        });

    nb::class_<Budget>(m, "Budget", "When a native run must stop.")
        .def(nb::init<double, std::int64_t, const Budget*>(), nb::arg("seconds"), nb::arg("work"),
             nb::arg("parent").none() = nb::none(), nb::keep_alive<1, 4>())
        .def("cancel", &Budget::cancel)
        .def_prop_ro("spent", &Budget::spent)
        .def_prop_ro("work", &Budget::work)
        .def("count", &Budget::count, nb::arg("steps"))
        .def_prop_ro("cancelled", &Budget::cancelled)
        .def_prop_ro("seconds_left",
                     [](const Budget& self) -> std::optional<double> {
                         const double left = self.seconds_left();
                         if (left < 0) return std::nullopt;
                         return left;
                     })
        .def_prop_ro("work_left", [](const Budget& self) -> std::optional<std::int64_t> {
            if (self.work_limit() == std::numeric_limits<std::int64_t>::max()) return std::nullopt;
            return self.work_limit() - self.work();
        });

    nb::class_<PoolSearch>(m, "Cheapest", "The search for layouts of least reuse cost of one pool.")
        .def(
            "__init__",
            [](PoolSearch* self, const NativeInstance& from, const Items& items, std::uint64_t seed) {
                nb::gil_scoped_release release;
                new (self) PoolSearch{items, Cheapest(restrict_to(from.instance, items), seed)};
            },
            nb::arg("instance"), nb::arg("items"), nb::arg("seed"))
        .def("offer", [](PoolSearch& self, const std::vector<Bytes>& offsets) { self.search.offer(offsets); })
        .def("cheapest", &cheapest_within, nb::arg("height"), nb::arg("enough").none(), nb::arg("budget"),
             nb::arg("on_cost"), nb::arg("on_bound"))
        .def("lowest", &lowest_within, nb::arg("height"), nb::arg("cost"), nb::arg("bound"),
             nb::arg("budget"), nb::arg("on_height"), nb::arg("on_bound"));

    m.def("greedy", &solve_greedily, nb::arg("instance"), nb::arg("terms"), nb::arg("hint").none(),
          nb::arg("kept"), nb::arg("hinted"), nb::arg("lower_bounds"), nb::arg("seed"), nb::arg("budget"),
          nb::arg("on_score").none(),
          "((pools, offsets), values or None, name) of the best layout of the greedy portfolio.");
    m.def("score", &score_of, nb::arg("instance"), nb::arg("terms"), nb::arg("kept"), nb::arg("hinted"),
          nb::arg("layout"), "Values of a layout by term, or None where it does not fit.");
    m.def("classics", [] {
        std::vector<std::string> names;
        for (const std::string_view name : classics()) names.emplace_back(name);
        return names;
    });
    m.def("classic_declines",
          [](const NativeInstance& self, const std::string& name) { return declines(name, self.instance); });
    m.def("classic", &solve_classically, nb::arg("instance"), nb::arg("name"), nb::arg("budget"),
          "(pools, offsets) of a published planner's layout.");
    m.def("exact", &search_exactly, nb::arg("instance"), nb::arg("start").none(), nb::arg("fit_only"),
          nb::arg("bound"), nb::arg("limit"), nb::arg("workers"), nb::arg("deterministic"), nb::arg("seed"),
          nb::arg("budget"), nb::arg("on_height"), nb::arg("on_bound"),
          "((pools, offsets) or None, height, bound, [(refuted height, nodes)], None or the dead items when "
          "nothing "
          "fits: of one component, or none when that is all that is known).");
    m.def(
        "exact_reach",
        [](const NativeInstance& self, nb::handle start, Bytes bound) {
            const Layout layout = to_layout(self.instance, start);
            const Reach reach = reach_of(self.instance, layout, bound);
            return std::tuple{reach.largest, reach.searchable, reach.level};
        },
        nb::arg("instance"), nb::arg("start").none(), nb::arg("bound"),
        "(items of the largest independent component, whether one that decides can be searched, whether all "
        "rows "
        "of one that decides are equally full).");
    m.def("improve", &improve_layout, nb::arg("instance"), nb::arg("start"), nb::arg("fit_only"),
          nb::arg("bound"), nb::arg("limit"), nb::arg("workers"), nb::arg("deterministic"), nb::arg("seed"),
          nb::arg("budget"), nb::arg("on_height"),
          "((pools, offsets), height) of a layout that is no higher than the start.");
    m.def("dead_set", &shrink_dead_set, nb::arg("instance"), nb::arg("items"), nb::arg("height"),
          nb::arg("budget"),
          "(items, whether each is needed) of a small set that has no layout of this height.");
    m.def(
        "most_occupied",
        [](const NativeInstance& self, nb::handle layout) {
            std::vector<std::pair<Bytes, std::optional<std::int64_t>>> result;
            for (const Occupied& most : most_occupied(self.instance, to_layout(self.instance, layout))) {
                result.emplace_back(most.bytes, most.time);
            }
            return result;
        },
        "By pool: the most bytes the layout occupies at one moment, and the first such moment.");
    m.def(
        "pool_peaks",
        [](const NativeInstance& self, nb::handle layout) {
            return pool_peaks(self.instance, to_layout(self.instance, layout));
        },
        "By pool: the largest end of a part.");
    m.def(
        "common_grid",
        [](const NativeInstance& self, Index pool) {
            const Grid grid = common_grid(self.instance, pool);
            return std::pair{grid.unit, grid.residue};
        },
        "(unit, residue) of all offsets that items forced into the pool can have.");
    m.def(
        "live_bound",
        [](const NativeInstance& self, const std::vector<bool>& pools, Bytes unit) {
            LiveBound bound;
            {
                nb::gil_scoped_release release;
                bound = live_bound(self.instance, pools, unit);
            }
            return to_python(self, bound);
        },
        "The most bytes needed at once by items that can go to no other than these pools.");
    m.def(
        "clique_bound",
        [](const NativeInstance& self, const std::vector<bool>& pools, Bytes unit, std::int64_t nodes) {
            LiveBound bound;
            {
                nb::gil_scoped_release release;
                bound = clique_bound(self.instance, pools, unit, nodes);
            }
            return to_python(self, bound);
        },
        "The same over cliques of the conflict graph.");
}
