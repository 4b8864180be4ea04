#include "lifetimes.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/MathExtras.h"
#include "mlir/Analysis/CFGLoopInfo.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

namespace memstow::passes {
namespace {

using namespace mlir;
using std::int64_t;

constexpr int64_t kMostBytes = int64_t{1} << 62;
// Of minima of minima so many are looked into: each may have two.
constexpr int kMostMinima = 6;

std::string name_of(Operation* op) { return op->getName().getStringRef().str(); }

bool may_take_a_branch(Operation* op) { return isa<scf::IfOp, scf::IndexSwitchOp, affine::AffineIfOp>(op); }

// Runs its regions at most once.
bool runs_once(Operation* op) {
    return may_take_a_branch(op) || isa<scf::ExecuteRegionOp, memref::AllocaScopeOp>(op);
}

// The analysis of aliases takes all results of a call for its operands; a number is no memory. (What makes a
// number of an address is not known to the pass.)
bool may_be_memory(Value value) {
    return !isa<IntegerType, IndexType, FloatType, ComplexType, VectorType>(value.getType());
}

// A loop, as a range of positions: of an op, or of the blocks between a branch backwards and its target.
struct Loop {
    int64_t begin;
    int64_t end;
    Operation* op;  // or nullptr, and
    Block* header;

    // Whether the value is one that an iteration has from the one before.
    bool carries(BlockArgument value) const {
        return op != nullptr ? value.getOwner()->getParentOp() == op : value.getOwner() == header;
    }
};

// The ops of a function in an order in which control flow goes backwards in loops alone.
class Positions {
  public:
    explicit Positions(func::FuncOp function) { visit(function.getBody()); }

    int64_t begin(Operation* op) const { return ranges_.lookup(op).first; }
    int64_t end(Operation* op) const { return ranges_.lookup(op).second; }
    bool is_reached(Operation* op) const { return ranges_.contains(op); }
    const std::vector<Loop>& loops() const { return loops_; }

  private:
    void visit(Region& region) {
        if (region.empty()) return;
        llvm::DenseMap<Block*, std::pair<int64_t, int64_t>> blocks;
        for (Block* block : in_order(region)) {
            const int64_t begin = next_++;
            for (Operation& op : *block) {
                const int64_t first = next_++;
                for (Region& inner : op.getRegions()) visit(inner);
                const int64_t last = op.getNumRegions() == 0 ? first : next_++;
                ranges_[&op] = {first, last};
                if (op.getNumRegions() > 0 && !runs_once(&op)) loops_.push_back({first, last, &op, nullptr});
            }
            blocks[block] = {begin, next_++};
            for (Block* target : block->getSuccessors()) {
                const auto known = blocks.find(target);
                if (known == blocks.end()) continue;
                loops_.push_back({known->second.first, blocks[block].second, nullptr, target});
            }
        }
    }

    // The blocks that are reached, each before those that it branches to, but for branches backwards. Of two
    // of these the one in more loops comes first: what follows a loop would else lie in the loop's range.
    static std::vector<Block*> in_order(Region& region) {
        if (region.hasOneBlock()) return {&region.front()};
        DominanceInfo dominance(region.getParentOp());
        const CFGLoopInfo loops(dominance.getDomTree(&region));
        std::vector<Block*> result;
        std::vector<std::pair<Block*, std::vector<Block*>>> path;
        llvm::DenseSet<Block*> reached;
        const auto enter = [&](Block* block) {
            std::vector<Block*> next(block->succ_begin(), block->succ_end());
            // Taken from the back.
            std::ranges::stable_sort(next, std::greater<>(),
                                     [&](Block* to) { return loops.getLoopDepth(to); });
            reached.insert(block);
            path.emplace_back(block, std::move(next));
        };
        enter(&region.front());
        while (!path.empty()) {
            std::vector<Block*>& next = path.back().second;
            if (next.empty()) {
                result.push_back(path.back().first);
                path.pop_back();
                continue;
            }
            Block* block = next.back();
            next.pop_back();
            if (!reached.contains(block)) enter(block);
        }
        std::ranges::reverse(result);
        return result;
    }

