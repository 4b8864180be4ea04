#include "text.hpp"

#include <algorithm>
#include <cstring>

namespace memstow::plain {
namespace {

unsigned byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

bool is_ascii(const char* from, std::size_t length) {
    std::uint64_t bits = 0;
    std::size_t i = 0;
    for (; i + 8 <= length; i += 8) {
        std::uint64_t word;
        std::memcpy(&word, from + i, 8);
        bits |= word;
    }
    for (; i < length; ++i) bits |= static_cast<unsigned char>(from[i]);
    return (bits & 0x8080808080808080u) == 0;
}

// The length of the sequence that begins here; 0 where it is not UTF-8.
std::size_t sequence(std::string_view text, std::size_t i) {
    const unsigned first = byte_at(text, i);
    if (first < 0x80) return 1;
    const std::size_t length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    if (length == 0 || length > text.size() - i) return 0;
    for (std::size_t k = 1; k < length; ++k) {
        if ((byte_at(text, i + k) & 0xc0) != 0x80) return 0;
    }
    const unsigned second = byte_at(text, i + 1);
    const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
    const bool surrogate = first == 0xed && second >= 0xa0;
    const bool beyond = first == 0xf4 && second >= 0x90;
    return overlong || surrogate || beyond ? 0 : length;
}

}  // namespace

bool is_utf8(std::string_view text) {
    constexpr std::size_t kBlock = 4096;
    for (std::size_t i = 0; i < text.size();) {
        const std::size_t block = std::min(kBlock, text.size() - i);
        if (is_ascii(text.data() + i, block)) {
            i += block;
            continue;
        }
        for (const std::size_t end = i + block; i < end;) {
            const std::size_t length = sequence(text, i);
            if (length == 0) return false;
            i += length;
        }
    }
    return true;
}

std::size_t characters(std::string_view text) {
    const auto begins = [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; };
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins));
}

std::string_view without_mark(std::string_view text) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    return text;
}

std::size_t count(std::string_view text, char character) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), character));
}

bool is_readable(std::string_view text) {
    return count(text, ',') + count(text, '[') + count(text, '{') <= kMostValues && is_utf8(text);
}

}  // namespace memstow::plain
