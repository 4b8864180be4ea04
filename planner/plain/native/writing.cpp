// Plans and canonical forms as text, byte for byte as the ordinary writers have them.
#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

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
                               std::size_t last, const std::int64_t* homes) {
    last = std::min(last, problem.sizes.size());
    first = std::min(first, last);
    const auto in_pool = [](std::string_view name) {
        std::string pool = ", \"pool\": ";
        append_json(pool, name);
        return pool.append(", \"offset\": ");
    };
    std::vector<std::string> pools;
    if (homes == nullptr) pools.push_back(in_pool(problem.pool));
    if (homes != nullptr) std::ranges::transform(problem.pools.names, std::back_inserter(pools), in_pool);
    std::string text;
    text.reserve((last - first) * (pools[0].size() + 48));
    for (std::size_t i = first; i < last; ++i) {
        text.append(i == 0 ? "{\"buffer\": " : ",\n    {\"buffer\": ");
        append_json(text, problem.names[i]);
        text.append(pools[homes == nullptr ? 0 : static_cast<std::size_t>(homes[i])]);
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

std::vector<std::int64_t> peaks(const Problem& problem, const std::int64_t* offsets,
                                const std::int64_t* homes) {
    std::vector<std::int64_t> ends(homes == nullptr ? 1 : problem.pools.names.size(), 0);
    for (std::size_t i = 0; i < problem.sizes.size(); ++i) {
        if (problem.sizes[i] == 0) continue;
        std::int64_t& end = ends[homes == nullptr ? 0 : static_cast<std::size_t>(homes[i])];
        end = std::max(end, offsets[i] + problem.sizes[i]);
    }
    return ends;
}

std::string canonical_sizes(const Problem& problem, std::size_t first, std::size_t last) {
    const Formulas& formulas = problem.formulas;
    std::string text;
    for (std::size_t place = first; place < std::min(last, problem.order.size()); ++place) {
        const std::size_t i = problem.order[place];
        const std::int64_t formula = formulas.of_buffer.empty() ? Formulas::kNumber : formulas.of_buffer[i];
        if (formula == Formulas::kNumber) continue;
        std::string written = formulas.texts[static_cast<std::size_t>(formula)];
        std::erase_if(written, [](char c) { return c == ' ' || ('\t' <= c && c <= '\r'); });
        text.append("size ");
        append_counted(text, problem.names[i]);
        text.push_back(' ');
        append_counted(text, written);
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
        const std::vector<std::int64_t>& formulas = problem.formulas.of_buffer;
        const bool is_number = formulas.empty() || formulas[i] == Formulas::kNumber;
        number(is_number ? problem.sizes[i] : 0);
        number(problem.alignment(i));
        number(is_number ? problem.accesses(i) : 0);
        const std::vector<std::int64_t>& pins = problem.relations.pins;
        if (pins.empty() || pins[i] == Relations::kFree) {
            text.append(" -");
        } else {
            number(pins[i]);
        }
        text.append(" 1");
        number(problem.begins[i]);
        number(problem.ends[i]);
        const std::vector<std::int64_t>& lists = problem.pools.list_of;
        text.push_back(' ');
        if (lists.empty() || lists[i] == Pools::kAny) {
            text.push_back('*');
        } else {
            text.append(problem.pools.allowed.at(static_cast<std::size_t>(lists[i])));
        }
        text.push_back('\n');
    }
    return text;
}

namespace {

// By pair of buffers, the smaller id first, what it costs that both touch one bank; -1: they may not.
std::map<std::pair<std::size_t, std::size_t>, std::int64_t> pairs_of(const Problem& problem,
                                                                     const Banks& banks,
                                                                     const std::vector<std::size_t>& rank) {
    std::map<std::pair<std::size_t, std::size_t>, std::int64_t> pairs;
    for (const Banks::Conflict& conflict : banks.conflicts) {
        for (std::size_t a = 0; a < conflict.buffers.size(); ++a) {
            for (std::size_t b = a + 1; b < conflict.buffers.size(); ++b) {
                const Number one = conflict.buffers[a], other = conflict.buffers[b];
                if (problem.sizes[one] == 0 || problem.sizes[other] == 0) continue;
                std::int64_t& cost = pairs[std::minmax(rank[one], rank[other])];
                cost = !conflict.cost || cost < 0 ? -1 : cost + *conflict.cost;
            }
        }
    }
    return pairs;
}

}  // namespace

std::string canonical(const Problem& problem, const Banks& banks) {
    const auto matters = [&](const Banks::Rule& rule) { return problem.sizes[rule.buffer] > 0; };
    if (banks.conflicts.empty() && std::none_of(banks.rules.begin(), banks.rules.end(), matters)) return {};
    std::string text;
    const auto number = [&](std::int64_t value) {
        text.push_back(' ');
        append(text, value);
    };
    std::vector<Banks::Run> runs = banks.runs;
    std::sort(runs.begin(), runs.end(),
              [](const Banks::Run& a, const Banks::Run& b) { return a.offset < b.offset; });
    std::int64_t count = 0;
    for (const Banks::Run& run : runs) count += run.count;
    if (count > 0) {
        text.append("banks ");
        append_counted(text, problem.pool);
        number(count);
    }
    for (const Banks::Run& run : runs) {
        for (std::int64_t bank = 0; bank < run.count; ++bank) {
            number(run.offset + bank * run.size);
            number(run.offset + (bank + 1) * run.size);
        }
    }
    if (count > 0) text.push_back('\n');
    std::vector<std::size_t> rank(problem.order.size());
    for (std::size_t place = 0; place < rank.size(); ++place) rank[problem.order[place]] = place;
    std::vector<const Banks::Rule*> rules;
    for (const Banks::Rule& rule : banks.rules) {
        if (matters(rule)) rules.push_back(&rule);
    }
    std::sort(rules.begin(), rules.end(),
              [&](const Banks::Rule* a, const Banks::Rule* b) { return rank[a->buffer] < rank[b->buffer]; });
    for (const Banks::Rule* rule : rules) {
        text.append("in_bank ");
        append_counted(text, problem.names[rule->buffer]);
        number(rule->within ? 1 : 0);
        if (!rule->some) {
            text.append(" *\n");
            continue;
        }
        std::vector<std::int64_t> some = *rule->some;
        std::sort(some.begin(), some.end());
        some.erase(std::unique(some.begin(), some.end()), some.end());
        number(static_cast<std::int64_t>(some.size()));
        for (const std::int64_t bank : some) number(bank);
        text.push_back('\n');
    }
    for (const auto& [pair, cost] : pairs_of(problem, banks, rank)) {
        text.append("bank_conflict ");
        append_counted(text, problem.names[problem.order[pair.first]]);
        text.push_back(' ');
        append_counted(text, problem.names[problem.order[pair.second]]);
        if (cost < 0) {
            text.append(" -");
        } else {
            number(cost);
        }
        text.push_back('\n');
    }
    return text;
}

}  // namespace memstow::plain
