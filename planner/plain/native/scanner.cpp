#include "scanner.hpp"

#include <limits>

namespace memstow::plain {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void append_utf8(std::string& to, std::uint32_t point) {
    const auto add = [&](std::uint32_t byte) { to.push_back(static_cast<char>(byte)); };
    if (point < 0x80) {
        add(point);
    } else if (point < 0x800) {
        add(0xc0 | point >> 6);
        add(0x80 | (point & 0x3f));
    } else if (point < 0x10000) {
        add(0xe0 | point >> 12);
        add(0x80 | (point >> 6 & 0x3f));
        add(0x80 | (point & 0x3f));
    } else {
        add(0xf0 | point >> 18);
        add(0x80 | (point >> 12 & 0x3f));
        add(0x80 | (point >> 6 & 0x3f));
        add(0x80 | (point & 0x3f));
    }
}

}  // namespace

void Scanner::blanks() {
    while (at_ < text_.size()) {
        const char c = text_[at_];
        if (c != ' ' && c != '\n' && c != '\t' && c != '\r') return;
        ++at_;
    }
}

bool Scanner::at_end() {
    blanks();
    return at_ == text_.size();
}

bool Scanner::sees(char character) {
    blanks();
    return at_ < text_.size() && text_[at_] == character;
}

bool Scanner::take(char character) {
    if (!sees(character)) return false;
    ++at_;
    return true;
}

bool Scanner::word(std::string_view word) {
    blanks();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
}

bool Scanner::string(std::string& value) {
    if (!take('"')) return false;
    value.clear();
    while (at_ < text_.size()) {
        const std::size_t begin = at_;
        while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\' &&
               static_cast<unsigned char>(text_[at_]) >= 0x20) {
            ++at_;
        }
        value.append(text_.substr(begin, at_ - begin));
        if (at_ == text_.size()) return false;
        const char c = text_[at_++];
        if (c == '"') return true;
        if (c != '\\' || !escape(value)) return false;
    }
    return false;
}

bool Scanner::escape(std::string& value) {
    if (at_ == text_.size()) return false;
    const char c = text_[at_++];
    constexpr std::string_view kShort = "\"\\/bfnrt";
    constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
    if (const std::size_t place = kShort.find(c); place != std::string_view::npos) {
        value.push_back(kMeant[place]);
        return true;
    }
    std::uint32_t point;
    if (c != 'u' || !unit(point)) return false;
    if (point >= 0xd800 && point < 0xe000) {
        std::uint32_t low;
        const bool paired = point < 0xdc00 && text_.substr(at_).starts_with("\\u");
        if (!paired) return false;
        at_ += 2;
        if (!unit(low) || low < 0xdc00 || low >= 0xe000) return false;
        point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
    }
    append_utf8(value, point);
    return true;
}

bool Scanner::unit(std::uint32_t& value) {
    if (text_.size() - at_ < 4) return false;
    value = 0;
    for (int i = 0; i < 4; ++i) {
        const char c = text_[at_++];
        const char lower = static_cast<char>(c | 0x20);
        if (is_digit(c)) {
            value = value * 16 + static_cast<std::uint32_t>(c - '0');
        } else if (lower >= 'a' && lower <= 'f') {
            value = value * 16 + static_cast<std::uint32_t>(lower - 'a' + 10);
        } else {
            return false;
        }
    }
    return true;
}

bool Scanner::integer(std::int64_t& value) {
    const bool negative = take('-');
    if (!negative) blanks();
    const std::size_t begin = at_;
    std::uint64_t magnitude = 0;
    while (at_ < text_.size() && is_digit(text_[at_])) {
        if (at_ - begin == 19) return false;
        magnitude = magnitude * 10 + static_cast<std::uint64_t>(text_[at_++] - '0');
    }
    const std::size_t digits = at_ - begin;
    if (digits == 0 || (digits > 1 && text_[begin] == '0')) return false;
    if (at_ < text_.size() && (text_[at_] == '.' || (text_[at_] | 0x20) == 'e')) return false;
    if (magnitude > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return false;
    value = negative ? -static_cast<std::int64_t>(magnitude) : static_cast<std::int64_t>(magnitude);
    return true;
}

bool Scanner::skip() {
    blanks();
    std::size_t depth = 0;
    bool any = false;
    while (at_ < text_.size()) {
        const char c = text_[at_];
        if (c == '"') {
            ++at_;
            while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
            if (at_ >= text_.size()) return false;
        } else if (c == '[' || c == '{') {
            ++depth;
        } else if (c == ']' || c == '}') {
            if (depth == 0) return any;
            --depth;
        } else if (c == ',' && depth == 0) {
            return any;
        }
        any = true;
        ++at_;
    }
    return false;
}

}  // namespace memstow::plain
