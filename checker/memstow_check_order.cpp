// memstow-check-order: reads a graph, a plan and a proof, and says whether the plan is right and its peak the
// least of all orders and layouts.
//
// Copyright the authors of memstow. Licensed under the Apache License, Version 2.0 (the file LICENSE).
//
// Written from docs/proofs.md alone ("Orders of graphs"), whose words it uses; it shares no code with
// memstow. What it does not know in a graph it refuses. It keeps the graph and those dead sets that a proof
// has not forgotten, nothing else.
#include <limits>
#include <numeric>
#include <unordered_map>

#include "reading.hpp"

namespace orders {
namespace {

using namespace checker;

using Indices = std::vector<Index>;

constexpr Index kNone = std::numeric_limits<Index>::max();
constexpr Bytes kMostBytes = Bytes{1} << 61;  // of all together: no sum overflows

// The parts of a message are only put together where it is needed.
template <typename... Part>
std::string joined(const Part&... part) {
    std::string all;
    (all.append(part), ...);
    return all;
}
template <typename... Part>
void know(bool holds, const Part&... why) {
    if (!holds) not_checked(joined(why...));
}
template <typename... Part>
void must(bool holds, const Part&... why) {
    if (!holds) wrong(joined(why...));
}

void sort_unique(Indices& some) {
    std::sort(some.begin(), some.end());
    some.erase(std::unique(some.begin(), some.end()), some.end());
}

// Of some that ascend.
bool has(const Indices& some, Index one) { return std::ranges::binary_search(some, one); }

// ---------------------------------------------------------------------------------------------------------------
// The graph

// The bytes below an end that are not reserved.
Bytes room(const Pool& pool, Bytes below) {
    Bytes free = below;
    for (const Range& one : pool.reserved) free -= std::max(std::min(one.end, below) - one.begin, Bytes{0});
    return free;
}

enum class Kind { data, constant, state, external };

struct Tensor {
    std::string id;
    Bytes size = 0, alignment = 1;
    Kind kind = Kind::data;
    bool planned = true;
    Index maker = kNone;  // none of states, constants and inputs
    Indices readers;      // ascending, each once
    bool from_start = false, to_end = false;
    Index of = kNone;  // the tensor that it lies in, and where
    Bytes offset = 0;
    bool viewed = false;  // it is a view or has one
};

struct Temporary {
    std::string id;
    Bytes size = 0, alignment = 1;
    std::optional<Range> phases;
};

struct Operator {
    std::string id;
    Indices inputs, outputs;
    std::vector<Temporary> temporaries;
    std::vector<std::pair<Index, Index>> in_place;  // pairs of data, each once
    Bytes phases = 1;

    Range phases_of(const Temporary& one) const { return one.phases.value_or(Range{0, phases}); }
};

class Graph {
  public:
    explicit Graph(const Json& document) {
        document.has_only({"version", "name", "pools", "tensors", "operators", "inputs", "outputs", "before",
                           "views", "order", "alternatives", "objective", "limits"});
        know(bytes_or(1, document.find("version")) == 1, "the version is not 1");
        know(document.list("alternatives").empty(), "the graph has alternatives");
        know(document.find("limits", true) == nullptr, "the graph has limits");
        const auto& pools = document.list("pools");
        know(pools.size() < 2, "the graph has several pools");
        if (!pools.empty()) pool = pool_of(pools[0]);
        for (const Json& one : document.list("tensors")) read_tensor(one);
        for (const Json& one : document.list("operators")) read_operator(one);
        for (const Json& one : document.list("inputs")) tensors[tensor_of(one)].from_start = true;
        for (const Json& one : document.list("outputs")) tensors[tensor_of(one)].to_end = true;
        link();
        for (const Json& one : document.list("before")) {
            const auto& names = one.pair();
            before[operator_of(names[1])].push_back(operator_of(names[0]));
        }
        for (Indices& some : before) sort_unique(some);
        for (const Json& one : document.list("views")) read_view(one);
        find_roots();
        check_views();
        for (Index v = 0; v < operators.size(); ++v) read_pairs(document.list("operators")[v], v);
        read_objective(document.find("objective", true));
        check_circles();
    }
    Graph(const Graph&) = delete;

    Pool pool;
    std::vector<Tensor> tensors;
    std::vector<Operator> operators;
    std::vector<Indices> before;  // by operator: who must run earlier
    bool about_peaks = true;      // the objective begins with the peak

    std::optional<Index> operator_named(const std::string& id) const {
        const auto known = operator_index_.find(id);
        return known == operator_index_.end() ? std::nullopt : std::optional(known->second);
    }

    // The tensor that this one lies in and that is no view, and how far from its begin.
    const std::pair<Index, Bytes>& root(Index tensor) const { return roots_[tensor]; }

  private:
    Index tensor_of(const Json& name) const {
        const auto known = tensor_index_.find(name.string());
        know(known != tensor_index_.end(), "there is no tensor '", name.text, "'");
        return known->second;
    }
    Index operator_of(const Json& name) const {
        const auto known = operator_named(name.string());
        know(known.has_value(), "there is no operator '", name.text, "'");
        return *known;
    }

    // Id, size, alignment and pools of a tensor or a temporary; whether pools are named.
    template <typename One>
    bool read_place(const Json& value, One& one) {
        one.id = value["id"].string();
        know(ids_.insert(one.id).second, "'", one.id, "' is an id twice");
        one.size = bytes_or(0, value.find("size", true));
        one.alignment = bytes_or(1, value.find("alignment"), 1);
        const Bytes times = one.alignment / std::gcd(one.alignment, pool.alignment);
        know(pool.alignment <= kLimit / times, "the alignment of '", one.id, "' is beyond 2^62");
        one.alignment = pool.alignment * times;
        const Json* allowed = value.find("pools", true);
        if (allowed == nullptr) return false;
        know(allowed->list().size() == 1 && allowed->items[0].string() == pool.id, "'", one.id,
             "' has other pools");
        return true;
    }

    void add_bytes(Bytes size) {
        know(size <= kMostBytes - all_bytes_, "all bytes together are beyond 2^61");
        all_bytes_ += size;
    }

    static Bytes bits_of(const std::string& type) {
        if (type == "bool") return 8;
        for (const auto& [name, all] :
             {std::pair<std::string, std::vector<int>>{"int", {2, 4, 8, 16, 32, 64}},
              {"uint", {2, 4, 8, 16, 32, 64}},
              {"float", {4, 8, 16, 32, 64}},
              {"bfloat", {16}},
              {"complex", {64, 128}}}) {
            for (const int bits : all) {
                if (type == name + std::to_string(bits)) return bits;
            }
        }
        not_checked("the type '" + type + "' is unknown");
    }

