// Memory snapshots of PyTorch: what `torch.cuda.memory._dump_snapshot` writes by Python or by PyTorch's own
// pickler. A dict with `segments` as they are when it is written, `device_traces` with a list of events for
// each device, and `allocator_settings`. What is not named here is passed over.
#include <algorithm>
#include <string>

#include "pickle.hpp"
#include "recording.hpp"
#include "refused.hpp"

namespace memstow::recorded {
namespace {

enum class Name : std::uint8_t {
    kUnread,
    kOther,
    kSegments,
    kTraces,
    kSettings,
    kAction,
    kAddr,
    kAddress,
    kSize,
    kRequestedSize,
    kTotalSize,
    kStream,
    kDevice,
    kFrames,
    kBlocks,
    kState,
    kPool,
    kExpandable,
    kDivisions,
    kFilename,
    kLine,
    kFunction,
    kHistory,
    kRealSize,
};

struct Named {
    std::string_view text;
    Name name;
};
constexpr Named kNames[] = {
    {"segments", Name::kSegments},
    {"device_traces", Name::kTraces},
    {"allocator_settings", Name::kSettings},
    {"action", Name::kAction},
    {"addr", Name::kAddr},
    {"address", Name::kAddress},
    {"size", Name::kSize},
    {"requested_size", Name::kRequestedSize},
    {"total_size", Name::kTotalSize},
    {"stream", Name::kStream},
    {"device", Name::kDevice},
    {"frames", Name::kFrames},
    {"blocks", Name::kBlocks},
    {"state", Name::kState},
    {"segment_pool_id", Name::kPool},
    {"expandable_segments", Name::kExpandable},
    {"roundup_power2_divisions", Name::kDivisions},
    {"filename", Name::kFilename},
    {"line", Name::kLine},
    {"name", Name::kFunction},
    {"history", Name::kHistory},
    {"real_size", Name::kRealSize},
};

struct NamedAction {
    std::string_view text;
    Action action;
};
constexpr NamedAction kActions[] = {
    {"alloc", Action::kAlloc},
    {"free_completed", Action::kFree},
    {"segment_alloc", Action::kSegmentAlloc},
    {"segment_free", Action::kSegmentFree},
    {"segment_map", Action::kSegmentMap},
    {"segment_unmap", Action::kSegmentUnmap},
};

// Bytes of a label: a line of a program, not a text.
constexpr std::size_t kLongestLabel = 200;

bool is_python(std::string_view file) { return file.ends_with(".py"); }

// Whether a file is one of PyTorch's own: who allocated is whoever called that.
bool is_torch(std::string_view file) { return file.find("/torch/") != std::string_view::npos; }

// The file and the folder that it is in.
std::string_view tail(std::string_view path) {
    const std::size_t last = path.rfind('/');
    if (last == std::string_view::npos || last == 0) return path;
    const std::size_t before = path.rfind('/', last - 1);
    return before == std::string_view::npos ? path : path.substr(before + 1);
}

// The text, or as much of it as a label may have, cut between characters.
std::string_view cut(std::string_view text) {
    if (text.size() <= kLongestLabel) return text;
    std::size_t end = kLongestLabel;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
    return text.substr(0, end);
}

class SnapshotReader {
  public:
    explicit SnapshotReader(std::string_view data)
        : pickle_(data), names_(pickle_.texts()), actions_(pickle_.texts()) {
        stacks_.resize(pickle_.containers(), kUnread);
    }

    Recordings read() {
        Value segments, traces, settings;
        entries(pickle_.root(), [&](Name name, Value value) {
            if (name == Name::kSegments) segments = value;
            if (name == Name::kTraces) traces = value;
            if (name == Name::kSettings) settings = value;
        });
        if (traces.kind() != Kind::kList) {
            throw Refused("not_a_snapshot",
                          "this pickle is no memory snapshot: that is a dict with `device_traces`, as "
                          "torch.cuda.memory._dump_snapshot writes it");
        }
        pickle_.each(traces, [&](Value trace) {
            Device& device = made_.devices.emplace_back();
            device.number = static_cast<std::int64_t>(made_.devices.size()) - 1;
            pickle_.each(trace, [&](Value event) {
                device.events.push_back(event_of(event));
                return true;
            });
            return true;
        });
        pickle_.each(segments, [&](Value segment) {
            read_segment(segment);
            return true;
        });
        read_settings(settings);
        return std::move(made_);
    }

