#include <algorithm>
#include <set>
#include <vector>

#include "check.hpp"
#include "core/instance.hpp"
#include "core/random.hpp"

using namespace memstow;

TEST(items_have_the_choices_they_were_given_and_equal_ones_share_them) {
    Random random(1);
    // Few kinds, which share lists; and many, of which each is most often another.
    for (const std::size_t kinds : {3, 100'000}) {
        Choices choices;
        std::vector<std::vector<Choice>> given;
        for (int item = 0; item < 2'000; ++item) {
            const auto kind = static_cast<Bytes>(random.below(kinds));
            std::vector<Choice> list{{0, 8, kind % 8, 0, kLimit - kind, 0, kind}};
            if (kind % 2 == 1) list.push_back({1, 1, 0, kind, kLimit, -kind, 0});
            choices.add(list);
            given.push_back(std::move(list));
        }
        CHECK(choices.items() == 2'000);
        for (Index item = 0; item < choices.items(); ++item) {
            CHECK(std::ranges::equal(choices[item], given[item]));
        }
        if (kinds == 3) CHECK(choices.all().size() == 1 + 2 + 1);
        std::set<Bytes> ranks, ranks_given;
        for (const Choice& choice : choices.all()) ranks.insert(choice.rank);
        for (const auto& list : given) {
            for (const Choice& choice : list) ranks_given.insert(choice.rank);
        }
        CHECK(ranks == ranks_given);
    }
}

TEST(the_same_choices_in_another_order_or_number_are_others) {
    const Choice a{0, 1, 0, 0, kLimit, 0}, b{1, 1, 0, 0, kLimit, 0};
    Choices choices;
    choices.add(std::vector{a, b});
    choices.add(std::vector{b, a});
    choices.add(a);
    choices.add(std::vector{a, b});
    CHECK(choices[0].size() == 2 && choices[1][0] == b && choices[2].size() == 1 && choices[3][1] == b);
    CHECK(choices[0].data() == choices[3].data());
}