    void read_tensor(const Json& value) {
        value.has_only({"id", "size", "shape", "type", "kind", "alignment", "pools", "name"});
        Tensor one;
        const bool has_pools = read_place(value, one);
        const Json* kind = value.find("kind");
        const std::string name = kind == nullptr ? "data" : kind->string();
        one.kind = name == "state"      ? Kind::state
                   : name == "constant" ? Kind::constant
                   : name == "external" ? Kind::external
                                        : Kind::data;
        know(one.kind != Kind::data || name == "data", "the kind '", name, "' is unknown");
        one.planned =
            one.kind == Kind::data || one.kind == Kind::state || (one.kind == Kind::constant && has_pools);
        const Json *shape = value.find("shape", true), *type = value.find("type", true);
        const bool sized = value.find("size", true) != nullptr, shaped = shape != nullptr && type != nullptr;
        know(sized || shaped, "'", one.id, "' has no size");
        if (shaped) {
            std::vector<Bytes> extents{bits_of(type->string())};
            for (const Json& extent : shape->list()) extents.push_back(extent.bytes());
            Bytes bits = *std::min_element(extents.begin(), extents.end()) == 0 ? 0 : 1;
            for (const Bytes count : extents) {
                know(bits == 0 || bits <= kLimit / count, "the shape of '", one.id, "' is too large");
                bits *= count;
            }
            const Bytes least = bits / 8 + (bits % 8 != 0 ? 1 : 0);
            know(!sized || one.size >= least, "the size of '", one.id, "' is less than its shape says");
            if (!sized) one.size = least;
        }
        if (one.planned) add_bytes(one.size);
        know(tensors.size() < kMost, "the graph has too many tensors");
        tensor_index_.emplace(one.id, static_cast<Index>(tensors.size()));
        tensors.push_back(std::move(one));
    }

    void read_operator(const Json& value) {
        value.has_only({"id", "type", "inputs", "outputs", "temporaries", "in_place", "cost", "window"});
        Operator one;
        one.id = value["id"].string();
        for (const Json& name : value.list("inputs")) one.inputs.push_back(tensor_of(name));
        for (const Json& name : value.list("outputs")) one.outputs.push_back(tensor_of(name));
        sort_unique(one.inputs);
        for (const Json& inside : value.list("temporaries")) {
            inside.has_only({"id", "size", "phases", "alignment", "pools"});
            Temporary temporary;
            read_place(inside, temporary);
            inside["size"].bytes();
            add_bytes(temporary.size);
            if (const Json* phases = inside.find("phases", true)) {
                const auto& times = phases->pair();
                temporary.phases = Range{times[0].bytes(), times[1].bytes()};
                know(temporary.phases->begin < temporary.phases->end, "'", temporary.id, "' has no phase");
                one.phases = std::max(one.phases, temporary.phases->end);
            }
            one.temporaries.push_back(std::move(temporary));
        }
        know(one.phases <= kMostBytes - all_phases_, "the phases are beyond 2^61");
        all_phases_ += one.phases;
        know(operators.size() < kMost, "the graph has too many operators");
        const auto number = static_cast<Index>(operators.size());
        know(operator_index_.emplace(one.id, number).second, "'", one.id, "' is an id twice");
        operators.push_back(std::move(one));
    }

    // Who makes and who reads each tensor, and who waits for whom.
    void link() {
        before.resize(operators.size());
        std::vector<Index> writer(tensors.size(), kNone);  // of states: the latest
        std::vector<Indices> since(tensors.size());        // and who has only read it since
        for (Index v = 0; v < operators.size(); ++v) {
            Indices used = operators[v].inputs, written = operators[v].outputs;
            sort_unique(written);
            for (const Index t : used) tensors[t].readers.push_back(v);
            for (const Index t : operators[v].outputs) {
                Tensor& one = tensors[t];
                used.push_back(t);
                if (one.kind == Kind::state) continue;
                know(one.maker == kNone && !one.from_start && one.kind != Kind::constant, "'", one.id,
                     "' is made although it is there");
                one.maker = v;
            }
            sort_unique(used);
            for (const Index t : used) {
                if (tensors[t].kind != Kind::state) continue;
                if (writer[t] != kNone) before[v].push_back(writer[t]);
                since[t].push_back(v);
                if (!has(written, t)) continue;
                before[v].insert(before[v].end(), since[t].begin(), since[t].end() - 1);
                since[t].clear();
                writer[t] = v;
            }
        }
        for (const Tensor& one : tensors) {
            know(one.kind != Kind::data || one.maker != kNone || one.from_start, "nobody makes '", one.id,
                 "'");
            for (const Index reader : one.readers) {
                if (one.maker != kNone) before[reader].push_back(one.maker);
            }
        }
    }

    void read_view(const Json& value) {
        value.has_only({"tensor", "of", "offset"});
        Tensor& one = tensors[tensor_of(value["tensor"])];
        const Index of = tensor_of(value["of"]);
        know(one.of == kNone, "'", one.id, "' is a view twice");
        one.of = of;
        one.offset = bytes_or(0, value.find("offset"));
        Tensor& around = tensors[of];
        one.viewed = around.viewed = true;
        know(one.kind == Kind::data && around.kind == Kind::data, "a view is not of data");
        know(one.size <= around.size && one.offset <= around.size - one.size, "'", one.id,
             "' ends beyond what it is a view of");
    }

    void find_roots() {
        roots_.assign(tensors.size(), {kNone, 0});
        Indices inside;
        for (Index t = 0; t < tensors.size(); ++t) {
            Index outer = t;
            for (; roots_[outer].first == kNone && tensors[outer].of != kNone; outer = tensors[outer].of) {
                know(inside.size() < tensors.size(), "views lie in each other");
                inside.push_back(outer);
            }
            if (tensors[outer].of == kNone) roots_[outer] = {outer, 0};
            for (; !inside.empty(); inside.pop_back()) {
                const Tensor& one = tensors[inside.back()];
                const auto& [root, offset] = roots_[one.of];
                roots_[inside.back()] = {root, offset + one.offset};
            }
        }
    }

    // Of a view and what it lies in, one is made where the other is read, or both are there. So all that lies
    // over a byte of a group lives without a gap.
    void check_views() const {
        struct Part {
            Index of;
            Range range;
        };
        std::vector<Part> parts;  // what is written into its place
        for (const Tensor& one : tensors) {
            if (one.of == kNone) continue;
            const Tensor& around = tensors[one.of];
            const bool is_part = around.maker != kNone && has(one.readers, around.maker);
            const bool is_slice = one.maker != kNone && has(around.readers, one.maker);
            know(is_part || is_slice || (one.maker == kNone && around.maker == kNone), "neither of '", one.id,
                 "' and '", around.id, "' is made from the other");
            if (is_part && one.size > 0) parts.push_back({one.of, {one.offset, one.offset + one.size}});
        }
        std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
            return a.of != b.of ? a.of < b.of : a.range.begin < b.range.begin;
        });
        for (std::size_t k = 0; k < parts.size(); ++k) {
            const Tensor& one = tensors[parts[k].of];
            const bool meet =
                k > 0 && parts[k - 1].of == parts[k].of && parts[k - 1].range.end > parts[k].range.begin;
            const bool is_slice = one.of != kNone && has(tensors[one.of].readers, one.maker);
            know(!meet && !is_slice, "parts of '", one.id, "' would be written over");
        }
    }