    int64_t next_ = 0;
    llvm::DenseMap<Operation*, std::pair<int64_t, int64_t>> ranges_;
    std::vector<Loop> loops_;
};

// The most that an index can be; nothing where that is not known.
std::optional<int64_t> most(Value value, int depth = 0) {
    if (const auto constant = getConstantIntValue(value)) return *constant;
    if (auto least = value.getDefiningOp<arith::MinSIOp>(); least && depth < kMostMinima) {
        const std::optional<int64_t> left = most(least.getLhs(), depth + 1);
        const std::optional<int64_t> right = most(least.getRhs(), depth + 1);
        if (left && right) return std::min(*left, *right);
        return left ? left : right;
    }
    if (auto least = value.getDefiningOp<arith::MinUIOp>()) {
        // A number below 0 is a large one here: what is known of it says nothing.
        for (const Value side : {least.getLhs(), least.getRhs()}) {
            const std::optional<int64_t> constant = getConstantIntValue(side);
            if (constant && *constant >= 0) return constant;
        }
    }
    const FailureOr<int64_t> bound = ValueBoundsConstraintSet::computeConstantBound(
        presburger::BoundType::UB, ValueBoundsConstraintSet::Variable(value), nullptr, /*closedUB=*/true);
    return succeeded(bound) ? std::optional<int64_t>(*bound) : std::nullopt;
}

class Analysis {
  public:
    Analysis(func::FuncOp function, const Trusted& trusted)
        : function_(function), trusted_(trusted), flow_(function), positions_(function) {}

    Lifetimes run(int64_t least_alignment) {
        Lifetimes result;
        function_.walk<WalkOrder::PreOrder>([&](memref::AllocOp op) {
            Allocation allocation{op};
            std::string reason = describe(allocation, least_alignment);
            if (reason.empty()) {
                result.allocations.push_back(allocation);
            } else {
                result.left_alone.push_back({op, std::move(reason)});
            }
        });
        settle_deallocs(result);
        find_branches(result);
        return result;
    }

    // Why the value may still be known after a call of this function that has it as an argument; "" where
    // it is not.
    std::string kept(BlockArgument argument) {
        for (const Value alias : flow_.resolve(argument)) {
            if (!may_be_memory(alias)) continue;
            for (OpOperand& use : alias.getUses()) {
                Operation* user = use.getOwner();
                // What is returned is a result of the call, and that may be the argument.
                if (isa<func::ReturnOp>(user)) continue;
                if (isa<memref::DeallocOp>(user)) return "is freed";
                std::string reason = escape(use);
                if (!reason.empty()) return reason;
            }
        }
        return "";
    }

  private:
    // Fills in what is known of the allocation; returns why it must stay, or "".
    std::string describe(Allocation& allocation, int64_t least_alignment) {
        memref::AllocOp op = allocation.op;
        if (!positions_.is_reached(op)) return "it is never reached";
        for (Operation* parent = op->getParentOp(); parent != function_; parent = parent->getParentOp()) {
            if (!runs_in_order(parent))
                return "it is within '" + name_of(parent) + "', which may run several times at once";
        }
        std::string reason = measure(allocation, least_alignment);
        if (!reason.empty()) return reason;
        return live(allocation);
    }

    std::string measure(Allocation& allocation, int64_t least_alignment) const {
        memref::AllocOp op = allocation.op;
        const MemRefType type = op.getType();
        if (!type.getLayout().isIdentity()) return "its layout is not that of consecutive elements";
        const Type element = type.getElementType();
        if (!isa<IntegerType, IndexType, FloatType, ComplexType, VectorType>(element))
            return "the size of its elements is not known";
        const DataLayout layout = DataLayout::closest(op);
        const llvm::TypeSize bytes = layout.getTypeSize(element);
        if (bytes.isScalable()) return "the size of its elements is not known";
        // As far apart as elements are in LLVM.
        const std::uint64_t natural =
            std::max(layout.getTypeABIAlignment(element), layout.getTypePreferredAlignment(element));
        int64_t size = static_cast<int64_t>(llvm::alignTo(bytes.getFixedValue(), natural));
        unsigned dynamic = 0;
        for (const int64_t dimension : type.getShape()) {
            int64_t length = dimension;
            if (ShapedType::isDynamic(dimension)) {
                const std::optional<int64_t> bound = most(op.getDynamicSizes()[dynamic]);
                if (!bound) return "no bound of its dynamic size " + std::to_string(dynamic) + " is known";
                ++dynamic;
                length = std::max<int64_t>(*bound, 0);
            }
            if (llvm::MulOverflow(size, length, size) || size > kMostBytes) return "it has too many bytes";
        }
        allocation.size = size;
        const int64_t wanted = std::max<int64_t>(static_cast<int64_t>(op.getAlignment().value_or(1)), 1);
        allocation.alignment = std::lcm(std::lcm(static_cast<int64_t>(natural), wanted), least_alignment);
        return "";
    }

