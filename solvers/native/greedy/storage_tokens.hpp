// TVM's PlanMemory (src/relay/backend/graph_plan_memory.cc, StorageAllocator).
//
// Faithful: buffers are asked for in the order of their birth, after those that died by then are given back;
// a request takes a free storage of its own size or more, at most 16 times as large, the smallest first; else
// one that is smaller, at least a sixteenth, the largest first, which grows; else a new one. A buffer starts
// at its storage's start.
//
// Ours: in TVM a storage is an allocation of its own; here the storages of a pool lie one after the other, in
// the order they were made, each at a start that suits all its buffers.
#pragma once

#include <optional>
#include <string>

#include "core/instance.hpp"

namespace memstow::greedy {

std::optional<std::string> storage_tokens_decline(const Instance& instance);
Layout storage_tokens(const Instance& instance);

}  // namespace memstow::greedy
