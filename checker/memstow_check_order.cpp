// memstow-check-order: reads a graph, a plan and a proof, and says whether the plan is right and its peak the
// least of all orders and layouts.
//
// Copyright the authors of memstow. Licensed under the Apache License, Version 2.0 (the file LICENSE).
//
// Written from docs/proofs.md alone ("Orders of graphs"), whose words it uses; it shares no code with
// memstow. What it does not know in a graph it refuses. It keeps the graph and those dead sets that a proof
// has not forgotten, nothing else.
#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "reading.hpp"

namespace orders {
namespace {

using namespace checker;

using Index = std::uint32_t;  // of a tensor, an operator or a storage
using Indices = std::vector<Index>;

constexpr Index kNone = std::numeric_limits<Index>::max();
constexpr Bytes kMostBytes = Bytes{1} << 61;  // of all together: no sum overflows

void sort_unique(Indices& some) {
    std::sort(some.begin(), some.end());
    some.erase(std::unique(some.begin(), some.end()), some.end());
}

bool has(const Indices& some, Index one) { return std::find(some.begin(), some.end(), one) != some.end(); }

Bytes least_common_multiple(Bytes a, Bytes b) {
    Bytes divisor = a, rest = b;
    while (rest != 0) divisor = std::exchange(rest, divisor % rest);
    if (a / divisor > kLimit / b) not_checked("an alignment is beyond 2^62");
    return a / divisor * b;
}

// ---------------------------------------------------------------------------------------------------------------
// The graph

struct Pool {
    std::string id = "memory";
    Bytes end = kLimit, alignment = 1, base = 0;
    std::vector<std::pair<Bytes, Bytes>> reserved;  // sorted, disjoint

    // The bytes below an end that are not reserved.
    Bytes room(Bytes below) const {
        Bytes free = below;
        for (const auto& [begin, last] : reserved) free -= std::max(std::min(last, below) - begin, Bytes{0});
        return free;
    }
};

enum class Kind { data, constant, state, external };

struct Tensor {
    std::string id;
    Bytes size = 0, alignment = 1;
    Kind kind = Kind::data;
    bool planned = true;
    Index maker = kNone;  // of data and what lies elsewhere
    Indices readers;      // ascending, each once
    bool from_start = false, to_end = false;
    Index of = kNone;  // the tensor that it lies in
    Bytes offset = 0;  // there
};

struct Temporary {
    std::string id;
    Bytes size = 0, alignment = 1;
    std::optional<std::pair<Bytes, Bytes>> phases;
};

struct Operator {
    std::string id;
    Indices inputs, outputs;
    std::vector<Temporary> temporaries;
    std::vector<std::pair<Index, Index>> in_place;  // pairs of data, each once
    Bytes phases = 1;
};

class Graph {
  public:
    explicit Graph(const Json& document) {
        known_fields(document, "the graph",
                     {"version", "name", "pools", "tensors", "operators", "inputs", "outputs", "before",
                      "views", "order", "alternatives", "objective", "limits"});
        if (const Json* version = document.find("version")) {
            if (integer(*version, "the version") != 1) not_checked("the version is not 1");
        }
        if (const Json* others = document.find("alternatives")) {
            if (!list_of(*others, "alternatives").empty()) not_checked("the graph has alternatives");
        }
        if (given(document, "limits", true) != nullptr) not_checked("the graph has limits");
        read_pool(document.find("pools"));
        for (const Json& one : member(document, "tensors")) read_tensor(one);
        for (const Json& one : member(document, "operators")) read_operator(one);
        for (const Json& one : member(document, "inputs")) tensors[tensor_of(one)].from_start = true;
        for (const Json& one : member(document, "outputs")) tensors[tensor_of(one)].to_end = true;
        link();
        for (const Json& one : member(document, "before")) {
            const auto& pair = two_of(one, "before");
            before[operator_of(pair[1])].push_back(operator_of(pair[0]));
        }
        for (Indices& some : before) sort_unique(some);
        for (const Json& one : member(document, "views")) read_view(one);
        check_views();
        read_pairs(document);
        read_objective(given(document, "objective", true));
        if (ordered(Indices{}).size() < operators.size()) not_checked("operators wait for each other");
    }
    Graph(const Graph&) = delete;

    Pool pool;
    std::vector<Tensor> tensors;
    std::vector<Operator> operators;
    std::vector<Indices> before;  // by operator: who must run earlier
    bool about_peaks = true;

    // The operators, each after those before it, the least first; those in a circle are missing.
    Indices ordered(Indices order) const {
        std::vector<std::size_t> waits(operators.size());
        std::vector<Indices> after(operators.size());
        for (Index v = 0; v < operators.size(); ++v) {
            waits[v] = before[v].size();
            for (const Index u : before[v]) after[u].push_back(v);
            if (waits[v] == 0) order.push_back(v);
        }
        std::make_heap(order.begin(), order.end(), std::greater<>());
        Indices sorted;
        while (!order.empty()) {
            std::pop_heap(order.begin(), order.end(), std::greater<>());
            const Index v = order.back();
            order.pop_back();
            sorted.push_back(v);
            for (const Index w : after[v]) {
                if (--waits[w] > 0) continue;
                order.push_back(w);
                std::push_heap(order.begin(), order.end(), std::greater<>());
            }
        }
        return sorted;
    }

