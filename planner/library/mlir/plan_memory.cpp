// The pass memstow-plan-memory: allocations of functions become views of one arena each, placed by
// libmemstow.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "lifetimes.hpp"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "memstow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

namespace memstow::passes {
namespace {

using namespace mlir;
using std::int64_t;

enum class ArenaKind { alloc, global, argument };

constexpr std::size_t kMostNotes = 8;

struct Arena {
    Attribute space;
    std::vector<Allocation> allocations;
    std::vector<std::pair<std::size_t, std::size_t>> never_together;
    std::vector<int64_t> offsets;
    int64_t bytes = 0;
    int64_t bound = 0;
    int64_t alignment = 1;
    memstow_status status = MEMSTOW_UNKNOWN;
    std::vector<std::size_t> members;  // that prove the bound
};

// The functions of a module, callees before their callers, and what calls of them allow.
class Calls {
  public:
    explicit Calls(ModuleOp module) {
        module.walk([&](func::FuncOp function) { visit(function); });
        SymbolTableCollection tables;
        module.walk([&](Operation* op) {
            const auto uses = isa<func::CallOp>(op) ? std::nullopt : symbols_in(op);
            if (uses) {
                for (const SymbolRefAttr name : *uses) {
                    if (auto function = tables.lookupNearestSymbolFrom<func::FuncOp>(op, name))
                        named_.insert(function);
                }
            }
        });
    }

    ArrayRef<func::FuncOp> in_order() const { return order_; }

    bool is_recursive(func::FuncOp function) const { return recursive_.contains(function); }

    // Each use of the function is a call that is seen here.
    bool is_only_called(func::FuncOp function) const { return !named_.contains(function); }

    // Two runs of it may be there at once.
    bool may_overlap(func::FuncOp function) const {
        return is_recursive(function) || named_.contains(function) || at_once_.contains(function);
    }

    ArrayRef<func::CallOp> of(func::FuncOp function) const {
        const auto found = calls_.find(function);
        return found == calls_.end() ? ArrayRef<func::CallOp>() : ArrayRef<func::CallOp>(found->second);
    }

    void replace(func::FuncOp function, func::CallOp old, func::CallOp made) {
        std::replace(calls_[function].begin(), calls_[function].end(), old, made);
    }

    void settle() {
        // Callers first: what a function that may overlap calls may do so as well.
        for (func::FuncOp function : llvm::reverse(order_)) {
            for (func::CallOp call : of(function)) {
                bool in_order = true;
                for (Operation* parent = call->getParentOp(); !isa<func::FuncOp>(parent);
                     parent = parent->getParentOp()) {
                    in_order &= runs_in_order(parent);
                }
                if (!in_order || may_overlap(call->getParentOfType<func::FuncOp>()))
                    at_once_.insert(function);
            }
        }
    }

  private:
    static std::optional<std::vector<SymbolRefAttr>> symbols_in(Operation* op) {
        std::vector<SymbolRefAttr> names;
        op->getAttrDictionary().walk<WalkOrder::PreOrder>([&](SymbolRefAttr name) { names.push_back(name); });
        return names;
    }

    void visit(func::FuncOp function) {
        if (done_.contains(function)) return;
        const auto on_the_way = llvm::find(path_, function);
        if (on_the_way != path_.end()) {
            for (auto step = on_the_way; step != path_.end(); ++step) recursive_.insert(*step);
            return;
        }
        path_.push_back(function);
        function.walk([&](func::CallOp call) {
            auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
            if (!callee) return;
            visit(callee);
            calls_[callee].push_back(call);
        });
        path_.pop_back();
        done_.insert(function);
        order_.push_back(function);
    }

    std::vector<func::FuncOp> path_;
    std::vector<func::FuncOp> order_;
    llvm::DenseSet<func::FuncOp> done_;
    llvm::DenseSet<func::FuncOp> recursive_;
    llvm::DenseSet<func::FuncOp> named_;
    llvm::DenseSet<func::FuncOp> at_once_;
    llvm::DenseMap<func::FuncOp, std::vector<func::CallOp>> calls_;
};

class PlanMemory : public PassWrapper<PlanMemory, OperationPass<ModuleOp>> {
  public:
    MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PlanMemory)

