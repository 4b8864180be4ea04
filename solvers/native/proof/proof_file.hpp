// Writes a proof, step by step, in the form of docs/proofs.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/instance.hpp"
#include "core/number_file.hpp"

namespace memstow::proof {

// Of an item of the problem, by its index there: the offsets from low to high.
struct Bounds {
    std::uint64_t name;
    Bytes low, high;
};

// Items that others are pushed by, or that their groups follow, in this order; then what closes the case.
struct Derivation {
    enum class Closer : std::uint8_t { empty = 2, overfull = 3, lemma = 4 };
    struct Move {
        std::uint64_t item;
        bool follows;
    };
    std::vector<Move> moves;
    Closer closer = Closer::empty;
    std::uint64_t lemma = 0;
    Bytes begin = 0, end = 0;
    std::vector<std::uint64_t> crowd;  // ascending
};

// No layout is within these bounds (ascending by name), as a split of an item at an offset shows, from below
// or from above.
struct Lemma {
    std::vector<Bounds> bounds;
    bool from_below;
    std::uint64_t item;
    Bytes at;
    Derivation within, beyond;
};

class ProofFile : private NumberFile {
  public:
    // Of a problem with this digest. Throws std::system_error when the file cannot be written.
    ProofFile(const std::string& path, const Digest& digest);
    // No file: steps that are kept until another one takes them.
    ProofFile() = default;

    // A height of each pool, one of the sum of their peaks, and what is paid at most of each cost. Returns
    // what stands for them where a height does.
    Bytes name_heights(const std::vector<Bytes>& heights);
    // Of several pools before all else: what follows is about this height.
    void lay(Bytes height);
    // Returns its number.
    std::uint64_t state(const Lemma& lemma);
    void forget(std::uint64_t lemma);
    // Whether pairs in place tie or are apart, or may overlap, in what follows: no lemma before is referred
    // to. At first they may. Steps that are kept say so where they are taken.
    void let_tie(bool ties_count);
    void conclude(Bytes height, const Derivation& derivation);
    // As `lay`: what follows is about items of the problem that may be in these pools alone, and pairs that
    // are apart. That it cannot be, which the steps show, is a limit.
    void keep_within(Bytes height,
                     const std::vector<std::pair<std::uint64_t, std::vector<std::uint64_t>>>& pools,
                     const ProofFile& steps);
    // A limit: what fits into the cells of a pool, in units of the divisor.
    void row(std::uint64_t pool, Bytes divisor, const std::vector<std::uint64_t>& items);
    // The same by prices of items and tolls of pairs, ascending, where no cell has more than this worth, as a
    // tree shows.
    void chains(std::uint64_t pool, Bytes worth, const std::vector<std::pair<std::uint64_t, Bytes>>& prices,
                const std::vector<std::uint64_t>& tree);
    // The same of all pools, by the bytes of items in each: below the sum of their peaks.
    void rows(Bytes divisor, const std::vector<std::vector<std::uint64_t>>& items);
    // The same of what is paid in a term, up to the height laid.
    void spent(std::uint64_t term);
    // What layouts up to a height cost at least in a term, by the peaks of pools.
    void peaks(std::uint64_t term, Bytes height, const std::vector<std::uint64_t>& tree);
    // The same by where units are: a tree as the page has it.
    void cost(std::uint64_t term, Bytes height, const std::vector<std::uint64_t>& tree);
    // Steps that refer to no lemma before them.
    void append(const ProofFile& steps);
    void finish();

    std::uint64_t steps() const { return steps_; }
    std::uint64_t limits() const { return limits_; }  // so many are stated
    std::uint64_t lemmas() const { return lemmas_; }
    std::uint64_t conclusions() const { return conclusions_; }
    Bytes concluded() const { return concluded_; }  // the greatest height; -1: none
    using NumberFile::kept_bytes;

  private:
    void derive(const Derivation& derivation);
    void list(const std::vector<std::uint64_t>& ascending_numbers);

    std::uint64_t steps_ = 0, lemmas_ = 0, limits_ = 0, conclusions_ = 0;
    Bytes named_ = 0, concluded_ = -1;
    bool is_kept_ = true, ties_count_ = false;
};

// Reads the lemmas that a search has left in a file, where no layout up to a height was to be shown: of
// several pools after its space. The file may be anything: what is no such lemma ends it.
class LemmaReader {
  public:
    // Where pairs in place tie or are apart, or may overlap, as in the search that the lemmas are for.
    LemmaReader(const std::string& path, const Digest& digest, std::optional<Bytes> space, bool ties_count);

    // The next lemma; or a conclusion, for a height; or the number of a lemma that is forgotten. They count
    // from the first that is read here.
    struct Step {
        std::optional<Lemma> lemma;
        std::optional<Derivation> conclusion;
        Bytes height = 0;
        std::uint64_t forgotten = 0;
    };
    std::optional<Step> next();

  private:
    std::uint64_t number();
    Bytes offset();
    std::uint64_t earlier_lemma();
    std::uint64_t ascending(std::uint64_t& next);
    Derivation derivation();
    Lemma lemma();

    NumberReader file_;
    bool is_over_ = false;
    std::uint64_t step_, lemmas_ = 0;  // the kind of the next step, and how many lemmas were before
};

}  // namespace memstow::proof
