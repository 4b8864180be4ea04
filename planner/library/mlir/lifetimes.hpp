// Which allocations of a function can lie in one arena, how large they are, and when their bytes matter.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "llvm/ADT/StringSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace memstow::passes {

// What the user says of ops and functions that the analysis cannot look into.
struct Trusted {
    llvm::StringSet<> dialects;   // their ops use memory only while they run, and keep no pointer
    llvm::StringSet<> functions;  // so do these, of which there is no body
};

struct Allocation {
    mlir::memref::AllocOp op;
    std::int64_t size = 0;  // of dynamic shapes: at most so many
    std::int64_t alignment = 1;
    // In positions of the function's ops: the first that touches the memory, and after the last.
    std::int64_t begin = 0;
    std::int64_t end = 0;
};

// An allocation that stays one, and why.
struct LeftAlone {
    mlir::memref::AllocOp op;
    std::string reason;
};

struct Lifetimes {
    std::vector<Allocation> allocations;
    std::vector<LeftAlone> left_alone;
    std::vector<mlir::memref::DeallocOp> deallocs;  // of the allocations alone: they go
    // Allocations of two branches of which only one runs, though their lives overlap.
    std::vector<std::pair<std::size_t, std::size_t>> never_together;
};

Lifetimes lifetimes_of(mlir::func::FuncOp function, const Trusted& trusted, std::int64_t least_alignment);

// Whether an op inside of it runs once at a time, so that its memory can have one place.
bool runs_in_order(mlir::Operation* op);

}  // namespace memstow::passes