    PlanMemory() = default;
    PlanMemory(const PlanMemory& other) : PassWrapper(other) {}

    StringRef getArgument() const override { return "memstow-plan-memory"; }
    StringRef getDescription() const override {
        return "Makes the allocations of each function views of one arena, whose size is the least that is "
               "needed";
    }
    void getDependentDialects(DialectRegistry& registry) const override {
        registry.insert<arith::ArithDialect, memref::MemRefDialect>();
    }

    void runOnOperation() override {
        if (!llvm::isPowerOf2_64(alignment_) || alignment_ < 1 || capacity_ < -1 || !(time_limit_ >= 0)) {
            emitError(
                getOperation().getLoc(),
                "memstow-plan-memory: alignment must be a power of two, capacity and time-limit 0 or more");
            return signalPassFailure();
        }
        for (const std::string& dialect : dialects_) trusted_.dialects.insert(dialect);
        for (const std::string& function : functions_) trusted_.functions.insert(function);
        Calls calls(getOperation());
        calls.settle();
        const std::vector<func::FuncOp> order(calls.in_order());
        for (func::FuncOp function : order) {
            if (!function.isExternal() && failed(plan(function, calls))) return signalPassFailure();
        }
    }

  private:
    LogicalResult plan(func::FuncOp function, Calls& calls) {
        Lifetimes lifetimes = lifetimes_of(function, trusted_, alignment_);
        if (remarks_) {
            for (const LeftAlone& left : lifetimes.left_alone) {
                memref::AllocOp op = left.op;
                emitRemark(op.getLoc(), "memstow: the allocation stays: ") << left.reason;
            }
        }
        std::vector<Arena> arenas = by_space(lifetimes);
        if (arenas.empty()) return success();
        for (Arena& arena : arenas) {
            if (failed(place(function, arena))) return failure();
        }
        rewrite(function, lifetimes, arenas, calls);
        return success();
    }

    static std::vector<Arena> by_space(const Lifetimes& lifetimes) {
        llvm::MapVector<Attribute, Arena> arenas;
        std::vector<std::size_t> number;
        for (Allocation allocation : lifetimes.allocations) {
            const Attribute space = allocation.op.getType().getMemorySpace();
            Arena& arena = arenas[space];
            arena.space = space;
            arena.alignment = std::lcm(arena.alignment, allocation.alignment);
            number.push_back(arena.allocations.size());
            arena.allocations.push_back(allocation);
        }
        for (const auto& [one, other] : lifetimes.never_together) {
            const auto space_of = [&](std::size_t i) {
                memref::AllocOp op = lifetimes.allocations[i].op;
                return op.getType().getMemorySpace();
            };
            if (space_of(one) == space_of(other))
                arenas[space_of(one)].never_together.emplace_back(number[one], number[other]);
        }
        std::vector<Arena> result;
        for (auto& [space, arena] : arenas) result.push_back(std::move(arena));
        return result;
    }