    void read_pairs(const Json& value, Index v) {
        Operator& one = operators[v];
        std::unordered_set<std::uint64_t> known;
        for (const Json& names : value.list("in_place")) {
            const auto& ends = names.pair();
            const Index source = tensor_of(ends[0]), target = tensor_of(ends[1]);
            know(has(one.inputs, source) && tensors[target].maker == v,
                 "a pair in place is not of an input and an output");
            bool is_data = true;
            for (const Index t : {source, target}) {
                const bool elsewhere = tensors[t].kind == Kind::external;
                know(!tensors[t].viewed && (elsewhere || tensors[t].kind == Kind::data), "'", tensors[t].id,
                     "' cannot be in place");
                is_data = is_data && !elsewhere;
            }
            const bool is_new = known.insert(key(source, target)).second;
            if (is_data && is_new) one.in_place.emplace_back(source, target);
        }
    }

    void read_objective(const Json* objective) {
        if (objective == nullptr) return;
        const std::string first = objective->list().empty() ? "" : objective->items[0].string();
        about_peaks = first == "max_peak" || first == "peak" || first == "peak:" + pool.id;
    }

    void check_circles() const {
        std::vector<std::size_t> waits(operators.size());
        std::vector<Indices> after(operators.size());
        Indices ready;
        for (Index v = 0; v < operators.size(); ++v) {
            waits[v] = before[v].size();
            for (const Index u : before[v]) after[u].push_back(v);
            if (waits[v] == 0) ready.push_back(v);
        }
        for (std::size_t k = 0; k < ready.size(); ++k) {
            for (const Index w : after[ready[k]]) {
                if (--waits[w] == 0) ready.push_back(w);
            }
        }
        know(ready.size() == operators.size(), "operators wait for each other");
    }

    static constexpr std::size_t kMost = 10'000'000;
    Bytes all_bytes_ = 0, all_phases_ = 0;
    std::unordered_map<std::string, Index> tensor_index_, operator_index_;
    std::vector<std::pair<Index, Bytes>> roots_;  // by tensor
    std::unordered_set<std::string> ids_;
};

// ---------------------------------------------------------------------------------------------------------------
// The plan: an order, and where everything lies

class Plan {
  public:
    Plan(const Graph& graph, const Json& document) : graph_(graph) {
        const std::string& state = document["status"].string();
        infeasible = state == "infeasible";
        if (infeasible) return;
        know(state == "optimal" || state == "feasible", "the status is '", state, "': there is no plan");
        know(graph.about_peaks, "the objective does not begin with the peak");
        read_order(document.find("schedule", true));
        live();
        place(document["placements"].list());
        check_overlaps();
    }

    bool infeasible = false;
    Bytes peak = 0;

  private:
    struct Buffer {
        const std::string* id;
        Bytes size, alignment;
        Range life;
        Index tensor;  // kNone: a temporary
        Bytes offset = -1;
    };

    void read_order(const Json* schedule) {
        for (Index v = 0; schedule == nullptr && v < graph_.operators.size(); ++v) order_.push_back(v);
        if (schedule != nullptr) {
            schedule->has_only({"order", "alternatives", "stripes", "spills"});
            for (const std::string_view more : {"alternatives", "stripes", "spills"})
                know(schedule->list(more, true).empty(), "the schedule does more than order");
            for (const Json& name : (*schedule)["order"].list()) {
                const auto v = graph_.operator_named(name.string());
                must(v.has_value(), "the order has '", name.text, "', which is no operator");
                order_.push_back(*v);
            }
        }
        std::vector<char> done(graph_.operators.size());
        for (const Index v : order_) {
            const std::string& id = graph_.operators[v].id;
            know(done[v] == 0, "'", id, "' runs twice");
            for (const Index u : graph_.before[v])
                must(done[u] != 0, "'", id, "' runs before '", graph_.operators[u].id, "'");
            done[v] = 1;
        }
        must(order_.size() == graph_.operators.size(), "an operator does not run");
    }

    // "What is live when" of docs/graph.md.
    void live() {
        std::vector<Range> runs(graph_.operators.size());
        Bytes clock = 1;
        for (const Index v : order_) {
            runs[v] = {clock, clock + graph_.operators[v].phases};
            clock = runs[v].end;
        }
        buffer_of_.assign(graph_.tensors.size(), kNone);
        for (Index t = 0; t < graph_.tensors.size(); ++t) {
            const Tensor& one = graph_.tensors[t];
            if (!one.planned) continue;
            Range life = one.maker == kNone ? Range{0, 1} : runs[one.maker];
            for (const Index reader : one.readers) life.end = std::max(life.end, runs[reader].end);
            if (one.to_end || one.kind != Kind::data) life.end = clock;  // of what lives always as well
            buffer_of_[t] = add({&one.id, one.size, one.alignment, life, t});
        }
        for (const Index v : order_) {
            const Operator& runner = graph_.operators[v];
            for (const Temporary& one : runner.temporaries) {
                const Range phases = runner.phases_of(one),
                            life{runs[v].begin + phases.begin, runs[v].begin + phases.end};
                add({&one.id, one.size, one.alignment, life, kNone});
            }
            for (const auto& [source, target] : runner.in_place) {
                const bool dies = buffers_[buffer_of_[source]].life.end == runs[v].end;
                if (dies && !graph_.tensors[source].to_end)
                    may_tie_.insert(key(buffer_of_[source], buffer_of_[target]));
            }
        }
    }

    Index add(Buffer one) {
        const auto number = static_cast<Index>(buffers_.size());
        number_.emplace(*one.id, number);
        buffers_.push_back(one);
        return number;
    }

    void place(const std::vector<Json>& places) {
        const Pool& pool = graph_.pool;
        for (const Json& value : places) {
            value.has_only({"buffer", "pool", "offset"});
            const std::string& id = value["buffer"].string();
            const auto known = number_.find(id);
            must(known != number_.end(), "the plan places '", id, "', which has no place");
            must(value["pool"].string() == pool.id, "the plan names another pool");
            Buffer& one = buffers_[known->second];
            must(one.offset < 0, "the plan places '", id, "' twice");
            one.offset = value["offset"].bytes();
        }
        for (const Buffer& one : buffers_) must(one.offset >= 0, "the plan does not place '", *one.id, "'");
        for (const Buffer& one : buffers_) {
            must(one.size <= pool.end && one.offset <= pool.end - one.size, "'", *one.id,
                 "' ends beyond the pool");
            must(aligned(pool.base, one.offset, one.alignment), "'", *one.id, "' is not aligned");
            if (one.size == 0) continue;
            for (const Range& range : pool.reserved)
                must(one.offset + one.size <= range.begin || range.end <= one.offset, "'", *one.id,
                     "' is in a reserved range");
            peak = std::max(peak, one.offset + one.size);
            if (one.tensor == kNone) continue;
            const auto [outer, distance] = graph_.root(one.tensor);
            must(one.offset == buffers_[buffer_of_[outer]].offset + distance, "'", *one.id,
                 "' is not where it is in what it is a view of");
        }
    }