    // When the bytes matter: from the first op that touches them to the last, and in all of a loop that has
    // them from before it.
    std::string live(Allocation& allocation) {
        const int64_t made = positions_.begin(allocation.op);
        int64_t begin = INT64_MAX;
        int64_t end = -1;
        const auto aliases = flow_.resolve(allocation.op.getResult());
        for (const Value alias : aliases) {
            if (!may_be_memory(alias)) continue;
            if (const auto argument = dyn_cast<BlockArgument>(alias)) {
                for (const Loop& loop : positions_.loops()) {
                    if (loop.begin < made && made < loop.end && loop.carries(argument) &&
                        is_touched(argument))
                        return "an iteration hands it to the next one";
                }
            }
            for (OpOperand& use : alias.getUses()) {
                Operation* user = use.getOwner();
                if (!positions_.is_reached(user)) return "it is used where control never comes";
                if (isa<memref::DeallocOp>(user)) continue;
                if (isa<func::ReturnOp>(user)) return "it is returned";
                std::string reason = escape(use);
                if (!reason.empty()) return "it " + reason;
                if (auto aligned = dyn_cast<memref::AssumeAlignmentOp>(user))
                    allocation.alignment = std::lcm<int64_t>(allocation.alignment, aligned.getAlignment());
                if (!touches(use)) continue;
                begin = std::min(begin, positions_.begin(user));
                end = std::max(end, positions_.end(user));
            }
        }
        if (end < 0) begin = end = made;
        // A loop that is widened to may reach into another one.
        for (bool changed = true; changed;) {
            changed = false;
            for (const Loop& loop : positions_.loops()) {
                if (loop.begin < made && made < loop.end) continue;
                if (loop.end < begin || end < loop.begin) continue;
                if (begin <= loop.begin && loop.end <= end) continue;
                begin = std::min(begin, loop.begin);
                end = std::max(end, loop.end);
                changed = true;
            }
        }
        allocation.begin = begin;
        allocation.end = end + 1;
        return "";
    }

    // Whether the bytes themselves are read or written there: not where a view of them is made, or where a
    // value of another block or region becomes the same memory.
    static bool touches(OpOperand& use) {
        Operation* user = use.getOwner();
        if (isa<memref::DeallocOp, RegionBranchTerminatorOpInterface, BranchOpInterface>(user)) return false;
        const bool is_loop = llvm::is_contained({"affine", "scf"}, user->getName().getDialectNamespace()) &&
                             isa<RegionBranchOpInterface>(user);
        return !is_loop && !isMemoryEffectFree(user);
    }

    bool is_touched(Value value) const {
        return llvm::any_of(flow_.resolve(value), [](Value alias) {
            return may_be_memory(alias) &&
                   llvm::any_of(alias.getUses(), [](OpOperand& use) { return touches(use); });
        });
    }

    bool is_known(Operation* op) const {
        const StringRef dialect = op->getName().getDialectNamespace();
        if (trusted_.dialects.contains(dialect)) return true;
        if (isa<memref::ReallocOp, memref::DmaStartOp, memref::DmaWaitOp,
                memref::ExtractAlignedPointerAsIndexOp, affine::AffineDmaStartOp, affine::AffineDmaWaitOp>(
                op)) {
            return false;
        }
        return llvm::is_contained({"affine", "arith", "cf", "linalg", "memref", "scf", "vector"}, dialect);
    }

    // Why memory may be used after the op that has it as an operand; "" where it is not.
    std::string escape(OpOperand& use) {
        Operation* user = use.getOwner();
        for (Operation* parent = user->getParentOp(); parent != function_; parent = parent->getParentOp()) {
            if (!is_known(parent)) return "is used within '" + name_of(parent) + "', which may run later";
        }
        if (auto call = dyn_cast<func::CallOp>(user)) return kept_by(call, use.getOperandNumber());
        if (auto store = dyn_cast<memref::StoreOp>(user); store && use.get() == store.getValueToStore())
            return "is stored in memory";
        if (!is_known(user)) return "is used by '" + name_of(user) + "', which may keep it";
        // The analysis of aliases follows values into regions and out of them by interfaces alone. (Compilers
        // give traits different names, so that a plugin cannot ask for that of a terminator.)
        Operation* branching = user == &user->getBlock()->back() ? user->getParentOp() : user;
        const bool has_interface =
            isa<RegionBranchOpInterface>(branching) ? true : isa<BranchOpInterface>(user);
        if (branching->getNumRegions() > 0 && !has_interface &&
            llvm::is_contained({"affine", "scf"}, branching->getName().getDialectNamespace())) {
            return "is handed through '" + name_of(branching) + "'";
        }
        return "";
    }

