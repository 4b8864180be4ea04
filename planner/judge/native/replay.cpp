#include "replay.hpp"

#include <algorithm>
#include <stdexcept>

namespace memstow::judge {
namespace {

constexpr std::int64_t kNever = -1;
constexpr char kState = 's';
constexpr char kData = 'd';

std::size_t at(std::int64_t number) { return static_cast<std::size_t>(number); }

bool contains(std::span<const std::int64_t> numbers, std::int64_t number) {
    return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

void require_tensors(std::span<const std::int64_t> tensors, std::size_t count) {
    const auto is_one = [&](std::int64_t tensor) { return tensor >= 0 && at(tensor) < count; };
    if (!std::all_of(tensors.begin(), tensors.end(), is_one)) throw std::invalid_argument("no such tensor");
}

void require_uses(const Uses& uses, std::size_t begins, std::size_t tensors) {
    const bool whole = uses.begins.size() == begins && begins > 0 && uses.begins.front() == 0 &&
                       at(uses.begins.back()) == uses.tensors.size() &&
                       std::is_sorted(uses.begins.begin(), uses.begins.end());
    if (!whole) throw std::invalid_argument("the operators do not use all tensors that are listed");
    require_tensors(uses.tensors, tensors);
}

}  // namespace

std::span<const std::int64_t> Uses::of(std::int64_t operator_number) const {
    const std::size_t begin = at(begins[at(operator_number)]), end = at(begins[at(operator_number) + 1]);
    return std::span(tensors).subspan(begin, end - begin);
}

Program::Program(std::string kinds, Uses inputs, Uses outputs, Uses pairs,
                 std::vector<std::int64_t> inputs_of_graph, std::vector<std::int64_t> kept)
    : kinds_(std::move(kinds)),
      inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      pairs_(std::move(pairs)),
      inputs_of_graph_(std::move(inputs_of_graph)),
      kept_(std::move(kept)) {
    for (const Uses* uses : {&inputs_, &outputs_, &pairs_}) {
        require_uses(*uses, inputs_.begins.size(), kinds_.size());
    }
    for (const auto* tensors : {&inputs_of_graph_, &kept_}) require_tensors(*tensors, kinds_.size());
}

bool Program::has_two_producers() const {
    std::vector<char> there(kinds_.size());
    for (const std::int64_t tensor : inputs_of_graph_) there[at(tensor)] = 1;
    for (const std::int64_t tensor : outputs_.tensors) {
        if (kinds_[at(tensor)] == kState) continue;
        if (there[at(tensor)] != 0) return true;
        there[at(tensor)] = 1;
    }
    return false;
}

bool Program::has_wrong_pair() const {
    for (std::int64_t i = 0; i < operators(); ++i) {
        const auto pair = pairs_.of(i);
        for (std::size_t j = 0; j < pair.size(); j += 2) {
            if (j + 1 == pair.size() || !contains(inputs_.of(i), pair[j]) ||
                !contains(outputs_.of(i), pair[j + 1])) {
                return true;
            }
        }
    }
    return false;
}

std::vector<std::int64_t> Program::makers(std::span<const std::int64_t> place) const {
    std::vector<std::int64_t> maker(kinds_.size(), kNever);
    for (std::int64_t i = 0; i < operators(); ++i) {
        for (const std::int64_t tensor : outputs_.of(i)) {
            maker[at(tensor)] = std::max(maker[at(tensor)], place[at(i)]);
        }
    }
    return maker;
}

std::optional<Run> Program::run(std::span<const std::int64_t> order) const {
    const std::int64_t count = operators();
    std::vector<std::int64_t> place(at(count), kNever);
    if (order.size() != place.size()) return std::nullopt;
    for (std::size_t k = 0; k < order.size(); ++k) {
        if (order[k] < 0 || order[k] >= count || place[at(order[k])] != kNever) return std::nullopt;
        place[at(order[k])] = static_cast<std::int64_t>(k) + 1;
    }
    const std::vector<std::int64_t> maker = makers(place);
    Run run{std::vector<std::int64_t>(kinds_.size(), kNever), std::vector<std::int64_t>(kinds_.size()), {}};
    std::vector<std::int64_t> read(kinds_.size(), kNever);
    for (const std::int64_t tensor : inputs_of_graph_) run.born[at(tensor)] = 0;
    for (const std::int64_t number : order) {
        const std::int64_t now = place[at(number)];
        for (const std::int64_t tensor : outputs_.of(number)) {
            if (run.born[at(tensor)] == kNever) run.born[at(tensor)] = now;
            run.needed[at(tensor)] = now;
        }
        for (const std::int64_t tensor : inputs_.of(number)) {
            if (kinds_[at(tensor)] != kState && maker[at(tensor)] >= now) return std::nullopt;
            run.needed[at(tensor)] = read[at(tensor)] = now;
        }
    }
    for (std::int64_t& born : run.born) born = std::max<std::int64_t>(born, 0);
    for (const std::int64_t tensor : kept_) run.needed[at(tensor)] = count + 1;
    for (const std::int64_t number : order) {
        const auto pair = pairs_.of(number);
        for (std::size_t j = 0; j + 1 < pair.size(); j += 2) {
            const std::size_t source = at(pair[j]);
            const bool ends_here = read[source] == place[at(number)] && run.needed[source] <= count;
            if (kinds_[source] == kData && ends_here) run.shared.emplace_back(pair[j], pair[j + 1]);
        }
    }
    return run;
}

}  // namespace memstow::judge
