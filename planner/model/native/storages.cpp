#include "storages.hpp"

#include <algorithm>
#include <map>

namespace memstow::model {
namespace {

constexpr char kData = 'd';

class Collector {
  public:
    Collector(const GraphColumns& graph, const std::vector<std::int64_t>& sizes)
        : graph_(graph),
          sizes_(sizes),
          producer_(producers(graph)),
          readers_(readers(graph)),
          there_(graph.kind.size()),
          kept_(graph.kind.size()) {
        note(graph.inputs_of_graph, there_);
        note(graph.kept, kept_);
    }

    void add_whole(std::int64_t tensor) { add(sizes_.at(place(tensor)), {tensor}, tensor, Storages::kWhole); }

    // A storage for each range of bytes over which the same tensors lie.
    void add_pieces(const Group& group) {
        struct Change {
            std::vector<std::int64_t> opened, closed;
        };
        std::map<std::int64_t, Change> changes;
        for (const auto& [tensor, begin, end] : group.second) {
            changes[begin].opened.push_back(tensor);
            changes[end].closed.push_back(tensor);
        }
        std::vector<std::int64_t> over;  // in the order in which they began
        for (auto change = changes.begin(); change != changes.end(); ++change) {
            const auto next = std::next(change);
            if (next == changes.end()) return;
            for (const std::int64_t tensor : change->second.opened) {
                if (std::find(over.begin(), over.end(), tensor) == over.end()) over.push_back(tensor);
            }
            for (const std::int64_t tensor : change->second.closed) std::erase(over, tensor);
            if (!over.empty()) add(next->first - change->first, over, group.first, change->first);
        }
    }

    Storages take() && {
        add_pairs();
        return std::move(storages_);
    }

  private:
    static std::size_t place(std::int64_t tensor) { return static_cast<std::size_t>(tensor); }

    static void note(const std::vector<std::int64_t>& named, std::vector<char>& in) {
        for (const std::int64_t tensor : named) {
            if (tensor != GraphColumns::kUnknown) in[place(tensor)] = 1;
        }
    }

    void add(std::int64_t size, const std::vector<std::int64_t>& over, std::int64_t outer,
             std::int64_t begin) {
        bool from_start = false, to_end = false;
        for (const std::int64_t tensor : over) {
            const std::int64_t maker = producer_.at(place(tensor));
            if (maker != GraphColumns::kUnknown) storages_.writers.members.push_back(maker);
            const auto read = readers_[place(tensor)];
            storages_.readers.members.insert(storages_.readers.members.end(), read.begin(), read.end());
            from_start = from_start || there_[place(tensor)] != 0;
            to_end = to_end || kept_[place(tensor)] != 0;
        }
        storages_.size.push_back(size);
        end_list(storages_.writers);
        end_list(storages_.readers);
        storages_.from_start.push_back(from_start);
        storages_.to_end.push_back(to_end);
        storages_.tensor.push_back(over.front());
        storages_.outer.push_back(outer);
        storages_.begin.push_back(begin);
    }

    // Ends the latest list: ascending, each member once.
    static void end_list(Lists& lists) {
        const auto first = lists.members.begin() + lists.start.back();
        std::sort(first, lists.members.end());
        lists.members.erase(std::unique(first, lists.members.end()), lists.members.end());
        lists.end();
    }

    // A tensor that is in a pair is no view and has none: it has one storage.
    void add_pairs() {
        std::vector<std::int64_t> storage_of(graph_.kind.size(), GraphColumns::kUnknown);
        for (std::size_t i = 0; i < storages_.tensor.size(); ++i) {
            storage_of[place(storages_.tensor[i])] = static_cast<std::int64_t>(i);
        }
        const auto storage = [&](std::int64_t tensor) {
            return tensor == GraphColumns::kUnknown ? tensor : storage_of[place(tensor)];
        };
        const Lists pairs = distinct_pairs(graph_);
        for (std::size_t i = 0; i < pairs.count(); ++i) {
            for (std::size_t j = 0; j < pairs[i].size(); j += 2) {
                const std::int64_t input = storage(pairs[i][j]), output = storage(pairs[i][j + 1]);
                if (input == GraphColumns::kUnknown || output == GraphColumns::kUnknown) continue;
                const auto triple = {static_cast<std::int64_t>(i), input, output};
                storages_.in_place.insert(storages_.in_place.end(), triple);
            }
        }
    }

    const GraphColumns& graph_;
    const std::vector<std::int64_t>& sizes_;
    std::vector<std::int64_t> producer_;
    Lists readers_;
    std::vector<char> there_, kept_;  // by tensor: whether the graph has it as an input, as an output
    Storages storages_;
};

}  // namespace

Storages storages_of(const GraphColumns& graph, const std::vector<std::int64_t>& sizes,
                     const std::vector<Group>& groups) {
    Collector collector(graph, sizes);
    std::vector<const Group*> around(graph.kind.size());
    std::vector<char> inside(graph.kind.size());
    for (const Group& group : groups) {
        around.at(static_cast<std::size_t>(group.first)) = &group;
        for (const Member& member : group.second)
            inside.at(static_cast<std::size_t>(std::get<0>(member))) = 1;
    }
    for (std::size_t tensor = 0; tensor < around.size(); ++tensor) {
        if (around[tensor] != nullptr) {
            collector.add_pieces(*around[tensor]);
        } else if (inside[tensor] == 0 && graph.kind[tensor] == kData) {
            collector.add_whole(static_cast<std::int64_t>(tensor));
        }
    }
    return std::move(collector).take();
}

}  // namespace memstow::model