    std::optional<Index> operator_named(const std::string& id) const {
        const auto known = operator_index_.find(id);
        return known == operator_index_.end() ? std::nullopt : std::optional(known->second);
    }

  private:
    // A list that may be left out.
    static const std::vector<Json>& member(const Json& object, std::string_view name) {
        static const std::vector<Json> nothing;
        const Json* list = object.find(name);
        return list == nullptr ? nothing : list_of(*list, std::string(name));
    }
    static const std::vector<Json>& two_of(const Json& pair, const std::string& where) {
        if (list_of(pair, where).size() != 2) not_checked(where + " has something that is no pair");
        return pair.items;
    }

    Index tensor_of(const Json& name) const {
        const auto known = tensor_index_.find(text_of(name, "the name of a tensor"));
        if (known == tensor_index_.end()) not_checked("there is no tensor '" + name.text + "'");
        return known->second;
    }
    Index operator_of(const Json& name) const {
        const auto known = operator_named(text_of(name, "the name of an operator"));
        if (!known) not_checked("there is no operator '" + name.text + "'");
        return *known;
    }

    const std::string& new_id(const Json& value, const std::string& what,
                              std::unordered_set<std::string>& taken) const {
        const Json* id = value.find("id");
        if (id == nullptr) not_checked(what + " has no id");
        if (!taken.insert(text_of(*id, "the id of " + what)).second)
            not_checked("'" + id->text + "' is an id twice");
        return id->text;
    }

    void read_pool(const Json* list) {
        if (list == nullptr || list_of(*list, "pools").empty()) return;
        if (list->items.size() > 1) not_checked("the graph has several pools");
        const Json& value = list->items[0];
        known_fields(value, "the pool", {"id", "capacity", "alignment", "reserved", "base", "cost"});
        const Json* id = value.find("id");
        if (id == nullptr) not_checked("the pool has no id");
        pool.id = text_of(*id, "the id of the pool");
        if (const Json* size = given(value, "capacity", true)) pool.end = bytes(*size, "the capacity");
        if (const Json* by = given(value, "alignment", false))
            pool.alignment = bytes(*by, "the alignment", 1);
        if (const Json* base = given(value, "base", true)) pool.base = bytes(*base, "the base");
        std::vector<std::pair<Bytes, Bytes>> ranges;
        for (const Json& one : member(value, "reserved")) {
            known_fields(one, "a reserved range", {"offset", "size"});
            const Json *offset = one.find("offset"), *size = one.find("size");
            if (offset == nullptr || size == nullptr)
                not_checked("a reserved range lacks its offset or size");
            const Bytes begin = bytes(*offset, "a reserved offset"),
                        length = bytes(*size, "a reserved size", 1);
            if (length > pool.end || begin > pool.end - length)
                not_checked("a reserved range ends beyond the pool");
            ranges.emplace_back(begin, begin + length);
        }
        std::sort(ranges.begin(), ranges.end());
        for (const auto& [begin, end] : ranges) {
            if (pool.reserved.empty() || begin > pool.reserved.back().second)
                pool.reserved.emplace_back(begin, end);
            pool.reserved.back().second = std::max(pool.reserved.back().second, end);
        }
    }

    // Size, alignment and pools of a tensor or a temporary; whether pools are named.
    template <typename One>
    bool read_place(const Json& value, One& one) {
        const std::string of = " of '" + one.id + "'";
        if (const Json* size = given(value, "size", true)) one.size = bytes(*size, "the size" + of);
        if (const Json* by = given(value, "alignment", false))
            one.alignment = bytes(*by, "the alignment" + of, 1);
        one.alignment = least_common_multiple(one.alignment, pool.alignment);
        const Json* allowed = given(value, "pools", true);
        if (allowed == nullptr) return false;
        const auto& names = list_of(*allowed, "the pools" + of);
        if (names.size() != 1 || text_of(names[0], "a pool" + of) != pool.id)
            not_checked("the pools" + of + " are not the one that there is");
        return true;
    }

    void add_bytes(Bytes size) {
        if (size > kMostBytes - all_bytes_) not_checked("all bytes together are beyond 2^61");
        all_bytes_ += size;
    }

    static Bytes shape_bytes(const Json& shape, const Json& type, const std::string& of) {
        static const std::unordered_map<std::string_view, Bytes> kBits{
            {"int2", 2},        {"uint2", 2},    {"int4", 4},      {"uint4", 4},    {"float4", 4},
            {"bool", 8},        {"int8", 8},     {"uint8", 8},     {"float8", 8},   {"int16", 16},
            {"uint16", 16},     {"float16", 16}, {"bfloat16", 16}, {"int32", 32},   {"uint32", 32},
            {"float32", 32},    {"int64", 64},   {"uint64", 64},   {"float64", 64}, {"complex64", 64},
            {"complex128", 128}};
        const auto known = kBits.find(text_of(type, "the type" + of));
        if (known == kBits.end()) not_checked("the type" + of + " is unknown");
        Bytes bits = known->second;
        bool nothing = false;
        for (const Json& value : list_of(shape, "the shape" + of)) {
            const Bytes extent = bytes(value, "the shape" + of);
            nothing = nothing || extent == 0;
            if (extent != 0 && bits > kLimit / extent) not_checked("the shape" + of + " is too large");
            bits *= std::max(extent, Bytes{1});
        }
        return nothing ? 0 : bits / 8 + (bits % 8 != 0 ? 1 : 0);
    }

