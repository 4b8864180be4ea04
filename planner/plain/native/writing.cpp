// Plans and canonical forms as text, byte for byte as the ordinary writers have them.
#include <algorithm>
#include <charconv>

#include "plan.hpp"
#include "text.hpp"

namespace memstow::plain {
namespace {

void append(std::string& to, std::int64_t value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value);
    to.append(digits, end.ptr);
}

// The bytes of a canonical string, with their number.
void append_counted(std::string& to, std::string_view text) {
    append(to, static_cast<std::int64_t>(text.size()));
    to.push_back(':');
    to.append(text);
}

}  // namespace

void append_json(std::string& to, std::string_view text) {
    constexpr char kHex[] = "0123456789abcdef";
    to.push_back('"');
    const auto plain = [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\'; };
    if (std::all_of(text.begin(), text.end(), plain)) {
        to.append(text).push_back('"');
        return;
    }
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        constexpr std::string_view kMeant = "\"\\\b\f\n\r\t";
        constexpr std::string_view kShort = "\"\\bfnrt";
        if (byte >= 0x20 && c != '"' && c != '\\') {
            to.push_back(c);
        } else if (const std::size_t place = kMeant.find(c); place != std::string_view::npos) {
            to.push_back('\\');
            to.push_back(kShort[place]);
        } else {
            to.append("\\u00");
            to.push_back(kHex[byte >> 4]);
            to.push_back(kHex[byte & 15]);
        }
    }
    to.push_back('"');
}

std::string placements_as_json(const Problem& problem, const std::int64_t* offsets, std::size_t first,
                               std::size_t last) {
    last = std::min(last, problem.sizes.size());
    first = std::min(first, last);
    std::string pool = ", \"pool\": ";
    append_json(pool, problem.pool);
    pool.append(", \"offset\": ");
    std::string text;
    text.reserve((last - first) * (pool.size() + 48));
    for (std::size_t i = first; i < last; ++i) {
        text.append(i == 0 ? "{\"buffer\": " : ",\n    {\"buffer\": ");
        append_json(text, problem.names[i]);
        text.append(pool);
        append(text, offsets[i]);
        text.push_back('}');
    }
    return text;
}

std::string names_as_json(const Problem& problem, const std::vector<std::int64_t>& members) {
    std::string text;
    for (std::size_t i = 0; i < members.size(); ++i) {
        if (i > 0) text.append(", ");
        append_json(text, problem.names[static_cast<std::size_t>(members[i])]);
    }
    return text;
}

std::optional<std::string> plan_as_csv(const Problem& problem, const std::int64_t* offsets) {
    const bool aligned = problem.alignments.size() > 1 || problem.alignments[0] != 1;
    std::string text = aligned ? "id,lower,upper,size,alignment,offset\n" : "id,lower,upper,size,offset\n";
    for (std::size_t i = 0; i < problem.sizes.size(); ++i) {
        const std::string_view name = problem.names[i];
        if (name.find_first_of(std::string_view(",\"\r\n\0", 5)) != std::string_view::npos)
            return std::nullopt;
        text.append(name);
        const auto cell = [&](std::int64_t value) {
            text.push_back(',');
            append(text, value);
        };
        cell(problem.begins[i]);
        cell(problem.ends[i]);
        cell(problem.sizes[i]);
        if (aligned) cell(problem.alignment(i));
        cell(offsets[i]);
        text.push_back('\n');
    }
    return text;
}

std::string canonical(const Problem& problem, std::size_t first, std::size_t last) {
    std::string text;
    for (std::size_t place = first; place < std::min(last, problem.order.size()); ++place) {
        const std::size_t i = problem.order[place];
        const auto number = [&](std::int64_t value) {
            text.push_back(' ');
            append(text, value);
        };
        text.append("buffer ");
        append_counted(text, problem.names[i]);
        number(problem.sizes[i]);
        number(problem.alignment(i));
        number(problem.sizes[i]);
        text.append(" - 1");
        number(problem.begins[i]);
        number(problem.ends[i]);
        text.append(" *\n");
    }
    return text;
}

}  // namespace memstow::plain
