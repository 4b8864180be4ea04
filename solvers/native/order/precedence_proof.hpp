// Why no order keeps to a limit, by what must come first: of all that was shown, what that rests on.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/budget.hpp"
#include "order/bounds.hpp"
#include "order/graph.hpp"
#include "order/narrowing.hpp"

namespace memstow::order {

// From the last back to the first: what an operator needs at least is live because some operators ran before
// it, and others have not. Of what puts them there, as few orderings as can be are used; only these are
// looked at in their turn.
class PrecedenceProof {
  public:
    PrecedenceProof(const Graph& graph, Bytes limit);

    // `shown` and `needy` are those of a narrowing that has ended. False where the budget was spent, or the
    // proof would take too many bytes.
    bool find(std::span<const Ordering> shown, Index needy, Budget& budget);

    // Why not the other way round: then an operator would need more than the limit.
    struct Step {
        Ordering shown;
        std::vector<NeedCase> need;
    };
    const std::vector<Step>& steps() const { return steps_; }
    // Why the needy operator needs more than the limit after all of these.
    const std::vector<NeedCase>& last() const { return last_; }

  private:
    static constexpr Index kNone = -1;
    // To an operator, as the graph has it or as was shown.
    struct Link {
        Index op = kNone, shown = kNone;
    };
    using Links = std::vector<std::vector<Link>>;  // by operator
    // How each operator is reached with the fewest links that are not used yet.
    struct Paths {
        std::vector<Index> cost;
        std::vector<Link> back;
    };
    // Bytes that are live, and the links that show it.
    struct Part {
        Bytes bytes = 0;
        std::vector<Index> links = {};
    };

    void link(Index u, Index v, Index shown);
    void unlink(Index u, Index v);
    std::vector<NeedCase> prove(Index v, Budget& budget);
    void spread(const Links& links, std::vector<Index> from, Paths& paths) const;
    static Index nearest(const Paths& paths, const std::vector<Index>& some, Index but = kNone);
    void collect(const Paths& paths, Index v, std::vector<Index>& links) const;
    Part always(const Storage& storage) const;
    Part part_of(const Chain& chain, const NeedCase& way, Index v);
    void use(const std::vector<Index>& links);
    void use_where_pairs_are_kept(Index v);
    Bytes use_but(std::vector<Part>& parts, Bytes slack);

    Graph graph_;
    const Bytes limit_;
    Links before_, after_;
    std::vector<bool> used_;         // by number of what was shown
    Paths earlier_, later_, known_;  // from an operator back and on; from the ends of a chain's storages back
    std::vector<Step> steps_;
    std::vector<NeedCase> last_;
    std::size_t taken_ = 0;  // bytes
};

}  // namespace memstow::order