    void check_overlaps() const {
        std::vector<Placed> placed;
        for (Index i = 0; i < buffers_.size(); ++i) {
            const Buffer& one = buffers_[i];
            if (one.size > 0) placed.push_back({i, 0, one.offset, one.size, one.life});
        }
        each_near(placed, [&](Index i, Index j) {
            const Buffer &one = buffers_[i], &other = buffers_[j];
            if (other.offset + other.size <= one.offset) return;
            if (one.tensor != kNone && other.tensor != kNone &&
                graph_.root(one.tensor).first == graph_.root(other.tensor).first)
                return;
            if (one.offset == other.offset && may_tie_.contains(key(i, j))) return;
            wrong("'" + *one.id + "' and '" + *other.id + "' overlap");
        });
    }

    const Graph& graph_;
    Indices order_, buffer_of_;  // by tensor
    std::vector<Buffer> buffers_;
    std::unordered_map<std::string, Index> number_;
    std::unordered_set<std::uint64_t> may_tie_;
};

// ---------------------------------------------------------------------------------------------------------------
// What an order needs

struct Storage {
    Bytes size = 0;
    Indices begins, ends;  // operators, ascending, each once
    bool from_start = false, to_end = false;
};

struct Pair {
    Index source, target;  // storages
    Bytes bytes;
};

// Operators, and the storages that begin and end with them.
struct Program {
    Bytes base = 0;
    std::vector<Bytes> extra;
    std::vector<Storage> storages;
    std::vector<Indices> before, after, begins_at, ends_at;  // by operator
    std::vector<std::vector<Pair>> pairs;
    std::vector<char> left_out;

    Number work = 0, links = 0;  // of looking at all of this; of those around what is left out

    std::size_t size() const { return extra.size(); }

    // What follows from the rest.
    void complete() {
        for (auto* lists : {&after, &begins_at, &ends_at}) lists->assign(size(), {});
        work = size() + storages.size();
        for (Index v = 0; v < size(); ++v) {
            sort_unique(before[v]);
            work += before[v].size() + pairs[v].size();
            for (const Index u : before[v]) after[u].push_back(v);
        }
        for (Index s = 0; s < storages.size(); ++s) {
            sort_unique(storages[s].begins);
            sort_unique(storages[s].ends);
            work += storages[s].begins.size() + storages[s].ends.size();
            for (const Index v : storages[s].begins) begins_at[v].push_back(s);
            for (const Index v : storages[s].ends) ends_at[v].push_back(s);
        }
    }

    void link(Index u, Index v) { before[v].push_back(u), after[u].push_back(v), ++work; }
    void unlink(Index u, Index v) { before[v].pop_back(), after[u].pop_back(), --work; }  // the latest

    void turn() {
        before = after;
        for (Storage& one : storages) {
            std::swap(one.begins, one.ends);
            std::swap(one.from_start, one.to_end);
        }
        for (auto& some : pairs) {
            for (Pair& one : some) std::swap(one.source, one.target);
        }
        complete();
    }

    // What comes after an operator, or before it, without those in between that are left out.
    void nearest(Index v, const std::vector<Indices>& next, Indices& to, Indices& seen, ProofFile& file) {
        Indices stack{v};
        while (!stack.empty()) {
            const Index at = stack.back();
            stack.pop_back();
            file.work(next[at].size() + 1);
            for (const Index w : next[at]) {
                if (seen[w] == v) continue;
                seen[w] = v;
                (left_out[w] != 0 ? stack : to).push_back(w);
            }
        }
        links += to.size() * (left_out[v] != 0 ? begins_at[v].size() : 1);
        know(links >> 26 == 0, "what is left out links too many operators");  // up to a gigabyte
    }

    void leave_out(const Indices& some, ProofFile& file) {
        left_out.assign(size(), 0);
        for (const Index v : some) left_out[v] = 1;
        std::vector<Indices> earlier(size());
        Indices seen(size(), kNone);
        for (Index v = 0; v < size(); ++v) {
            if (left_out[v] == 0) nearest(v, before, earlier[v], seen, file);
        }
        seen.assign(size(), kNone);
        for (const Index v : some) {
            Indices later;
            nearest(v, after, later, seen, file);
            for (const Index s : begins_at[v]) {
                Indices& begins = storages[s].begins;
                begins.insert(begins.end(), later.begin(), later.end());
            }
            pairs[v].clear();
        }
        const auto is_out = [&](Index v) { return left_out[v] != 0; };
        for (Storage& one : storages) {
            std::erase_if(one.begins, is_out);
            std::erase_if(one.ends, is_out);
        }
        before = std::move(earlier);
        complete();
    }
};

Bytes most_at_once(const Operator& one) {
    std::vector<std::pair<Bytes, Bytes>> changes;
    for (const Temporary& temporary : one.temporaries) {
        const Range phases = one.phases_of(temporary);
        changes.emplace_back(phases.begin, temporary.size);
        changes.emplace_back(phases.end, -temporary.size);
    }
    std::sort(changes.begin(), changes.end());  // what ends at a moment is gone before what begins
    Bytes level = 0, most = 0;
    for (const auto& [moment, change] : changes) most = std::max(most, level += change);
    return most;
}

