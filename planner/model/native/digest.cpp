#include "digest.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "values.hpp"

namespace memstow::model {
namespace {

namespace nb = nanobind;

void append(std::string& to, std::int64_t value) {
    char digits[24];
    to.push_back(' ');
    to.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

void append_counted(std::string& to, std::string_view text) {
    append(to, static_cast<std::int64_t>(text.size()));
    to.push_back(':');
    to.append(text);
}

// A buffer under its id, of which the first bytes are at hand: most ids differ in them.
struct Named {
    std::uint64_t head;
    std::string_view id;
    nb::handle buffer;
};

// Orders texts as their first eight bytes do.
std::uint64_t head(std::string_view text) {
    std::uint64_t head = 0;
    for (std::size_t i = 0; i < 8; ++i) {
        head = head << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0);
    }
    return head;
}

class Writer {
  public:
    Writer(nb::handle holder, nb::handle everywhere, const std::vector<nb::str>& rare)
        : size_(holder, nb::str("size")),
          alignment_(holder, nb::str("alignment")),
          lifetime_(holder, nb::str("lifetime")),
          pools_(holder, nb::str("pools")),
          everywhere_(everywhere) {
        if (nb::hasattr(holder, "accesses")) accesses_.emplace(holder, nb::str("accesses"));
        for (const nb::str& name : rare) rare_.emplace_back(holder, name);
    }

    // Whether the line could be added: the buffer has one life, and no rare field.
    bool add(std::string_view id, nb::handle buffer, std::string& to) const {
        const nb::object life = lifetime_.of(buffer),
                         accesses = accesses_ ? accesses_->of(buffer) : nb::none();
        const bool has_rare = std::any_of(rare_.begin(), rare_.end(),
                                          [&](const Slot& slot) { return !slot.of(buffer).is_none(); });
        if (has_rare || !PyTuple_Check(life.ptr())) return false;
        const nb::object bytes = size_.of(buffer);
        // A formula is written elsewhere.
        const auto size = PyUnicode_Check(bytes.ptr()) ? std::optional<std::int64_t>(0) : integer(bytes);
        const auto alignment = integer(alignment_.of(buffer));
        const auto begin = integer(PyTuple_GetItem(life.ptr(), 0));
        const auto end = integer(PyTuple_GetItem(life.ptr(), 1));
        const auto moved = accesses.is_none() || size == 0 ? size : integer(accesses);
        if (!size || !alignment || !begin || !end || !moved || *begin >= *end) return false;
        to.append("buffer");
        append_counted(to, id);
        append(to, *size);
        append(to, *alignment);
        append(to, *moved);
        to.append(" - 1");
        append(to, *begin);
        append(to, *end);
        return add_pools(pools_.of(buffer), to);
    }

  private:
    bool add_pools(const nb::object& pools, std::string& to) const {
        if (pools.is_none() || pools.equal(everywhere_)) {
            to.append(" *\n");
            return true;
        }
        const std::size_t count = nb::len(pools);
        append(to, static_cast<std::int64_t>(count));
        for (std::size_t i = 0; i < count; ++i) {
            const auto name = utf8(PyTuple_GetItem(pools.ptr(), static_cast<Py_ssize_t>(i)));
            if (!name) return false;
            append_counted(to, *name);
        }
        to.push_back('\n');
        return true;
    }

    Slot size_, alignment_, lifetime_, pools_;
    std::optional<Slot> accesses_;
    std::vector<Slot> rare_;
    nb::handle everywhere_;
};

// The UTF-8 of texts; half of a character is written as a whole one would be.
class Texts {
  public:
    std::string_view of(nb::handle text) {
        if (const auto whole = utf8(text)) return *whole;
        PyObject* const bytes = PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogatepass");
        if (bytes == nullptr) throw nb::python_error();
        kept_.push_back(nb::steal(bytes));
        return {PyBytes_AsString(bytes), static_cast<std::size_t>(PyBytes_Size(bytes))};
    }

  private:
    std::vector<nb::object> kept_;
};

struct NamedPair {
    std::uint64_t head;  // of the first
    std::string_view one;
    std::string_view other;

    bool operator==(const NamedPair& to) const { return one == to.one && other == to.other; }
};

}  // namespace

std::optional<std::string> buffer_lines(nb::handle buffers, nb::handle everywhere,
                                        const std::vector<nb::str>& rare, nb::handle other) {
    std::string text;
    const std::size_t count = nb::len(buffers);
    if (count == 0) return text;
    const nb::handle holder = nb::handle(PyTuple_GetItem(buffers.ptr(), 0)).type();
    const Slot id(holder, nb::str("id"));
    std::vector<Named> sorted;
    sorted.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        const nb::handle buffer = PyTuple_GetItem(buffers.ptr(), static_cast<Py_ssize_t>(i));
        const auto name = utf8(id.of(buffer));
        if (!name) return std::nullopt;
        sorted.push_back({head(*name), *name, buffer});
    }
    // Code points sort as their UTF-8 bytes do.
    std::stable_sort(sorted.begin(), sorted.end(), [](const Named& one, const Named& two) {
        return one.head != two.head ? one.head < two.head : one.id < two.id;
    });
    const Writer writer(holder, everywhere, rare);
    text.reserve(count * 48);
    for (const Named& entry : sorted) {
        const std::size_t begin = text.size();
        if (writer.add(entry.id, entry.buffer, text)) continue;
        text.resize(begin);
        const nb::object line = other(entry.buffer);
        const auto written = utf8(line);
        if (!written) return std::nullopt;
        text.append(*written);
    }
    return text;
}

std::string pair_lines(std::string_view word, nb::list ones, nb::list others) {
    Texts texts;
    std::vector<NamedPair> pairs;
    const std::size_t count = std::min(nb::len(ones), nb::len(others));
    pairs.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        std::string_view one = texts.of(ones[i]), other = texts.of(others[i]);
        if (other < one) std::swap(one, other);
        pairs.push_back({head(one), one, other});
    }
    std::sort(pairs.begin(), pairs.end(), [](const NamedPair& a, const NamedPair& b) {
        if (a.head != b.head) return a.head < b.head;
        return a.one != b.one ? a.one < b.one : a.other < b.other;
    });
    pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
    std::string text;
    text.reserve(pairs.size() * 32);
    for (const NamedPair& pair : pairs) {
        text.append(word);
        append_counted(text, pair.one);
        append_counted(text, pair.other);
        text.push_back('\n');
    }
    return text;
}

}  // namespace memstow::model
