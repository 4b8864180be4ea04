// Text as the readers see it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace memstow::plain {

// More than this many values are refused by the ordinary readers, for want of memory.
inline constexpr std::size_t kMostValues = 40'000'000;

// Whether it is UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF.
bool is_utf8(std::string_view text);

// How many characters UTF-8 text has.
std::size_t characters(std::string_view text);

// Without a byte order mark.
std::string_view without_mark(std::string_view text);

// How often the character is there.
std::size_t count(std::string_view text, char character);

// Adds the text as JSON has it: in quotes, with what must be escaped.
void append_json(std::string& to, std::string_view text);

// Whether it is text that the ordinary reader of JSON would read to its end.
bool is_readable(std::string_view text);

}  // namespace memstow::plain
