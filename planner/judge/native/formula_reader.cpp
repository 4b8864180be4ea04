#include "formula_reader.hpp"

#include <algorithm>

namespace memstow::judge {
namespace {

using std::int64_t;
using std::size_t;
__extension__ typedef __int128 Wide;

constexpr int kDeepest = 64;

bool is_digit(char c) { return '0' <= c && c <= '9'; }

bool is_letter(char c) { return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || c == '_'; }

// Reads a text from left to right and appends its steps, operands before operators.
class Reader {
  public:
    Reader(std::string_view text, const std::vector<std::string>& names, std::vector<Step>& steps)
        : text_(text), names_(names), steps_(steps) {}

    bool whole() {
        if (!sum()) return false;
        skip_blanks();
        return next_ == text_.size();
    }

  private:
    void skip_blanks() {
        while (next_ < text_.size()) {
            const char c = text_[next_];
            if (c != ' ' && c != '\t' && c != '\r' && c != '\n') return;
            ++next_;
        }
    }

    bool take(std::string_view sign) {
        skip_blanks();
        if (text_.substr(next_, sign.size()) != sign) return false;
        next_ += sign.size();
        return true;
    }

    void put(Kind kind, int64_t argument = 0) { steps_.push_back({kind, argument}); }

    bool sum() {
        if (!product()) return false;
        while (true) {
            const bool plus = take("+");
            if (!plus && !take("-")) return true;
            if (!product()) return false;
            put(plus ? Kind::add : Kind::subtract);
        }
    }

    bool product() {
        if (!unary()) return false;
        while (true) {
            Kind kind = Kind::multiply;
            if (take("//")) {
                kind = Kind::divide;
            } else if (take("%")) {
                kind = Kind::rest;
            } else if (!take("*")) {
                return true;
            }
            if (!unary()) return false;
            put(kind);
        }
    }

    bool unary() {
        if (!take("-")) return primary();
        if (++depth_ > kDeepest || !unary()) return false;
        --depth_;
        put(Kind::minus);
        return true;
    }

    bool close() {
        --depth_;
        return take(")");
    }

    bool primary() {
        if (take("(")) return ++depth_ <= kDeepest && sum() && close();
        if (next_ == text_.size()) return false;
        if (is_digit(text_[next_])) return number();
        return is_letter(text_[next_]) && named();
    }

    bool number() {
        Wide value = 0;
        for (; next_ < text_.size() && is_digit(text_[next_]); ++next_) {
            value = 10 * value + (text_[next_] - '0');
            if (value > kMostValue) return false;
        }
        if (next_ < text_.size() && is_letter(text_[next_])) return false;
        put(Kind::number, static_cast<int64_t>(value));
        return true;
    }

    bool named() {
        const size_t begin = next_;
        while (next_ < text_.size() && (is_letter(text_[next_]) || is_digit(text_[next_]))) ++next_;
        const std::string_view name = text_.substr(begin, next_ - begin);
        if (name == "ceil_div") return call(Kind::divide_up, true);
        if (name == "align") return call(Kind::align, true);
        if (name == "min") return call(Kind::least, false);
        if (name == "max") return call(Kind::most, false);
        const auto place = std::find(names_.begin(), names_.end(), name);
        if (place == names_.end()) return false;
        put(Kind::symbol, place - names_.begin());
        return true;
    }

    bool call(Kind kind, bool of_two) {
        if (!take("(") || ++depth_ > kDeepest) return false;
        int64_t count = 0;
        do {
            if (!sum()) return false;
            ++count;
        } while (take(","));
        if (!close() || (of_two && count != 2)) return false;
        put(kind, count);
        return true;
    }

    std::string_view text_;
    const std::vector<std::string>& names_;
    std::vector<Step>& steps_;
    size_t next_ = 0;
    int depth_ = 0;
};

}  // namespace

bool read_formula(std::string_view text, const std::vector<std::string>& names, std::vector<Step>& steps) {
    return Reader(text, names, steps).whole();
}

}  // namespace memstow::judge
