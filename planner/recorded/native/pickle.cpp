#include "pickle.hpp"

#include <string>

#include "refused.hpp"

namespace memstow::recorded {
namespace {

// The operations of protocols 2 to 5 that make data. What is missing here is of older protocols, or makes
// objects.
enum Op : unsigned char {
    kMark = '(',
    kStop = '.',
    kPop = '0',
    kPopMark = '1',
    kDup = '2',
    kBinInt = 'J',
    kBinInt1 = 'K',
    kBinInt2 = 'M',
    kNone = 'N',
    kBinString = 'T',
    kShortBinString = 'U',
    kBinUnicode = 'X',
    kBinBytes = 'B',
    kShortBinBytes = 'C',
    kBinFloat = 'G',
    kAppend = 'a',
    kAppends = 'e',
    kList = 'l',
    kEmptyList = ']',
    kTuple = 't',
    kEmptyTuple = ')',
    kDict = 'd',
    kEmptyDict = '}',
    kSetItem = 's',
    kSetItems = 'u',
    kBinGet = 'h',
    kLongBinGet = 'j',
    kBinPut = 'q',
    kLongBinPut = 'r',
    kProto = 0x80,
    kTuple1 = 0x85,
    kTuple2 = 0x86,
    kTuple3 = 0x87,
    kNewTrue = 0x88,
    kNewFalse = 0x89,
    kLong1 = 0x8a,
    kLong4 = 0x8b,
    kShortBinUnicode = 0x8c,
    kBinUnicode8 = 0x8d,
    kBinBytes8 = 0x8e,
    kEmptySet = 0x8f,
    kAddItems = 0x90,
    kFrozenSet = 0x91,
    kMemoize = 0x94,
    kFrame = 0x95,
    kByteArray8 = 0x96,
};

// Operations that name what is to be called, or leave it to the caller what a value is.
constexpr std::string_view kRunning = "cRbiPQo\x81\x82\x83\x84\x92\x93\x97\x98";

constexpr std::int64_t kMostInside = (std::int64_t{1} << 59) - 1;
// A frame of a stack is named by many stacks, and has three fields.
constexpr std::uint64_t kStepsPerByte = 16;

}  // namespace

class Unpickler {
  public:
    Unpickler(Pickle& made, std::string_view data) : made_(made), data_(data) {}

    void run() {
        if (data_.size() < 2 || byte(0) != kProto)
            throw Refused("not_a_pickle", "it does not begin as a pickle does");
        if (byte(1) < 2 || byte(1) > 5) {
            throw Refused("damaged", "it is a pickle of protocol " + std::to_string(byte(1)) +
                                         ", and 2 to 5 are read: write it again with a protocol of these");
        }
        at_ = 2;
        while (step()) {
        }
    }

