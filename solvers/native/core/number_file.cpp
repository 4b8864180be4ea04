#include "core/number_file.hpp"

#include <cerrno>
#include <system_error>

namespace memstow {
namespace {

constexpr std::size_t kPending = std::size_t{1} << 16;

[[noreturn]] void fail() {
    throw std::system_error(errno, std::generic_category(), "cannot write the proof");
}

// What each file begins with.
std::vector<std::uint8_t> head_of(std::string_view line, const Digest& digest) {
    std::vector<std::uint8_t> head;
    for (const char one : line) head.push_back(static_cast<std::uint8_t>(one));
    head.insert(head.end(), digest.begin(), digest.end());
    return head;
}

}  // namespace

NumberFile::NumberFile(const std::string& path, std::string_view line, const Digest& digest)
    : file_(std::fopen(path.c_str(), "wb")) {
    if (file_ == nullptr) fail();
    // What is not finished leaves nothing to write when it is closed: another may have the file by then.
    std::setvbuf(file_.get(), nullptr, _IONBF, 0);
    pending_ = head_of(line, digest);
    pending_.reserve(kPending + 16);
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

NumberReader::NumberReader(const std::string& path, std::string_view line, const Digest& digest)
    : file_(std::fopen(path.c_str(), "rb")) {
    const std::vector<std::uint8_t> head = head_of(line, digest);
    std::vector<std::uint8_t> there(head.size());
    if (file_ == nullptr) return;
    const std::size_t read = std::fread(there.data(), 1, there.size(), file_.get());
    if (read < head.size() || there != head) file_.reset();
}

std::optional<std::uint64_t> NumberReader::number() {
    std::uint64_t value = 0;
    for (int shift = 0; file_ != nullptr && shift < 64; shift += 7) {
        const int byte = std::fgetc(file_.get());
        if (byte == EOF) break;
        const auto bits = static_cast<std::uint64_t>(byte & 0x7F);
        if (shift == 63 && bits > 1) break;
        value |= bits << shift;
        if (byte < 0x80) return value;
    }
    file_.reset();
    return std::nullopt;
}

}  // namespace memstow