    void read_tensor(const Json& value) {
        known_fields(value, "a tensor",
                     {"id", "size", "shape", "type", "kind", "alignment", "pools", "name"});
        Tensor one;
        one.id = new_id(value, "a tensor", ids_);
        const std::string of = " of '" + one.id + "'";
        if (const Json* kind = given(value, "kind", false)) {
            const std::string& name = text_of(*kind, "the kind" + of);
            if (name == "constant")
                one.kind = Kind::constant;
            else if (name == "state")
                one.kind = Kind::state;
            else if (name == "external")
                one.kind = Kind::external;
            else if (name != "data")
                not_checked("the kind" + of + " is unknown");
        }
        const bool has_pools = read_place(value, one);
        one.planned =
            one.kind == Kind::data || one.kind == Kind::state || (one.kind == Kind::constant && has_pools);
        const Json *shape = given(value, "shape", true), *type = given(value, "type", true);
        const bool sized = given(value, "size", true) != nullptr;
        if (shape != nullptr && type != nullptr) {
            const Bytes least = shape_bytes(*shape, *type, of);
            if (sized && one.size < least) not_checked("the size" + of + " is less than its shape says");
            if (!sized) one.size = least;
        } else if (!sized) {
            not_checked("'" + one.id + "' has no size");
        }
        if (one.planned) add_bytes(one.size);
        if (tensors.size() >= kMost) not_checked("the graph has too many tensors");
        tensor_index_.emplace(one.id, static_cast<Index>(tensors.size()));
        tensors.push_back(std::move(one));
    }

    void read_operator(const Json& value) {
        known_fields(value, "an operator",
                     {"id", "type", "inputs", "outputs", "temporaries", "in_place", "cost", "window"});
        Operator one;
        one.id = new_id(value, "an operator", operator_ids_);
        for (const Json& name : member(value, "inputs")) one.inputs.push_back(tensor_of(name));
        for (const Json& name : member(value, "outputs")) one.outputs.push_back(tensor_of(name));
        sort_unique(one.inputs);
        for (const Json& inside : member(value, "temporaries")) {
            known_fields(inside, "a temporary", {"id", "size", "phases", "alignment", "pools"});
            Temporary temporary;
            temporary.id = new_id(inside, "a temporary", ids_);
            if (given(inside, "size", true) == nullptr) not_checked("'" + temporary.id + "' has no size");
            read_place(inside, temporary);
            add_bytes(temporary.size);
            if (const Json* phases = given(inside, "phases", true)) {
                const auto& pair = two_of(*phases, "the phases of '" + temporary.id + "'");
                const Bytes begin = bytes(pair[0], "a phase"), end = bytes(pair[1], "a phase");
                if (begin >= end) not_checked("'" + temporary.id + "' has no phase");
                temporary.phases.emplace(begin, end);
                one.phases = std::max(one.phases, end);
            }
            one.temporaries.push_back(std::move(temporary));
        }
        if (one.phases > kMostBytes - all_phases_) not_checked("the phases are beyond 2^61");
        all_phases_ += one.phases;
        if (operators.size() >= kMost) not_checked("the graph has too many operators");
        operator_index_.emplace(one.id, static_cast<Index>(operators.size()));
        operators.push_back(std::move(one));
    }

    // Who makes and who reads each tensor, and who waits for whom.
    void link() {
        before.resize(operators.size());
        std::vector<Index> writer(tensors.size(), kNone);  // of states: the latest
        std::vector<Indices> since(tensors.size());        // and who has only read it since
        for (Index v = 0; v < operators.size(); ++v) {
            for (const Index t : operators[v].inputs) tensors[t].readers.push_back(v);
            for (const Index t : operators[v].outputs) {
                Tensor& one = tensors[t];
                if (one.kind == Kind::state) continue;
                if (one.maker != kNone || one.from_start || one.kind == Kind::constant)
                    not_checked("'" + one.id + "' is made although it is there");
                one.maker = v;
            }
            Indices states;
            for (const auto* names : {&operators[v].inputs, &operators[v].outputs}) {
                for (const Index t : *names) {
                    if (tensors[t].kind == Kind::state) states.push_back(t);
                }
            }
            sort_unique(states);
            for (const Index t : states) {
                if (writer[t] != kNone) before[v].push_back(writer[t]);
                if (!has(operators[v].outputs, t)) {
                    since[t].push_back(v);
                    continue;
                }
                before[v].insert(before[v].end(), since[t].begin(), since[t].end());
                since[t].clear();
                writer[t] = v;
            }
        }
        for (const Tensor& one : tensors) {
            if (one.kind == Kind::data && one.maker == kNone && !one.from_start)
                not_checked("nobody makes '" + one.id + "'");
            for (const Index reader : one.readers) {
                if (one.maker != kNone) before[reader].push_back(one.maker);
            }
        }
    }

