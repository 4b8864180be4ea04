// The checkers of proofs as a module of Python: their source is that of the programs that stand alone, and
// nothing of memstow is linked with them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cerrno>
#include <functional>
#include <ios>
#include <streambuf>

#define MEMSTOW_CHECK_WITHIN
#include "memstow_check.cpp"
#include "memstow_check_order.cpp"

namespace nb = nanobind;

namespace {

struct Stopped {};

// A file that asks at each block, and in what takes long, whether anybody still waits for it.
class Asking : public std::filebuf {
  public:
    explicit Asking(const std::function<bool()>& stopped) : stopped_(stopped) {
        pubsetbuf(block_.data(), static_cast<std::streamsize>(block_.size()));
    }

  protected:
    int_type underflow() override {
        ask();
        return std::filebuf::underflow();
    }
    int sync() override { return ask(), 0; }

  private:
    void ask() const {
        const nb::gil_scoped_acquire held;
        if (stopped_()) throw Stopped{};
    }

    const std::function<bool()>& stopped_;
    std::array<char, 8192> block_{};
};

using Answer = std::optional<std::tuple<int, std::string, Bytes, std::vector<Bytes>>>;

template <typename Compared>
Answer answer(Compared compared, const nb::bytes& document, const nb::bytes& plan, const std::string& path,
              const std::function<bool()>& stopped) {
    const std::string text(document.c_str(), document.size()), plan_text(plan.c_str(), plan.size());
    Asking file(stopped);
    if (file.open(path, std::ios::in | std::ios::binary) == nullptr) {
        PyErr_SetFromErrnoWithFilename(PyExc_OSError, path.c_str());
        throw nb::python_error();
    }
    const nb::gil_scoped_release release;
    try {
        const Verdict verdict = verdict_of([&] { return compared(text, &plan_text, file); });
        return std::tuple(static_cast<int>(verdict.code), verdict.words, verdict.least_peak, verdict.bounds);
    } catch (const Stopped&) {
        return std::nullopt;
    }
}

Answer check(const nb::bytes& problem, const nb::bytes& plan, const std::string& path,
             const std::function<bool()>& stopped) {
    return answer(compared, problem, plan, path, stopped);
}

Answer check_order(const nb::bytes& graph, const nb::bytes& plan, const std::string& path,
                   const std::function<bool()>& stopped) {
    return answer(orders::compared, graph, plan, path, stopped);
}

}  // namespace

NB_MODULE(_checker, m) {
    m.def("check", &check, nb::arg("problem"), nb::arg("plan"), nb::arg("path"), nb::arg("stopped"),
          "What memstow-check says of a problem, a plan and the file of a proof: its exit code, its words, a "
          "peak\n"
          "that no layout is below, and by term of the objective what no plan is below that is no worse in "
          "those\n"
          "before; None where it was stopped.");
    m.def("check_order", &check_order, nb::arg("graph"), nb::arg("plan"), nb::arg("path"), nb::arg("stopped"),
          "The same of a graph, by memstow-check-order: of all orders and layouts.");
}
