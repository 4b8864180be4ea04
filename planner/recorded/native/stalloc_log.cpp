// Logs of STAlloc (`mem_log_dev0.txt`): a line for each allocation and each free since the process began, and
// lines between them that say where the training is.
//
// `1 POINTER SIZE STREAM` is an allocation, `0 POINTER SIZE STREAM` a free. `Iteration Index : N` begins a
// step and `Iteration Index : end` ends the last; `micro-batch : F` begins a forward pass, `B` or `W` one of
// the others; `NAME->CLASS Layer : F-start` and `F-end` are around layers of mixtures of experts.
#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "recording.hpp"
#include "refused.hpp"

namespace memstow::recorded {
namespace {

constexpr std::string_view kIteration = "Iteration Index :";
constexpr std::string_view kMicroBatch = "micro-batch :";
constexpr std::string_view kLayer = " Layer :";
constexpr std::string_view kTail = "tail";  // what is called so follows the training

std::string_view trimmed(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != std::string_view::npos;
}

// The layers that STAlloc tells apart. What the innermost of them allocates differs from step to step where
// that is an expert or the layer of all experts, not where it is their router or a part that all tokens
// share.
enum class LayerKind : std::uint8_t { kExperts, kExpert, kShared, kRouter };

class LogReader {
  public:
    explicit LogReader(std::string_view text) : rest_(text) {}

    Recordings read() {
        made_.rounds = false;
        made_.devices.emplace_back();
        while (!rest_.empty()) {
            ++line_;
            const std::size_t end = rest_.find('\n');
            const std::string_view line = trimmed(rest_.substr(0, end));
            rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
            if (line.starts_with("1 ") || line.starts_with("0 ")) {
                event(line);
            } else if (!line.empty()) {
                mark(line);
            }
        }
        return std::move(made_);
    }

  private:
    Device& device() { return made_.devices.front(); }

    [[noreturn]] void refuse(const std::string& reason) const {
        throw Refused("damaged", "line " + std::to_string(line_) + ": " + reason);
    }

    void event(std::string_view line) {
        std::string_view fields = line.substr(2);
        const std::uint64_t address = number(fields, "pointer", true);
        const std::uint64_t size = number(fields, "size", false);
        const std::uint64_t stream = number(fields, "stream", true);
        if (!fields.empty()) refuse("there is more than a pointer, a size and a stream");
        constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
        if (size > kMost) refuse("the size is larger than any memory");
        // Nothing was allocated.
        if (address == 0) return;
        Event& made = device().events.emplace_back();
        made.action = line.front() == '1' ? Action::kAlloc : Action::kFree;
        made.address = address;
        made.size = static_cast<std::int64_t>(size);
        made.stream = static_cast<std::int64_t>(stream);
        made.label = layers_.empty() ? phase_ : layers_.back().label;
        made.is_dynamic = !layers_.empty() && (layers_.back().kind == LayerKind::kExperts ||
                                               layers_.back().kind == LayerKind::kExpert);
    }

    // The next field, which is passed: decimal, or a pointer as C++ prints it.
    std::uint64_t number(std::string_view& fields, const char* what, bool is_pointer) const {
        const std::size_t end = std::min(fields.find(' '), fields.size());
        std::string_view field = fields.substr(0, end);
        const bool is_hex = is_pointer && field.starts_with("0x");
        if (is_hex) field.remove_prefix(2);
        std::uint64_t value = 0;
        const auto [stop, error] =
            std::from_chars(field.data(), field.data() + field.size(), value, is_hex ? 16 : 10);
        if (error != std::errc() || stop != field.data() + field.size()) {
            refuse(std::string("the ") + what +
                   (is_pointer ? " should be 0 or begin with 0x" : " is no number") +
                   "; a line is `1 POINTER SIZE STREAM` or `0 POINTER SIZE STREAM`");
        }
        fields.remove_prefix(std::min(end + 1, fields.size()));
        return value;
    }

    void mark(std::string_view line) {
        const std::vector<Iteration>& before = device().iterations;
        if (contains(line, kIteration)) {
            iteration(trimmed(line.substr(line.find(kIteration) + kIteration.size())));
        } else if (!before.empty() && before.back().name == kTail) {
            // Marks behind the training say nothing of it.
        } else if (contains(line, kMicroBatch)) {
            micro_batch(trimmed(line.substr(line.find(kMicroBatch) + kMicroBatch.size())));
        } else if (contains(line, kLayer)) {
            layer(line);
        } else if (!contains(line, ":")) {
            refuse(
                "neither an allocation nor a free, which begin with 1 and 0, nor a mark such as "
                "`Iteration Index : 0`");
        }
    }

    void iteration(std::string_view name) {
        const bool is_number =
            !name.empty() && name.find_first_not_of("0123456789") == std::string_view::npos;
        if (name != "end" && !is_number) refuse("an iteration has a number, or is the `end`");
        device().iterations.push_back({device().events.size(), std::string(name == "end" ? kTail : name)});
        passes_ = {};
        phase_ = kNoLabel;
    }

    void micro_batch(std::string_view pass) {
        constexpr std::string_view kPasses = "FBW";
        const std::size_t number = pass.size() == 1 ? kPasses.find(pass) : std::string_view::npos;
        if (number == std::string_view::npos) refuse("a micro-batch has the pass F, B or W");
        phase_ =
            made_.labels.of("micro-batch " + std::to_string(passes_[number]++) + " " + std::string(pass));
    }

    void layer(std::string_view line) {
        const std::size_t arrow = line.find("->");
        const std::size_t mark = line.find(kLayer);
        const std::string_view status = trimmed(line.substr(mark + kLayer.size()));
        const bool is_start = status.ends_with("-start");
        if (arrow == std::string_view::npos || arrow > mark || (!is_start && !status.ends_with("-end"))) {
            refuse("a layer is marked by `NAME->CLASS Layer : F-start` or `F-end`");
        }
        const std::string_view name = trimmed(line.substr(0, arrow));
        const std::string_view type = trimmed(line.substr(arrow + 2, mark - arrow - 2));
        if (name.ends_with(".shared_experts") || name.ends_with(".shared_expert")) {
            pass(LayerKind::kShared, name, is_start);
            return;
        }
        if (name.ends_with(".mlp")) pass(LayerKind::kExperts, name, is_start);
        if (type == "ParallelMLP" || type == "SequentialMLP") pass(LayerKind::kExpert, name, is_start);
        if (contains(type, "Router")) pass(LayerKind::kRouter, name, is_start);
    }

    void pass(LayerKind kind, std::string_view name, bool is_start) {
        if (is_start) {
            layers_.push_back({kind, made_.labels.of(name)});
        } else if (layers_.empty() || layers_.back().kind != kind) {
            refuse("the layer ends that did not begin last");
        } else {
            layers_.pop_back();
        }
    }

    struct Layer {
        LayerKind kind;
        Label label;
    };

    std::string_view rest_;
    std::size_t line_ = 0;
    Recordings made_;
    std::array<std::size_t, 3> passes_{};
    Label phase_ = kNoLabel;
    std::vector<Layer> layers_;
};

}  // namespace

Recordings read_stalloc_log(std::string_view text) { return LogReader(text).read(); }

}  // namespace memstow::recorded
