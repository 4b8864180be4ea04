// The ids of many buffers, in one block of text.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memstow::plain {

using Number = std::uint32_t;

class Names {
  public:
    std::size_t size() const { return ends_.size(); }
    std::string_view operator[](std::size_t i) const {
        const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
        return {text_.data() + begin, ends_[i] - begin};
    }
    // False where there is more text than can be counted.
    bool add(std::string_view name);
    void reserve(std::size_t count, std::size_t bytes);
    void trim();

  private:
    std::string text_;
    std::vector<Number> ends_;
};

// The numbers of the names in the order of their bytes, which is that of their code points; nothing where a
// name is there twice.
std::optional<std::vector<Number>> sorted(const Names& names);

// The number of this name; nothing if there is none.
std::optional<Number> find(const Names& names, const std::vector<Number>& order, std::string_view name);

}  // namespace memstow::plain
