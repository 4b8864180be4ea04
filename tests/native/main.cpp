#include <cstdio>
#include <cstring>

#include "check.hpp"

// Runs every case, or those whose name contains the first argument.
int main(int argc, char** argv) {
    int run = 0;
    for (const check::Case& test : check::cases()) {
        if (argc > 1 && std::strstr(test.name, argv[1]) == nullptr) continue;
        const int before = check::failures();
        test.body();
        ++run;
        if (check::failures() != before) std::printf("FAILED %s\n", test.name);
    }
    std::printf("%d native tests run, %d checks failed\n", run, check::failures());
    return check::failures() == 0 && run > 0 ? 0 : 1;
}