Program program_of(const Graph& graph) {
    Program program;
    program.before = graph.before;
    program.left_out.assign(graph.operators.size(), 0);
    for (const Operator& one : graph.operators) program.extra.push_back(most_at_once(one));
    std::vector<std::vector<std::pair<Index, Bytes>>> groups(graph.tensors.size());  // by the outermost
    for (Index t = 0; t < graph.tensors.size(); ++t) {
        const Tensor& one = graph.tensors[t];
        const auto [outer, begin] = graph.root(t);
        if (one.kind == Kind::data) groups[outer].emplace_back(t, begin);
        if (one.planned && one.kind != Kind::data) program.base += one.size;
    }
    Indices storage_of(graph.tensors.size(), kNone);
    const auto add = [&](Bytes size, const Indices& over) {
        Storage one;
        one.size = size;
        for (const Index t : over) {
            const Tensor& tensor = graph.tensors[t];
            if (tensor.maker != kNone) one.begins.push_back(tensor.maker);
            one.ends.insert(one.ends.end(), tensor.readers.begin(), tensor.readers.end());
            one.from_start = one.from_start || tensor.from_start;
            one.to_end = one.to_end || tensor.to_end;
        }
        one.ends.insert(one.ends.end(), one.begins.begin(), one.begins.end());
        program.storages.push_back(std::move(one));
    };
    for (Index t = 0; t < graph.tensors.size(); ++t) {
        const auto& group = groups[t];
        if (group.size() == 1) {
            storage_of[t] = static_cast<Index>(program.storages.size());
            add(graph.tensors[t].size, {t});
        }
        if (group.size() < 2) continue;
        std::vector<Bytes> cuts;
        for (const auto& [one, begin] : group) {
            cuts.push_back(begin);
            cuts.push_back(begin + graph.tensors[one].size);
        }
        std::sort(cuts.begin(), cuts.end());
        cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
        for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
            Indices over;
            for (const auto& [one, begin] : group) {
                if (begin <= cuts[k] && cuts[k + 1] <= begin + graph.tensors[one].size) over.push_back(one);
            }
            add(cuts[k + 1] - cuts[k], over);
        }
    }
    for (const Operator& one : graph.operators) {
        auto& pairs = program.pairs.emplace_back();
        for (const auto& [from, to] : one.in_place) {
            const Bytes least = std::min(graph.tensors[from].size, graph.tensors[to].size);
            pairs.push_back({storage_of[from], storage_of[to], least});
        }
    }
    program.complete();
    return program;
}

// The most that a set of these saves, no two of which share a storage: of each choice of targets, by one
// source after the other; or the other way round, where there are fewer sources.
Bytes most_saved(std::vector<Pair> pairs) {
    Indices sources, targets;
    for (const Pair& one : pairs) sources.push_back(one.source), targets.push_back(one.target);
    sort_unique(sources), sort_unique(targets);
    if (sources.size() < targets.size()) {
        std::swap(sources, targets);
        for (Pair& one : pairs) std::swap(one.source, one.target);
    }
    constexpr std::size_t kMostTargets = 12;
    know(targets.size() <= kMostTargets, "an operator has too many pairs in place");
    std::vector<Bytes> best(std::size_t{1} << targets.size(), 0);  // of pairs to no other targets than these
    for (const Index source : sources) {
        const std::vector<Bytes> before = best;
        for (const Pair& one : pairs) {
            if (one.source != source) continue;
            const std::size_t bit = std::size_t{1}
                                    << (std::lower_bound(targets.begin(), targets.end(), one.target) -
                                        targets.begin());
            for (std::size_t some = 0; some < best.size(); ++some) {
                if ((some & bit) != 0) best[some] = std::max(best[some], before[some ^ bit] + one.bytes);
            }
        }
    }
    return best.back();
}

// A set of operators: what is live after it, and who can run next.
class State {
  public:
    State(const Program& program, ProofFile& file)
        : bits((program.size() + 63) / 64),
          program_(program),
          file_(file),
          in_(program.size()),
          place_(program.size(), kNone),
          waits_(program.size()),
          begun_(program.storages.size()),
          left_(program.storages.size()) {
        live = program.base;
        std::uint64_t seed = 1;
        for (Index v = 0; v < program.size(); ++v) {
            seed = seed * 6364136223846793005U + 1442695040888963407U;
            keys_.push_back((seed ^ (seed >> 29)) * 0x9e3779b97f4a7c15U);
            waits_[v] = static_cast<Index>(program.before[v].size());
            if (waits_[v] == 0) make_ready(v);
            whole_ += program.left_out[v] == 0 ? 1U : 0U;
        }
        for (Index s = 0; s < program.storages.size(); ++s) {
            const Storage& one = program.storages[s];
            begun_[s] = one.from_start ? 1 : 0;
            left_[s] = static_cast<Index>(one.ends.size()) + (one.to_end ? 1 : 0);
            if (is_live(s)) live += one.size;
        }
    }

    bool has(Index v) const { return in_[v] != 0; }
    bool whole() const { return count_ == whole_; }
    bool is_live(Index s) const { return begun_[s] > 0 && left_[s] > 0; }

    struct Step {
        Bytes needs, leaves;
    };
    // What an operator needs that runs next, and what is live then.
    Step step(Index v) const {
        file_.work(program_.begins_at[v].size() + program_.ends_at[v].size() + program_.pairs[v].size() + 1);
        Bytes begins = 0, change = 0;
        for (const Index s : program_.begins_at[v]) {
            if (begun_[s] > 0 || left_[s] == 0) continue;
            begins += program_.storages[s].size;
            change += program_.storages[s].size;
        }
        for (const Index s : program_.ends_at[v]) {
            if (left_[s] == 1 && (begun_[s] > 0 || std::binary_search(program_.begins_at[v].begin(),
                                                                      program_.begins_at[v].end(), s)))
                change -= program_.storages[s].size;
        }
        return {live + begins + program_.extra[v] - saved(v), live + change};
    }

    // Takes an operator into the set, or out of it.
    void toggle(Index v) {
        const bool comes = in_[v] == 0;
        file_.work(program_.after[v].size() + 1);
        for (const Index s : program_.begins_at[v]) change(s, begun_, comes ? 1 : kNone);
        for (const Index s : program_.ends_at[v]) change(s, left_, comes ? kNone : 1);
        in_[v] = comes ? 1 : 0;
        comes ? ++count_ : --count_;
        bits[v / 64] ^= std::uint64_t{1} << (v % 64);
        hash ^= keys_[v];
        if (comes && place_[v] != kNone) unready(v);
        for (const Index w : program_.after[v]) {
            if (comes && --waits_[w] == 0 && in_[w] == 0) make_ready(w);
            if (!comes && waits_[w]++ == 0 && place_[w] != kNone) unready(w);
        }
        if (!comes && waits_[v] == 0) make_ready(v);
    }

    // Whether the set has all that comes before these, or lacks all that comes after.
    bool closed_at(Index v) const {
        if (has(v)) return waits_[v] == 0;
        return std::none_of(program_.after[v].begin(), program_.after[v].end(),
                            [&](Index w) { return has(w); });
    }

    // Runs what leaves no more than is live and needs no more than the height, as long as there is any.
    void settle(Bytes height, Indices& ran) {
        for (bool changed = true; changed;) {
            changed = false;
            for (std::size_t k = 0; k < ready.size();) {
                const Index v = ready[k];
                const Step next = step(v);
                if (next.leaves > live || next.needs > height) {
                    ++k;
                    continue;
                }
                toggle(v);
                ran.push_back(v);
                changed = true;
            }
        }
    }

    Bytes live = 0;
    Indices ready;                    // in no particular order
    std::vector<std::uint64_t> bits;  // the set
    std::uint64_t hash = 0;

  private:
    void change(Index s, Indices& counts, Index by) {
        if (is_live(s)) live -= program_.storages[s].size;
        counts[s] += by;
        if (is_live(s)) live += program_.storages[s].size;
    }

