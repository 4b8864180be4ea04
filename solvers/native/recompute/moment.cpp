#include "recompute/moment.hpp"

#include <algorithm>

#include "order/max_flow.hpp"

namespace memstow::recompute {
namespace {

using order::MaxFlow;

// What an item saves at most when it ends at the operator that reads it, because an output takes its place.
Bytes saved_by(const Program& program, const Operator& op, Index item) {
    Bytes most = 0;
    for (const InPlace& pair : op.pairs) {
        if (pair.input == item) {
            most = std::max(most, std::min(program.items[item].size, program.items[pair.output].size));
        }
    }
    return most;
}

class Network {
  public:
    Network(const Program& program, Index op, const Around& around, const Prices& prices)
        : program_(program),
          at_(op),
          around_(around),
          prices_(prices),
          operator_node_(program.operators.size(), -1),
          item_node_(program.items.size(), -1) {
        flow_.reset(0);
        for (Index item = 0; item < count_of(program_.items); ++item) {
            if (needed_later(program_.items[item])) require(item, MaxFlow::kSource);
        }
        // The list grows while it is gone through: who runs again needs its inputs.
        for (std::size_t k = 0; k < again_.size(); ++k) {
            const Index op_again = again_[k];
            for (const Index input : program_.operators[op_again].inputs) {
                require(input, operator_node_[op_again]);
            }
        }
    }

    Moment solve(const Budget& budget) {
        Moment moment{};
        moment.price = flow_.push(MaxFlow::kEndless, &budget);
        // A part of the flow is a bound as well, and shows no cut.
        if (budget.out_of_time()) return moment;
        for (const Index op : again_) {
            if (flow_.near_source(operator_node_[op])) moment.cost += program_.operators[op].cost;
        }
        for (const Index item : seen_) {
            if (!flow_.near_source(item_node_[item])) continue;
            const Index maker = program_.items[item].producer;
            if (maker >= 0 && operator_node_[maker] >= 0 && flow_.near_source(operator_node_[maker]))
                continue;
            const Bytes own = size_here(item);
            if (spills(item) && prices_.cost * 2 * own < prices_.byte * own) {
                moment.cost += 2 * own;
            } else {
                moment.held += own;
                moment.kept.push_back(item);
            }
        }
        return moment;
    }

  private:
    bool there(const Item& item) const { return item.producer < 0 || around_.before[item.producer]; }

    bool needed_later(const Item& item) const {
        if (!there(item)) return false;
        return item.kept || std::any_of(item.readers.begin(), item.readers.end(),
                                        [&](Index reader) { return around_.after[reader]; });
    }

    bool is_input(Index item) const {
        const auto& inputs = program_.operators[at_].inputs;
        return std::find(inputs.begin(), inputs.end(), item) != inputs.end();
    }

    // What it takes to hold the item beyond what the operator takes anyway.
    Bytes size_here(Index item) const {
        if (is_input(item)) return saved_by(program_, program_.operators[at_], item);
        return program_.items[item].size;
    }

    bool spills(Index item) const { return program_.items[item].spillable && !is_input(item); }

    Bytes price_of(Index item) const {
        const Bytes own = size_here(item);
        const Bytes price = prices_.byte * own;
        return spills(item) ? std::min(price, prices_.cost * 2 * own) : price;
    }

    // Whoever `from` stands for needs the item: it is held, or its producer runs again.
    void require(Index item, Index from) {
        if (!there(program_.items[item])) return;
        if (item_node_[item] < 0) {
            item_node_[item] = flow_.add_node();
            seen_.push_back(item);
            const Index maker = program_.items[item].producer;
            const bool again = maker >= 0 && !program_.operators[maker].once;
            flow_.add_arc(item_node_[item], again ? node_of(maker) : MaxFlow::kSink, price_of(item));
        }
        flow_.add_arc(from, item_node_[item], MaxFlow::kEndless);
    }

    Index node_of(Index op) {
        if (operator_node_[op] < 0) {
            operator_node_[op] = flow_.add_node();
            again_.push_back(op);
            flow_.add_arc(operator_node_[op], MaxFlow::kSink, prices_.cost * program_.operators[op].cost);
        }
        return operator_node_[op];
    }

    const Program& program_;
    Index at_;
    const Around& around_;
    const Prices& prices_;
    MaxFlow flow_;
    std::vector<Index> operator_node_, item_node_, again_, seen_;
};

}  // namespace

Moment cheapest(const Program& program, Index op, const Around& around, const Prices& prices,
                const Budget& budget) {
    return Network(program, op, around, prices).solve(budget);
}

}  // namespace memstow::recompute
