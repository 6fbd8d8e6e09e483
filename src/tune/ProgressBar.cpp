#include "tune/ProgressBar.h"

#include <algorithm>
#include <cstdio>

#include <sys/ioctl.h>
#include <unistd.h>

namespace tegula::tune {
namespace {

constexpr size_t widthOfBar = 24, usualColumns = 80;

size_t columns() {
  winsize size{};
  return ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : usualColumns;
}

} // namespace

ProgressBar::ProgressBar(std::string what)
    : what_(std::move(what)), isTerminal_(::isatty(STDERR_FILENO)), start_(std::chrono::steady_clock::now()) {
}

ProgressBar::~ProgressBar() {
  if (isTerminal_)
    std::fputs("\r\x1b[K", stderr);
}

void ProgressBar::show(size_t done, size_t of, const std::string &candidate) {
  if (!isTerminal_)
    return;
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  size_t full = of ? widthOfBar * std::min(done, of) / of : widthOfBar;
  char numbers[64];
  std::snprintf(numbers, sizeof numbers, "] %zu/%zu %.1f s ", done, of, seconds);
  std::string line = what_ + " [" + std::string(full, '#') + std::string(widthOfBar - full, '.') + numbers;
  for (char c : candidate)
    line += c >= ' ' && c < 0x7f ? c : '?';
  line.resize(std::min(line.size(), columns() - 1));
  std::fprintf(stderr, "\r%s\x1b[K", line.c_str());
  std::fflush(stderr);
}

} // namespace tegula::tune
