// The functions of the CUDA runtime that a replay needs, from the library that the process has.
#pragma once

#include "memstow_replay.h"

namespace memstow::replay {

// Null where there is no CUDA runtime yet. Not to be called by two threads at once.
const memstow_replay_memory* cuda_runtime();

}  // namespace memstow::replay
