// Tiny random programs of operators that may run in stripes.
#pragma once

#include <algorithm>

#include "core/random.hpp"
#include "stripes/program.hpp"

namespace stripe_programs {

using memstow::Bytes;
using memstow::Index;
using memstow::Random;
using namespace memstow::stripes;

class Maker {
  public:
    explicit Maker(std::uint64_t seed) : random_(seed) {}

    Program make(Index count) {
        program_.unit = chance(50) ? 1 : 1 + upto(7);
        program_.base = some_load(upto(2));
        program_.start = upto(60);
        for (Index at = 0; at < count; ++at) add_operator(at);
        for (Index at = 0; at < count; ++at) add_life(at);
        for (Bytes k = upto(2); k > 0; --k) {
            const auto begin = static_cast<Index>(upto(count - 1));
            const auto end = static_cast<Index>(begin + 1 + upto(count - 1 - begin));
            program_.wholes.push_back(
                {chance(30) ? kNobody : begin, chance(30) ? count : end, upto(20), kNobody});
        }
        for (Bytes k = upto(2); k > 0; --k) {
            const auto begin = static_cast<Index>(upto(count - 1));
            const auto end = static_cast<Index>(begin + 1 + upto(count - 1 - begin));
            program_.others.push_back({begin, end, 60 + upto(120), upto(60)});
        }
        return program_;
    }

  private:
    bool chance(Bytes percent) { return upto(99) < percent; }
    Bytes upto(Bytes most) { return static_cast<Bytes>(random_.below(static_cast<std::size_t>(most) + 1)); }

    Load some_load(Bytes many) {
        Load load;
        for (; many > 0; --many) load.add(1 + upto(19), program_.unit);
        return load;
    }

    void add_operator(Index at) {
        Operator it;
        it.can = chance(95);
        it.kept = chance(10);
        it.rows = 1 + upto(5);
        it.columns = 1 + upto(5);
        it.pixel = 1 + upto(4);
        it.extra = some_load(chance(20) ? 1 + upto(1) : 0);
        it.levels = {{.alone = 90 + upto(300)}};
        it.cost = upto(30);
        it.reduces = at > 0 && chance(8);
        if (it.reduces) {
            it.sums = upto(12);
            const Index source = some_source(at);
            const Operator& from = program_.operators[static_cast<std::size_t>(source)];
            it.rows = from.rows;
            it.columns = from.columns;
            it.uses.push_back({source, {from.rows, 1, 1, 0, 1}, {from.columns, 1, 1, 0, 1}});
        } else {
            for (Bytes k = 1 + (chance(30) ? 1 : 0); k > 0; --k) add_use(it, at);
        }
        program_.operators.push_back(it);
        for (std::size_t k = 0; k < it.uses.size(); ++k) {
            if (it.uses[k].source == kNobody) continue;
            Operator& source = program_.operators[static_cast<std::size_t>(it.uses[k].source)];
            source.readers.push_back({at, static_cast<Index>(k)});
            source.last_reader = at;
        }
    }

    Index some_source(Index at) { return static_cast<Index>(at - 1 - upto(std::min<Index>(at - 1, 2))); }

    void add_use(Operator& it, Index at) {
        const Index source = at == 0 || chance(8) ? kNobody : some_source(at);
        Place rows = 1 + upto(5), columns = 1 + upto(5);
        if (source != kNobody) {
            const Operator& from = program_.operators[static_cast<std::size_t>(source)];
            rows = from.reduces ? 1 : from.rows;
            columns = from.reduces ? 1 : from.columns;
        }
        it.uses.push_back({source, axis(rows), axis(columns)});
    }

    Axis axis(Place extent) {
        const bool resized = chance(15);
        const Place reach = 1 + upto(2), before = chance(5) ? 4 : upto(2);
        return {extent, 1 + upto(2), resized ? 1 + upto(3) : 1, before, reach - before};
    }

    void add_life(Index at) {
        const Operator& it = program_.operators[static_cast<std::size_t>(at)];
        Index end = std::max(at, it.last_reader);
        if (it.kept && chance(50)) end = program_.count();
        program_.wholes.push_back({at, end, upto(40), at});
    }

    Random random_;
    Program program_;
};

}  // namespace stripe_programs
