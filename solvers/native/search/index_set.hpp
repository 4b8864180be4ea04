// A set of items or of parts, a bit each.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/instance.hpp"

namespace memstow::search {

class IndexSet {
  public:
    using Word = std::uint64_t;

    explicit IndexSet(std::size_t count) : words_((count + 63) / 64, 0) {}

    void add(Index i) { words_[at(i)] |= bit(i); }
    void remove(Index i) { words_[at(i)] &= ~bit(i); }
    void clear() { std::fill(words_.begin(), words_.end(), 0); }
    bool has(Index i) const { return (words_[at(i)] & bit(i)) != 0; }
    bool within(const IndexSet& other) const {
        for (std::size_t k = 0; k < words_.size(); ++k) {
            if ((words_[k] & ~other.words_[k]) != 0) return false;
        }
        return true;
    }
    IndexSet& operator|=(const IndexSet& other) {
        for (std::size_t k = 0; k < words_.size(); ++k) words_[k] |= other.words_[k];
        return *this;
    }
    IndexSet& operator&=(const IndexSet& other) {
        for (std::size_t k = 0; k < words_.size(); ++k) words_[k] &= other.words_[k];
        return *this;
    }

    // Ascending.
    std::vector<Index> list() const {
        std::size_t count = 0;
        for (const Word word : words_) count += std::popcount(word);
        std::vector<Index> all;
        all.reserve(count);
        for (std::size_t k = 0; k < words_.size(); ++k) {
            for (Word word = words_[k]; word != 0; word &= word - 1) {
                all.push_back(k * 64 + std::countr_zero(word));
            }
        }
        return all;
    }

    // For tables and stacks of many sets.
    std::size_t word_count() const { return words_.size(); }
    const Word* words() const { return words_.data(); }
    void assign(const Word* words) { std::copy_n(words, words_.size(), words_.begin()); }
    void add_to(Word* words) const {
        for (std::size_t k = 0; k < words_.size(); ++k) words[k] |= words_[k];
    }

  private:
    static std::size_t at(Index i) { return static_cast<std::size_t>(i) / 64; }
    static Word bit(Index i) { return Word{1} << (static_cast<std::size_t>(i) % 64); }
    std::vector<Word> words_;
};

}  // namespace memstow::search