    void make_ready(Index v) {
        if (program_.left_out[v] != 0) return;
        place_[v] = static_cast<Index>(ready.size());
        ready.push_back(v);
    }
    void unready(Index v) {
        ready[place_[v]] = ready.back();
        place_[ready.back()] = place_[v];
        place_[v] = kNone;
        ready.pop_back();
    }

    Bytes saved(Index v) const {
        const auto& pairs = program_.pairs[v];
        if (pairs.empty()) return 0;
        std::vector<Pair> had;
        for (const Pair& one : pairs) {
            if (left_[one.source] == 1 && begun_[one.target] == 0) had.push_back(one);
        }
        if (had.size() < 2) return had.empty() ? 0 : had[0].bytes;
        file_.work(had.size() << std::min<std::size_t>(had.size(), 12));
        return most_saved(had);
    }

    const Program& program_;
    ProofFile& file_;
    std::vector<char> in_;
    Indices place_, waits_, begun_, left_;
    std::vector<std::uint64_t> keys_;
    std::size_t count_ = 0, whole_ = 0;
};

// ---------------------------------------------------------------------------------------------------------------
// The proof

// Sets of operators, by their contents and by their numbers.
class KeptSets {
  public:
    explicit KeptSets(std::size_t words) : words_(words), heads_(1024, kNone) {}

    bool has(const State& state) const {
        for (Index at = heads_[state.hash & (heads_.size() - 1)]; at != kNone; at = sets_[at].next) {
            if (is(at, state)) return true;
        }
        return false;
    }

    void add(Number number, const State& state) {
        constexpr std::size_t kMostWords = std::size_t{1} << 27;  // a gigabyte, for proofs of any length
        if (slots_.size() >= kNone - 1 || bits_.size() >= kMostWords)
            not_checked("the proof keeps too many sets");
        if (slots_.size() >= heads_.size()) grow();
        Index at = free_;
        if (at == kNone) {
            at = static_cast<Index>(sets_.size());
            sets_.emplace_back();
            bits_.resize(bits_.size() + words_);
        } else {
            free_ = sets_[at].next;
        }
        Index& head = heads_[state.hash & (heads_.size() - 1)];
        sets_[at] = {state.hash, head};
        head = at;
        std::copy(state.bits.begin(), state.bits.end(), place(at));
        slots_.emplace(number, at);
    }

    // False where there is no such set.
    bool forget(Number number) {
        const auto known = slots_.find(number);
        if (known == slots_.end()) return false;
        const Index at = known->second;
        Index* link = &heads_[sets_[at].hash & (heads_.size() - 1)];
        while (*link != at) link = &sets_[*link].next;
        *link = sets_[at].next;
        sets_[at].next = free_;
        free_ = at;
        slots_.erase(known);
        return true;
    }

  private:
    struct Set {
        std::uint64_t hash = 0;
        Index next = kNone;
    };
    std::vector<std::uint64_t>::iterator place(Index at) {
        return bits_.begin() + static_cast<std::ptrdiff_t>(at * words_);
    }
    bool is(Index at, const State& state) const {
        return sets_[at].hash == state.hash &&
               std::equal(state.bits.begin(), state.bits.end(),
                          bits_.begin() + static_cast<std::ptrdiff_t>(at * words_));
    }
    void grow() {
        heads_.assign(2 * heads_.size(), kNone);
        for (const auto& [number, at] : slots_) {
            Index& head = heads_[sets_[at].hash & (heads_.size() - 1)];
            sets_[at].next = head;
            head = at;
        }
    }

    std::size_t words_;
    Indices heads_;
    std::vector<Set> sets_;
    std::vector<std::uint64_t> bits_;
    std::unordered_map<Number, Index> slots_;
    Index free_ = kNone;
};

// All sets that have what is `inside`, and nothing of what is `outside`, while an operator may run.
struct Between {
    std::vector<char> inside, outside;
    Index running = kNone;
};

class Proof {
  public:
    Proof(const Graph& graph, const std::array<std::uint8_t, 32>& digest, std::streambuf& file, bool shows)
        : graph_(graph), whole_(program_of(graph)), digest_(digest), file_(file), shows_(shows) {}

    // The greatest height that no order keeps to, if the proof shows one.
    std::optional<Bytes> checked() {
        file_.begin("memstow order proof 1\n", digest_);
        using Step = void (Proof::*)();
        constexpr Step kSteps[] = {&Proof::ends,   &Proof::needed,   &Proof::search, &Proof::dead_set,
                                   &Proof::forget, &Proof::conclude, &Proof::first};
        for (Number kind; (kind = file_.number()) != 0; ++file_.step) {
            if (kind > std::size(kSteps)) fail("an unknown kind of step, " + std::to_string(kind));
            const Step step = kSteps[kind - 1];
            (this->*step)();
        }
        file_.end();
        return refuted_;
    }

  private:
    [[noreturn]] void fail(const std::string& why) const { file_.fail(why); }
    std::string id(Index v) const {
        return shows_ ? printable(graph_.operators[v].id) : graph_.operators[v].id;
    }

    Index operator_number() {
        const Number value = file_.number();
        if (value >= program_.size()) fail("there is no operator " + std::to_string(value));
        const auto v = static_cast<Index>(value);
        if (program_.left_out[v] != 0) fail("'" + id(v) + "' is left out");
        return v;
    }

    Indices operator_list(Number least) {
        Indices some;
        file_.ascending(whole_.size(), "operator", [&](Index v) { some.push_back(v); }, least);
        return some;
    }

    void show(std::string_view what, const Indices& some) const {
        std::cout << what;
        for (const Index v : some) std::cout << ' ' << id(v);
    }

    void no_order_within(Bytes height) {
        if (shows_) std::cout << "no order keeps to " << height << " bytes\n";
        if (height >= 0) refuted_ = std::max(refuted_.value_or(0), height);
    }

    // What is there before the first operator, or after the last.
    void ends() {
        Bytes start = whole_.base, end = whole_.base;
        for (const Storage& one : whole_.storages) {
            if (one.from_start) start += one.size;
            if (one.to_end) end += one.size;
        }
        no_order_within(std::max(start, end) - 1);
    }

    // Whether an order keeps to the height of a search matters only there.
    void needed() {
        const Bytes below = needed_by(operator_number()) - 1;
        no_order_within(searches_ ? std::min(height_, below) : below);
    }

    // Of two operators one comes first: not the second one, or some operator would need too much.
    void first() {
        if (!searches_) fail("what comes first before a search");
        const Index u = operator_number(), v = operator_number();
        if (u == v) fail("'" + id(u) + "' before itself");
        if (shows_) std::cout << id(u) << " comes before " << id(v) << ", or ";
        program_.link(v, u);
        const Bytes least = needed_by(operator_number());
        program_.unlink(v, u);
        if (least <= height_) fail("'" + id(v) + "' may come before '" + id(u) + "'");
        if (std::ranges::count(program_.before[v], u) == 0) program_.link(u, v);  // in no order any more
        state_.reset();
        kept_.reset();
    }

