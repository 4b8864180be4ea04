// The long lists of a plan in JSON; all else stays text, for the ordinary reader.
#include <utility>

#include "plan.hpp"
#include "scanner.hpp"
#include "text.hpp"

namespace memstow::plain {
namespace {

constexpr std::int64_t kNowhere = -1;

class Reader {
  public:
    Reader(const Problem& problem, std::string_view text) : problem_(problem), text_(text), scanner_(text) {
        plan_.offsets.assign(problem.sizes.size(), kNowhere);
    }

    std::optional<Plan> read() {
        bool has_placements = false;
        bool has_objective = false;
        const bool read = scanner_.object([&](std::string_view name) {
            if (name == "placements") {
                if (std::exchange(has_placements, true)) return false;
                return cut([&] { return scanner_.list([&] { return placement(); }); });
            }
            if (name == "objective") {
                if (std::exchange(has_objective, true)) return false;
                return objective();
            }
            return scanner_.skip();
        });
        if (!read || !scanner_.at_end() || !has_placements || placed_ < problem_.sizes.size())
            return std::nullopt;
        plan_.frame.append(text_.substr(copied_));
        return std::move(plan_);
    }

  private:
    // Reads a list, of which the rest holds only the brackets.
    template <class Read>
    bool cut(Read read) {
        if (!scanner_.sees('[')) return false;
        plan_.frame.append(text_.substr(copied_, scanner_.position() - copied_));
        plan_.frame.append("[]");
        const bool done = read();
        copied_ = scanner_.position();
        return done;
    }

    // The list of terms, of which the first may have a certificate.
    bool objective() {
        bool first = true;
        return scanner_.list([&] {
            if (!std::exchange(first, false) || !scanner_.sees('{')) return scanner_.skip();
            bool certified = false;
            return scanner_.object([&](std::string_view name) {
                if (name != "certificate" || !scanner_.sees('{')) return scanner_.skip();
                return !std::exchange(certified, true) && certificate();
            });
        });
    }

    bool certificate() {
        bool named = false;
        return scanner_.object([&](std::string_view name) {
            if (name != "buffers" || !scanner_.sees('[')) return scanner_.skip();
            if (std::exchange(named, true)) return false;
            return cut([&] { return scanner_.list([&] { return member(); }); });
        });
    }

    bool member() {
        if (!scanner_.string(name_)) return false;
        const std::optional<Number> buffer = number(last_member_ + 1);
        if (!buffer) return false;
        last_member_ = *buffer;
        plan_.members.push_back(*buffer);
        return true;
    }

    bool placement() {
        bool has_buffer = false;
        bool has_pool = false;
        std::int64_t offset = kNowhere;
        const bool read = scanner_.object([&](std::string_view field) {
            if (field == "buffer") return !std::exchange(has_buffer, true) && scanner_.string(name_);
            if (field == "pool") {
                return !std::exchange(has_pool, true) && scanner_.string(pool_) && pool_ == problem_.pool;
            }
            return field == "offset" && offset == kNowhere && scanner_.integer(offset) && offset >= 0;
        });
        if (!read || !has_buffer || !has_pool || offset == kNowhere || offset > kLimit) return false;
        const std::optional<Number> buffer = number(placed_);
        if (!buffer || plan_.offsets[*buffer] != kNowhere) return false;
        plan_.offsets[*buffer] = offset;
        ++placed_;
        return true;
    }

    // The buffer of the name that was read: most plans have them in the order of the problem.
    std::optional<Number> number(std::size_t likely) const {
        if (likely < problem_.sizes.size() && problem_.names[likely] == name_)
            return static_cast<Number>(likely);
        return find(problem_.names, problem_.order, name_);
    }

    const Problem& problem_;
    std::string_view text_;
    Scanner scanner_;
    Plan plan_;
    std::size_t copied_ = 0;
    std::size_t placed_ = 0;
    std::size_t last_member_ = 0;
    std::string name_, pool_;
};

}  // namespace

std::optional<Plan> read_plan(const Problem& problem, std::string_view text) {
    text = without_mark(text);
    if (count(text, ',') + count(text, '[') + count(text, '{') > kMostValues || !is_utf8(text)) {
        return std::nullopt;
    }
    return Reader(problem, text).read();
}

}  // namespace memstow::plain
