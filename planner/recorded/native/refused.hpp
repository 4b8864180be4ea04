#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace memstow::recorded {

// A file that cannot be read: a code for programs, and what is wrong with it for people.
class Refused : public std::runtime_error {
  public:
    Refused(std::string code, const std::string& message)
        : std::runtime_error(message), code_(std::move(code)) {}
    const std::string& code() const { return code_; }

  private:
    std::string code_;
};

}  // namespace memstow::recorded