    // By the sets after which an operator can run, and the pairs that may save something then.
    Bytes needed_by(Index v) {
        file_.work(program_.work);
        Between between{std::vector<char>(program_.size()), std::vector<char>(program_.size()), v};
        for (const bool later : {false, true}) {
            auto& side = later ? between.outside : between.inside;
            spread(v, later ? program_.after : program_.before,
                   [&](Index w) { return std::exchange(side[w], 1) == 0; });
        }
        between.outside[v] = 1;
        Bytes always = program_.base + program_.extra[v];
        for (const Storage& one : program_.storages) {
            if (always_live(one, between)) always += one.size;
        }
        Indices open;
        for (Index k = 0; k < program_.pairs[v].size(); ++k) {
            const Storage& source = program_.storages[program_.pairs[v][k].source];
            const bool kept =
                source.to_end || std::any_of(source.ends.begin(), source.ends.end(),
                                             [&](Index u) { return u != v && between.outside[u] != 0; });
            if (!kept) open.push_back(k);
        }
        if (shows_) std::cout << id(v) << " needs " << always << " bytes\n";
        return least_of(v, between, always, open, 0);
    }

    // The least that the operator needs if it can save with these pairs alone.
    Bytes least_of(Index v, const Between& between, Bytes always, const Indices& open, int depth) {
        constexpr int kDeepest = 500;
        const auto& pairs = program_.pairs[v];
        const Number kind = file_.number();
        file_.work(open.size());
        if (kind == 1) {
            const Number k = file_.number();
            if (depth >= kDeepest) fail("cases within cases, too deep");
            if (k >= pairs.size() || !has(open, static_cast<Index>(k)))
                fail("a pair that is not in question");
            Indices others, with;
            for (const Index other : open) {
                if (other != k) others.push_back(other);
                const bool meets =
                    pairs[other].source == pairs[k].source || pairs[other].target == pairs[k].target;
                if (other == k || !meets) with.push_back(other);
            }
            if (with.size() == open.size()) fail("a pair that shares no storage with another");
            if (shows_) std::cout << "  without pair " << k << ":\n";
            const Bytes without = least_of(v, between, always, others, depth + 1);
            if (shows_) std::cout << "  with pair " << k << ":\n";
            return std::min(without, least_of(v, between, always, with, depth + 1));
        }
        if (kind != 0) fail("an unknown case, " + std::to_string(kind));
        std::unordered_map<Index, Bytes> granted;  // by target: the most that one of its pairs saves
        std::unordered_map<Index, Index> how_many;
        for (const Index k : open) {
            Bytes& most = granted[pairs[k].target];
            most = std::max(most, pairs[k].bytes);
            ++how_many[pairs[k].target];
        }
        Bytes saved = 0;
        for (const auto& [target, most] : granted) saved += most;
        for (const Index k : open) {
            if (how_many[pairs[k].target] > 1) granted.erase(pairs[k].target);
        }
        Indices usable;  // pairs that a chain may begin with
        for (const Index k : open) {
            if (granted.contains(pairs[k].target)) usable.push_back(k);
        }
        const Bytes chained = chains(between, pairs, usable);
        if (shows_) std::cout << "  saves at most " << saved << ", chains have " << chained << '\n';
        return always - saved + chained;
    }

    static bool always_live(const Storage& one, const Between& between) {
        const auto begun = [&](Index v) { return between.inside[v] != 0 || v == between.running; };
        return (one.from_start || std::any_of(one.begins.begin(), one.begins.end(), begun)) &&
               never_ends(one, between);
    }
    static bool never_ends(const Storage& one, const Between& between) {
        return one.to_end || std::any_of(one.ends.begin(), one.ends.end(),
                                         [&](Index v) { return between.outside[v] != 0; });
    }

    // The bytes of chains: of each, some storage is live in each of the sets, or its pair saves nothing.
    Bytes chains(const Between& between, const std::vector<Pair>& pairs, const Indices& usable) {
        Bytes total = 0;
        used_.clear();
        used_pairs_.clear();
        known_.resize(program_.size(), 0);
        for (Number count = file_.number(); count > 0; --count) {
            const Bytes amount = file_.amount();
            const Number start = file_.number();
            ++known_round_;
            file_.work(usable.size());
            if (start > 0) {
                if (start > pairs.size() || !has(usable, static_cast<Index>(start - 1)))
                    fail("a chain that begins with a pair that is not in question");
                const Pair& pair = pairs[start - 1];
                spend(used_pairs_[pair.target], amount, pair.bytes);
                for (const Index u : program_.storages[pair.source].ends) {
                    if (u != between.running) know(between, u);
                }
            }
            Number left = file_.number();
            if (left == 0) fail("a chain without a storage");
            for (; left > 0; --left) {
                const Number number = file_.number();
                if (number >= program_.storages.size()) fail("there is no storage " + std::to_string(number));
                const Storage& one = program_.storages[number];
                file_.work(one.begins.size() + one.ends.size());
                const auto begun = [&](Index u) {
                    return between.inside[u] != 0 || u == between.running || known_[u] == known_round_;
                };
                if (!one.from_start && std::none_of(one.begins.begin(), one.begins.end(), begun))
                    fail("storage " + std::to_string(number) + " of a chain need not have begun");
                if (always_live(one, between)) fail("a storage of a chain is live anyway");
                if (never_ends(one, between) != (left == 1))
                    fail("the last storage of a chain is not the one that ends in none of the sets");
                spend(used_[static_cast<Index>(number)], amount, one.size);
                if (left == 1) continue;
                for (const Index u : one.ends) know(between, u);
            }
            total += amount;
        }
        return total;
    }

    void spend(Bytes& used, Bytes amount, Bytes most) const {
        if (amount == 0 || amount > most - used) fail("chains have no bytes, or more than there are");
        used += amount;
    }

    // An operator is done, and so is all that comes before it.
    void know(const Between& between, Index v) {
        const auto is_new = [&](Index u) {
            return between.inside[u] == 0 && std::exchange(known_[u], known_round_) != known_round_;
        };
        if (is_new(v)) spread(v, program_.before, is_new);
    }

    template <typename IsNew>
    void spread(Index v, const std::vector<Indices>& next, const IsNew& is_new) {
        stack_.assign(1, v);
        while (!stack_.empty()) {
            const Index at = stack_.back();
            stack_.pop_back();
            file_.work(next[at].size() + 1);
            std::copy_if(next[at].begin(), next[at].end(), std::back_inserter(stack_), is_new);
        }
    }

