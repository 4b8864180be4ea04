#include "cuda_runtime.hpp"

#include <dlfcn.h>

#include <cstddef>

namespace memstow::replay {

namespace {

constexpr const char* kLibraries[] = {"libcudart.so", "libcudart.so.13", "libcudart.so.12",
                                      "libcudart.so.11.0"};

struct Functions {
    int (*malloc)(void**, std::size_t) = nullptr;
    int (*free)(void*) = nullptr;
    int (*get_device)(int*) = nullptr;
    int (*set_device)(int) = nullptr;
    int (*synchronize)() = nullptr;
    int (*last_error)() = nullptr;
};

template <class Function>
bool look_up(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
}

bool look_up_all(void* library, Functions& functions) {
    return look_up(library, "cudaMalloc", functions.malloc) && look_up(library, "cudaFree", functions.free) &&
           look_up(library, "cudaGetDevice", functions.get_device) &&
           look_up(library, "cudaSetDevice", functions.set_device) &&
           look_up(library, "cudaDeviceSynchronize", functions.synchronize) &&
           look_up(library, "cudaGetLastError", functions.last_error);
}

Functions cuda;

// What the process has loaded for all to see comes first: PyTorch loads the CUDA runtime that it was built
// for so.
bool load() {
    if (look_up_all(RTLD_DEFAULT, cuda)) return true;
    for (const char* name : kLibraries) {
        void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (library != nullptr && look_up_all(library, cuda)) return true;
    }
    return false;
}

// The device is the current one while this is in scope.
class OnDevice {
  public:
    explicit OnDevice(int device) {
        is_changed_ = cuda.get_device(&before_) == 0 && before_ != device && cuda.set_device(device) == 0;
    }
    ~OnDevice() {
        if (is_changed_) cuda.set_device(before_);
    }
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;

  private:
    int before_ = 0;
    bool is_changed_ = false;
};

void* allocate(std::size_t size, int device, void*) {
    const OnDevice scope(device);
    void* memory = nullptr;
    if (cuda.malloc(&memory, size) == 0) return memory;
    // The next kernel would report this error as its own.
    cuda.last_error();
    return nullptr;
}

void release(void* memory, std::size_t, int device, void*) {
    const OnDevice scope(device);
    cuda.free(memory);
}

void synchronize(int device) {
    const OnDevice scope(device);
    cuda.synchronize();
}

}  // namespace

const memstow_replay_memory* cuda_runtime() {
    static const memstow_replay_memory memory{allocate, release, synchronize};
    // Not there is not for good: PyTorch may be imported later.
    static bool is_loaded = false;
    if (!is_loaded) is_loaded = load();
    return is_loaded ? &memory : nullptr;
}

}  // namespace memstow::replay
