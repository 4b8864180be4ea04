// memstow-plan: the plan of a plain problem in CSV or JSON, or one with banks, without Python. Its document
// is that of `memstow solve --json`.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "memstow.hpp"
#include "places.hpp"
#include "plan.hpp"
#include "problem.hpp"
#include "sha256.hpp"
#include "text.hpp"

namespace {

using memstow::plain::BankedProblem;
using memstow::plain::Banks;
using memstow::plain::Problem;
using std::int64_t;

constexpr int kUsage = 2;
constexpr int kInfeasible = 3;
constexpr int kUnknown = 4;
constexpr int kDefect = 70;
constexpr int kInterrupted = 130;

constexpr std::string_view kHelp = R"(usage: memstow-plan [options] FILE

Find offsets for the buffers of FILE, in CSV or native JSON with one memory, which may have banks; - reads
standard input. Prints the plan as JSON.

  -o FILE, --output FILE  write the plan to this file
  --csv                   write the plan as CSV
  --capacity N            capacity of the memory: 65536, 64KiB, 0x10000
  --fit-only              accept any plan that fits
  --deterministic         limit work instead of time: the same input always gives the same plan
  --time-limit S          seconds for the whole run (default: 10)
  --work-limit N          limit on steps of work
  --gap G                 stop once the plan is proven to be within this fraction of the least
  --seed N                random seed (default: 0)
  --workers N             threads (default: 1)
  --version               print the version
  -h, --help              print this help

Exit code 0: a plan was found; 2: the input or the arguments are wrong; 3: proven infeasible; 4: no plan and no
proof; 130: interrupted, with the best plan so far.
)";

// What is wrong with the arguments or the input, for people.
struct UsageError {
    std::string text;
};

struct Arguments {
    std::string input;
    std::string output;
    bool csv = false;
    std::optional<int64_t> capacity;
    libmemstow::Options options;
    bool has_time_limit = false;
};

template <class Value>
std::optional<Value> number(std::string_view text, int base = 10) {
    Value value{};
    std::from_chars_result read{};
    if constexpr (std::is_floating_point_v<Value>) {
        read = std::from_chars(text.data(), text.data() + text.size(), value);
    } else {
        read = std::from_chars(text.data(), text.data() + text.size(), value, base);
    }
    if (read.ec != std::errc{} || read.ptr != text.data() + text.size()) return std::nullopt;
    return value;
}

template <class Value>
Value required(std::string_view option, std::string_view text, std::string_view what) {
    const std::optional<Value> value = number<Value>(text);
    if (!value)
        throw UsageError{std::string(option) + " takes " + std::string(what) + ", not " + std::string(text)};
    return *value;
}

int64_t bytes(std::string_view option, std::string_view text) {
    constexpr std::pair<std::string_view, int64_t> kUnits[] = {
        {"KiB", int64_t{1} << 10}, {"MiB", int64_t{1} << 20}, {"GiB", int64_t{1} << 30}};
    std::string_view digits = text;
    int64_t unit = 1;
    for (const auto& [name, size] : kUnits) {
        if (!digits.ends_with(name)) continue;
        digits.remove_suffix(name.size());
        unit = size;
        break;
    }
    const bool hex = digits.starts_with("0x");
    const std::optional<int64_t> value =
        hex ? number<int64_t>(digits.substr(2), 16) : number<int64_t>(digits);
    if (!value || *value < 0 || *value > MEMSTOW_LIMIT / unit) {
        throw UsageError{std::string(option) + " takes bytes, such as 65536, 64KiB or 0x10000, not " +
                         std::string(text)};
    }
    return *value * unit;
}