    // From here on sets are of these operators, at this height.
    void search() {
        height_ = file_.amount();
        const Number direction = file_.number();
        if (direction > 1) fail("an unknown direction");
        const Indices out = operator_list(0);
        if (shows_) {
            std::cout << "a search at height " << height_ << (direction == 1 ? ", backwards" : "");
            show(out.empty() ? "" : ", without", out);
            std::cout << '\n';
        }
        program_ = whole_;
        if (!out.empty()) program_.leave_out(out, file_);
        file_.work(program_.work);
        if (direction == 1) program_.turn();
        state_.reset();
        kept_.reset();
        searches_ = true;
    }

    // The set that was stated last: at first none, of an order that keeps to what was shown to come first.
    State& state() {
        if (!searches_) fail("a set before a search");
        if (state_) return *state_;
        file_.work(program_.work);
        state_.emplace(program_, file_);
        kept_.emplace(state_->bits.size());
        between_ = {std::vector<char>(program_.size()), std::vector<char>(program_.size()), kNone};
        made_ = 0;
        return *state_;
    }

    void dead_set() {
        State& at = state();
        const Indices changes = operator_list(0);
        for (const Index v : changes) {
            if (program_.left_out[v] != 0) fail("'" + id(v) + "' is left out");
            at.toggle(v);
        }
        for (const Index v : changes) {
            if (!at.closed_at(v)) fail("the set has '" + id(v) + "' and not all before it, or lacks it");
        }
        if (at.whole()) fail("a dead set of all operators");
        if (shows_) {
            show("dead set " + std::to_string(made_) + ": changes", changes);
            std::cout << '\n';
        }
        const Number rule = file_.number();
        if (rule > 1) fail("an unknown rule, " + std::to_string(rule));
        rule == 0 ? next() : commit();
        kept_->add(made_++, at);
    }

    // Whether the set, with others or without those of them that it has, is dead when it has settled; it is
    // as before then.
    void expect_dead(const Indices& others) {
        State& at = *state_;
        ran_ = others;
        for (const Index v : others) at.toggle(v);
        at.settle(height_, ran_);
        const bool is_dead = kept_->has(at);
        for (; !ran_.empty(); ran_.pop_back()) at.toggle(ran_.back());
        if (!is_dead) fail("a set leads to one that is not known to be dead");
    }

    void next() {
        feasible_.clear();
        for (const Index v : state_->ready) {
            if (state_->step(v).needs <= height_) feasible_.push_back(v);
        }
        one_.resize(1);
        for (const Index v : feasible_) {
            one_[0] = v;
            expect_dead(one_);
        }
    }

    // To a larger set: no set in between has fewer live bytes.
    void commit() {
        State& at = *state_;
        const Indices more = operator_list(1);
        file_.work(program_.size());
        if (shows_) {
            show("  commit to", more);
            std::cout << '\n';
        }
        for (const Index v : more) {
            if (at.has(v) || program_.left_out[v] != 0) fail("a commit to '" + id(v) + "', which is done");
        }
        for (Index v = 0; v < program_.size(); ++v) {
            between_.inside[v] = at.has(v) ? 1 : 0;
            between_.outside[v] = at.has(v) ? 0 : 1;
        }
        for (const Index v : more) between_.outside[v] = 0;
        Indices touched;
        for (const Index v : more) {
            touched.insert(touched.end(), program_.begins_at[v].begin(), program_.begins_at[v].end());
            touched.insert(touched.end(), program_.ends_at[v].begin(), program_.ends_at[v].end());
        }
        sort_unique(touched);
        Bytes least = chains(between_, {}, {});
        for (const Index s : touched) {
            if (always_live(program_.storages[s], between_)) least += program_.storages[s].size;
        }
        for (const Index v : more) at.toggle(v);
        bool closed = true;
        for (const Index v : more) closed = closed && at.closed_at(v);
        Bytes then = 0;
        for (const Index s : touched) {
            if (at.is_live(s)) then += program_.storages[s].size;
        }
        for (const Index v : more) at.toggle(v);
        if (!closed) fail("a commit to a set that lacks what comes before one of its operators");
        if (least < then) fail("a set on the way to a commit may have fewer live bytes");
        expect_dead(more);
    }

    void forget() {
        for (Number count = file_.number(); count > 0; --count) {
            const Number back = file_.number();
            if (!kept_ || back == 0 || back > made_ || !kept_->forget(made_ - back))
                fail("there is no such set");
            if (shows_) std::cout << "forget dead set " << made_ - back << '\n';
        }
    }

    void conclude() {
        State& at = state();
        Indices members;
        file_.work(program_.size());
        for (Index v = 0; v < program_.size(); ++v) {
            if (at.has(v)) members.push_back(v);
        }
        expect_dead(members);
        no_order_within(height_);
    }

    const Graph& graph_;
    const Program whole_;
    Program program_ = whole_;  // that of the search at hand, if there is one
    const std::array<std::uint8_t, 32>& digest_;
    ProofFile file_;
    const bool shows_;
    std::optional<Bytes> refuted_;
    // Of the search at hand:
    bool searches_ = false;
    Bytes height_ = 0;
    std::optional<State> state_;
    std::optional<KeptSets> kept_;
    Between between_;
    Number made_ = 0;
    // To work with:
    Indices ran_, feasible_, one_, stack_;
    std::unordered_map<Index, Bytes> used_, used_pairs_;
    std::vector<Number> known_;
    Number known_round_ = 0;
};

// ---------------------------------------------------------------------------------------------------------------

// Without a plan the steps are printed.
Verdict compared(const std::string& graph_text, const std::string* plan_text, std::streambuf& file) {
    const Graph graph(JsonReader(graph_text, "the graph").document());
    std::optional<Plan> plan;
    if (plan_text != nullptr) plan.emplace(graph, JsonReader(*plan_text, "the plan").document());
    const auto digest = sha256_of(graph_text);
    const std::optional<Bytes> refuted = Proof(graph, digest, file, plan_text == nullptr).checked();
    if (!plan) return {verified, ""};
    const Bytes shown = refuted.value_or(-1);
    if (plan->infeasible) {
        must(shown >= room(graph.pool, graph.pool.end),
             "the plan says infeasible, but the proof does not show it");
        return {verified, "verified: no order fits into " + std::to_string(graph.pool.end) + " bytes",
                shown + 1};
    }
    must(shown < room(graph.pool, plan->peak), "the proof contradicts the plan");
    const std::string peak = std::to_string(plan->peak);
    if (plan->peak == 0 || shown >= room(graph.pool, plan->peak - 1))
        return {verified,
                "verified: peak " + peak + " is least of all orders and layouts",
                plan->peak,
                {plan->peak}};
    return {weaker,
            "the plan is right, but its peak " + peak + " is not proven least: only that in each order " +
                std::to_string(shown + 1) + " bytes are live at once",
            shown + 1,
            {shown + 1}};
}

}  // namespace

}  // namespace orders

#ifndef MEMSTOW_CHECK_WITHIN  // another program has a `main` of its own

int main(int count, char** words) {
    return checker::program(count, words, "memstow-check-order", "GRAPH", orders::compared);
}

#endif
