#include <algorithm>
#include <random>
#include <string>
#include <string_view>

#include "check.hpp"
#include "pickle.hpp"
#include "recording.hpp"
#include "refused.hpp"

using namespace memstow::recorded;
using namespace std::literals;

namespace {

// Writes pickles of protocol 2, as PyTorch's own pickler does.
struct Writer {
    std::string out = "\x80\x02"s;

    static std::string number(std::uint64_t value, std::size_t bytes) {
        std::string text;
        for (std::size_t i = 0; i < bytes; ++i) text.push_back(static_cast<char>(value >> 8 * i));
        return text;
    }
    Writer& raw(std::string_view text) {
        out += text;
        return *this;
    }
    Writer& text(std::string_view value) { return raw("X" + number(value.size(), 4) + std::string(value)); }
    Writer& integer(std::int64_t value) {
        return raw("\x8a\x08" + number(static_cast<std::uint64_t>(value), 8));
    }
    Writer& event(std::string_view action, std::int64_t address, std::int64_t size, std::int64_t stream = 0) {
        raw("}(").text("action").text(action).text("addr").integer(address);
        return text("size").integer(size).text("stream").integer(stream).text("frames").raw("h\x01u");
    }
    // A snapshot of these events, with a segment of 4 MiB at 1 MiB in which the block at its begin is in use.
    static std::string snapshot(const Writer& events) {
        Writer all;
        all.raw("]q\x01").raw("(}(").text("filename").text("/a/b/train.py").text("line").integer(7);
        all.text("name").text("step").raw("ue0}(").text("segments").raw("](}(").text("device").integer(0);
        all.text("address").integer(1 << 20).text("total_size").integer(4 << 20).text("stream").integer(0);
        all.text("segment_pool_id").raw("K\0K\0\x86"sv).text("blocks").raw("](}(").text("size").integer(1024);
        all.text("requested_size").integer(1000).text("state").text("active_allocated").raw("ueue");
        all.text("device_traces").raw("](](").raw(std::string_view(events.out).substr(2)).raw("ee");
        all.text("allocator_settings").raw("}(").text("expandable_segments").raw("\x88uu.");
        return all.out;
    }
};

Writer events() {
    Writer some;
    some.event("alloc", (1 << 20) + 4096, 700).event("free_completed", (1 << 20) + 8192, 3000);
    some.event("segment_alloc", 16 << 20, 2 << 20).event("alloc", 16 << 20, 2'000'000, 3);
    some.event("free_requested", 16 << 20, 2'000'000, 3).event("free_completed", 16 << 20, 2'000'000, 3);
    some.event("segment_free", 16 << 20, 2 << 20).event("snapshot", 0, 0);
    return some;
}

const std::string kTrace =
    R"({"schemaVersion": 1, "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": "a",)"
    R"( "ts": 1.5, "dur": 10}, {"ph": "X", "cat": "cpu_op", "name": "aten::empty", "pid": 1, "tid": "a", "ts": 2,)"
    R"( "dur": 3}, {"ph": "i", "name": "[memory]", "pid": 1, "tid": "a", "ts": 3, "args": {"Addr": 4096, "Bytes": 64,)"
    R"( "Device Type": 1, "Device Id": 0, "Total Reserved": 2048, "Total Allocated": 64}}, {"name": "[memory]",)"
    R"( "pid": 1, "tid": "a", "ts": 30, "args": {"Addr": 4096, "Bytes": -64, "Device Type": 1, "Device Id": 0}}]})";

// The code of the refusal; empty where the text is read. Whatever is read is used: the sanitizers look.
std::string tried(std::string_view data, Recordings (*read)(std::string_view) = read_snapshot) {
    try {
        const Recordings recordings = read(data);
        for (const Device& device : recordings.devices) {
            const Lives made = lives(recordings, device);
            const std::size_t count = made.begins.size();
            CHECK(made.ends.size() == count && made.sizes.size() == count && made.offsets.size() == count);
            for (std::size_t i = 0; i < count; ++i) {
                CHECK(0 <= made.begins[i] && made.begins[i] < made.ends[i] && made.ends[i] <= made.end);
                CHECK(made.sizes[i] >= 0 && made.offsets[i] >= 0 && made.pools[i] < made.stream_pools.size());
                CHECK(made.offsets[i] % made.alignment == 0);
                CHECK(recordings.labels[made.labels[i]].size() < 1000);
            }
            CHECK(made.allocated >= 0 && made.least >= made.allocated);
        }
        return "";
    } catch (const Refused& why) {
        CHECK(!why.code().empty() && !std::string(why.what()).empty());
        return why.code();
    }
}

std::string mutated(std::string text, std::mt19937& random, std::string_view pieces) {
    const auto below = [&](std::size_t most) { return static_cast<std::size_t>(random() % most); };
    for (std::size_t edits = 1 + below(4); edits > 0; --edits) {
        const std::size_t at = below(text.size());
        switch (below(5)) {
            case 0:
                text.insert(at, 1, pieces[below(pieces.size())]);
                break;
            case 1:
                text.erase(at, 1 + below(5));
                break;
            case 2:
                text[at] = static_cast<char>(random());
                break;
            case 3:
                text = text.substr(0, at) + text.substr(below(text.size() + 1));
                break;
            default:
                text.insert(at, text.substr(below(text.size() + 1), below(60)));
        }
        if (text.empty()) text = " ";
    }
    return text;
}

}  // namespace