    void read_view(const Json& value) {
        known_fields(value, "a view", {"tensor", "of", "offset"});
        const Json *inner = value.find("tensor"), *outer = value.find("of");
        if (inner == nullptr || outer == nullptr) not_checked("a view lacks a tensor");
        Tensor& one = tensors[tensor_of(*inner)];
        const Index of = tensor_of(*outer);
        if (one.of != kNone) not_checked("'" + one.id + "' is a view twice");
        one.of = of;
        if (const Json* offset = given(value, "offset", false))
            one.offset = bytes(*offset, "the offset of a view");
        const Tensor& around = tensors[of];
        if (one.kind != Kind::data || around.kind != Kind::data) not_checked("a view is not of data");
        if (one.size > around.size || one.offset > around.size - one.size)
            not_checked("'" + one.id + "' ends beyond what it is a view of");
    }

    // Each tensor of a group lives as long as another that it lies in, or one is made where the other is
    // read.
    void check_views() const {
        struct Part {
            Index of;
            Bytes begin, end;
        };
        std::vector<Part> parts;  // what is written into its place
        for (Index t = 0; t < tensors.size(); ++t) {
            const Tensor& one = tensors[t];
            if (one.of == kNone) continue;
            Index outer = t;
            for (std::size_t k = 0; tensors[outer].of != kNone; ++k) {
                if (k > tensors.size()) not_checked("views lie in each other");
                outer = tensors[outer].of;
            }
            const Tensor& around = tensors[one.of];
            const bool is_part = around.maker != kNone && has(one.readers, around.maker);
            const bool is_slice = one.maker != kNone && has(around.readers, one.maker);
            if (!is_part && !is_slice && (one.maker != kNone || around.maker != kNone))
                not_checked("neither of '" + one.id + "' and '" + around.id + "' is made from the other");
            if (is_part && one.size > 0) parts.push_back({one.of, one.offset, one.offset + one.size});
        }
        std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
            return a.of != b.of ? a.of < b.of : a.begin < b.begin;
        });
        for (std::size_t k = 0; k < parts.size(); ++k) {
            const Tensor& around = tensors[parts[k].of];
            if (k > 0 && parts[k - 1].of == parts[k].of && parts[k - 1].end > parts[k].begin)
                not_checked("parts of '" + around.id + "' overlap");
            if (around.of != kNone && has(tensors[around.of].readers, around.maker))
                not_checked("a part of '" + around.id + "', which is a slice, would be written over");
        }
    }

    void read_pairs(const Json& document) {
        std::vector<char> viewed(tensors.size());
        for (Index t = 0; t < tensors.size(); ++t) {
            if (tensors[t].of != kNone) viewed[t] = viewed[tensors[t].of] = 1;
        }
        const std::vector<Json>& list = member(document, "operators");
        for (Index v = 0; v < operators.size(); ++v) {
            for (const Json& value : member(list[v], "in_place")) {
                const auto& pair = two_of(value, "in_place");
                const Index source = tensor_of(pair[0]), target = tensor_of(pair[1]);
                if (!has(operators[v].inputs, source) || !has(operators[v].outputs, target))
                    not_checked("a pair in place is not of an input and an output");
                for (const Index t : {source, target}) {
                    const Kind kind = tensors[t].kind;
                    if (viewed[t] != 0 || (kind != Kind::data && kind != Kind::external))
                        not_checked("'" + tensors[t].id + "' cannot be in place");
                }
                auto& known = operators[v].in_place;
                const auto entry = std::pair(source, target);
                const bool is_data = tensors[source].kind == Kind::data && tensors[target].kind == Kind::data;
                if (is_data && std::find(known.begin(), known.end(), entry) == known.end())
                    known.push_back(entry);
            }
        }
    }

    void read_objective(const Json* objective) {
        if (objective == nullptr) return;
        const auto& terms = list_of(*objective, "the objective");
        const std::string first = terms.empty() ? "" : text_of(terms[0], "the objective");
        about_peaks = first == "max_peak" || first == "peak" || first == "peak:" + pool.id;
    }

    static constexpr std::size_t kMost = 10'000'000;
    Bytes all_bytes_ = 0, all_phases_ = 0;
    std::unordered_map<std::string, Index> tensor_index_, operator_index_;
    std::unordered_set<std::string> ids_, operator_ids_;
};

// ---------------------------------------------------------------------------------------------------------------
// The plan: an order, and where everything lies

struct Plan {
    bool infeasible = false;
    Bytes peak = 0;
};

