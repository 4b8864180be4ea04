// Goes through a JSON text from its begin to its end. Every step says whether it was possible; text that is
// no JSON, and what only the ordinary reader understands, ends the way.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace memstow::plain {

class Scanner {
  public:
    explicit Scanner(std::string_view text) : text_(text) {}

    std::size_t position() const { return at_; }
    bool at_end();
    // Whether this character is next, blanks aside; it is passed.
    bool take(char character);
    // Whether it is next; it stays.
    bool sees(char character);
    bool string(std::string& value);
    // An integer of at most 64 bits; neither a fraction nor an exponent.
    bool integer(std::int64_t& value);
    // null, true or false.
    bool word(std::string_view word);
    // Any value, by its brackets and quotes alone: who reads it says whether it is one.
    bool skip();

    // For each element of the list that begins here.
    template <class Element>
    bool list(Element element) {
        if (!take('[')) return false;
        if (take(']')) return true;
        do {
            if (!element()) return false;
        } while (take(','));
        return take(']');
    }

    // For each field of the object that begins here, with its name.
    template <class Field>
    bool object(Field field) {
        if (!take('{')) return false;
        if (take('}')) return true;
        std::string name;
        do {
            if (!string(name) || !take(':') || !field(std::string_view(name))) return false;
        } while (take(','));
        return take('}');
    }

  private:
    void blanks();
    bool escape(std::string& value);
    bool unit(std::uint32_t& value);

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace memstow::plain
