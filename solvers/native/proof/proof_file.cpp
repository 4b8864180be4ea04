#include "proof/proof_file.hpp"

#include <cerrno>
#include <string_view>
#include <system_error>

namespace memstow::proof {
namespace {

constexpr std::size_t kPending = std::size_t{1} << 16;
enum Step : std::uint64_t {
    kEnd = 0,
    kLemma = 1,
    kForget = 2,
    kConclude = 3,
    kLay = 4,
    kApart = 5,
    kCost = 6
};
enum Rule : std::uint64_t { kSplitLow = 1, kSplitHigh = 2 };
enum Part : std::uint64_t { kPush = 1, kFollow = 5 };

[[noreturn]] void fail() {
    throw std::system_error(errno, std::generic_category(), "cannot write the proof");
}

}  // namespace

ProofFile::ProofFile(const std::string& path, const std::array<std::uint8_t, 32>& digest)
    : file_(std::fopen(path.c_str(), "wb")) {
    if (file_ == nullptr) fail();
    constexpr std::string_view kMagic = "memstow proof 1\n";
    pending_.reserve(kPending + 16);
    for (const char one : kMagic) pending_.push_back(static_cast<std::uint8_t>(one));
    for (const std::uint8_t one : digest) pending_.push_back(one);
}

void ProofFile::number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) pending_.push_back(static_cast<std::uint8_t>(value | 0x80));
    pending_.push_back(static_cast<std::uint8_t>(value));
    if (file_ != nullptr && pending_.size() >= kPending) flush();
}

void ProofFile::flush() {
    if (std::fwrite(pending_.data(), 1, pending_.size(), file_.get()) != pending_.size()) fail();
    pending_.clear();
}

void ProofFile::lay(Bytes height) {
    ++steps_;
    number(kLay);
    number_of(height);
}

// As the gap to the one before.
void ProofFile::ascending(std::uint64_t name, std::uint64_t& next) {
    number(name - next);
    next = name + 1;
}

std::uint64_t ProofFile::lemma(const std::vector<Bounds>& bounds, bool from_below, std::uint64_t item,
                               Bytes at, const Derivation& within, const Derivation& beyond) {
    ++steps_;
    number(kLemma);
    number(bounds.size());
    std::uint64_t next = 0;
    for (const Bounds& one : bounds) {
        ascending(one.name, next);
        number_of(one.low);
        number_of(one.high);
    }
    number(from_below ? kSplitLow : kSplitHigh);
    number(item);
    number_of(at);
    derive(within);
    derive(beyond);
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
    number(derivation.crowd.size());
    std::uint64_t next = 0;
    for (const std::uint64_t name : derivation.crowd) ascending(name, next);
}

void ProofFile::forget(std::uint64_t lemma) {
    ++steps_;
    number(kForget);
    number(lemmas_ - lemma);
}

void ProofFile::conclude(Bytes height, const Derivation& derivation) {
    ++steps_;
    number(kConclude);
    number_of(height);
    derive(derivation);
}

void ProofFile::keep_apart(const std::vector<std::uint64_t>& pairs) {
    ++steps_;
    number(kApart);
    number(pairs.size());
    std::uint64_t next = 0;
    for (const std::uint64_t pair : pairs) ascending(pair, next);
}

void ProofFile::cost(Bytes height, const std::vector<std::uint64_t>& tree) {
    ++steps_;
    number(kCost);
    number_of(height);
    for (const std::uint64_t one : tree) number(one);
}

void ProofFile::append(const ProofFile& steps) {
    pending_.insert(pending_.end(), steps.pending_.begin(), steps.pending_.end());
    if (file_ != nullptr && pending_.size() >= kPending) flush();
    steps_ += steps.steps_;
    lemmas_ += steps.lemmas_;
}

void ProofFile::finish() {
    number(kEnd);
    number(steps_);
    flush();
    if (std::fflush(file_.get()) != 0) fail();
}

}  // namespace memstow::proof