class CheckedPlan {
  public:
    CheckedPlan(const Graph& graph, const Json& document) : graph_(graph) {
        if (document.kind != Json::Kind::object) not_checked("the plan is no object");
        const Json *status = document.find("status"), *places = document.find("placements");
        if (status == nullptr) not_checked("the plan has no status");
        const std::string& state = text_of(*status, "the status");
        plan.infeasible = state == "infeasible";
        if (plan.infeasible) return;
        if (state != "optimal" && state != "feasible")
            not_checked("the status is '" + state + "': there is no plan");
        if (places == nullptr) not_checked("the plan has no placements");
        if (!graph.about_peaks) not_checked("the objective does not begin with the peak");
        read_order(given(document, "schedule", true));
        live();
        place(list_of(*places, "placements"));
        check_overlaps();
    }

    Plan plan;

  private:
    struct Buffer {
        const std::string* id;
        Bytes size, alignment;
        Bytes begin, end;  // of its life; of what lives always, more than all
        Index tensor;      // kNone: a temporary
        Bytes offset = -1;
    };

    void read_order(const Json* schedule) {
        if (schedule == nullptr) {
            for (Index v = 0; v < graph_.operators.size(); ++v) order_.push_back(v);
        } else {
            known_fields(*schedule, "the schedule", {"order", "alternatives", "stripes", "spills"});
            for (const std::string_view more : {"alternatives", "stripes", "spills"}) {
                const Json* list = given(*schedule, more, true);
                if (list != nullptr && !list_of(*list, "the schedule").empty())
                    not_checked("the schedule does more than order");
            }
            const Json* order = schedule->find("order");
            if (order == nullptr) not_checked("the schedule has no order");
            for (const Json& name : list_of(*order, "the order")) {
                const auto v = graph_.operator_named(text_of(name, "the order"));
                if (!v) wrong("the order has '" + name.text + "', which is no operator");
                order_.push_back(*v);
            }
        }
        std::vector<char> done(graph_.operators.size());
        for (const Index v : order_) {
            const std::string& id = graph_.operators[v].id;
            if (done[v] != 0) not_checked("'" + id + "' runs twice");
            for (const Index u : graph_.before[v]) {
                if (done[u] == 0) wrong("'" + id + "' runs before '" + graph_.operators[u].id + "'");
            }
            done[v] = 1;
        }
        if (order_.size() != graph_.operators.size()) wrong("an operator does not run");
    }

    // "What is live when" of docs/graph.md.
    void live() {
        std::vector<Bytes> begins(graph_.operators.size()), ends(graph_.operators.size());
        Bytes clock = 1;
        for (const Index v : order_) {
            begins[v] = clock;
            clock += graph_.operators[v].phases;
            ends[v] = clock;
        }
        buffer_of_.assign(graph_.tensors.size(), kNone);
        for (Index t = 0; t < graph_.tensors.size(); ++t) {
            const Tensor& one = graph_.tensors[t];
            if (!one.planned) continue;
            Bytes begin = one.maker == kNone ? 0 : begins[one.maker];
            Bytes end = one.maker == kNone ? 1 : ends[one.maker];
            for (const Index reader : one.readers) end = std::max(end, ends[reader]);
            if (one.to_end) end = clock;
            if (one.kind != Kind::data) begin = 0, end = clock;  // always
            buffer_of_[t] = add({&one.id, one.size, one.alignment, begin, end, t});
        }
        for (const Index v : order_) {
            for (const Temporary& one : graph_.operators[v].temporaries) {
                const auto [first, last] =
                    one.phases.value_or(std::pair(Bytes{0}, graph_.operators[v].phases));
                add({&one.id, one.size, one.alignment, begins[v] + first, begins[v] + last, kNone});
            }
            for (const auto& [source, target] : graph_.operators[v].in_place) {
                const Buffer& from = buffers_[buffer_of_[source]];
                if (from.end == ends[v] && !graph_.tensors[source].to_end)
                    may_tie_.insert(key(buffer_of_[source], buffer_of_[target]));
            }
        }
    }

    Index add(Buffer one) {
        buffers_.push_back(one);
        number_.emplace(*one.id, static_cast<Index>(buffers_.size() - 1));
        return static_cast<Index>(buffers_.size() - 1);
    }

    static std::uint64_t key(Index i, Index j) {
        return (std::uint64_t{std::min(i, j)} << 32) | std::max(i, j);
    }