    LogicalResult place(func::FuncOp function, Arena& arena) {
        memstow_problem* problem = nullptr;
        memstow_plan* found = nullptr;
        const auto fail = [&](const Twine& why) {
            emitError(function.getLoc(), "memstow: @") << function.getSymName() << ": " << why;
            memstow_plan_destroy(found);
            memstow_problem_destroy(problem);
            return failure();
        };
        if (memstow_problem_create(&problem) != MEMSTOW_OK) return fail("out of memory");
        std::vector<int64_t> sizes, begins, ends, alignments;
        for (const Allocation& allocation : arena.allocations) {
            sizes.push_back(allocation.size);
            begins.push_back(allocation.begin);
            ends.push_back(allocation.end);
            alignments.push_back(allocation.alignment);
        }
        memstow_code code = memstow_add_buffers(problem, sizes.size(), sizes.data(), begins.data(),
                                                ends.data(), alignments.data());
        if (code == MEMSTOW_OK && capacity_ >= 0) code = memstow_set_capacity(problem, capacity_);
        for (const auto& [one, other] : arena.never_together) {
            if (code == MEMSTOW_OK) code = memstow_never_together(problem, one, other);
        }
        if (code != MEMSTOW_OK) return fail(memstow_problem_error(problem));
        char message[256] = "";
        memstow_options options;
        memstow_options_init(&options);
        options.flags = time_limit_ > 0 ? 0u : MEMSTOW_DETERMINISTIC;
        if (time_limit_ > 0) options.time_limit = time_limit_;
        options.work_limit = work_limit_;
        options.message = message;
        options.message_size = sizeof message;
        code = memstow_solve(problem, &options, &found);
        if (code != MEMSTOW_OK) return fail(*message != '\0' ? message : memstow_code_text(code));
        arena.status = memstow_plan_status(found);
        arena.bound = memstow_plan_bound(found);
        const std::size_t* members = nullptr;
        const std::size_t count = memstow_plan_proof_buffers(found, &members);
        arena.members.assign(members, members + count);
        const int64_t* offsets = memstow_plan_offsets(found);
        if (offsets == nullptr) {
            if (arena.status != MEMSTOW_INFEASIBLE)
                return fail(
                    "no plan within the capacity was found, and none is ruled out: raise the work or time "
                    "limit");
            if (capacity_ < 0) return fail("its allocations have too many bytes together");
            InFlightDiagnostic error = emitError(function.getLoc(), "memstow: the allocations of @")
                                       << function.getSymName() << " do not fit into the capacity of "
                                       << capacity_.getValue() << " bytes";
            if (arena.bound > capacity_) error << ": they need at least " << arena.bound;
            note_members(error, arena,
                         arena.members.size() == 1 ? "more than there is" : "live at the same time");
            memstow_plan_destroy(found);
            memstow_problem_destroy(problem);
            return error;
        }
        arena.offsets.assign(offsets, offsets + sizes.size());
        arena.bytes = memstow_plan_peak(found);
        memstow_plan_destroy(found);
        memstow_problem_destroy(problem);
        return success();
    }

    static void note_members(InFlightDiagnostic& diagnostic, const Arena& arena, StringRef what) {
        for (const std::size_t member : llvm::ArrayRef(arena.members).take_front(kMostNotes)) {
            memref::AllocOp op = arena.allocations[member].op;
            diagnostic.attachNote(op.getLoc()) << arena.allocations[member].size << " bytes: " << what;
        }
    }

    void rewrite(func::FuncOp function, const Lifetimes& lifetimes, const std::vector<Arena>& arenas,
                 Calls& calls) {
        describe(function, arenas);
        const std::vector<Value> memories = make(function, arenas, calls);
        for (std::size_t i = 0; i < arenas.size(); ++i) {
            for (std::size_t k = 0; k < arenas[i].allocations.size(); ++k) {
                memref::AllocOp op = arenas[i].allocations[k].op;
                OpBuilder builder(op);
                const Value offset =
                    builder.create<arith::ConstantIndexOp>(op.getLoc(), arenas[i].offsets[k]);
                const Value view = builder.create<memref::ViewOp>(op.getLoc(), op.getType(), memories[i],
                                                                  offset, op.getDynamicSizes());
                op.getResult().replaceAllUsesWith(view);
            }
        }
        for (memref::DeallocOp op : lifetimes.deallocs) op.erase();
        for (const Arena& arena : arenas) {
            for (Allocation allocation : arena.allocations) allocation.op.erase();
        }
    }