  private:
    static constexpr Label kUnread = 0xffffffff;

    template <class Field>
    void entries(Value dict, Field field) {
        pickle_.entries(dict, [&](Value key, Value value) {
            if (key.kind() == Kind::kText) field(name_of(key), value);
        });
    }

    // A text that is named again has the same number, so that most are compared once.
    Name name_of(Value key) {
        Name& name = names_[key.rest()];
        if (name == Name::kUnread) {
            const std::string_view text = pickle_.text(key);
            const auto* known = std::ranges::find(kNames, text, &Named::text);
            name = known == std::end(kNames) ? Name::kOther : known->name;
        }
        return name;
    }

    Action action_of(Value value) {
        if (value.kind() != Kind::kText) damaged("an event has no action");
        std::uint8_t& action = actions_[value.rest()];
        if (action == 0) {
            const auto* known = std::ranges::find(kActions, pickle_.text(value), &NamedAction::text);
            action = static_cast<std::uint8_t>(known == std::end(kActions) ? Action::kOther : known->action);
            ++action;
        }
        return static_cast<Action>(action - 1);
    }

    [[noreturn]] static void damaged(const std::string& what) {
        throw Refused("damaged", "the snapshot is damaged: " + what);
    }

    std::int64_t integer(Value value, const char* what) const {
        std::int64_t number = 0;
        if (!pickle_.integer(value, number)) damaged(std::string("`") + what + "` is no integer of 64 bits");
        return number;
    }

    std::int64_t size(Value value) const {
        const std::int64_t bytes = integer(value, "size");
        if (bytes < 0) damaged("a size is negative");
        return bytes;
    }

    Event event_of(Value value) {
        if (value.kind() != Kind::kDict) damaged("an event is no dict");
        Event event;
        bool has_action = false, has_address = false, has_size = false;
        entries(value, [&](Name name, Value field) {
            switch (name) {
                case Name::kAction:
                    event.action = action_of(field);
                    has_action = true;
                    break;
                case Name::kAddr:
                    event.address = static_cast<std::uint64_t>(integer(field, "addr"));
                    has_address = true;
                    break;
                case Name::kSize:
                    event.size = size(field);
                    has_size = true;
                    break;
                case Name::kStream:
                    event.stream = integer(field, "stream");
                    break;
                case Name::kFrames:
                    event.label = label_of(field);
                    break;
                default:
                    break;
            }
        });
        if (!has_action) damaged("an event has no action");
        if (event.action != Action::kOther && !(has_address && has_size)) {
            damaged("an event has no address or no size");
        }
        return event;
    }

    void read_segment(Value value) {
        if (value.kind() != Kind::kDict) damaged("a segment is no dict");
        Segment segment;
        Value blocks;
        std::int64_t device = 0;
        entries(value, [&](Name name, Value field) {
            switch (name) {
                case Name::kDevice:
                    device = integer(field, "device");
                    break;
                case Name::kAddress:
                    segment.address = static_cast<std::uint64_t>(integer(field, "address"));
                    break;
                case Name::kTotalSize:
                    segment.size = size(field);
                    break;
                case Name::kStream:
                    segment.stream = integer(field, "stream");
                    break;
                case Name::kPool:
                    segment.pool = pair_of(field);
                    break;
                case Name::kBlocks:
                    blocks = field;
                    break;
                default:
                    break;
            }
        });
        if (device < 0 || static_cast<std::size_t>(device) >= made_.devices.size()) {
            damaged("a segment is on a device that has no trace");
        }
        std::uint64_t address = segment.address;
        pickle_.each(blocks, [&](Value block) {
            read_block(block, address, segment.blocks);
            return true;
        });
        made_.devices[static_cast<std::size_t>(device)].segments.push_back(std::move(segment));
    }

