// What the programs of this folder read: JSON, digests, and the numbers of a proof; and how they end.
//
// Copyright the authors of memstow. Licensed under the Apache License, Version 2.0 (the file LICENSE).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <exception>
#include <fstream>
#include <initializer_list>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <streambuf>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

namespace checker {

using Bytes = std::int64_t;    // an offset, a size or an end: 0 to kLimit, so that a sum of two fits
using Number = std::uint64_t;  // as a proof has it
using Index = std::uint32_t;   // of one of many, from 0

inline constexpr Bytes kLimit = Bytes{1} << 62;

enum Exit { verified = 0, is_wrong = 1, unchecked = 2, weaker = 3 };

struct Verdict {
    Exit code;
    std::string words;
    Bytes least_peak = 0;            // no layout has a lower one
    std::vector<Bytes> bounds = {};  // by term of the objective: of plans that are no worse in those before
};

// The plan or the proof is not right; or this program cannot say.
[[noreturn]] inline void wrong(const std::string& why) { throw Verdict{is_wrong, "wrong: " + why}; }
[[noreturn]] inline void not_checked(const std::string& why) {
    throw Verdict{unchecked, "not checked: " + why};
}

// ---------------------------------------------------------------------------------------------------------------
// SHA-256 (FIPS 180-4)

inline std::array<std::uint8_t, 32> sha256_of(std::string_view data) {
    // The first 32 bits of the fractional parts of the cube roots of the first primes, and of square roots.
    constexpr std::array<std::uint32_t, 64> kRoots{
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

    std::array<std::uint32_t, 8> state{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    // After the data a bit, zeros, and in the last eight bytes of the last block how many bits there were.
    const std::size_t end = (data.size() + 8) / 64 * 64 + 64;
    const auto byte = [&](std::size_t at) -> std::uint8_t {
        if (at < data.size()) return static_cast<std::uint8_t>(data[at]);
        if (at == data.size()) return 0x80;
        if (at + 8 < end) return 0;
        return static_cast<std::uint8_t>(std::uint64_t{data.size()} * 8 >> (8 * (end - 1 - at)));
    };
    for (std::size_t block = 0; block < end; block += 64) {
        std::array<std::uint32_t, 64> words{};
        auto s = state;
        for (std::size_t i = 0; i < 64; ++i) {
            if (i < 16) {
                for (std::size_t k = 0; k < 4; ++k) words[i] = (words[i] << 8) | byte(block + i * 4 + k);
            } else {
                const std::uint32_t a = words[i - 15], b = words[i - 2];
                words[i] = words[i - 16] + words[i - 7] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) +
                           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
            }
            const std::uint32_t first = s[7] +
                                        (std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25)) +
                                        ((s[4] & s[5]) ^ (~s[4] & s[6])) + kRoots[i] + words[i];
            const std::uint32_t second = (std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22)) +
                                         ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
            s = {first + second, s[0], s[1], s[2], s[3] + first, s[4], s[5], s[6]};
        }
        for (std::size_t i = 0; i < 8; ++i) state[i] += s[i];
    }
    std::array<std::uint8_t, 32> digest{};
    for (std::size_t i = 0; i < 32; ++i)
        digest[i] = static_cast<std::uint8_t>((state[i / 4] >> (24 - 8 * (i % 4))) & 0xff);
    return digest;
}

// ---------------------------------------------------------------------------------------------------------------
// JSON (RFC 8259), strict: UTF-8, no key twice in an object. Numbers stay texts until somebody wants an
// integer.

struct Json {
    enum class Kind { null, boolean, number, text, list, object };
    Kind kind = Kind::null;
    std::string text;         // of a text or a number
    std::vector<Json> items;  // of a list or an object
    std::string name;         // of the field that this is, or that has it in a list
    std::string_view file;
    std::size_t at = 0;

    [[noreturn]] void fail(const std::string& why) const {
        not_checked(std::string(file) + ", at byte " + std::to_string(at) + ": " + name + ' ' + why);
    }

