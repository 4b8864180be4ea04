// A proof as docs/proofs.md has it: what it is about, and numbers in LEB128.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memstow {

using Digest = std::array<std::uint8_t, 32>;

struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

class NumberFile {
  public:
    // Begins with a line, and a digest. Throws std::system_error when the file cannot be written.
    NumberFile(const std::string& path, std::string_view line, const Digest& digest);
    // No file: numbers that are kept until another one takes them.
    NumberFile() = default;

    void number(std::uint64_t value);
    // What is not below 0.
    void number_of(std::int64_t value) { number(static_cast<std::uint64_t>(value)); }
    // One of an ascending list, as the gap to the one before; `next` is 0 at first.
    void ascending(std::uint64_t name, std::uint64_t& next);
    void append(const NumberFile& kept);
    std::size_t kept_bytes() const { return pending_.size(); }
    // Writes what is pending.
    void finish();

  private:
    void flush_if_full();
    void flush();

    std::unique_ptr<std::FILE, CloseFile> file_;
    std::vector<std::uint8_t> pending_;
};

// Reads such a file, which may be anything.
class NumberReader {
  public:
    // Of a file that begins otherwise, or is not there, nothing is read.
    NumberReader(const std::string& path, std::string_view line, const Digest& digest);

    // None at the end, and where no number below 2^64 is.
    std::optional<std::uint64_t> number();

  private:
    std::unique_ptr<std::FILE, CloseFile> file_;
};

}  // namespace memstow
