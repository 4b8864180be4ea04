// TensorFlow Lite Micro with its reference kernels.

#include <cstdarg>
#include <cstdint>
#include <cstdio>

#include "tensorflow/lite/micro/micro_interpreter.h"
#include "tensorflow/lite/micro/micro_mutable_op_resolver.h"
#include "tensorflow/lite/micro/micro_resource_variable.h"
#include "tensorflow/lite/schema/schema_generated.h"

extern "C" {
extern const unsigned char model_data[];
int setup(void);
int run(void);
void result(void);
void DebugLog(const char*, va_list) {}
int DebugVsnprintf(char*, size_t, const char*, va_list) { return 0; }
}

namespace {
alignas(16) uint8_t arena[512 * 1024];
tflite::MicroInterpreter* interpreter;
}  // namespace

int setup() {
  static tflite::MicroMutableOpResolver<20> kernels;
  OPERATORS(kernels);
  tflite::MicroAllocator* allocator = tflite::MicroAllocator::Create(arena, sizeof arena);
  tflite::MicroResourceVariables* variables = tflite::MicroResourceVariables::Create(allocator, 32);
  static tflite::MicroInterpreter made(tflite::GetModel(model_data), kernels, allocator, variables);
  interpreter = &made;
  if (made.AllocateTensors() != kTfLiteOk) {
    return 1;
  }
  for (size_t at = 0; at < made.input(0)->bytes; ++at) {
    made.input(0)->data.uint8[at] = static_cast<uint8_t>(at * 37u + 11u);
  }
  return 0;
}

int run() { return interpreter->Invoke(); }

void result() {
  uint32_t sum = 0;
  for (size_t at = 0; at < interpreter->output(0)->bytes; ++at) {
    sum = sum * 31u + interpreter->output(0)->data.uint8[at];
  }
  printf("%lu %u\n", static_cast<unsigned long>(sum), static_cast<unsigned>(interpreter->arena_used_bytes()));
}