    // Null is as if the field was left out, where the format allows that.
    const Json* find(std::string_view field, bool may_be_null = false) const {
        if (kind != Kind::object) fail("is no object");
        const auto there = std::ranges::find(items, field, &Json::name);
        return there == items.end() || (may_be_null && there->kind == Kind::null) ? nullptr : &*there;
    }
    const Json& operator[](std::string_view field) const {
        const Json* value = find(field);
        if (value == nullptr) fail("lacks its " + std::string(field));
        return *value;
    }
    // Every field that is not listed is refused.
    void has_only(std::initializer_list<std::string_view> fields) const {
        if (kind != Kind::object) fail("is no object");
        for (const Json& one : items) {
            if (std::ranges::find(fields, one.name) == fields.end()) one.fail("is unknown to this program");
        }
    }

    const std::string& string() const {
        if (kind != Kind::text) fail("is no text");
        return text;
    }
    const std::vector<Json>& list() const {
        if (kind != Kind::list) fail("is no list");
        return items;
    }
    // Of a field that may be left out.
    const std::vector<Json>& list(std::string_view field, bool may_be_null = false) const {
        static const std::vector<Json> nothing;
        const Json* value = find(field, may_be_null);
        return value == nullptr ? nothing : value->list();
    }
    const std::vector<Json>& pair() const {
        if (list().size() != 2) fail("is no pair");
        return items;
    }
    std::int64_t integer() const {
        if (kind != Kind::number) fail("is no number");
        std::int64_t amount = 0;
        const char* const end = text.data() + text.size();
        const auto [rest, error] = std::from_chars(text.data(), end, amount);
        if (error != std::errc{} || amount > kLimit || amount < -kLimit) fail("is beyond 2^62");
        if (rest != end) fail("is no integer");
        return amount;
    }
    Bytes bytes(Bytes least = 0) const {
        const Bytes amount = integer();
        if (amount < least) fail("is below " + std::to_string(least));
        return amount;
    }
};

inline Bytes bytes_or(Bytes otherwise, const Json* value, Bytes least = 0) {
    return value == nullptr ? otherwise : value->bytes(least);
}

// The character that begins here in UTF-8, which is passed as far as it is right; none if it is not.
inline std::optional<char32_t> next_character(std::string_view text, std::size_t& at) {
    const auto byte = [&] { return at < text.size() ? static_cast<std::uint8_t>(text[at++]) : char32_t{0}; };
    const char32_t lead = byte(), more = lead < 0x80 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    char32_t code = more == 0 ? lead : lead & (0x3fU >> more);
    for (char32_t k = 0; k < more; ++k) {
        const char32_t next = byte();
        if ((next & 0xc0) != 0x80) return std::nullopt;
        code = (code << 6) | (next & 0x3f);
    }
    constexpr char32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
    if ((lead & 0xc0) == 0x80 || lead >= 0xf8 || code < kLeast[more] || code > 0x10ffff) return std::nullopt;
    return code >= 0xd800 && code < 0xe000 ? std::nullopt : std::optional(code);
}

class JsonReader {
  public:
    JsonReader(std::string_view data, std::string_view file) : data_(data), file_(file) {}

    Json document() {
        at_ = data_.starts_with("\xef\xbb\xbf") ? 3 : 0;
        Json value = read(0, "all");
        skip_blanks();
        if (at_ != data_.size()) fail("something follows its end");
        return value;
    }

  private:
    [[noreturn]] void fail(const std::string& why) const {
        not_checked(std::string(file_) + ", at byte " + std::to_string(at_) + ": no JSON: " + why);
    }
    bool ended() const { return at_ >= data_.size(); }
    char next() const { return ended() ? '\0' : data_[at_]; }
    void skip_blanks() {
        while (!ended() && (next() == ' ' || next() == '\t' || next() == '\n' || next() == '\r')) ++at_;
    }
    bool take(char wanted) {
        skip_blanks();
        if (ended() || next() != wanted) return false;
        ++at_;
        return true;
    }
    void word(std::string_view wanted) {
        if (data_.substr(at_, wanted.size()) != wanted) fail("an unknown word");
        at_ += wanted.size();
    }