    std::string kept_by(func::CallOp call, unsigned number) {
        const std::string callee = call.getCallee().str();
        if (trusted_.functions.contains(callee)) return "";
        auto function = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
        const std::string passed = "is passed to @" + callee;
        if (!function) return passed + ", which may keep it";
        if (function.isExternal()) {
            // A function may free what it does not keep.
            if (function.getArgAttr(number, "llvm.nocapture") && function.getArgAttr(number, "llvm.nofree"))
                return "";
            return passed + ", which has no body here and may keep or free it";
        }
        if (function == function_ || llvm::is_contained(calls_, function))
            return passed + ", which calls itself";
        const std::pair<Operation*, unsigned> argument = {function, number};
        if (!kept_->contains(argument)) {
            Analysis inner(function, trusted_);
            inner.calls_ = calls_;
            inner.calls_.push_back(function_);
            inner.kept_ = kept_;
            std::string found = inner.kept(function.getArgument(number));
            kept_->insert({argument, std::move(found)});
        }
        const std::string reason = kept_->lookup(argument);
        return reason.empty() ? "" : passed + ", where it " + reason;
    }

    // A dealloc goes where it frees nothing but what is planned; allocations of any other stay.
    void settle_deallocs(Lifetimes& result) const {
        llvm::DenseSet<Value> planned;
        for (Allocation& allocation : result.allocations) planned.insert(allocation.op.getResult());
        std::vector<memref::DeallocOp> deallocs;
        std::vector<std::vector<Value>> origins;
        Operation* function = function_;
        function->walk([&](memref::DeallocOp op) {
            deallocs.push_back(op);
            std::vector<Value> values;
            for (const Value value : flow_.resolveReverse(op.getMemref())) {
                if (value.getDefiningOp<memref::AllocOp>() || flow_.mayBeTerminalBuffer(value))
                    values.push_back(value);
            }
            origins.push_back(std::move(values));
        });
        const auto is_planned = [&](Value value) { return planned.contains(value); };
        for (bool changed = true; changed;) {
            changed = false;
            for (const std::vector<Value>& values : origins) {
                if (llvm::all_of(values, is_planned)) continue;
                for (const Value value : values) changed |= planned.erase(value);
            }
        }
        std::erase_if(result.allocations, [&](Allocation& allocation) {
            if (planned.contains(allocation.op.getResult())) return false;
            result.left_alone.push_back(
                {allocation.op, "a dealloc of it may free memory that is not planned"});
            return true;
        });
        for (std::size_t i = 0; i < deallocs.size(); ++i) {
            if (llvm::any_of(origins[i], is_planned)) result.deallocs.push_back(deallocs[i]);
        }
    }

    void find_branches(Lifetimes& result) const {
        std::vector<std::size_t> branched;
        for (std::size_t i = 0; i < result.allocations.size(); ++i) {
            Operation* parent = result.allocations[i].op->getParentOp();
            while (parent != function_ && !may_take_a_branch(parent)) parent = parent->getParentOp();
            if (parent != function_) branched.push_back(i);
        }
        for (std::size_t i = 0; i < branched.size(); ++i) {
            Allocation& one = result.allocations[branched[i]];
            llvm::DenseMap<Operation*, Region*> regions;
            for (Operation* op = one.op; op != function_; op = op->getParentOp())
                regions[op->getParentOp()] = op->getParentRegion();
            for (std::size_t j = i + 1; j < branched.size(); ++j) {
                Allocation& other = result.allocations[branched[j]];
                if (one.end <= other.begin || other.end <= one.begin) continue;
                Operation* op = other.op;
                while (!regions.contains(op->getParentOp())) op = op->getParentOp();
                if (may_take_a_branch(op->getParentOp()) &&
                    regions.lookup(op->getParentOp()) != op->getParentRegion()) {
                    result.never_together.emplace_back(branched[i], branched[j]);
                }
            }
        }
    }

    func::FuncOp function_;
    const Trusted& trusted_;
    BufferViewFlowAnalysis flow_;
    Positions positions_;
    std::vector<func::FuncOp> calls_;  // on the way here
    // What calls that were looked into do with an argument.
    using Kept = llvm::DenseMap<std::pair<Operation*, unsigned>, std::string>;
    std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
};

}  // namespace

bool runs_in_order(Operation* op) {
    return runs_once(op) || isa<scf::ForOp, scf::WhileOp, affine::AffineForOp>(op);
}

Lifetimes lifetimes_of(func::FuncOp function, const Trusted& trusted, int64_t least_alignment) {
    return Analysis(function, trusted).run(least_alignment);
}

}  // namespace memstow::passes
