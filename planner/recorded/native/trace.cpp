// Profiler traces of PyTorch: JSON in the form of Chrome with an instant event `[memory]` for each allocation
// (its bytes are positive) and each free (negative), and one with a duration for each operator.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>

#include "recording.hpp"
#include "refused.hpp"
#include "scanner.hpp"

namespace memstow::recorded {
namespace {

using plain::Scanner;

// Operators that do no more than allocate: who allocated is whoever called them.
constexpr std::string_view kAllocating[] = {"aten::empty", "aten::new_empty", "aten::resize_",
                                            "aten::zeros", "aten::new_zeros", "aten::ones",
                                            "aten::full"};
// Calls that are looked through for another operator.
constexpr std::size_t kMostCalls = 64;

bool only_allocates(std::string_view name) {
    return std::ranges::any_of(kAllocating, [&](std::string_view start) { return name.starts_with(start); });
}

struct Operator {
    double begin, end;
    std::uint32_t thread;
    Label label;
};

struct Memory {
    double time;
    std::uint32_t thread;
    std::uint32_t device;
    std::uint64_t address;
    std::int64_t bytes;
    std::int64_t total;
};

class TraceReader {
  public:
    explicit TraceReader(std::string_view text) : text_(text), scanner_(text) {}

    Recordings read() {
        made_.rounds = false;
        bool has_events = false;
        const bool is_whole = scanner_.object([&](std::string_view name) {
            if (name != "traceEvents") return scanner_.skip();
            has_events = true;
            return scanner_.list([&] { return event(); });
        });
        if (!is_whole || !scanner_.at_end()) {
            throw Refused("damaged", "the trace is damaged at byte " + std::to_string(scanner_.position()) +
                                         ": it should be an object with `traceEvents`, a list of events");
        }
        if (!has_events)
            throw Refused("not_a_trace",
                          "this is no trace of a profiler, which has `traceEvents`; "
                          "what else gzip has packed is to be unpacked first");
        name_allocations();
        return std::move(made_);
    }

  private:
    // The text of the next value; empty where there is none.
    std::string_view raw() {
        scanner_.sees('\0');  // passes blanks
        const std::size_t begin = scanner_.position();
        if (!scanner_.skip()) return {};
        const std::string_view value = text_.substr(begin, scanner_.position() - begin);
        return value.substr(0, value.find_last_not_of(" \n\r\t") + 1);
    }

    bool event() {
        std::string_view category, args, process, thread, time, duration;
        name_.clear();
        const bool is_whole = scanner_.object([&](std::string_view field) {
            if (field == "name" && scanner_.sees('"')) return scanner_.string(name_);
            std::string_view& wanted = field == "cat"    ? category
                                       : field == "args" ? args
                                       : field == "pid"  ? process
                                       : field == "tid"  ? thread
                                       : field == "ts"   ? time
                                       : field == "dur"  ? duration
                                                         : rest_;
            wanted = raw();
            return !wanted.empty();
        });
        if (!is_whole) return false;
        const bool is_memory = name_ == "[memory]";
        const bool is_operator = category == "\"cpu_op\"" || category == "\"Operator\"";
        if (!is_memory && !is_operator) return true;
        const double begin = number(time);
        const std::uint32_t place = thread_of(process, thread);
        if (is_memory) {
            memory(args, begin, place);
        } else {
            operators_.push_back({begin, begin + number(duration), place, made_.labels.of(name_)});
        }
        return true;
    }

    double number(std::string_view text) const {
        double value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
            throw Refused("damaged", "the trace is damaged before byte " +
                                         std::to_string(scanner_.position()) +
                                         ": an event has no time (`ts`, and `dur` of an operator)");
        }
        return value;
    }

    std::uint32_t thread_of(std::string_view process, std::string_view thread) {
        // Most events follow one of the same thread.
        if (process == last_process_ && thread == last_thread_) return last_place_;
        last_process_ = process;
        last_thread_ = thread;
        const auto next = static_cast<std::uint32_t>(threads_.size());
        return last_place_ = threads_.try_emplace({process, thread}, next).first->second;
    }