    Json read(int depth, const std::string& name) {
        constexpr int kDeepest = 100;
        if (depth > kDeepest) fail("too deep");
        skip_blanks();
        if (ended()) fail("it ends too early");
        Json value{Json::Kind::null, {}, {}, name, file_, at_};
        const char first = next();
        if (first == '{') {
            value.kind = Json::Kind::object;
            std::unordered_set<std::string> seen;
            sequence('}', [&] {
                skip_blanks();
                if (next() != '"') fail("a key is missing");
                const std::string key = text();
                if (!seen.insert(key).second) fail("a key twice");
                if (!take(':')) fail("a colon is missing");
                value.items.push_back(read(depth + 1, key));
            });
        } else if (first == '[') {
            value.kind = Json::Kind::list;
            sequence(']', [&] { value.items.push_back(read(depth + 1, name)); });
        } else if (first == '"') {
            value.kind = Json::Kind::text;
            value.text = text();
        } else if (first == 't' || first == 'f') {
            value.kind = Json::Kind::boolean;
            word(first == 't' ? "true" : "false");
        } else if (first == 'n') {
            word("null");
        } else {
            value.kind = Json::Kind::number;
            value.text = number();
        }
        return value;
    }

    template <typename Read>
    void sequence(char end, Read read_one) {
        ++at_;
        if (take(end)) return;
        do read_one();
        while (take(','));
        if (!take(end)) fail("a list or an object without its end");
    }

    bool digits() {
        const std::size_t from = at_;
        while (next() >= '0' && next() <= '9') ++at_;
        return at_ > from;
    }

    std::string number() {
        const std::size_t from = at_;
        const auto pass = [&](std::string_view some) {
            const bool there = !ended() && some.find(next()) != std::string_view::npos;
            at_ += there ? 1 : 0;
            return there;
        };
        pass("-");
        if (!pass("0") && !digits()) fail("no value");
        if (pass(".") && !digits()) fail("no digits after a point");
        if (pass("eE") && (pass("+-"), !digits())) fail("no digits in an exponent");
        return std::string(data_.substr(from, at_ - from));
    }

    std::uint32_t four_digits() {
        std::uint32_t code = 0;
        const char *const begin = data_.data() + at_, *const end = begin + std::min<std::size_t>(
                                                                               4, data_.size() - at_);
        if (end != begin + 4 || std::from_chars(begin, end, code, 16).ptr != end) fail("a wrong escape");
        at_ += 4;
        return code;
    }

    static void append(std::string& text, std::uint32_t code) {
        const std::uint32_t more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
        constexpr std::uint32_t kLeads[] = {0, 0xc0, 0xe0, 0xf0};
        text.push_back(static_cast<char>(kLeads[more] | (code >> (6 * more))));
        for (std::uint32_t k = more; k-- > 0;)
            text.push_back(static_cast<char>(0x80 | ((code >> (6 * k)) & 0x3f)));
    }

    void escape(std::string& text) {
        const char kind = next();
        ++at_;
        constexpr std::string_view kNames = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
        const std::size_t known = kNames.find(kind);
        if (kind != 'u' && known == std::string_view::npos) fail("a wrong escape");
        if (kind != 'u') return text.push_back(kMeant[known]);
        std::uint32_t code = four_digits();
        if (code >= 0xd800 && code < 0xe000) {
            if (code >= 0xdc00 || data_.substr(at_, 2) != "\\u") fail("half a character");
            at_ += 2;
            const std::uint32_t second = four_digits();
            if (second < 0xdc00 || second >= 0xe000) fail("half a character");
            code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
        }
        append(text, code);
    }

    std::string text() {
        std::string result;
        for (++at_; next() != '"';) {
            if (ended()) fail("a text without its end");
            const std::size_t from = at_;
            const auto character = next_character(data_, at_);
            if (!character) fail("no UTF-8");
            if (*character < 0x20) fail("a control character in a text");
            *character == '\\' ? escape(result) : void(result += data_.substr(from, at_ - from));
        }
        ++at_;
        return result;
    }

    std::string_view data_;
    std::string_view file_;
    std::size_t at_ = 0;
};

// ---------------------------------------------------------------------------------------------------------------
// Pools

struct Range {
    std::int64_t begin, end;
};

