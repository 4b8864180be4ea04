// Reads pickles that are data alone: numbers, texts, lists, tuples and dicts. A pickle can also name
// functions to be called while it is read; whatever does so is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace memstow::recorded {

enum class Kind : std::uint8_t { kNone, kBool, kInteger, kText, kList, kTuple, kDict, kOther };

// One value: what it is, and a small number or where the rest of it is kept.
class Value {
  public:
    Value() = default;
    Value(Kind kind, std::uint64_t rest) : bits_(rest << 4 | static_cast<std::uint64_t>(kind)) {}
    Kind kind() const { return static_cast<Kind>(bits_ & 15); }
    std::uint64_t rest() const { return bits_ >> 4; }

  private:
    std::uint64_t bits_ = 0;
};

// The values of a pickle of protocol 2 to 5. They take at most some tens of bytes for each byte of the
// pickle, and stay as they are written: a list may hold itself. So who goes through them pays for each step
// (`each`, `entries`), and a pickle whose parts are named over and over is refused in the end.
class Pickle {
  public:
    // Throws Refused where the text is no such pickle. The text must outlive the values.
    explicit Pickle(std::string_view text);

    Value root() const { return root_; }
    // Whether it is an integer of 64 bits, with or without a sign.
    bool integer(Value value, std::int64_t& number) const;
    std::string_view text(Value value) const;
    // Texts are numbered as they are in the pickle; one that is named again has the same number.
    std::size_t texts() const { return texts_.size(); }
    // Lists, tuples and dicts are numbered in the same way.
    std::size_t containers() const { return containers_.size(); }

    // Each element of a list or a tuple, until `element` returns false. Nothing else has elements.
    template <class Element>
    void each(Value value, Element element) {
        if (value.kind() == Kind::kList || value.kind() == Kind::kTuple) walk(value, 1, element);
    }

    // Each key of a dict with its value, in the order of the pickle; the last of equal keys counts.
    template <class Entry>
    void entries(Value value, Entry entry) {
        if (value.kind() != Kind::kDict) return;
        walk(value, 2, [&](const Value& key) {
            entry(key, (&key)[1]);
            return true;
        });
    }

  private:
    friend class Unpickler;

    static constexpr std::uint32_t kNoRun = 0xffffffff;

    // The elements of a container lie together as they were added, in one run or several.
    struct Container {
        std::uint32_t first = kNoRun, last = kNoRun;
    };
    struct Run {
        std::uint64_t begin;
        std::uint32_t count, next;
    };
    struct Text {
        std::uint64_t begin;
        std::uint32_t size;
    };

    template <class Visit>
    void walk(Value value, std::uint32_t stride, Visit visit) {
        for (std::uint32_t at = containers_[value.rest()].first; at != kNoRun; at = runs_[at].next) {
            const Run run = runs_[at];
            for (std::uint32_t i = 0; i + stride <= run.count; i += stride) {
                pay();
                if (!visit(items_[run.begin + i])) return;
            }
        }
    }
    void pay();

    std::string_view data_;
    Value root_;
    std::vector<Container> containers_;
    std::vector<Run> runs_;
    std::vector<Value> items_;
    std::vector<Text> texts_;
    std::vector<std::int64_t> integers_;  // those that have no room in a value
    std::uint64_t steps_left_ = 0;
};

}  // namespace memstow::recorded