    // As attributes of the function, and as remarks: what is planned, and that it is the least.
    void describe(func::FuncOp function, const std::vector<Arena>& arenas) {
        Builder builder(function.getContext());
        std::vector<Attribute> plans;
        for (const Arena& arena : arenas) {
            int64_t separate = 0;
            for (const Allocation& allocation : arena.allocations) separate += allocation.size;
            std::vector<NamedAttribute> fields = {
                builder.getNamedAttr("allocations", builder.getI64IntegerAttr(arena.allocations.size())),
                builder.getNamedAttr("bound", builder.getI64IntegerAttr(arena.bound)),
                builder.getNamedAttr("bytes", builder.getI64IntegerAttr(arena.bytes)),
                builder.getNamedAttr("status", builder.getStringAttr(memstow_status_text(arena.status))),
            };
            if (arena.space) fields.push_back(builder.getNamedAttr("memory_space", arena.space));
            plans.push_back(builder.getDictionaryAttr(fields));
            if (!remarks_) continue;
            InFlightDiagnostic remark =
                emitRemark(function.getLoc(), "memstow: ")
                << arena.allocations.size()
                << (arena.allocations.size() == 1 ? " allocation of " : " allocations of ") << separate
                << " bytes in an arena of " << arena.bytes;
            if (arena.space) remark << ", memory space " << arena.space;
            if (arena.status == MEMSTOW_OPTIMAL) {
                remark << ": no plan of these lifetimes needs less";
                note_members(remark, arena, "one of those whose lives prove it");
            } else {
                remark << ": at least " << arena.bound << " are needed";
            }
        }
        function->setAttr("memstow.plans", builder.getArrayAttr(plans));
    }

    MemRefType type_of(const Arena& arena) {
        return MemRefType::get({arena.bytes}, IntegerType::get(&getContext(), 8), MemRefLayoutAttrInterface(),
                               arena.space);
    }

    std::vector<Value> make(func::FuncOp function, const std::vector<Arena>& arenas, Calls& calls) {
        const bool to_callers = arena_ == ArenaKind::argument || (nested_ && function.isPrivate());
        if (to_callers) {
            if (calls.is_only_called(function) && !calls.is_recursive(function))
                return from_callers(function, arenas, calls);
            explain(function,
                    calls.is_recursive(function) ? "it calls itself" : "it is named elsewhere than in calls");
        } else if (arena_ == ArenaKind::global) {
            if (!calls.may_overlap(function)) return globals(function, arenas);
            explain(function, "two calls of it may run at once");
        }
        return allocated(function, arenas);
    }

    void explain(func::FuncOp function, StringRef why) {
        if (remarks_) {
            emitRemark(function.getLoc(), "memstow: the arena of @")
                << function.getSymName() << " is allocated in it: " << why;
        }
    }

    std::vector<Value> allocated(func::FuncOp function, const std::vector<Arena>& arenas) {
        std::vector<Value> memories;
        OpBuilder builder = OpBuilder::atBlockBegin(&function.getBody().front());
        for (const Arena& arena : arenas) {
            memories.push_back(builder.create<memref::AllocOp>(function.getLoc(), type_of(arena),
                                                               builder.getI64IntegerAttr(arena.alignment)));
        }
        for (Block& block : function.getBody()) {
            if (!isa<func::ReturnOp>(block.getTerminator())) continue;
            builder.setInsertionPoint(block.getTerminator());
            for (const Value memory : memories) builder.create<memref::DeallocOp>(function.getLoc(), memory);
        }
        return memories;
    }

    std::vector<Value> globals(func::FuncOp function, const std::vector<Arena>& arenas) {
        std::vector<Value> memories;
        for (const Arena& arena : arenas) {
            OpBuilder builder(function);
            auto global = builder.create<memref::GlobalOp>(
                function.getLoc(), (function.getSymName() + "_arena").str(), builder.getStringAttr("private"),
                type_of(arena), builder.getUnitAttr(), /*constant=*/false,
                builder.getI64IntegerAttr(arena.alignment));
            const StringAttr name = SymbolTable(function->getParentOp()).insert(global);
            builder.setInsertionPointToStart(&function.getBody().front());
            memories.push_back(
                builder.create<memref::GetGlobalOp>(function.getLoc(), type_of(arena), name.getValue()));
        }
        return memories;
    }

