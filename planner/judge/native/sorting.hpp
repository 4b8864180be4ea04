// What the sweeps of the judge over time have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <utility>
#include <vector>

namespace memstow::judge {

// Positions of the values from the least to the greatest, equal ones as they were.
std::vector<std::size_t> in_order(const std::vector<std::int64_t>& values);

// Memory for the nodes of a tree, which are of one size and used again. That of the standard library's pools
// (libstdc++ 12) crashes after an allocation that failed.
class NodePool final : public std::pmr::memory_resource {
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        if (free_ == nullptr || bytes != size_) return nodes_.allocate(bytes, alignment);
        return std::exchange(free_, *static_cast<void**>(free_));
    }
    void do_deallocate(void* node, std::size_t bytes, std::size_t) override {
        if (free_ == nullptr) size_ = bytes;
        if (bytes == size_) *static_cast<void**>(node) = std::exchange(free_, node);
    }
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

    std::pmr::monotonic_buffer_resource nodes_;
    void* free_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace memstow::judge
