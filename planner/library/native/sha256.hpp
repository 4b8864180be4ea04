// SHA-256 (FIPS 180-4), of which digests of problems are made.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace memstow {

class Sha256 {
  public:
    void update(std::string_view text) {
        for (const char byte : text) {
            block_[length_++ % kBlock] = static_cast<std::uint8_t>(byte);
            if (length_ % kBlock == 0) compress();
        }
    }

    // In hex; nothing can be added afterwards.
    std::string hex() {
        const std::uint64_t bits = length_ * 8;
        update(std::string_view("\x80", 1));
        while (length_ % kBlock != kBlock - 8) update(std::string_view("\0", 1));
        for (int shift = 56; shift >= 0; shift -= 8) {
            const char byte = static_cast<char>(bits >> shift & 255);
            update({&byte, 1});
        }
        constexpr std::string_view kDigits = "0123456789abcdef";
        std::string text;
        for (const std::uint32_t word : state_) {
            for (int shift = 28; shift >= 0; shift -= 4) text += kDigits[word >> shift & 15];
        }
        return text;
    }

  private:
    static constexpr std::size_t kBlock = 64;
    static constexpr std::array<std::uint32_t, 64> kRound{
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

    void compress() {
        std::array<std::uint32_t, 64> words{};
        for (std::size_t i = 0; i < 16; ++i) {
            for (std::size_t j = 0; j < 4; ++j) words[i] = words[i] << 8 | block_[4 * i + j];
        }
        for (std::size_t i = 16; i < 64; ++i) {
            const std::uint32_t a = words[i - 15];
            const std::uint32_t b = words[i - 2];
            words[i] = words[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ a >> 3) + words[i - 7] +
                       (std::rotr(b, 17) ^ std::rotr(b, 19) ^ b >> 10);
        }
        std::array<std::uint32_t, 8> s = state_;
        for (std::size_t i = 0; i < 64; ++i) {
            const std::uint32_t one = s[7] +
                                      (std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25)) +
                                      ((s[4] & s[5]) ^ (~s[4] & s[6])) + kRound[i] + words[i];
            const std::uint32_t two = (std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22)) +
                                      ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
            s = {one + two, s[0], s[1], s[2], s[3] + one, s[4], s[5], s[6]};
        }
        for (std::size_t i = 0; i < 8; ++i) state_[i] += s[i];
    }

    std::array<std::uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::array<std::uint8_t, kBlock> block_{};
    std::uint64_t length_ = 0;
};

}  // namespace memstow
