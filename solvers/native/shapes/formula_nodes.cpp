#include "shapes/formula_nodes.hpp"

#include <algorithm>
#include <cstddef>

namespace memstow::shapes {
namespace {

constexpr int kDeepest = 64;

bool begins_name(char it) { return it == '_' || (it >= 'a' && it <= 'z') || (it >= 'A' && it <= 'Z'); }

bool is_figure(char it) { return it >= '0' && it <= '9'; }

class Parser {
  public:
    Parser(std::string_view rest, const std::vector<std::string>& names, std::vector<Node>& nodes)
        : rest_(rest), names_(names), nodes_(nodes) {}

    bool formula() { return terms() && (blanks(), rest_.empty()); }

  private:
    void blanks() {
        const std::size_t count = rest_.find_first_not_of(" \t\r\n");
        rest_.remove_prefix(std::min(count, rest_.size()));
    }

    bool next(std::string_view wanted) {
        blanks();
        const bool there = rest_.starts_with(wanted);
        if (there) rest_.remove_prefix(wanted.size());
        return there;
    }

    bool terms() {
        if (!factors()) return false;
        bool several = false;
        for (;; several = true) {
            Op op = Op::kPlus;
            if (!next("+")) {
                op = Op::kMinus;
                if (!next("-")) break;
            }
            if (!factors()) return false;
            nodes_.push_back({op, 0});
        }
        if (several) nodes_.push_back({Op::kEnd, 0});
        return true;
    }

    bool factors() {
        if (!factor()) return false;
        bool several = false;
        for (;; several = true) {
            Op op = several ? Op::kTimes : Op::kTimesFirst;
            if (!next("*")) {
                op = Op::kDivide;
                if (!next("//")) {
                    op = Op::kRemainder;
                    if (!next("%")) break;
                }
            }
            if (!factor()) return false;
            nodes_.push_back({op, 0});
        }
        if (several) nodes_.push_back({Op::kEnd, 0});
        return true;
    }

    bool factor() {
        if (next("-")) {
            if (depth_ == kDeepest) return false;
            ++depth_;
            if (!factor()) return false;
            --depth_;
            nodes_.push_back({Op::kNegate, 0});
            return true;
        }
        if (next("(")) return inside() && terms() && outside();
        if (rest_.empty()) return false;
        return is_figure(rest_.front()) ? figures() : begins_name(rest_.front()) && word();
    }

    bool inside() { return depth_++ < kDeepest; }

    bool outside() {
        --depth_;
        return next(")");
    }

    bool figures() {
        Bytes value = 0;
        while (!rest_.empty() && is_figure(rest_.front())) {
            const Wide longer = Wide{value} * 10 + (rest_.front() - '0');
            if (longer > kLimit) return false;
            value = static_cast<Bytes>(longer);
            rest_.remove_prefix(1);
        }
        nodes_.push_back({Op::kNumber, value});
        return rest_.empty() || !begins_name(rest_.front());
    }

    bool word() {
        const auto end = std::find_if_not(rest_.begin(), rest_.end(),
                                          [](char it) { return begins_name(it) || is_figure(it); });
        const std::string_view name = rest_.substr(0, end - rest_.begin());
        rest_.remove_prefix(name.size());
        if (name == "min") return arguments(Op::kMin);
        if (name == "max") return arguments(Op::kMax);
        if (name == "align") return arguments(Op::kAlign);
        if (name == "ceil_div") return arguments(Op::kCeilDiv);
        for (std::size_t i = 0; i < names_.size(); ++i) {
            if (names_[i] != name) continue;
            nodes_.push_back({Op::kName, static_cast<Bytes>(i)});
            return true;
        }
        return false;
    }

    bool arguments(Op op) {
        if (!next("(") || !inside()) return false;
        Bytes count = 0;
        do {
            ++count;
            if (!terms()) return false;
        } while (next(","));
        if ((op == Op::kAlign || op == Op::kCeilDiv) && count != 2) return false;
        nodes_.push_back({op, count});
        return outside();
    }

    std::string_view rest_;
    const std::vector<std::string>& names_;
    std::vector<Node>& nodes_;
    int depth_ = 0;
};

}  // namespace

bool parse(std::string_view text, const std::vector<std::string>& names, std::vector<Node>& nodes) {
    return Parser(text, names, nodes).formula();
}

}  // namespace memstow::shapes
