#include <algorithm>
#include <array>

#include "shapes/formulas.hpp"

namespace memstow::shapes {
namespace {

constexpr int kDeepest = 64;
constexpr std::size_t kLongestShown = 40;

bool begins_name(char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool continues_name(char c) { return begins_name(c) || is_digit(c); }

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// A number, a name or a sign; the last one has no text.
struct Token {
    std::string_view text;
    std::size_t position;

    bool is_end() const { return text.empty(); }
    bool is_number() const { return !is_end() && is_digit(text.front()); }
    bool is_name() const { return !is_end() && begins_name(text.front()); }
};

struct Function {
    std::string_view name;
    Op op;
};

constexpr std::array<Function, 4> kFunctions{
    {{"ceil_div", Op::kCeilDiv}, {"align", Op::kAlign}, {"min", Op::kMin}, {"max", Op::kMax}}};

// A whole number with a comma after each thousand.
std::string with_commas(std::size_t number) {
    std::string text = std::to_string(number);
    for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
    return text;
}

std::string at_character(std::size_t position) { return "at character " + with_commas(position + 1) + " "; }

// Walks over the tokens from left to right, one function for each rule of the grammar. Each returns false
// where it has noted an error.
class Parser {
  public:
    Parser(std::string_view text, const std::vector<std::string>& names) : text_(text), names_(names) {}

    bool formula() {
        if (!tokens() || !sum()) return false;
        if (token().is_end()) return true;
        return unexpected(token().text == ")" ? "the end" : "an operation such as + or *");
    }

    std::vector<Node> nodes;
    SyntaxError error{};

  private:
    const Token& token() const { return tokens_[next_]; }

    // Splits the text, up to the first character that belongs to no token.
    bool tokens() {
        for (std::size_t at = 0; at < text_.size();) {
            if (is_blank(text_[at])) {
                ++at;
                continue;
            }
            std::size_t end = at + 1;
            if (is_digit(text_[at])) {
                while (end < text_.size() && is_digit(text_[end])) ++end;
            } else if (begins_name(text_[at])) {
                while (end < text_.size() && continues_name(text_[end])) ++end;
            } else if (text_.substr(at, 2) == "//") {
                end = at + 2;
            } else if (std::string_view("-+*%(),").find(text_[at]) == std::string_view::npos) {
                return fail(SyntaxError::Kind::kStray, at, {});
            }
            tokens_.push_back({text_.substr(at, end - at), at});
            at = end;
        }
        tokens_.push_back({{}, text_.size()});
        return true;
    }

    bool take(std::string_view sign) {
        if (token().is_end() || token().text != sign) return false;
        ++next_;
        return true;
    }

    void put(Op op, Bytes operand = 0) { nodes.push_back({op, operand}); }

    bool sum() {
        if (!product()) return false;
        bool several = false;
        for (;; several = true) {
            const Op op = take("+") ? Op::kPlus : take("-") ? Op::kMinus : Op::kEnd;
            if (op == Op::kEnd) break;
            if (!product()) return false;
            put(op);
        }
        if (several) put(Op::kEnd);
        return true;
    }

    bool product() {
        if (!factor()) return false;
        bool several = false;
        for (;; several = true) {
            const Op times = several ? Op::kTimes : Op::kTimesFirst;
            const Op op = take("*")    ? times
                          : take("//") ? Op::kDivide
                          : take("%")  ? Op::kRemainder
                                       : Op::kEnd;
            if (op == Op::kEnd) break;
            if (!factor()) return false;
            put(op);
        }
        if (several) put(Op::kEnd);
        return true;
    }

    bool factor() {
        const Token first = token();
        if (first.is_number()) {
            ++next_;
            return number(first);
        }
        if (first.is_name()) {
            ++next_;
            return name(first);
        }
        if (take("-")) {
            if (!deeper(first) || !factor()) return false;
            --depth_;
            put(Op::kNegate);
            return true;
        }
        if (take("(")) return deeper(first) && sum() && close();
        return unexpected("a number, a symbol or a parenthesis");
    }

    bool number(const Token& digits) {
        Wide value = 0;
        for (const char digit : digits.text) {
            value = value * 10 + (digit - '0');
            if (value > kLimit) {
                put(Op::kHuge, static_cast<Bytes>(digits.position));
                return true;
            }
        }
        put(Op::kNumber, static_cast<Bytes>(value));
        return true;
    }

    bool name(const Token& word) {
        for (const Function& function : kFunctions)
            if (function.name == word.text) return call(function, word);
        const auto known = std::ranges::find(names_, word.text);
        if (known == names_.end())
            return fail(SyntaxError::Kind::kUnknownSymbol, word.position, std::string(word.text));
        put(Op::kName, known - names_.begin());
        return true;
    }

    bool call(const Function& function, const Token& word) {
        const std::string name(function.name);
        if (!take("(")) return unexpected("the arguments of " + name + " in parentheses");
        if (!deeper(word)) return false;
        Bytes count = 0;
        do {
            if (!sum()) return false;
            ++count;
        } while (take(","));
        if (!close()) return false;
        if ((function.op == Op::kCeilDiv || function.op == Op::kAlign) && count != 2) {
            const std::string number = count == 1 ? "one argument" : with_commas(count) + " arguments";
            return fail(
                SyntaxError::Kind::kSyntax, word.position,
                at_character(word.position) + name + " has " + number + "; it takes two: " + name + "(a, b)");
        }
        put(function.op, count);
        return true;
    }

    bool close() {
        if (!take(")")) return unexpected("a closing parenthesis");
        --depth_;
        return true;
    }

    bool deeper(const Token& at) {
        if (++depth_ <= kDeepest) return true;
        return fail(SyntaxError::Kind::kTooDeep, at.position,
                    at_character(at.position) + "the formula is more than " + std::to_string(kDeepest) +
                        " parentheses, functions and minus signs deep; write it flatter");
    }

    bool unexpected(const std::string& wanted) {
        const Token& here = token();
        const std::string text(here.text.substr(0, kLongestShown));
        return fail(SyntaxError::Kind::kSyntax, here.position,
                    at_character(here.position) +
                        (here.is_end() ? "the formula ends" : "there is '" + text + "'") + ", where " +
                        wanted + " should be");
    }

    bool fail(SyntaxError::Kind kind, std::size_t position, std::string message) {
        error = {kind, position, std::move(message)};
        return false;
    }

    std::string_view text_;
    const std::vector<std::string>& names_;
    std::vector<Token> tokens_;
    std::size_t next_ = 0;
    int depth_ = 0;
};

}  // namespace

std::variant<std::vector<Node>, SyntaxError> parse(std::string_view text,
                                                   const std::vector<std::string>& names) {
    Parser parser(text, names);
    if (parser.formula()) return std::move(parser.nodes);
    return std::move(parser.error);
}

}  // namespace memstow::shapes
