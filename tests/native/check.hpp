// A minimal harness for the native unit tests: TEST registers a case, CHECK counts a failure and goes on.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

namespace check {

struct Case {
    const char* name;
    void (*body)();
};

inline std::vector<Case>& cases() {
    static std::vector<Case> all;
    return all;
}

inline int& failures() {
    static int count = 0;
    return count;
}

struct Register {
    Register(const char* name, void (*body)()) { cases().push_back({name, body}); }
};

// How often a test with random cases tries that: MEMSTOW_TEST_ROUNDS is per cent of the usual number.
inline int rounds(int usual) {
    const char* factor = std::getenv("MEMSTOW_TEST_ROUNDS");
    return factor == nullptr ? usual : usual * std::atoi(factor) / 100;
}

}  // namespace check

#define TEST(name)                                             \
    static void name();                                        \
    static const check::Register register_##name(#name, name); \
    static void name()

#define CHECK(...)                                                                \
    do {                                                                          \
        if (!(__VA_ARGS__)) {                                                     \
            ++check::failures();                                                  \
            std::printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #__VA_ARGS__); \
        }                                                                         \
    } while (false)