Arguments parse(const std::vector<std::string>& words) {
    Arguments arguments;
    for (std::size_t i = 0; i < words.size(); ++i) {
        std::string word = words[i];
        std::optional<std::string> attached;
        if (word.starts_with("--")) {
            const std::size_t equal = word.find('=');
            if (equal != std::string::npos) {
                attached = word.substr(equal + 1);
                word.resize(equal);
            }
        }
        const auto value = [&]() -> std::string {
            if (attached) return *std::exchange(attached, std::nullopt);
            if (i + 1 == words.size()) throw UsageError{word + " takes a value"};
            return words[++i];
        };
        if (word == "-o" || word == "--output") {
            arguments.output = value();
        } else if (word == "--csv") {
            arguments.csv = true;
        } else if (word == "--capacity") {
            arguments.capacity = bytes(word, value());
        } else if (word == "--fit-only") {
            arguments.options.fit_only = true;
        } else if (word == "--deterministic") {
            arguments.options.deterministic = true;
        } else if (word == "--time-limit") {
            arguments.options.time_limit = required<double>(word, value(), "seconds");
            arguments.has_time_limit = true;
        } else if (word == "--work-limit") {
            arguments.options.work_limit = required<int64_t>(word, value(), "a number of steps");
            if (arguments.options.work_limit < 0) throw UsageError{"--work-limit must be 0 or more"};
        } else if (word == "--gap") {
            arguments.options.gap = required<double>(word, value(), "a fraction");
        } else if (word == "--seed") {
            arguments.options.seed = required<std::uint64_t>(word, value(), "a number");
        } else if (word == "--workers") {
            arguments.options.workers = required<std::uint32_t>(word, value(), "a number of threads");
        } else if (word.starts_with("-") && word != "-") {
            throw UsageError{"there is no option " + word + "; --help lists them"};
        } else if (arguments.input.empty()) {
            arguments.input = word;
        } else {
            throw UsageError{"one FILE, not " + arguments.input + " and " + word};
        }
        if (attached) throw UsageError{word + " takes no value"};
    }
    if (arguments.input.empty()) throw UsageError{"no FILE; --help says how"};
    if (arguments.options.deterministic && arguments.has_time_limit) {
        throw UsageError{"--time-limit and --deterministic: limit the work by --work-limit instead"};
    }
    return arguments;
}

// A problem of as many buffers as fit in the memory of the search is far below.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

std::string read_input(const std::string& name) {
    struct stat about = {};
    if (stat(name.c_str(), &about) == 0 && S_ISDIR(about.st_mode)) {
        throw UsageError{name + " is a directory; give a file"};
    }
    std::ifstream file;
    if (name != "-") file.open(name, std::ios::binary);
    std::istream& from = name == "-" ? std::cin : file;
    std::string text;
    std::vector<char> piece(1 << 16);
    while (from) {
        from.read(piece.data(), static_cast<std::streamsize>(piece.size()));
        text.append(piece.data(), static_cast<std::size_t>(from.gcount()));
        if (text.size() > kMostBytes) throw UsageError{name + " is larger than 1 GiB"};
    }
    if (!from.eof()) throw UsageError{"cannot read " + name};
    return text;
}

BankedProblem read_problem(const Arguments& arguments) {
    const std::string text = read_input(arguments.input);
    std::string_view rest = memstow::plain::without_mark(text);
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t\r\n"), rest.size()));
    const bool is_json = rest.starts_with('{') || rest.starts_with('[');
    std::optional<BankedProblem> read;
    if (is_json) {
        read = memstow::plain::read_banked_json(text);
    } else if (std::optional<Problem> problem = memstow::plain::read_csv(text)) {
        read.emplace().problem = std::move(*problem);
    }
    if (!read) {
        throw UsageError{
            arguments.input +
            ": not a problem that memstow-plan reads: buffers with bytes and one lifetime each, in one "
            "memory without alignment, base and reserved ranges of its own; `memstow solve` reads the "
            "others, and `memstow inspect` says what is wrong and where"};
    }
    Problem& problem = read->problem;
    if (arguments.capacity) {
        problem.bounded = true;
        problem.capacity = *arguments.capacity;
    }
    if (arguments.options.fit_only) problem.fit_only = true;
    if (problem.fit_only) read->banks.objective.clear();
    return std::move(*read);
}

// The problem as the library has it.
libmemstow::Problem native_of(const BankedProblem& read) {
    const auto& [problem, banks] = read;
    libmemstow::Problem native;
    native.add_all(problem.sizes, problem.begins, problem.ends, problem.alignments);
    if (problem.bounded) native.set_capacity(problem.capacity);
    const auto numbers = [](const auto& values) {
        return std::vector<std::size_t>(values.begin(), values.end());
    };
    for (const Banks::Run& run : banks.runs) {
        native.add_banks(0, run.size, static_cast<std::size_t>(run.count), run.offset);
    }
    for (const Banks::Rule& rule : banks.rules) {
        if (rule.within) native.keep_within_bank(rule.buffer);
        if (rule.some) native.allow_banks(rule.buffer, numbers(*rule.some));
    }
    for (const Banks::Conflict& conflict : banks.conflicts) {
        native.add_bank_conflict(numbers(conflict.buffers), conflict.cost.value_or(MEMSTOW_NEVER));
    }
    for (const Banks::Term term : banks.objective) {
        native.add_term(term == Banks::Term::peak ? MEMSTOW_PEAK : MEMSTOW_BANK_COST);
    }
    return native;
}