    void place(const std::vector<Json>& places) {
        for (const Json& value : places) {
            known_fields(value, "a placement", {"buffer", "pool", "offset"});
            const Json *id = value.find("buffer"), *pool = value.find("pool"), *offset = value.find("offset");
            if (id == nullptr || pool == nullptr || offset == nullptr)
                not_checked("a placement lacks a field");
            const auto known = number_.find(text_of(*id, "the buffer of a placement"));
            if (known == number_.end())
                wrong("the plan places '" + id->text + "', which is not to be placed");
            if (text_of(*pool, "the pool of a placement") != graph_.pool.id)
                wrong("the plan names another pool");
            Buffer& one = buffers_[known->second];
            if (one.offset >= 0) wrong("the plan places '" + id->text + "' twice");
            one.offset = bytes(*offset, "the offset of '" + id->text + "'");
        }
        const Pool& pool = graph_.pool;
        for (const Buffer& one : buffers_) {
            if (one.offset < 0) wrong("the plan does not place '" + *one.id + "'");
            if (one.size > pool.end || one.offset > pool.end - one.size)
                wrong("'" + *one.id + "' ends beyond the pool");
            if ((pool.base % one.alignment + one.offset % one.alignment) % one.alignment != 0)
                wrong("'" + *one.id + "' is not aligned");
            if (one.size == 0) continue;
            for (const auto& [begin, end] : pool.reserved) {
                if (begin < one.offset + one.size && one.offset < end)
                    wrong("'" + *one.id + "' is in a reserved range");
            }
            plan.peak = std::max(plan.peak, one.offset + one.size);
            if (one.tensor == kNone || graph_.tensors[one.tensor].of == kNone) continue;
            const Tensor& view = graph_.tensors[one.tensor];
            if (one.offset != buffers_[buffer_of_[view.of]].offset + view.offset)
                wrong("'" + *one.id + "' is not where it is in what it is a view of");
        }
    }

    Index outermost(Index tensor) const {
        while (tensor != kNone && graph_.tensors[tensor].of != kNone) tensor = graph_.tensors[tensor].of;
        return tensor;
    }

    void check_overlaps() const {
        Indices by_offset;
        for (Index i = 0; i < buffers_.size(); ++i) {
            if (buffers_[i].size > 0) by_offset.push_back(i);
        }
        std::sort(by_offset.begin(), by_offset.end(),
                  [&](Index i, Index j) { return buffers_[i].offset < buffers_[j].offset; });
        for (std::size_t a = 0; a < by_offset.size(); ++a) {
            const Buffer& one = buffers_[by_offset[a]];
            for (std::size_t b = a + 1; b < by_offset.size(); ++b) {
                const Buffer& other = buffers_[by_offset[b]];
                if (other.offset >= one.offset + one.size) break;
                if (one.end <= other.begin || other.end <= one.begin) continue;
                if (one.tensor != kNone && outermost(one.tensor) == outermost(other.tensor)) continue;
                if (one.offset == other.offset && may_tie_.contains(key(by_offset[a], by_offset[b])))
                    continue;
                wrong("'" + *one.id + "' and '" + *other.id + "' overlap");
            }
        }
    }

    const Graph& graph_;
    Indices order_;
    std::vector<Buffer> buffers_;
    Indices buffer_of_;  // by tensor
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

    std::size_t size() const { return extra.size(); }

    // What follows from the rest.
    void complete() {
        for (auto* lists : {&after, &begins_at, &ends_at}) lists->assign(size(), {});
        for (Index v = 0; v < size(); ++v) {
            sort_unique(before[v]);
            for (const Index u : before[v]) after[u].push_back(v);
        }
        for (Index s = 0; s < storages.size(); ++s) {
            sort_unique(storages[s].begins);
            sort_unique(storages[s].ends);
            for (const Index v : storages[s].begins) begins_at[v].push_back(s);
            for (const Index v : storages[s].ends) ends_at[v].push_back(s);
        }
    }

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
    void nearest(Index v, const std::vector<Indices>& next, Indices& to, std::vector<Index>& seen) const {
        Indices stack{v};
        while (!stack.empty()) {
            const Index at = stack.back();
            stack.pop_back();
            for (const Index w : next[at]) {
                if (seen[w] == v) continue;
                seen[w] = v;
                (left_out[w] != 0 ? stack : to).push_back(w);
            }
        }
    }