    void memory(std::string_view args, double time, std::uint32_t thread) {
        Scanner scanner(args);
        std::int64_t address = 0, bytes = 0, type = 0, number = 0, reserved = 0, total = 0;
        bool has_address = false, has_bytes = false;
        const bool is_whole = scanner.object([&](std::string_view field) {
            if (field == "Addr") return has_address = scanner.integer(address);
            if (field == "Bytes") return has_bytes = scanner.integer(bytes);
            if (field == "Device Type") return scanner.integer(type);
            if (field == "Device Id") return scanner.integer(number);
            if (field == "Total Allocated") return scanner.integer(total);
            if (field == "Total Reserved") return scanner.integer(reserved);
            return scanner.skip();
        });
        if (!is_whole || !has_address || !has_bytes) {
            throw Refused(
                "damaged",
                "a [memory] event before byte " + std::to_string(scanner_.position()) +
                    " has no `Addr` or no `Bytes`, which are integers: PyTorch before 1.12 wrote none");
        }
        const auto next = static_cast<std::uint32_t>(made_.devices.size());
        const std::uint32_t place = devices_.try_emplace({type, number}, next).first->second;
        if (place == next) {
            Device& device = made_.devices.emplace_back();
            device.type = static_cast<int>(std::clamp<std::int64_t>(type, 0, 1 << 20));
            device.number = number;
        }
        if (reserved > 0) {
            made_.devices[place].most_reserved = std::max(made_.devices[place].most_reserved, reserved);
        }
        memory_.push_back({time, thread, place, static_cast<std::uint64_t>(address), bytes, total});
    }

    // Puts the events in the order of time, each with the operator that runs then on its thread.
    void name_allocations() {
        std::ranges::stable_sort(memory_, {}, &Memory::time);
        std::ranges::stable_sort(operators_, [](const Operator& a, const Operator& b) {
            return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
        });
        std::vector<std::vector<Operator>> running(threads_.size());
        std::size_t started = 0;
        for (const Memory& event : memory_) {
            for (; started < operators_.size() && operators_[started].begin <= event.time; ++started) {
                const Operator& next = operators_[started];
                ended(running[next.thread], next.begin);
                running[next.thread].push_back(next);
            }
            std::vector<Operator>& calls = running[event.thread];
            ended(calls, event.time);
            Device& device = made_.devices[event.device];
            device.totals.push_back(event.total);
            Event& made = device.events.emplace_back();
            made.action = event.bytes < 0 ? Action::kFree : Action::kAlloc;
            made.address = event.address;
            made.size = std::abs(event.bytes);
            made.label = caller(calls);
        }
    }

    static void ended(std::vector<Operator>& calls, double time) {
        while (!calls.empty() && calls.back().end < time) calls.pop_back();
    }

    Label caller(const std::vector<Operator>& calls) const {
        for (std::size_t i = 0; i < std::min(calls.size(), kMostCalls); ++i) {
            const Label label = calls[calls.size() - 1 - i].label;
            if (!only_allocates(made_.labels[label])) return label;
        }
        return calls.empty() ? kNoLabel : calls.back().label;
    }

    std::string_view text_;
    Scanner scanner_;
    Recordings made_;
    std::string name_;
    std::string_view rest_, last_process_, last_thread_;
    std::uint32_t last_place_ = 0;
    std::map<std::pair<std::string_view, std::string_view>, std::uint32_t> threads_;
    std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> devices_;
    std::vector<Operator> operators_;
    std::vector<Memory> memory_;
};

}  // namespace

Recordings read_trace(std::string_view text) { return TraceReader(text).read(); }

bool is_trace(std::string_view text) {
    Scanner scanner(text);
    bool is_one = false;
    scanner.object([&](std::string_view name) {
        is_one = name == "traceEvents" && scanner.sees('[');
        return !is_one && scanner.skip();
    });
    return is_one;
}

}  // namespace memstow::recorded