// Numbers of floating point as Python writes them.
std::string real(double value) {
    char text[64];
    const auto end = std::to_chars(text, text + sizeof text, value).ptr;
    std::string written(text, end);
    if (written.find_first_of(".en") == std::string::npos) written += ".0";
    return written;
}

std::string quoted(std::string_view text) {
    std::string json;
    memstow::plain::append_json(json, text);
    return json;
}

std::string digest(const BankedProblem& read) {
    const auto& [problem, banks] = read;
    constexpr std::size_t kLinesAtOnce = 1 << 16;
    memstow::Sha256 hash;
    std::string line = "memstow-problem 1\npool ";
    line += std::to_string(problem.pool.size()) + ":" + problem.pool + " ";
    line += problem.bounded ? std::to_string(problem.capacity) : "-";
    hash.update(line + " 1 0 0 0\n");
    for (std::size_t first = 0; first < problem.sizes.size(); first += kLinesAtOnce) {
        const std::size_t last = std::min(first + kLinesAtOnce, problem.sizes.size());
        hash.update(memstow::plain::canonical(problem, first, last));
    }
    hash.update(memstow::plain::canonical(problem, banks));
    line = "objective " + std::to_string(banks.objective.size());
    for (const Banks::Term term : banks.objective) {
        line += term == Banks::Term::peak ? " 4:peak" : " 9:bank_cost";
    }
    hash.update(line + "\n");
    return hash.hex();
}

// Writes the document of a plan.
class Document {
  public:
    Document(const BankedProblem& read, const libmemstow::Plan& plan)
        : read_(read), problem_(read.problem), plan_(plan), terms_(plan.terms()) {}

    std::string json() const {
        std::ostringstream to;
        to << "{\n  \"status\": \"" << memstow_status_text(plan_.status()) << '"';
        if (plan_.has_offsets()) {
            to << ",\n  \"placements\": [\n    "
               << memstow::plain::placements_as_json(problem_, plan_.offsets().data(), 0,
                                                     problem_.sizes.size())
               << "\n  ]";
            write_values(to);
            to << ",\n  \"solver\": " << quoted(plan_.solver());
        } else if (plan_.status() == MEMSTOW_INFEASIBLE) {
            write_explanation(to);
        }
        if (plan_.status() == MEMSTOW_INFEASIBLE) {
            to << ",\n  \"prover\": " << quoted(prover());
        } else if (plan_.has_offsets()) {
            write_prover(to);
        }
        if (memstow_plan_work(plan_.get()) > 0) to << ",\n  \"work\": " << memstow_plan_work(plan_.get());
        to << ",\n  \"digest\": \"" << digest(read_) << "\",\n  \"version\": " << quoted(memstow_version());
        to << "\n}\n";
        return to.str();
    }

  private:
    void write_values(std::ostringstream& to) const {
        const memstow::judge::Columns columns{problem_.sizes, problem_.begins, problem_.ends,
                                              problem_.alignments};
        const memstow::judge::Verdict verdict =
            memstow::judge::judge(columns, plan_.offsets(), problem_.capacity);
        to << ",\n  \"pools\": [\n    {\"pool\": " << quoted(problem_.pool) << ", \"capacity\": ";
        if (problem_.bounded) {
            to << problem_.capacity;
        } else {
            to << "null";
        }
        to << ", \"peak\": " << plan_.peak() << ", \"bound\": " << plan_.bound()
           << ", \"live\": {\"bytes\": " << verdict.live << ", \"time\": " << verdict.moment << '}';
        // Where the first term does not say why the pool has that bound.
        const bool says = !terms_.empty() && terms_[0].term == MEMSTOW_PEAK;
        if (!says && plan_.bound() > 0) write_certificate(to);
        to << "}\n  ]";
        if (terms_.empty()) return;
        to << ",\n  \"objective\": [";
        for (std::size_t i = 0; i < terms_.size(); ++i) {
            const libmemstow::Term& term = terms_[i];
            to << (i > 0 ? "," : "")
               << "\n    {\"term\": " << (term.term == MEMSTOW_PEAK ? "\"peak\"" : "\"bank_cost\"")
               << ", \"value\": " << term.value << ", \"bound\": " << term.bound
               << ", \"gap\": " << real(gap(term));
            const bool is_of_whole = i == 0 && term.term == MEMSTOW_PEAK;
            if (term.proof == MEMSTOW_PROOF_SEARCH && !is_of_whole) {
                write_searches(to, {{term.bound - 1, term.searches}});
            } else if (term.term == MEMSTOW_PEAK && term.bound > 0) {
                write_certificate(to);
            } else if (term.bound > 0) {
                write_crowds(to);
            } else if (term.value == 0) {
                to << ", \"certificate\": {\"kind\": \"least\"}";
            }
            to << '}';
        }
        to << "\n  ]";
    }

