#include "order/assemble.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace memstow::order {
namespace {

constexpr Bytes kMostBytes = Bytes{1} << 61;

[[noreturn]] void refuse(const std::string& what) { throw std::invalid_argument(what); }

void expect(bool holds, const char* what) {
    if (!holds) refuse(what);
}

Index number(std::int64_t value, std::size_t count, const char* what) {
    if (value < 0 || value >= static_cast<std::int64_t>(count)) {
        refuse("there is no " + std::string(what) + " " + std::to_string(value));
    }
    return value;
}

bool has(const std::vector<Index>& ascending, Index value) {
    return std::binary_search(ascending.begin(), ascending.end(), value);
}

class Assembly {
  public:
    explicit Assembly(const Arrays& arrays) : in_(arrays), count_(arrays.extra.size()) {}

    Instance result() {
        constexpr auto kMost = static_cast<std::size_t>(std::numeric_limits<Index>::max() / 4);
        expect(count_ < kMost && in_.size.size() < kMost, "more operators or storages than can be numbered");
        check_bytes();
        graph_.extra = in_.extra;
        graph_.base = in_.base;
        read_edges();
        read_storages();
        complete(graph_);
        read_pairs();
        Instance result{std::move(graph_), {}};
        for (const std::int64_t v : in_.listed) result.listed.push_back(number(v, count_, "operator"));
        expect(is_order(result.graph, result.listed), "the given order is none of these operators");
        return result;
    }

  private:
    void check_bytes() const {
        Bytes total = 0;
        const auto add = [&](Bytes bytes) {
            expect(bytes >= 0 && bytes < kMostBytes - total,
                   "bytes below 0, or 2^61 or more of all together");
            total += bytes;
        };
        add(in_.base);
        for (const Bytes bytes : in_.extra) add(bytes);
        for (const Bytes bytes : in_.size) add(bytes);
    }

    void read_edges() {
        expect(in_.before.size() % 2 == 0, "an edge has two operators");
        graph_.before.resize(count_);
        for (std::size_t k = 0; k < in_.before.size(); k += 2) {
            const Index first = number(in_.before[k], count_, "operator");
            graph_.before[number(in_.before[k + 1], count_, "operator")].push_back(first);
        }
        for (auto& before : graph_.before) std::sort(before.begin(), before.end());
    }

    std::vector<Index> list(const std::vector<std::int64_t>& start, const std::vector<std::int64_t>& values,
                            std::size_t k) const {
        const std::int64_t begin = start[k], end = start[k + 1];
        expect(begin >= 0 && begin <= end && end <= static_cast<std::int64_t>(values.size()),
               "the start of a list is not within it");
        std::vector<Index> result;
        for (std::int64_t i = begin; i < end; ++i) {
            result.push_back(number(values[i], count_, "operator"));
        }
        return result;
    }

    void read_storages() {
        const std::size_t n = in_.size.size();
        expect(in_.writer_start.size() == n + 1 && in_.reader_start.size() == n + 1 &&
                   in_.from_start.size() == n && in_.to_end.size() == n,
               "the arrays of the storages differ in length");
        for (std::size_t s = 0; s < n; ++s) {
            Storage storage{in_.size[s],
                            list(in_.writer_start, in_.writers, s),
                            {},
                            in_.from_start[s] != 0,
                            in_.to_end[s] != 0};
            const std::vector<Index> readers = list(in_.reader_start, in_.readers, s);
            for (const Index v : readers) check_reader(storage, v, s);
            storage.ends = storage.begins;
            storage.ends.insert(storage.ends.end(), readers.begin(), readers.end());
            graph_.storages.push_back(std::move(storage));
        }
    }

    // Something has written a storage before it is read.
    void check_reader(const Storage& storage, Index v, std::size_t s) const {
        if (storage.from_start) return;
        for (const Index w : storage.begins) {
            if (w == v || has(graph_.before[v], w)) return;
        }
        refuse("operator " + std::to_string(v) + " reads storage " + std::to_string(s) +
               " before it is written");
    }

    void read_pairs() {
        expect(in_.in_place.size() % 3 == 0, "a pair in place has an operator, an input and an output");
        const std::size_t n = in_.size.size();
        for (std::size_t k = 0; k < in_.in_place.size(); k += 3) {
            const Index v = number(in_.in_place[k], count_, "operator");
            const Index source = number(in_.in_place[k + 1], n, "storage");
            const Index target = number(in_.in_place[k + 2], n, "storage");
            const Storage& from = graph_.storages[source];
            const Storage& to = graph_.storages[target];
            expect(has(from.ends, v) && !has(from.begins, v),
                   "the input of a pair in place is not only read there");
            expect(has(to.begins, v), "the output of a pair in place is not written there");
            graph_.in_place[v].push_back({source, target, std::min(from.size, to.size)});
        }
    }

    const Arrays& in_;
    std::size_t count_;
    Graph graph_;
};

}  // namespace

Instance assemble(const Arrays& arrays) { return Assembly(arrays).result(); }

}  // namespace memstow::order