TEST(recorded_snapshot_is_read) {
    const std::string data = Writer::snapshot(events());
    CHECK(tried(data) == "");
    const Recordings recordings = read_snapshot(data);
    CHECK(recordings.has_settings && recordings.expandable_segments && recordings.devices.size() == 1);
    const Lives made = lives(recordings, recordings.devices[0]);
    // The block in use, what the second event frees, and both allocations.
    CHECK(made.sizes == std::vector<std::int64_t>{1024, 3072, 1024, 2'000'384});
    CHECK(made.begins == std::vector<std::int64_t>{0, 0, 1, 4} &&
          made.ends == std::vector<std::int64_t>{9, 2, 9, 6});
    CHECK(made.at_start == 2 && made.unpaired == 0 && made.alignment == 512);
    CHECK(made.reserved == (6 << 20) && made.stream_pools.size() == 2 && made.least == 5120 + 2'000'384);
    CHECK(made.offsets == std::vector<std::int64_t>{0, 8192, 4096, 0});
    CHECK(recordings.labels[made.labels[2]] == "b/train.py:7 step");
}

TEST(recorded_code_is_refused) {
    for (const std::string_view op :
         {"cos\nsystem\n", "R", "b", "ios\nsystem\n", "P1\n", "Q", "\x81", "\x82\x01", "\x83\x01\x01",
          "\x84\x01\x01\x01\x01", "\x92", "\x93", "o"}) {
        Writer evil;
        evil.raw("}(").raw(op).raw("u.");
        CHECK(tried(evil.out) == "runs_code");
    }
    CHECK(tried("\x80\x04I1\n.") == "damaged");
    CHECK(tried("\x80\x01}.") == "damaged" && tried("}.") == "not_a_pickle" && tried("") == "not_a_pickle");
}

