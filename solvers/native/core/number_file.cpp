#include "core/number_file.hpp"

#include <cerrno>
#include <system_error>

namespace memstow {
namespace {

constexpr std::size_t kPending = std::size_t{1} << 16;

[[noreturn]] void fail() {
    throw std::system_error(errno, std::generic_category(), "cannot write the proof");
}

}  // namespace

NumberFile::NumberFile(const std::string& path, std::string_view line, const Digest& digest)
    : file_(std::fopen(path.c_str(), "wb")) {
    if (file_ == nullptr) fail();
    pending_.reserve(kPending + 16);
    for (const char one : line) pending_.push_back(static_cast<std::uint8_t>(one));
    for (const std::uint8_t one : digest) pending_.push_back(one);
}

void NumberFile::number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) pending_.push_back(static_cast<std::uint8_t>(value | 0x80));
    pending_.push_back(static_cast<std::uint8_t>(value));
    flush_if_full();
}

void NumberFile::ascending(std::uint64_t name, std::uint64_t& next) {
    number(name - next);
    next = name + 1;
}

void NumberFile::append(const NumberFile& kept) {
    pending_.insert(pending_.end(), kept.pending_.begin(), kept.pending_.end());
    flush_if_full();
}

void NumberFile::flush_if_full() {
    if (file_ != nullptr && pending_.size() >= kPending) flush();
}

void NumberFile::flush() {
    if (std::fwrite(pending_.data(), 1, pending_.size(), file_.get()) != pending_.size()) fail();
    pending_.clear();
}

void NumberFile::finish() {
    flush();
    if (std::fflush(file_.get()) != 0) fail();
}

}  // namespace memstow