    // Of a search, or else of the first bound that says anything.
    void write_prover(std::ostringstream& to) const {
        if (std::ranges::find(terms_, MEMSTOW_PROOF_SEARCH, &libmemstow::Term::proof) != terms_.end()) {
            to << ",\n  \"prover\": " << quoted(searcher());
            return;
        }
        for (const libmemstow::Term& term : terms_) {
            if (term.bound == 0) continue;
            to << ",\n  \"prover\": "
               << (term.term == MEMSTOW_PEAK ? quoted(prover()) : quoted("crowds in banks"));
            return;
        }
    }

    static double gap(const libmemstow::Term& term) {
        if (term.value <= term.bound) return 0.0;
        return static_cast<double>(term.value - term.bound) / static_cast<double>(term.value);
    }

    void write_crowds(std::ostringstream& to) const {
        to << ", \"certificate\": {\"kind\": \"crowds\", \"crowds\": [";
        for (std::size_t i = 0; i < memstow_plan_crowds(plan_.get()); ++i) {
            const std::size_t* buffers = nullptr;
            int64_t cost = 0;
            const std::size_t count = memstow_plan_crowd(plan_.get(), i, &buffers, &cost);
            to << (i > 0 ? ", " : "") << "{\"buffers\": ["
               << memstow::plain::names_as_json(problem_, {buffers, buffers + count})
               << "], \"cost\": " << cost << '}';
        }
        to << "]}";
    }

    // What complete searches have refuted, with their nodes.
    void write_searches(std::ostringstream& to,
                        const std::vector<std::pair<int64_t, int64_t>>& searches) const {
        to << ", \"certificate\": {\"kind\": \"exhausted\", \"solver\": " << quoted(searcher())
           << ", \"refuted\": [";
        for (std::size_t i = 0; i < searches.size(); ++i) {
            to << (i > 0 ? ", " : "") << "{\"height\": " << searches[i].first
               << ", \"nodes\": " << searches[i].second << '}';
        }
        to << "]}";
    }

    void write_certificate(std::ostringstream& to) const {
        const char* opening = ", \"certificate\": {\"kind\": ";
        switch (memstow_plan_proof(plan_.get())) {
            case MEMSTOW_PROOF_LIVE: {
                to << opening << "\"live_bytes\", \"pool\": " << quoted(problem_.pool) << ", \"time\": ";
                write_time(to);
                to << ", \"buffers\": [" << names() << "]}";
                return;
            }
            case MEMSTOW_PROOF_SEARCH: {
                const int64_t* peaks = nullptr;
                const int64_t* nodes = nullptr;
                const std::size_t count = memstow_plan_searches(plan_.get(), &peaks, &nodes);
                std::vector<std::pair<int64_t, int64_t>> searches;
                for (std::size_t i = 0; i < count; ++i) searches.emplace_back(peaks[i], nodes[i]);
                write_searches(to, searches);
                return;
            }
            case MEMSTOW_PROOF_WINDOW: {
                int64_t begin = 0;
                int64_t end = 0;
                memstow_plan_proof_window(plan_.get(), &begin, &end);
                to << opening << "\"window\", \"solver\": " << quoted(prover())
                   << ", \"pool\": " << quoted(problem_.pool) << ", \"begin\": " << begin
                   << ", \"end\": " << end << ", \"buffers\": [" << names() << "]}";
                return;
            }
            default:  // is of several pools, or of another term
                return;
        }
    }

    void write_time(std::ostringstream& to) const {
        int64_t time = 0;
        if (memstow_plan_proof_time(plan_.get(), &time) != 0) {
            to << time;
        } else {
            to << "null";
        }
    }

    void write_explanation(std::ostringstream& to) const {
        const bool live = memstow_plan_proof(plan_.get()) == MEMSTOW_PROOF_LIVE;
        const std::size_t count = memstow_plan_proof_buffers(plan_.get(), nullptr);
        int64_t time = 0;
        const bool timed = memstow_plan_proof_time(plan_.get(), &time) != 0;
        const bool is_counted = plan_.bound() < std::numeric_limits<int64_t>::max();
        std::string message;
        if (live && timed) {
            message = std::to_string(count) + (count == 1 ? " buffer needs " : " buffers need ") +
                      (is_counted ? "" : "more than ") + std::to_string(plan_.bound()) + " bytes at time " +
                      std::to_string(time) + "; there are " + std::to_string(problem_.capacity) +
                      (problem_.bounded ? "" : ", since no address is above 2^62");
        } else {
            message = "no layout of these " + std::to_string(count) + " buffers fits into " +
                      std::to_string(problem_.capacity) + " bytes" +
                      (live ? "" : ", as a search through all of them has shown");
        }
        to << ",\n  \"explanation\": {\"code\": "
           << (live && timed ? "\"over_capacity\""
               : live        ? "\"no_place\""
                             : "\"no_layout\"")
           << ", \"message\": " << quoted(message) << ", \"pool\": " << quoted(problem_.pool);
        if (live && timed) to << ", \"time\": " << time;
        if (live && timed && is_counted) to << ", \"needed\": " << plan_.bound();
        to << ", \"capacity\": " << problem_.capacity << ", \"buffers\": [" << names() << "]}";
    }

