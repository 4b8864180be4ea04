#include "proof/proof_file.hpp"

#include <algorithm>
#include <string_view>

namespace memstow::proof {
namespace {

constexpr std::string_view kLine = "memstow proof 1\n";

enum StepKind : std::uint64_t {
    kEnd = 0,
    kLemma = 1,
    kForget = 2,
    kConclude = 3,
    kLay = 4,
    kSpent = 5,
    kPeaks = 6,
    kWithin = 7,
    kRow = 8,
    kCost = 9,
    kTies = 10,
    kHeights = 11,
    kRows = 12,
    kChains = 13
};
enum LemmaRule : std::uint64_t { kSplitLow = 1, kSplitHigh = 2 };
enum MoveKind : std::uint64_t { kPush = 1, kFollow = 5 };

}  // namespace

ProofFile::ProofFile(const std::string& path, const Digest& digest)
    : NumberFile(path, kLine, digest), is_kept_(false) {}

Bytes ProofFile::name_heights(const std::vector<Bytes>& heights) {
    ++steps_;
    number(kHeights);
    for (const Bytes one : heights) number_of(one);
    return (Bytes{1} << 62) + 1 + named_++;
}

void ProofFile::lay(Bytes height) {
    ++steps_;
    number(kLay);
    number_of(height);
}

std::uint64_t ProofFile::state(const Lemma& lemma) {
    ++steps_;
    number(kLemma);
    number(lemma.bounds.size());
    std::uint64_t next = 0;
    for (const Bounds& one : lemma.bounds) {
        ascending(one.name, next);
        number_of(one.low);
        number_of(one.high);
    }
    number(lemma.from_below ? kSplitLow : kSplitHigh);
    number(lemma.item);
    number_of(lemma.at);
    derive(lemma.within);
    derive(lemma.beyond);
    return lemmas_++;
}

void ProofFile::derive(const Derivation& derivation) {
    for (const auto& [item, follows] : derivation.moves) {
        number(follows ? kFollow : kPush);
        number(item);
    }
    number(static_cast<std::uint64_t>(derivation.closer));
    if (derivation.closer == Derivation::Closer::lemma) number(lemmas_ - derivation.lemma);
    if (derivation.closer != Derivation::Closer::overfull) return;
    number_of(derivation.begin);
    number_of(derivation.end);
    list(derivation.crowd);
}

void ProofFile::list(const std::vector<std::uint64_t>& numbers) {
    number(numbers.size());
    std::uint64_t next = 0;
    for (const std::uint64_t one : numbers) ascending(one, next);
}

void ProofFile::forget(std::uint64_t lemma) {
    ++steps_;
    number(kForget);
    number(lemmas_ - lemma);
}

void ProofFile::conclude(Bytes height, const Derivation& derivation) {
    ++steps_;
    ++conclusions_;
    concluded_ = std::max(concluded_, height);
    number(kConclude);
    number_of(height);
    derive(derivation);
}

void ProofFile::let_tie(bool ties_count) {
    if (!is_kept_ && ties_count != ties_count_) {
        ++steps_;
        number(kTies);
        number(ties_count ? 1 : 0);
    }
    ties_count_ = ties_count;
}

void ProofFile::keep_within(Bytes height,
                            const std::vector<std::pair<std::uint64_t, std::vector<std::uint64_t>>>& pools,
                            const ProofFile& steps) {
    ++steps_;
    ++limits_;
    number(kWithin);
    number_of(height);
    number(pools.size());
    std::uint64_t next = 0;
    for (const auto& [item, allowed] : pools) {
        ascending(item, next);
        list(allowed);
    }
    append(steps);
}

void ProofFile::row(std::uint64_t pool, Bytes divisor, const std::vector<std::uint64_t>& items) {
    ++steps_;
    ++limits_;
    number(kRow);
    number(pool);
    number_of(divisor);
    list(items);
}

void ProofFile::chains(std::uint64_t pool, Bytes worth,
                       const std::vector<std::pair<std::uint64_t, Bytes>>& prices,
                       const std::vector<std::uint64_t>& tree) {
    ++steps_;
    ++limits_;
    number(kChains);
    number(pool);
    number_of(worth);
    number(prices.size());
    std::uint64_t next = 0;
    for (const auto& [one, price] : prices) {
        ascending(one, next);
        number_of(price);
    }
    for (const std::uint64_t one : tree) number(one);
}

void ProofFile::rows(Bytes divisor, const std::vector<std::vector<std::uint64_t>>& items) {
    ++steps_;
    ++limits_;
    number(kRows);
    number_of(divisor);
    for (const std::vector<std::uint64_t>& some : items) list(some);
}

void ProofFile::spent(std::uint64_t term) {
    ++steps_;
    ++limits_;
    number(kSpent);
    number(term);
}

void ProofFile::peaks(std::uint64_t term, Bytes height, const std::vector<std::uint64_t>& tree) {
    ++steps_;
    number(kPeaks);
    number(term);
    number_of(height);
    for (const std::uint64_t one : tree) number(one);
}

void ProofFile::cost(std::uint64_t term, Bytes height, const std::vector<std::uint64_t>& tree) {
    ++steps_;
    number(kCost);
    number(term);
    number_of(height);
    for (const std::uint64_t one : tree) number(one);
}

void ProofFile::append(const ProofFile& steps) {
    let_tie(steps.ties_count_);
    NumberFile::append(steps);
    steps_ += steps.steps_;
    lemmas_ += steps.lemmas_;
}

void ProofFile::finish() {
    number(kEnd);
    number(steps_);
    NumberFile::finish();
}

LemmaReader::LemmaReader(const std::string& path, const Digest& digest, std::optional<Bytes> space,
                         bool ties_count)
    : file_(path, kLine, digest), step_(number()) {
    if (space) {
        is_over_ = is_over_ || step_ != kLay || offset() != *space;
        step_ = number();
    }
    if (ties_count) {
        is_over_ = is_over_ || step_ != kTies || number() != 1;
        step_ = number();
    }
}

// Once it is over, 0.
std::uint64_t LemmaReader::number() {
    const auto value = is_over_ ? std::nullopt : file_.number();
    is_over_ = !value;
    return value.value_or(0);
}

Bytes LemmaReader::offset() {
    const std::uint64_t value = number();
    is_over_ = is_over_ || value > static_cast<std::uint64_t>(kLimit);
    return is_over_ ? 0 : static_cast<Bytes>(value);
}

std::uint64_t LemmaReader::earlier_lemma() {
    const std::uint64_t back = number();
    is_over_ = is_over_ || back == 0 || back > lemmas_;
    return is_over_ ? 0 : lemmas_ - back;
}

std::uint64_t LemmaReader::ascending(std::uint64_t& next) {
    const std::uint64_t gap = number();
    is_over_ = is_over_ || gap > static_cast<std::uint64_t>(kLimit) - next;
    return is_over_ ? 0 : std::exchange(next, next + gap + 1) + gap;
}

Derivation LemmaReader::derivation() {
    Derivation derivation;
    std::uint64_t kind = number();
    for (; kind == kPush || kind == kFollow; kind = number()) {
        derivation.moves.push_back({number(), kind == kFollow});
    }
    derivation.closer = static_cast<Derivation::Closer>(kind);
    switch (derivation.closer) {
        case Derivation::Closer::empty:
            break;
        case Derivation::Closer::lemma:
            derivation.lemma = earlier_lemma();
            break;
        case Derivation::Closer::overfull: {
            derivation.begin = offset();
            derivation.end = offset();
            std::uint64_t next = 0;
            for (std::uint64_t left = number(); left > 0 && !is_over_; --left) {
                derivation.crowd.push_back(ascending(next));
            }
            break;
        }
        default:
            is_over_ = true;
    }
    return derivation;
}

Lemma LemmaReader::lemma() {
    Lemma lemma;
    std::uint64_t next = 0;
    for (std::uint64_t left = number(); left > 0 && !is_over_; --left) {
        const std::uint64_t name = ascending(next);
        const Bytes low = offset();
        lemma.bounds.push_back({name, low, offset()});
    }
    const std::uint64_t rule = number();
    is_over_ = is_over_ || (rule != kSplitLow && rule != kSplitHigh);
    lemma.from_below = rule == kSplitLow;
    lemma.item = number();
    lemma.at = offset();
    lemma.within = derivation();
    lemma.beyond = derivation();
    return lemma;
}

std::optional<LemmaReader::Step> LemmaReader::next() {
    Step step;
    if (step_ == kLemma) {
        step.lemma = lemma();
        ++lemmas_;
    } else if (step_ == kConclude) {
        step.height = offset();
        step.conclusion = derivation();
    } else if (step_ == kForget) {
        step.forgotten = earlier_lemma();
    } else {
        return std::nullopt;
    }
    if (is_over_) return std::nullopt;
    step_ = number();
    return step;
}

}  // namespace memstow::proof