  private:
    // Does the next operation; false at the end.
    bool step() {
        const std::size_t here = at_;
        const auto op = static_cast<unsigned char>(number(1));
        switch (op) {
            case kStop:
                made_.root_ = pop();
                return false;
            case kProto:
                number(1);
                break;
            case kFrame:
                number(8);
                break;
            case kMark:
                marks_.push_back(stack_.size());
                break;
            case kPop:
                // As Python does: a mark that nothing follows is popped as a value would be.
                if (!marks_.empty() && marks_.back() == stack_.size()) {
                    marks_.pop_back();
                } else {
                    pop();
                }
                break;
            case kPopMark:
                drop(mark());
                break;
            case kDup:
                push(top());
                break;
            case kNone:
                push({Kind::kNone, 0});
                break;
            case kNewTrue:
            case kNewFalse:
                push({Kind::kBool, op == kNewTrue});
                break;
            case kBinInt1:
                push_integer(static_cast<std::int64_t>(number(1)));
                break;
            case kBinInt2:
                push_integer(static_cast<std::int64_t>(number(2)));
                break;
            case kBinInt:
                push_integer(static_cast<std::int32_t>(number(4)));
                break;
            case kLong1:
                push_long(number(1));
                break;
            case kLong4:
                push_long(number(4));
                break;
            case kBinFloat:
                pass(8);
                push({Kind::kOther, 0});
                break;
            case kShortBinUnicode:
            case kShortBinString:
                push_text(number(1));
                break;
            case kBinUnicode:
            case kBinString:
                push_text(number(4));
                break;
            case kBinUnicode8:
                push_text(number(8));
                break;
            case kShortBinBytes:
                push_bytes(number(1));
                break;
            case kBinBytes:
                push_bytes(number(4));
                break;
            case kBinBytes8:
            case kByteArray8:
                push_bytes(number(8));
                break;
            case kEmptyList:
                push_container(Kind::kList, stack_.size());
                break;
            case kEmptyTuple:
                push_container(Kind::kTuple, stack_.size());
                break;
            case kEmptyDict:
                push_container(Kind::kDict, stack_.size());
                break;
            case kList:
                push_container(Kind::kList, mark());
                break;
            case kTuple:
                push_container(Kind::kTuple, mark());
                break;
            case kDict:
                push_container(Kind::kDict, mark());
                break;
            case kTuple1:
            case kTuple2:
            case kTuple3: {
                const std::size_t count = op - kTuple1 + std::size_t{1};
                if (depth() < count) damaged("a tuple lacks values");
                push_container(Kind::kTuple, stack_.size() - count);
                break;
            }
            case kAppend:
                if (depth() < 2) damaged("there is nothing to append to");
                add(Kind::kList, stack_.size() - 1);
                break;
            case kAppends:
                add(Kind::kList, mark());
                break;
            case kSetItem:
                if (depth() < 3) damaged("there is no dict to set an item of");
                add(Kind::kDict, stack_.size() - 2);
                break;
            case kSetItems:
                add(Kind::kDict, mark());
                break;
            case kEmptySet:
                push({Kind::kOther, 0});
                break;
            case kAddItems:
                add(Kind::kOther, mark());
                break;
            case kFrozenSet:
                drop(mark());
                push({Kind::kOther, 0});
                break;
            case kBinGet:
                get(number(1));
                break;
            case kLongBinGet:
                get(number(4));
                break;
            case kBinPut:
                put(number(1));
                break;
            case kLongBinPut:
                put(number(4));
                break;
            case kMemoize:
                put(memo_.size());
                break;
            default:
                refuse(op, here);
        }
        return true;
    }

    [[noreturn]] void refuse(unsigned char op, std::size_t here) const {
        at_ = here;
        if (kRunning.find(static_cast<char>(op)) != std::string_view::npos) {
            throw Refused("runs_code",
                          "at byte " + std::to_string(here) +
                              " it names code that would run while it is read; a memory snapshot is data "
                              "alone, so this is none, and it was not run");
        }
        damaged("there is no operation " + std::to_string(op));
    }

    [[noreturn]] void damaged(const std::string& what) const {
        throw Refused("damaged", "the pickle is damaged at byte " + std::to_string(at_) + ": " + what);
    }

    unsigned char byte(std::size_t at) const { return static_cast<unsigned char>(data_[at]); }

    // The next bytes as a number, the lowest first.
    std::uint64_t number(std::size_t bytes) {
        const std::size_t begin = at_;
        pass(bytes);
        std::uint64_t value = 0;
        for (std::size_t i = bytes; i-- > 0;) value = value << 8 | byte(begin + i);
        return value;
    }

    void pass(std::uint64_t bytes) {
        if (bytes > data_.size() - at_) damaged("it ends too early");
        at_ += bytes;
    }

    // How many values stand behind the last mark.
    std::size_t depth() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }

    void push(Value value) { stack_.push_back(value); }

    Value top() const {
        if (depth() == 0) damaged("a value is missing");
        return stack_.back();
    }

    Value pop() {
        const Value value = top();
        stack_.pop_back();
        return value;
    }

    // Where the values behind the last mark begin; the mark is gone.
    std::size_t mark() {
        if (marks_.empty()) damaged("a mark is missing");
        const std::size_t begin = marks_.back();
        marks_.pop_back();
        return begin;
    }

    void drop(std::size_t begin) { stack_.resize(begin); }

    void push_integer(std::int64_t value) {
        if (-kMostInside <= value && value <= kMostInside) {
            // One bit tells that the number is here.
            push({Kind::kInteger, static_cast<std::uint64_t>(value) << 5 >> 4 | 1});
            return;
        }
        push({Kind::kInteger, std::uint64_t{made_.integers_.size()} << 1});
        made_.integers_.push_back(value);
    }