    // The arenas become arguments, and in each caller allocations around the call, which its own plan places.
    std::vector<Value> from_callers(func::FuncOp function, const std::vector<Arena>& arenas, Calls& calls) {
        std::vector<Value> memories;
        Builder attributes(&getContext());
        for (const Arena& arena : arenas) {
            const unsigned number = function.getNumArguments();
            function.insertArgument(number, type_of(arena),
                                    attributes.getDictionaryAttr(attributes.getNamedAttr(
                                        "memstow.alignment", attributes.getI64IntegerAttr(arena.alignment))),
                                    function.getLoc());
            memories.push_back(function.getArgument(number));
        }
        const std::vector<func::CallOp> old_calls(calls.of(function));
        for (func::CallOp call : old_calls) {
            OpBuilder builder(call);
            std::vector<Value> operands(call.getOperands().begin(), call.getOperands().end());
            std::vector<Value> made;
            for (const Arena& arena : arenas) {
                made.push_back(builder.create<memref::AllocOp>(call.getLoc(), type_of(arena),
                                                               builder.getI64IntegerAttr(arena.alignment)));
            }
            operands.insert(operands.end(), made.begin(), made.end());
            auto with_arenas = builder.create<func::CallOp>(call.getLoc(), function, operands);
            for (const NamedAttribute attribute : call->getDiscardableAttrs())
                with_arenas->setDiscardableAttr(attribute.getName(), attribute.getValue());
            for (const Value memory : made) builder.create<memref::DeallocOp>(call.getLoc(), memory);
            call.replaceAllUsesWith(with_arenas);
            calls.replace(function, call, with_arenas);
            call.erase();
        }
        return memories;
    }

    Option<ArenaKind> arena_{
        *this, "arena", llvm::cl::desc("Where the arena of a function comes from"),
        llvm::cl::init(ArenaKind::alloc),
        llvm::cl::values(clEnumValN(ArenaKind::alloc, "alloc", "an allocation in the function"),
                         clEnumValN(ArenaKind::global, "global", "a global of the module"),
                         clEnumValN(ArenaKind::argument, "argument",
                                    "a further argument; calls within the module pass it"))};
    Option<bool> nested_{*this, "nested", llvm::cl::init(false),
                         llvm::cl::desc("Arenas of private functions lie in those of their callers")};
    Option<int64_t> alignment_{*this, "alignment", llvm::cl::init(1),
                               llvm::cl::desc("Of each allocation at least, in bytes: a power of two")};
    Option<int64_t> capacity_{
        *this, "capacity", llvm::cl::init(-1),
        llvm::cl::desc("Bytes of an arena at most; an error where they do not suffice")};
    Option<int64_t> work_limit_{*this, "work-limit", llvm::cl::init(-1),
                                llvm::cl::desc("Steps of work for each arena")};
    Option<double> time_limit_{
        *this, "time-limit", llvm::cl::init(0.0),
        llvm::cl::desc("Seconds for each arena, instead of a limit of work alone: plans may "
                       "then differ between runs")};
    Option<bool> remarks_{*this, "remarks", llvm::cl::init(true),
                          llvm::cl::desc("Say what was planned, and what was not and why")};
    ListOption<std::string> dialects_{
        *this, "dialects", llvm::cl::desc("Further dialects whose ops use memory only while they run")};
    ListOption<std::string> functions_{
        *this, "functions", llvm::cl::desc("Functions without a body that keep none of their arguments")};
    Trusted trusted_;
};

}  // namespace
}  // namespace memstow::passes

extern "C" __attribute__((visibility("default"))) mlir::PassPluginLibraryInfo mlirGetPassPluginInfo() {
    return {MLIR_PLUGIN_API_VERSION, "memstow", memstow_version(),
            [] { mlir::PassRegistration<memstow::passes::PlanMemory>(); }};
}