TEST(recorded_bombs_are_refused) {
    const auto pickle = [](std::string_view text) { return "\x80\x04" + std::string(text); };
    // Lengths and numbers beyond the file.
    CHECK(tried(pickle("\x8d\xff\xff\xff\xff\xff\xff\xff\xff"sv)) == "damaged");
    CHECK(tried(pickle("X\xff\xff\xff\xffz"sv)) == "damaged");
    CHECK(tried(pickle("\x8b\xff\xff\xff\x7fz"sv)) == "damaged");
    CHECK(tried(pickle("]r\xff\xff\xff\xff."sv)) == "damaged");
    CHECK(tried(pickle("]j\xff\xff\xff\xff."sv)) == "damaged");
    CHECK(tried(pickle("e.")) == "damaged" && tried(pickle("u.")) == "damaged" &&
          tried(pickle("(")) == "damaged");
    CHECK(tried(pickle("](}a.")) == "damaged");
    // Values behind a mark are no container for what stands before it.
    CHECK(tried(pickle("]N(a.")) == "damaged");
    // Lists in lists, as deep as there is room.
    CHECK(tried(pickle(std::string(1'000'000, ']') + std::string(999'999, 'a') + ".")) == "not_a_snapshot");
    // A list of devices that is in itself, and one whose trace is named again and again.
    Writer loop;
    CHECK(tried(loop.raw("}")
                    .text("device_traces")
                    .raw("]q\x01h\x01"
                         "as.")
                    .out) == "damaged");
    Writer same;
    same.raw("}").text("device_traces").raw("](](");
    for (int i = 0; i < 2000; ++i) same.raw("N");
    same.raw("eq\x01");
    for (int i = 0; i < 2000; ++i) same.raw("h\x01");
    CHECK(tried(same.raw("es.").out) == "damaged");
    Writer laughs;  // the same with empty events, which cost a step each
    laughs.raw("}").text("device_traces").raw("](](}").text("action").text("oom").raw("sq\x02");
    for (int i = 0; i < 2000; ++i) laughs.raw("h\x02");
    laughs.raw("eq\x01");
    for (int i = 0; i < 2000; ++i) laughs.raw("h\x01");
    CHECK(tried(laughs.raw("es.").out) == "damaged");
}

TEST(recorded_sizes_are_bounded) {
    Writer large;
    for (int i = 0; i < 8; ++i) large.event("alloc", i << 20, std::int64_t{1} << 60);
    CHECK(tried(Writer::snapshot(large)) == "too_large");
    CHECK(tried(Writer::snapshot(Writer().event("alloc", -512, 1024))) == "");
    CHECK(tried(Writer::snapshot(Writer().event("alloc", 512, -1))) == "damaged");
    CHECK(tried(Writer::snapshot(Writer().event("alloc", 512, std::numeric_limits<std::int64_t>::max()))) ==
          "too_large");
}

TEST(recorded_sizes_are_rounded_as_the_allocator_does) {
    std::array<std::uint32_t, kSizeClasses> none{}, four{};
    four.fill(4);
    CHECK(rounded(0, none) == 512 && rounded(1, none) == 512 && rounded(513, none) == 1024);
    CHECK(rounded(1200 << 10, four) == 1280 << 10 && rounded(1 << 20, four) == 1 << 20);
    CHECK(rounded(1000, four) == 1024 && rounded((7 << 20) + 1, four) == 8 << 20);
}

TEST(recorded_trace_is_read) {
    CHECK(is_trace(kTrace) && !is_trace(R"({"buffers": []})") && !is_trace(R"({"traceEvents": 1})") &&
          !is_trace("["));
    CHECK(tried(kTrace, read_trace) == "" && tried("{}", read_trace) == "not_a_trace");
    const Recordings recordings = read_trace(kTrace);
    const Lives made = lives(recordings, recordings.devices.at(0));
    CHECK(made.sizes == std::vector<std::int64_t>{64} && made.reserved == 2048 && made.ends.at(0) == 2);
    CHECK(recordings.labels[made.labels.at(0)] == "aten::mm");
}

const std::string kLog =
    "1 0x7f00 4096 0\nIteration Index : 0\nmicro-batch : F\na.mlp->MoELayer Layer : F-start\n"
    "1 0x9f00 512 0x7\na.mlp->MoELayer Layer : F-end\n0 0x9f00 512 0x7\n1 0xaf00 700 0\n"
    "Iteration Index : end\n0 0x7f00 4096 0\n";

TEST(recorded_log_has_layers_and_iterations) {
    const Recordings recordings = read_stalloc_log(kLog);
    const Device& device = recordings.devices.at(0);
    CHECK(device.events.size() == 5 && device.events[1].is_dynamic && !device.events[3].is_dynamic);
    CHECK(device.iterations.size() == 2 && device.iterations[1].name == "tail" &&
          device.iterations[1].first_event == 4);
    const Lives made = lives(recordings, device);
    CHECK(made.stream_pools.size() == 2 && made.stream_pools[1].pool == kDynamicLayers);
    CHECK(recordings.labels[made.labels.at(2)] == "micro-batch 0 F");
    CHECK(tried("1 0x7f00 4096\n", read_stalloc_log) == "damaged" && tried("", read_stalloc_log) == "");
}

TEST(recorded_fuzz) {
    std::mt19937 random(7);
    const std::string snapshot = Writer::snapshot(events());
    constexpr std::string_view kOps =
        "(.012JKMNTUXBCGael]t)dsu}hjqr\x80\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x8e\x8f\x90\x91\x94\x95\x96";
    std::size_t whole = 0, logs = 0;
    for (int i = 0; i < 20'000; ++i) {
        whole += tried(mutated(snapshot, random, kOps)) == "";
        tried(mutated(kTrace, random, "\"\\,{}[]:-0129eE.\n"), read_trace);
        logs += tried(mutated(kLog, random, "01 x7fF:\n-"), read_stalloc_log) == "";
    }
    CHECK(whole > 100 && logs > 100);
}