    void push_long(std::uint64_t bytes) {
        const std::size_t begin = at_;
        pass(bytes);
        // Nine bytes are those of a number without a sign, where the last of them is 0.
        const bool fits = bytes <= 8 || (bytes == 9 && byte(begin + 8) == 0);
        if (!fits) return push({Kind::kOther, 0});
        std::uint64_t value =
            bytes > 0 && bytes < 9 && byte(begin + bytes - 1) >= 0x80 ? ~std::uint64_t{0} : 0;
        for (std::size_t i = bytes < 8 ? bytes : 8; i-- > 0;) value = value << 8 | byte(begin + i);
        push_integer(static_cast<std::int64_t>(value));
    }

    void push_text(std::uint64_t size) {
        const std::size_t begin = at_;
        pass(size);
        if (size > 0xffffffff) return push({Kind::kOther, 0});
        push({Kind::kText, made_.texts_.size()});
        made_.texts_.push_back({begin, static_cast<std::uint32_t>(size)});
    }

    void push_bytes(std::uint64_t size) {
        pass(size);
        push({Kind::kOther, 0});
    }

    // A container of the values from here on, which are taken from the stack.
    void push_container(Kind kind, std::size_t begin) {
        const std::size_t number = made_.containers_.size();
        made_.containers_.emplace_back();
        move_into(number, kind, begin);
        push({kind, number});
    }

    // Adds the values from here on to the container below them.
    void add(Kind kind, std::size_t begin) {
        const std::size_t bottom = marks_.empty() ? 0 : marks_.back();
        if (begin <= bottom || stack_[begin - 1].kind() != kind)
            damaged("values are added to what takes none");
        if (kind == Kind::kOther) return drop(begin);
        move_into(stack_[begin - 1].rest(), kind, begin);
    }

    void move_into(std::size_t number, Kind kind, std::size_t begin) {
        const std::size_t count = stack_.size() - begin;
        if (kind == Kind::kDict && count % 2 != 0) damaged("a key of a dict has no value");
        if (count == 0) return;
        if (count >= Pickle::kNoRun || made_.runs_.size() >= Pickle::kNoRun) damaged("it is too large");
        Pickle::Container& container = made_.containers_[number];
        Pickle::Run* last = container.last == Pickle::kNoRun ? nullptr : &made_.runs_[container.last];
        if (last != nullptr && last->begin + last->count == made_.items_.size() &&
            last->count < Pickle::kNoRun - count) {
            last->count += static_cast<std::uint32_t>(count);
        } else {
            const auto run = static_cast<std::uint32_t>(made_.runs_.size());
            if (last != nullptr) last->next = run;
            if (container.first == Pickle::kNoRun) container.first = run;
            container.last = run;
            made_.runs_.push_back({made_.items_.size(), static_cast<std::uint32_t>(count), Pickle::kNoRun});
        }
        made_.items_.insert(made_.items_.end(), stack_.begin() + static_cast<std::ptrdiff_t>(begin),
                            stack_.end());
        drop(begin);
    }

    void get(std::uint64_t index) {
        if (index >= memo_.size()) damaged("it asks for a value that it has not kept");
        push(memo_[index]);
    }

    void put(std::uint64_t index) {
        // Writers count: what is kept under a number that is larger than the place in the file is not of one.
        if (index > at_) damaged("it keeps a value under a number that nothing counts to");
        if (index >= memo_.size()) memo_.resize(index + 1);
        memo_[index] = top();
    }

    Pickle& made_;
    std::string_view data_;
    mutable std::size_t at_ = 0;
    std::vector<Value> stack_, memo_;
    std::vector<std::size_t> marks_;
};

Pickle::Pickle(std::string_view text) : data_(text), steps_left_(text.size() * kStepsPerByte) {
    Unpickler(*this, text).run();
}

bool Pickle::integer(Value value, std::int64_t& number) const {
    if (value.kind() != Kind::kInteger) return false;
    const std::uint64_t rest = value.rest();
    number = (rest & 1) != 0 ? static_cast<std::int64_t>(rest << 4) >> 5 : integers_[rest >> 1];
    return true;
}

std::string_view Pickle::text(Value value) const {
    if (value.kind() != Kind::kText) return {};
    const Text& text = texts_[value.rest()];
    return data_.substr(text.begin, text.size);
}

void Pickle::pay() {
    if (steps_left_-- == 0)
        throw Refused("damaged", "it names parts of itself over and over: no snapshot does");
}

}  // namespace memstow::recorded
