// A line on the error stream that says how far a tuning is; nothing where that is no terminal. Debian has no
// library for it in C++ (decision 26).
#pragma once
#include <chrono>
#include <string>

namespace tegula::tune {

class ProgressBar {
public:
  explicit ProgressBar(std::string what);
  ~ProgressBar(); // removes the line
  ProgressBar(const ProgressBar &) = delete;
  void show(size_t done, size_t of, const std::string &candidate);

private:
  const std::string what_;
  const bool isTerminal_;
  const std::chrono::steady_clock::time_point start_;
};

} // namespace tegula::tune
