// Instances for tests: built by hand in one line, or drawn at random with every feature mixed.
#pragma once

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "core/assemble.hpp"
#include "core/instance.hpp"
#include "core/random.hpp"

namespace sample {

using namespace memstow;

struct Buffer {
    Bytes size;
    std::vector<Lifetime> lives;  // none: only the conflicts listed
    std::vector<Choice> choices;  // none: anywhere in pool 0
    std::vector<Part> more = {};  // further parts of a rigid group; their item is set here
    std::vector<std::vector<Lifetime>> more_lives = {};
};

inline Choice anywhere(Index pool = 0, Bytes modulus = 1) { return {pool, modulus, 0, 0, kLimit, 0}; }

// Conflicts are pairs of parts.
inline Instance build(const std::vector<Buffer>& buffers, std::vector<Pool> pools = {{kLimit, {}}},
                      const std::vector<std::pair<Index, Index>>& conflicts = {}) {
    Instance instance;
    instance.pools = std::move(pools);
    const auto add = [&](Bytes delta, Bytes size, std::vector<Lifetime> lives) {
        instance.parts.push_back({instance.item_count(), delta, size});
        std::sort(lives.begin(), lives.end(),
                  [](const Lifetime& a, const Lifetime& b) { return a.begin < b.begin; });
        auto& values = instance.lives.values;
        values.insert(values.end(), lives.begin(), lives.end());
        instance.lives.close();
    };
    for (const Buffer& buffer : buffers) {
        for (const Choice& choice : buffer.choices) instance.choices.values.push_back(choice);
        if (buffer.choices.empty()) instance.choices.values.push_back(anywhere());
        instance.choices.close();
        add(0, buffer.size, buffer.lives);
        for (std::size_t k = 0; k < buffer.more.size(); ++k) {
            add(buffer.more[k].delta, buffer.more[k].size, buffer.more_lives[k]);
        }
        instance.item_parts.push_back(static_cast<Index>(instance.parts.size()));
    }
    assemble_rows(instance, conflicts);
    return instance;
}

struct Mix {
    int items = 12;
    int horizon = 10;
    bool one_pool = false;
    bool pins = true;
    bool unbounded = false;
};

inline Instance random(Random& random, const Mix& mix = {}) {
    const auto draw = [&](std::size_t n) { return static_cast<Bytes>(random.below(n)); };
    std::vector<Pool> pools(mix.one_pool ? 1 : 1 + random.below(3));
    for (Pool& pool : pools) {
        pool.capacity = mix.unbounded || random.below(3) == 0 ? kLimit : 40 + draw(200);
        for (Bytes at = draw(40); random.below(3) == 0; at += 1 + draw(20)) {
            const Bytes size = 1 + draw(10);
            pool.reserved.push_back({at, at + size});
            at += size;
        }
    }
    const auto life = [&] {
        const Bytes begin = draw(static_cast<std::size_t>(mix.horizon));
        return Lifetime{begin, begin + 1 + draw(static_cast<std::size_t>(mix.horizon) / 2)};
    };
    const auto lives = [&] {
        std::vector<Lifetime> list;
        if (random.below(8) != 0) list.push_back(life());
        if (random.below(5) == 0) list.push_back({list.empty() ? 30 : list[0].end + 2, 40});
        return list;
    };
    std::vector<Buffer> buffers(1 + random.below(static_cast<std::size_t>(mix.items)));
    Index parts = 0;
    std::vector<Index> item_of;
    for (Buffer& buffer : buffers) {
        const auto item = static_cast<Index>(&buffer - buffers.data());
        buffer.size = 1 + draw(30);
        buffer.lives = lives();
        item_of.push_back(item);
        while (random.below(6) == 0) {
            buffer.more.push_back({0, draw(20), 1 + draw(10)});
            buffer.more_lives.push_back(lives());
            item_of.push_back(item);
        }
        parts = static_cast<Index>(item_of.size());
        for (Index pool = 0; pool < static_cast<Index>(pools.size()); ++pool) {
            if (!buffer.choices.empty() && random.below(3) == 0) continue;
            Choice choice = anywhere(pool, Bytes{1} << draw(4));
            if (random.below(4) == 0) choice.residue = draw(static_cast<std::size_t>(choice.modulus));
            if (random.below(8) == 0) choice.low = draw(20);
            if (random.below(12) == 0) choice.high = choice.low + 60;
            if (mix.pins && random.below(20) == 0) {
                choice.low = choice.high = choice.residue + choice.modulus * draw(6);
            }
            choice.cost = draw(10);
            buffer.choices.push_back(choice);
        }
        if (random.below(2) == 0) std::reverse(buffer.choices.begin(), buffer.choices.end());
    }
    std::set<std::pair<Index, Index>> conflicts;
    const auto pair = [&] {
        const auto n = static_cast<std::size_t>(parts);
        return std::pair<Index, Index>(
            std::minmax(static_cast<Index>(random.below(n)), static_cast<Index>(random.below(n))));
    };
    const auto apart = [&](std::pair<Index, Index> p) {
        return item_of[static_cast<std::size_t>(p.first)] != item_of[static_cast<std::size_t>(p.second)];
    };
    for (std::size_t k = random.below(buffers.size() + 1); k > 0; --k) {
        if (const auto p = pair(); apart(p)) conflicts.insert(p);
    }
    Instance instance = build(buffers, pools, {conflicts.begin(), conflicts.end()});
    for (std::size_t k = random.below(buffers.size() + 1); k > 0; --k) {
        if (const auto p = pair(); apart(p))
            instance.exempt.push_back({p.first, p.second, random.below(2) == 0});
    }
    for (std::size_t k = random.below(buffers.size() + 1); k > 0; --k) {
        if (const auto p = pair(); apart(p)) instance.reuse.push_back({p.first, p.second, 1 + draw(9)});
    }
    return instance;
}

}  // namespace sample
