// What must come before what, by way of others as well.
#pragma once

#include <span>
#include <vector>

#include "order/graph.hpp"
#include "order/words.hpp"

namespace memstow::order {

class Precedence {
  public:
    explicit Precedence(const Graph& graph);

    Index size() const { return size_; }
    std::size_t words() const { return words_; }  // of a set of operators
    std::span<const Word> all_before(Index v) const { return row(before_, v); }
    std::span<const Word> all_after(Index v) const { return row(after_, v); }
    bool ordered(Index u, Index v) const { return has(all_before(v), u) || has(all_before(u), v); }
    // From now on u comes before v, and all before it before all after that; so far the two are not ordered.
    void add(Index u, Index v);
    // By operator, those before it with none in between; ascending.
    std::vector<std::vector<Index>> direct() const;
    bool operator==(const Precedence&) const = default;

  private:
    std::span<const Word> row(const std::vector<Word>& rows, Index v) const {
        return {&rows[v * words_], words_};
    }
    std::span<Word> row(std::vector<Word>& rows, Index v) { return {&rows[v * words_], words_}; }
    void join(std::vector<Word>& rows, Index to, Index from);

    Index size_;
    std::size_t words_;
    std::vector<Word> before_, after_;  // by operator, a set each
};

}  // namespace memstow::order