    // The block that begins at this address, which is moved to its end. Old snapshots do not name addresses.
    void read_block(Value value, std::uint64_t& address, std::vector<Block>& blocks) {
        std::int64_t whole = 0, wanted = kUnknown;
        bool active = false;
        Label label = kNoLabel;
        entries(value, [&](Name name, Value field) {
            switch (name) {
                case Name::kSize:
                    whole = size(field);
                    break;
                case Name::kRequestedSize:
                    wanted = size(field);
                    break;
                case Name::kState:
                    active = pickle_.text(field).starts_with("active");
                    break;
                case Name::kFrames:
                    label = label_of(field);
                    break;
                case Name::kHistory:
                    pickle_.each(field, [&](Value use) {
                        entries(use, [&](Name of_use, Value part) {
                            if (of_use == Name::kRealSize) wanted = size(part);
                            if (of_use == Name::kFrames) label = label_of(part);
                        });
                        return false;
                    });
                    break;
                default:
                    break;
            }
        });
        if (active) blocks.push_back({address, wanted == kUnknown ? whole : wanted, label});
        address += static_cast<std::uint64_t>(whole);
    }

    std::pair<std::int64_t, std::int64_t> pair_of(Value value) {
        std::int64_t parts[2] = {0, 0};
        std::size_t count = 0;
        pickle_.each(value, [&](Value part) {
            if (count < 2) parts[count] = integer(part, "segment_pool_id");
            return ++count < 2;
        });
        return {parts[0], parts[1]};
    }

    void read_settings(Value settings) {
        made_.has_settings = settings.kind() == Kind::kDict;
        entries(settings, [&](Name name, Value value) {
            if (name == Name::kExpandable) {
                made_.expandable_segments = value.kind() == Kind::kBool && value.rest() != 0;
            } else if (name == Name::kDivisions) {
                read_divisions(value);
            }
        });
    }

    // By powers of two: "1" is the first class of sizes, "2" the second, "4" the third.
    void read_divisions(Value value) {
        pickle_.entries(value, [&](Value key, Value count) {
            const std::string_view text = pickle_.text(key);
            std::int64_t number = 0;
            for (std::size_t at = 0; at < kSizeClasses; ++at) {
                if (text == std::to_string(std::uint64_t{1} << at) && pickle_.integer(count, number)) {
                    made_.divisions[at] =
                        static_cast<std::uint32_t>(std::clamp<std::int64_t>(number, 0, 1 << 20));
                }
            }
        });
    }

    // Who allocated, by its stack: the innermost line of Python that is not PyTorch's own, if there is one. A
    // stack is shared by all events that have it.
    Label label_of(Value frames) {
        if (frames.kind() != Kind::kList) return kNoLabel;
        if (stacks_[frames.rest()] != kUnread) return stacks_[frames.rest()];
        Frame chosen;
        int best = 0;
        pickle_.each(frames, [&](Value value) {
            const Frame frame = frame_of(value);
            const int worth = !is_python(frame.file) ? 1 : is_torch(frame.file) ? 2 : 3;
            if (worth > best) {
                best = worth;
                chosen = frame;
            }
            return best < 3;
        });
        const Label label = best == 0 ? kNoLabel : made_.labels.of(cut(chosen.text()));
        return stacks_[frames.rest()] = label;
    }

    struct Frame {
        std::string_view file, function;
        std::int64_t line = 0;

        std::string text() const {
            const std::string place =
                is_python(file) ? std::string(tail(file)) + ":" + std::to_string(line) + " " : "";
            return place + std::string(function);
        }
    };

    Frame frame_of(Value value) {
        Frame frame;
        entries(value, [&](Name name, Value field) {
            if (name == Name::kFilename) frame.file = pickle_.text(field);
            if (name == Name::kFunction) frame.function = pickle_.text(field);
            if (name == Name::kLine) pickle_.integer(field, frame.line);
        });
        return frame;
    }

    Pickle pickle_;
    Recordings made_;
    std::vector<Name> names_;
    std::vector<std::uint8_t> actions_;  // one more than the action; 0: not read
    std::vector<Label> stacks_;
};

}  // namespace

Recordings read_snapshot(std::string_view data) { return SnapshotReader(data).read(); }

}  // namespace memstow::recorded
