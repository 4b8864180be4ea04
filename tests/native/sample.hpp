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
        if (buffer.choices.empty()) {
            instance.choices.add(anywhere());
        } else {
            instance.choices.add(buffer.choices);
        }
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

// Instances with something of everything.
class Maker {
  public:
    Maker(Random& random, const Mix& mix) : random_(random), mix_(mix) {}

    Instance make() {
        add_pools();
        buffers_.resize(1 + random_.below(mix_.items));
        for (Index item = 0; item < count_of(buffers_); ++item) fill(item);
        std::set<std::pair<Index, Index>> conflicts;
        some_pairs([&](Index p, Index q) { conflicts.insert({p, q}); });
        Instance instance = build(buffers_, pools_, {conflicts.begin(), conflicts.end()});
        some_pairs([&](Index p, Index q) { instance.exempt.push_back({p, q, random_.below(2) == 0}); });
        some_pairs([&](Index p, Index q) { instance.reuse.push_back({p, q, 1 + draw(9)}); });
        return instance;
    }

  private:
    Bytes draw(std::size_t n) { return random_.below(n); }

    void add_pools() {
        pools_.resize(mix_.one_pool ? 1 : 1 + random_.below(3));
        for (Pool& pool : pools_) {
            pool.capacity = mix_.unbounded || random_.below(3) == 0 ? kLimit : 40 + draw(200);
            for (Bytes at = draw(40); random_.below(3) == 0; at += 1 + draw(20)) {
                const Bytes size = 1 + draw(10);
                pool.reserved.push_back({at, at + size});
                at += size;
            }
        }
    }

    void fill(Index item) {
        Buffer& buffer = buffers_[item];
        buffer.size = 1 + draw(30);
        buffer.lives = some_lives();
        item_of_.push_back(item);
        while (random_.below(6) == 0) {
            const Bytes delta = draw(20);
            buffer.more.push_back({0, delta, 1 + draw(10)});
            buffer.more_lives.push_back(some_lives());
            item_of_.push_back(item);
        }
        for (Index pool = 0; pool < count_of(pools_); ++pool) {
            if (!buffer.choices.empty() && random_.below(3) == 0) continue;
            buffer.choices.push_back(some_choice(pool));
        }
        if (random_.below(2) == 0) std::reverse(buffer.choices.begin(), buffer.choices.end());
    }

    std::vector<Lifetime> some_lives() {
        std::vector<Lifetime> list;
        if (random_.below(8) != 0) {
            const Bytes begin = draw(mix_.horizon);
            list.push_back({begin, begin + 1 + draw(mix_.horizon / 2)});
        }
        if (random_.below(5) == 0) list.push_back({list.empty() ? 30 : list[0].end + 2, 40});
        return list;
    }

    Choice some_choice(Index pool) {
        Choice choice = anywhere(pool, Bytes{1} << draw(4));
        if (random_.below(4) == 0) choice.residue = draw(choice.modulus);
        if (random_.below(8) == 0) choice.low = draw(20);
        if (random_.below(12) == 0) choice.high = choice.low + 60;
        if (mix_.pins && random_.below(20) == 0) {
            choice.low = choice.high = choice.residue + choice.modulus * draw(6);
        }
        choice.cost = draw(10);
        return choice;
    }

    // Pairs of parts of different items, the lesser first.
    template <class Take>
    void some_pairs(const Take& take) {
        for (std::size_t k = random_.below(buffers_.size() + 1); k > 0; --k) {
            const Index a = draw(item_of_.size()), b = draw(item_of_.size());
            if (item_of_[a] != item_of_[b]) take(std::min(a, b), std::max(a, b));
        }
    }

    Random& random_;
    const Mix mix_;
    std::vector<Pool> pools_;
    std::vector<Buffer> buffers_;
    std::vector<Index> item_of_;  // by part
};

inline Instance random(Random& random, const Mix& mix = {}) { return Maker(random, mix).make(); }

}  // namespace sample