    void leave_out(const Indices& some) {
        left_out.assign(size(), 0);
        for (const Index v : some) left_out[v] = 1;
        std::vector<Indices> earlier(size());
        std::vector<Index> seen(size(), kNone);
        for (Index v = 0; v < size(); ++v) {
            if (left_out[v] == 0) nearest(v, before, earlier[v], seen);
        }
        seen.assign(size(), kNone);
        for (const Index v : some) {
            Indices later;
            nearest(v, after, later, seen);
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
        const auto [begin, end] = temporary.phases.value_or(std::pair(Bytes{0}, one.phases));
        changes.emplace_back(begin, temporary.size);
        changes.emplace_back(end, -temporary.size);
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
        Index outer = t;
        Bytes begin = 0;
        for (; graph.tensors[outer].of != kNone; outer = graph.tensors[outer].of)
            begin += graph.tensors[outer].offset;
        if (graph.tensors[t].kind == Kind::data)
            groups[outer].emplace_back(t, begin);
        else if (graph.tensors[t].planned)
            program.base += graph.tensors[t].size;
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

// The most that a set of these saves, no two of which share a storage: the set grows by the change that adds
// the most, of one pair more, until none adds anything.
Bytes most_saved(const std::vector<Pair>& pairs) {
    std::vector<char> used(pairs.size());
    std::unordered_map<Index, Bytes> from, to;  // the most on the way to a source, to a target
    std::unordered_map<Index, std::size_t> came_from, came_to;
    for (Bytes total = 0;;) {
        from.clear(), to.clear(), came_from.clear(), came_to.clear();
        for (const Pair& one : pairs) from[one.source] = 0;
        for (std::size_t k = 0; k < pairs.size(); ++k) {
            if (used[k] != 0) from.erase(pairs[k].source);
        }
        for (bool changed = true; changed;) {
            changed = false;
            for (std::size_t k = 0; k < pairs.size(); ++k) {
                const Pair& one = pairs[k];
                if (used[k] == 0 && from.contains(one.source)) {
                    const Bytes there = from[one.source] + one.bytes;
                    if (to.contains(one.target) && to[one.target] >= there) continue;
                    to[one.target] = there, came_to[one.target] = k, changed = true;
                } else if (used[k] != 0 && to.contains(one.target)) {
                    const Bytes there = to[one.target] - one.bytes;
                    if (from.contains(one.source) && from[one.source] >= there) continue;
                    from[one.source] = there, came_from[one.source] = k, changed = true;
                }
            }
        }
        for (std::size_t k = 0; k < pairs.size(); ++k) {
            if (used[k] != 0) to.erase(pairs[k].target);
        }
        const auto best = std::max_element(to.begin(), to.end(),
                                           [](const auto& a, const auto& b) { return a.second < b.second; });
        if (best == to.end() || best->second <= 0) return total;
        total += best->second;
        for (Index target = best->first;;) {
            const std::size_t more = came_to[target];
            used[more] = 1;
            const auto back = came_from.find(pairs[more].source);
            if (back == came_from.end()) break;
            used[back->second] = 0;
            target = pairs[back->second].target;
        }
    }
}

// A set of operators: what is live after it, and who can run next.
class State {
  public:
    explicit State(const Program& program)
        : bits((program.size() + 63) / 64),
          program_(program),
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
        return most_saved(had);
    }

    const Program& program_;
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
        if (slots_.size() >= kNone - 1) not_checked("the proof keeps too many sets");
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
        for (;; ++file_.step) {
            const Number kind = file_.number();
            if (kind == 0) break;
            if (kind == 1)
                ends();
            else if (kind == 2)
                needed_by(operator_number());
            else if (kind == 3)
                search();
            else if (kind == 4)
                dead_set();
            else if (kind == 5)
                forget();
            else if (kind == 6)
                conclude();
            else
                fail("an unknown kind of step, " + std::to_string(kind));
        }
        file_.end();
        return refuted_;
    }

  private:
    [[noreturn]] void fail(const std::string& why) const { file_.fail(why); }
    const std::string& id(Index v) const { return graph_.operators[v].id; }

    Index operator_number() {
        const Number value = file_.number();
        if (value >= whole_.size()) fail("there is no operator " + std::to_string(value));
        return static_cast<Index>(value);
    }

    Indices operator_list(Number least) {
        Indices some;
        file_.ascending(
            whole_.size(), "operator", [&](Number v) { some.push_back(static_cast<Index>(v)); }, least);
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

    // The sets after which an operator can run, and the pairs that may save something then.
    void needed_by(Index v) {
        Between between{std::vector<char>(whole_.size()), std::vector<char>(whole_.size()), v};
        for (const bool later : {false, true}) {
            auto& side = later ? between.outside : between.inside;
            Indices stack{v};
            while (!stack.empty()) {
                const Index at = stack.back();
                stack.pop_back();
                for (const Index w : (later ? whole_.after : whole_.before)[at]) {
                    if (side[w] == 0) side[w] = 1, stack.push_back(w);
                }
            }
        }
        between.outside[v] = 1;
        Bytes always = whole_.base + whole_.extra[v];
        for (const Storage& one : whole_.storages) {
            if (always_live(one, between)) always += one.size;
        }
        Indices open;
        for (Index k = 0; k < whole_.pairs[v].size(); ++k) {
            const Storage& source = whole_.storages[whole_.pairs[v][k].source];
            const bool kept =
                source.to_end || std::any_of(source.ends.begin(), source.ends.end(),
                                             [&](Index u) { return u != v && between.outside[u] != 0; });
            if (!kept) open.push_back(k);
        }
        if (shows_) std::cout << id(v) << " needs " << always << " bytes\n";
        no_order_within(least_of(v, between, always, open, 0) - 1);
    }

    // The least that the operator needs if it can save with these pairs alone.
    Bytes least_of(Index v, const Between& between, Bytes always, const Indices& open, int depth) {
        constexpr int kDeepest = 1000;
        const auto& pairs = whole_.pairs[v];
        const Number kind = file_.number();
        if (kind == 1) {
            const Number k = file_.number();
            if (depth > kDeepest) fail("cases within cases, too deep");
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
        const Bytes chained = chains(whole_, between, v, usable);
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
    Bytes chains(const Program& program, const Between& between, Index v, const Indices& usable) {
        Bytes total = 0;
        used_.clear();
        used_pairs_.clear();
        known_.resize(program.size(), 0);
        for (Number count = file_.number(); count > 0; --count) {
            const Bytes amount = file_.amount();
            const Number start = file_.number();
            ++known_round_;
            if (start > 0) {
                if (start > program.size() + std::numeric_limits<Index>::max() ||
                    !has(usable, static_cast<Index>(start - 1)))
                    fail("a chain that begins with a pair that is not in question");
                const Pair& pair = program.pairs[v][start - 1];
                spend(used_pairs_[pair.target], amount, pair.bytes);
                for (const Index u : program.storages[pair.source].ends) {
                    if (u != v) know(program, between, u);
                }
            }
            Number left = file_.number();
            if (left == 0) fail("a chain without a storage");
            for (; left > 0; --left) {
                const Number number = file_.number();
                if (number >= program.storages.size()) fail("there is no storage " + std::to_string(number));
                const Storage& one = program.storages[number];
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
                for (const Index u : one.ends) know(program, between, u);
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
    void know(const Program& program, const Between& between, Index v) {
        if (between.inside[v] != 0 || known_[v] == known_round_) return;
        known_[v] = known_round_;
        stack_.assign(1, v);
        while (!stack_.empty()) {
            const Index at = stack_.back();
            stack_.pop_back();
            for (const Index u : program.before[at]) {
                if (between.inside[u] != 0 || known_[u] == known_round_) continue;
                known_[u] = known_round_;
                stack_.push_back(u);
            }
        }
    }

    // From here on sets are of these operators, at this height.
    void search() {
        state_.reset();
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
        if (!out.empty()) program_.leave_out(out);
        if (direction == 1) program_.turn();
        state_.emplace(program_);
        kept_.emplace(state_->bits.size());
        between_ = {std::vector<char>(program_.size()), std::vector<char>(program_.size()), kNone};
        made_ = 0;
    }

    void dead_set() {
        if (!state_) fail("a set before a search");
        State& at = *state_;
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
        if (rule == 0)
            next();
        else if (rule == 1)
            commit();
        else
            fail("an unknown rule, " + std::to_string(rule));
        kept_->add(made_++, at);
    }

    // Whether the set, when it has settled, is dead; it is as before then.
    void expect_dead(const Indices& more) {
        State& at = *state_;
        ran_.clear();
        for (const Index v : more) at.toggle(v), ran_.push_back(v);
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
        Bytes least = chains(program_, between_, kNone, {});
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
        if (!state_) fail("a conclusion before a search");
        Indices members;
        for (Index v = 0; v < program_.size(); ++v) {
            if (state_->has(v)) members.push_back(v);
        }
        for (const Index v : members) state_->toggle(v);
        expect_dead({});
        for (const Index v : members) state_->toggle(v);
        no_order_within(height_);
    }

    const Graph& graph_;
    const Program whole_;
    const std::array<std::uint8_t, 32>& digest_;
    ProofFile file_;
    const bool shows_;
    std::optional<Bytes> refuted_;
    // Of the search at hand:
    Program program_;
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
    if (plan_text != nullptr) plan = CheckedPlan(graph, JsonReader(*plan_text, "the plan").document()).plan;
    const auto digest = Sha256::of(graph_text);
    const std::optional<Bytes> refuted = Proof(graph, digest, file, plan_text == nullptr).checked();
    if (!plan) return {verified, "", refuted};
    const Bytes shown = refuted.value_or(-1);
    if (plan->infeasible) {
        if (shown < graph.pool.room(graph.pool.end))
            wrong("the plan says infeasible, but the proof does not show it");
        return {verified, "verified: no order fits into " + std::to_string(graph.pool.end) + " bytes",
                refuted};
    }
    if (shown >= graph.pool.room(plan->peak)) wrong("the proof contradicts the plan");
    const std::string peak = std::to_string(plan->peak);
    if (plan->peak == 0 || shown >= graph.pool.room(plan->peak - 1))
        return {verified, "verified: peak " + peak + " is least of all orders and layouts", refuted};
    return {weaker,
            "the plan is right, but its peak " + peak + " is not proven least: only that in each order " +
                std::to_string(shown + 1) + " bytes are live at once",
            refuted};
}

}  // namespace

#ifndef MEMSTOW_CHECK_WITHIN  // another program has a `main` of its own

namespace {

Verdict verdict_on(const char* graph_path, const char* plan_path, const char* proof_path) {
    const std::string graph = content_of(graph_path);
    const std::string plan = plan_path == nullptr ? "" : content_of(plan_path);
    std::ifstream file(proof_path, std::ios::binary);
    if (!file) not_checked(std::string("cannot read ") + proof_path);
    return compared(graph, plan_path == nullptr ? nullptr : &plan, *file.rdbuf());
}

}  // namespace
#endif
}  // namespace orders

#ifndef MEMSTOW_CHECK_WITHIN

int main(int count, char** words) {
    using namespace checker;
    if (count != 4) {
        std::cerr << "usage: memstow-check-order GRAPH PLAN PROOF\n"
                     "       memstow-check-order --text GRAPH PROOF\n";
        return unchecked;
    }
    const bool shows = std::string_view(words[1]) == "--text";
    const Verdict verdict = verdict_of(
        [&] { return orders::verdict_on(words[shows ? 2 : 1], shows ? nullptr : words[2], words[3]); });
    if (!verdict.words.empty()) std::cout << verdict.words << '\n';
    return verdict.code;
}

#endif