inline void make_disjoint(std::vector<Range>& ranges) {
    std::ranges::sort(ranges, {}, &Range::begin);
    std::vector<Range> merged;
    for (const Range& range : ranges) {
        if (merged.empty() || range.begin > merged.back().end) merged.push_back(range);
        merged.back().end = std::max(merged.back().end, range.end);
    }
    ranges = std::move(merged);
}

struct Pool {
    std::string id = "memory";
    Bytes end = kLimit, alignment = 1, base = 0;
    std::vector<Range> reserved;  // sorted, disjoint
};

inline Pool pool_of(const Json& value) {
    value.has_only({"id", "capacity", "alignment", "reserved", "base", "cost"});
    Pool one{value["id"].string(),
             bytes_or(kLimit, value.find("capacity", true)),
             bytes_or(1, value.find("alignment"), 1),
             bytes_or(0, value.find("base", true)),
             {}};
    for (const Json& range : value.list("reserved")) {
        range.has_only({"offset", "size"});
        const Bytes begin = range["offset"].bytes(), size = range["size"].bytes(1);
        if (size > one.end - begin) range.fail("ends beyond the pool");
        one.reserved.push_back({begin, begin + size});
    }
    make_disjoint(one.reserved);
    return one;
}

inline bool aligned(Bytes base, Bytes offset, Bytes alignment) {
    return (base % alignment + offset % alignment) % alignment == 0;
}

// Of a pair of two, in any order.
inline std::uint64_t key(Index i, Index j) { return (std::uint64_t{std::min(i, j)} << 32) | std::max(i, j); }

// ---------------------------------------------------------------------------------------------------------------
// Plans

// Some bytes of a pool, at least one, that somebody has for a while.
struct Placed {
    Index name, pool;
    Bytes offset, size;
    Range life;
};

// Calls it with the names of each two that share a byte at some time, and of some that only might.
template <typename Take>
void each_near(const std::vector<Placed>& placed, Take take) {
    struct Change {
        std::int64_t time;
        bool begins;  // after those that end
        Index of;
    };
    std::vector<Change> changes;
    for (Index k = 0; k < placed.size(); ++k) {
        changes.push_back({placed[k].life.begin, true, k});
        changes.push_back({placed[k].life.end, false, k});
    }
    std::ranges::sort(changes, {},
                      [](const Change& one) { return std::tuple(one.time, one.begins, one.of); });
    // What lives, by pool and by the digits of sizes, and then by offset. What is as wide and shares nothing
    // leaves room for a few only of those that are looked at and end too early.
    std::map<std::pair<Index, int>, std::set<std::pair<Bytes, Index>>> alive;
    for (const auto& [time, begins, k] : changes) {
        const Placed& one = placed[k];
        auto& own = alive[{one.pool, std::bit_width(static_cast<std::uint64_t>(one.size))}];
        if (!begins) {
            own.erase({one.offset, k});
            continue;
        }
        for (auto some = alive.lower_bound({one.pool, 0}); some != alive.end(); ++some) {
            const auto& [pool, digits] = some->first;
            if (pool != one.pool) break;
            const Bytes half = Bytes{1} << (digits - 1);  // each has fewer bytes than two of these
            auto next = some->second.lower_bound({one.offset - half - half, 0});
            for (; next != some->second.end() && next->first < one.offset + one.size; ++next)
                take(one.name, placed[next->second].name);
        }
        own.emplace(one.offset, k);
    }
}

// ---------------------------------------------------------------------------------------------------------------
// The numbers of a proof, read once

class ProofFile {
  public:
    explicit ProofFile(std::streambuf& file) : file_(file) {}

    // In what takes long for few bytes: a file may end that, where nobody waits for the verdict any longer.
    void work(Number steps) {
        work_ += steps;
        if (work_ >> 24 == 0) return;
        work_ = 0;
        file_.pubsync();
    }

    // What a proof begins with: its format, and the digest of what it is about.
    void begin(std::string_view magic, const std::array<std::uint8_t, 32>& digest) {
        for (const char c : magic) {
            if (file_.sbumpc() != static_cast<std::uint8_t>(c))
                not_checked("the proof is none of this format");
        }
        for (const std::uint8_t wanted : digest) {
            if (byte() != wanted) wrong("the proof is for another problem");
        }
    }

