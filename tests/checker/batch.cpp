// The checker as a user starts it, where it is given arguments. Without, checks many files in one process:
// reads the names of a problem, a plan and a proof from three lines, and prints the exit code and the
// verdict.
#include <sstream>

#define main checker_main
#ifdef ORDERS
#include "memstow_check_order.cpp"
#else
#include "memstow_check.cpp"
#endif
#undef main

int main(int count, char** arguments) {
    if (count > 1) return checker_main(count, arguments);
    std::string words[4];
    while (std::getline(std::cin, words[1]) && std::getline(std::cin, words[2]) &&
           std::getline(std::cin, words[3])) {
        std::ostringstream verdict;
        std::streambuf* const before = std::cout.rdbuf(verdict.rdbuf());
        char* pointers[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data()};
        const int code = checker_main(4, pointers);
        std::cout.rdbuf(before);
        std::string line = verdict.str();
        std::replace(line.begin(), line.end(), '\n', ' ');
        std::cout << code << ' ' << line << std::endl;
    }
}
