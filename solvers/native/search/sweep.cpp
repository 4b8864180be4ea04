#include "search/sweep.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <stdexcept>

namespace memstow::search {
namespace {

// The most forks that are kept of those with a part in a failure: the latest.
constexpr std::size_t kBlamed = 8;

Lists<Index> by_row(const std::vector<Tile>& tiles, Index rows, Index Tile::* row) {
    Lists<Index> lists;
    std::vector<Index> next(rows + 2, 0);
    for (const Tile& tile : tiles) ++next[(tile.*row) + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    lists.start = next;
    lists.values.resize(tiles.size());
    for (std::size_t k = 0; k < tiles.size(); ++k) {
        lists.values[next[tiles[k].*row]++] = k;
    }
    return lists;
}

// The latest of both, latest first.
void add(std::vector<Index>& to, const std::vector<Index>& more) {
    if (more.empty()) return;
    to.insert(to.end(), more.begin(), more.end());
    std::sort(to.begin(), to.end(), std::greater<>());
    to.erase(std::unique(to.begin(), to.end()), to.end());
    if (to.size() > kBlamed) to.resize(kBlamed);
}

}  // namespace

Sweep::Sweep(const std::vector<Tile>& tiles, Index rows, int trust, std::size_t memory)
    : tiles_(tiles),
      rows_(rows),
      trust_(trust * kLog2Unit),
      memory_(memory),
      ends_(by_row(tiles_, rows, &Tile::end)),
      begins_(by_row(tiles_, rows, &Tile::begin)),
      trees_(count_of(tiles_)),
      causes_(1),
      gathered_(rows),
      group_of_end_(tiles_.size()),
      group_of_begin_(tiles_.size()),
      leaving_(tiles_.size(), -1),
      chosen_(tiles_.size(), 0) {
    now_.tree = trees_.any_order(begins_[0], 0);
}

Answer Sweep::run(std::int64_t most_steps, const Decision::Stop& stop) {
    std::int64_t last_check = 0;
    now_.row = 1;
    if (now_.row < rows_) begin_row();
    while (now_.row < rows_) {
        if (steps() - last_check >= Decision::kStepsBetweenStops) {
            const std::int64_t since = steps() - last_check;
            last_check += since;
            if (stop(since) || last_check > most_steps || trees_.bytes() > memory_) return Answer::stopped;
        }
        if (now_.pieces_left == 0) {
            end_row();
            if (now_.row < rows_) begin_row();
            continue;
        }
        std::vector<Choice> ways = choices();
        if (ways.empty()) {
            if (!go_back()) return Answer::stopped;
            continue;
        }
        const Choice first = ways[0];
        if (ways.size() > 1) {
            forks_.push_back({now_, trees_.mark(), causes_.size(), std::move(ways), 1, reasons()});
        }
        take(first);
    }
    stop(steps() - last_check);
    extract();
    return Answer::found;
}

void Sweep::begin_row() {
    for (const Index tile : ends_[now_.row]) chosen_[tile] = 1;
    now_.pieces = trees_.pieces(now_.tree, chosen_);
    std::vector<Index> forks;
    for (const Index cause : trees_.causes(now_.tree, chosen_)) add(forks, causes_[cause]);
    for (const Index tile : ends_[now_.row]) chosen_[tile] = 0;
    now_.cause = cause_of(std::move(forks));
    now_.forks_before = count_of(forks_);
    now_.pieces_left = first_places(now_.pieces.size());
    now_.born_left = first_places(begins_[now_.row].size());
    now_.groups = 0;
}

void Sweep::end_row() {
    gathered_[now_.row] = now_.tree;
    const Index cause = cause_of(reasons());
    std::vector<std::vector<Index>> members(now_.groups);
    for (const Index tile : begins_[now_.row]) {
        members[group_of_begin_[tile]].push_back(tile);
        trees_.set_cause(tile, cause);
    }
    std::vector<OrderTrees::Node> blocks;
    for (const auto& born : members) blocks.push_back(trees_.any_order(born, cause));
    for (const Index tile : ends_[now_.row]) leaving_[tile] = group_of_end_[tile];
    now_.tree = trees_.replaced(now_.tree, leaving_, blocks);
    for (const Index tile : ends_[now_.row]) leaving_[tile] = -1;
    ++now_.row;
}

void Sweep::take(const Choice& choice) {
    const Set pieces = choice.pieces & now_.pieces_left, born = choice.born & now_.born_left;
    if (std::popcount(pieces) > 1) {
        mark_pieces(pieces, 1);
        now_.tree = trees_.together(now_.tree, chosen_, cause_of(reasons()));
        mark_pieces(pieces, 0);
    }
    for (std::size_t k = 0; k < now_.pieces.size(); ++k) {
        if (!has(pieces, k)) continue;
        for (const Index tile : now_.pieces[k]) group_of_end_[tile] = now_.groups;
    }
    const auto begins = begins_[now_.row];
    for (std::size_t k = 0; k < begins.size(); ++k) {
        if (has(born, k)) group_of_begin_[begins[k]] = now_.groups;
    }
    now_.pieces_left &= ~pieces;
    now_.born_left &= ~born;
    ++now_.groups;
}

void Sweep::mark_pieces(Set pieces, char value) {
    for (std::size_t k = 0; k < now_.pieces.size(); ++k) {
        if (!has(pieces, k)) continue;
        for (const Index tile : now_.pieces[k]) chosen_[tile] = value;
    }
}

// The forks that made the order of what ends, and those of this row.
std::vector<Index> Sweep::reasons() const {
    std::vector<Index> forks = causes_[now_.cause];
    std::vector<Index> row;
    for (auto f = now_.forks_before; f < count_of(forks_); ++f) row.push_back(f);
    add(forks, row);
    return forks;
}

Index Sweep::cause_of(std::vector<Index> forks) {
    if (forks.empty()) return 0;
    if (forks != causes_.back()) causes_.push_back(std::move(forks));
    return count_of(causes_) - 1;
}

// To the latest fork that has to do with what failed. Where none is known, since only some are kept, to the
// latest of all. False when there is nothing left to go back to.
bool Sweep::go_back() {
    std::vector<Index> blamed = reasons();
    while (!forks_.empty()) {
        if (!blamed.empty()) {
            forks_.resize(blamed.front() + 1);
            blamed.erase(blamed.begin());
        }
        Fork& fork = forks_.back();
        add(fork.blame, blamed);
        if (fork.next < fork.choices.size()) {
            now_ = fork.stand;
            trees_.forget(fork.mark);
            causes_.resize(fork.causes);
            take(fork.choices[fork.next++]);
            return true;
        }
        blamed = std::move(fork.blame);
        forks_.pop_back();
    }
    return false;
}

// Backwards: where the tiles of a row are says in which order those of the row before have to be.
void Sweep::extract() {
    offsets_.assign(tiles_.size(), kUnplaced);
    std::vector<Bytes> key(tiles_.size(), 0), places;
    stack(now_.tree, key);
    for (Index row = rows_ - 1; row > 0; --row) {
        places.clear();
        for (const Index tile : begins_[row]) {
            const std::size_t group = group_of_begin_[tile];
            if (places.size() <= group) places.resize(group + 1, kLimit);
            places[group] = std::min(places[group], offsets_[tile]);
        }
        for (const Index tile : ends_[row]) key[tile] = places[group_of_end_[tile]];
        stack(gathered_[row], key);
    }
}

// Stacks the tiles. One that has an offset from a later row has to get the same again.
void Sweep::stack(OrderTrees::Node tree, std::vector<Bytes>& key) {
    Bytes top = 0;
    for (const Index tile : trees_.sorted(tree, key)) {
        Bytes& offset = offsets_[tile];
        if (offset != kUnplaced && offset != top) throw std::logic_error("the sweep made a wrong layout");
        offset = key[tile] = top;
        top += tiles_[tile].size;
    }
}

}  // namespace memstow::search