    std::string names() const {
        const std::size_t* buffers = nullptr;
        const std::size_t count = memstow_plan_proof_buffers(plan_.get(), &buffers);
        return memstow::plain::names_as_json(problem_, {buffers, buffers + count});
    }

    // Who has searched: what depends on banks has a solver of its own.
    std::string searcher() const { return plan_.solver() == "banks" ? "banks" : "exact"; }

    std::string prover() const {
        switch (memstow_plan_proof(plan_.get())) {
            case MEMSTOW_PROOF_LIVE:
                return "live bytes";
            case MEMSTOW_PROOF_SEARCH:
                return searcher();
            case MEMSTOW_PROOF_WINDOW:
                return "windows";
            default:
                return "";
        }
    }

    const BankedProblem& read_;
    const Problem& problem_;
    const libmemstow::Plan& plan_;
    std::vector<libmemstow::Term> terms_;
};

memstow_stop* stop_of_signals = nullptr;
volatile std::sig_atomic_t interrupted = 0;

void interrupt(int) {
    // A second one ends the process at once.
    if (interrupted != 0) _exit(kInterrupted);
    interrupted = 1;
    memstow_stop_pull(stop_of_signals);
}

void write_output(const std::string& name, const std::string& text) {
    if (name.empty() || name == "-") {
        std::cout << text << std::flush;
        if (!std::cout) throw UsageError{"cannot write the plan"};
        return;
    }
    std::ofstream file(name, std::ios::binary);
    file << text << std::flush;
    if (!file) throw UsageError{"cannot write " + name};
}

int run(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
        if (word == "-h" || word == "--help") {
            std::cout << kHelp;
            return 0;
        }
        if (word == "--version") {
            std::cout << "memstow-plan " << memstow_version() << '\n';
            return 0;
        }
    }
    const auto began = std::chrono::steady_clock::now();
    Arguments arguments = parse(words);
    if (memstow_stop_create(&stop_of_signals) != MEMSTOW_OK) throw std::bad_alloc();
    std::signal(SIGINT, interrupt);
    std::signal(SIGTERM, interrupt);
    arguments.options.stop = stop_of_signals;
    const BankedProblem read = read_problem(arguments);
    arguments.options.fit_only = read.problem.fit_only;
    const std::chrono::duration<double> reading = std::chrono::steady_clock::now() - began;
    double& limit = arguments.options.time_limit;
    limit = std::max(limit - reading.count(), std::min(limit, 0.0));
    const libmemstow::Plan plan = native_of(read).solve(arguments.options);
    std::string text;
    if (arguments.csv && plan.has_offsets()) {
        const std::optional<std::string> csv =
            memstow::plain::plan_as_csv(read.problem, plan.offsets().data());
        if (!csv) throw UsageError{"a name needs quotes in CSV; write JSON"};
        text = *csv;
    } else {
        text = Document(read, plan).json();
    }
    if (arguments.csv && !plan.has_offsets()) {
        std::cerr << "memstow-plan: there is no plan (" << memstow_status_text(plan.status())
                  << "), and CSV cannot represent that\n";
    } else {
        write_output(arguments.output, text);
    }
    if (interrupted != 0) return kInterrupted;
    if (plan.status() == MEMSTOW_INFEASIBLE) return kInfeasible;
    return plan.has_offsets() ? 0 : kUnknown;
}

}  // namespace

int main(int count, char** words) {
    try {
        return run({words + 1, words + count});
    } catch (const UsageError& error) {
        std::cerr << "memstow-plan: " << error.text << '\n';
        return kUsage;
    } catch (const libmemstow::Error& error) {
        std::cerr << "memstow-plan: " << error.what() << '\n';
        return error.code() == MEMSTOW_INTERNAL ? kDefect : kUsage;
    } catch (const std::bad_alloc&) {
        std::cerr << "memstow-plan: out of memory\n";
        return kUsage;
    }
}