    [[noreturn]] void fail(const std::string& why) const {
        wrong("step " + std::to_string(step) + " of the proof: " + why);
    }

    Number number() {
        Number value = 0;
        for (int shift = 0;; shift += 7) {
            const Number next = byte();
            if (shift == 63 && next > 1) fail("a number beyond 64 bits");
            value |= (next & 0x7f) << shift;
            if (next < 0x80) return value;
        }
    }

    Bytes amount() {
        const Number value = number();
        if (value > static_cast<Number>(kLimit)) fail("a number beyond 2^62");
        return static_cast<Bytes>(value);
    }

    // The greatest number of an ascending list of gaps is below the limit.
    template <typename Take>
    void ascending(Number limit, std::string_view what, Take take, Number least = 1) {
        const Number count = number();
        if (count < least || count > limit)
            fail("a list of " + std::to_string(count) + ' ' + std::string(what) + 's');
        for (Number k = 0, at = 0; k < count; ++k, ++at) {
            const Number gap = number();
            if (gap >= limit - at) fail("a " + std::string(what) + " that there is not");
            take(static_cast<Index>(at += gap));
        }
    }

    void end() {
        if (number() != step) fail("the number of steps at the end is another");
        if (file_.sgetc() != std::char_traits<char>::eof()) fail("something follows the end");
    }

    Number step = 0;  // the one at hand, counted from 0

  private:
    std::uint8_t byte() {
        const auto next = file_.sbumpc();
        if (next == std::char_traits<char>::eof()) fail("the proof is cut off");
        return static_cast<std::uint8_t>(next);
    }

    std::streambuf& file_;
    Number work_ = 0;
};

// ---------------------------------------------------------------------------------------------------------------
// How a program ends

// A text with names of the problem in it as it may be printed: what could begin a line, move the cursor of a
// terminal or turn the direction of writing is escaped, so that a name cannot pass for a verdict.
inline std::string printable(std::string_view text) {
    constexpr std::pair<char32_t, char32_t> kHidden[] = {
        {0x00, 0x1f},     {0x7f, 0x9f},     {0xad, 0xad},      {0x61c, 0x61c},
        {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202e},  {0x2060, 0x206f},
        {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe0fff}};
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t from = at;
        const auto character = next_character(text, at);
        const char32_t code = character.value_or(0xfffd);  // which stands for what is none
        const bool hidden = !character || std::ranges::any_of(kHidden, [&](const auto& range) {
            return range.first <= code && code <= range.second;
        });
        if (hidden) {
            result += code < 0x10000 ? "\\u" : "\\U";
            for (int shift = code < 0x10000 ? 12 : 28; shift >= 0; shift -= 4)
                result += kDigits[(code >> shift) & 0xf];
        } else {
            result += text.substr(from, at - from);
        }
    }
    return result;
}

// The verdict of the work, or what kept it from one.
template <typename Work>
Verdict verdict_of(Work work) {
    try {
        return work();
    } catch (const Verdict& verdict) {
        return verdict;
    } catch (const std::exception& error) {
        return {unchecked, std::string("not checked: ") + error.what()};
    }
}

inline std::ifstream opened(const char* path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) not_checked(std::string("cannot read ") + path);
    return file;
}
inline std::string content_of(const char* path) {
    std::ifstream file = opened(path);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// A whole program of this name, about what is called so. `compared` has the verdict on two texts and a proof;
// without a plan, the second, its steps are printed.
template <typename Compared>
int program(int count, char** words, const std::string& name, const std::string& what, Compared compared) {
    if (count != 4) {
        std::cerr << "usage: " << name << ' ' << what << " PLAN PROOF\n       " << name << " --text " << what
                  << " PROOF\n";
        return unchecked;
    }
    const bool shows = std::string_view(words[1]) == "--text";
    const Verdict verdict = verdict_of([&] {
        const std::string text = content_of(words[shows ? 2 : 1]);
        const std::string plan = shows ? "" : content_of(words[2]);
        std::ifstream proof = opened(words[3]);
        return compared(text, shows ? nullptr : &plan, *proof.rdbuf());
    });
    if (!verdict.words.empty()) std::cout << printable(verdict.words) << '\n';
    return verdict.code;
}

}  // namespace checker
