// See Print.h.
#include "ptxvm/exec/Print.h"

#include <cstdio>
#include <cstring>

namespace tegula::ptxvm {
namespace {

// Copies from a generic address; false when it may not be read.
bool read(Warp &w, unsigned lane, uint64_t address, void *to, uint64_t size) {
  const std::byte *from = nullptr;
  uint64_t offset = address & ~windowMask, stride = w.local.size() / warpSize;
  if ((address & windowMask) == localWindow && offset <= stride && stride - offset >= size)
    from = w.local.data() + lane * stride + offset;
  else if ((address & windowMask) == sharedWindow && offset <= w.block->shared.size() &&
           w.block->shared.size() - offset >= size)
    from = w.block->shared.data() + offset;
  else if (!(address & windowMask) && findRange(w.block->program(), address, size))
    from = reinterpret_cast<const std::byte *>(address);
  if (!from)
    return false;
  std::memcpy(to, from, size);
  return true;
}

// One conversion: flags, width, precision and length as written, without *.
struct Directive {
  std::string text; // "%-5.2" without length and letter
  bool isLong = false;
  char letter = 0;
};

size_t parseDirective(std::string_view format, size_t at, Directive &directive) {
  directive.text = "%";
  while (at < format.size() && std::strchr("-+ #0123456789.", format[at]))
    directive.text += format[at++];
  while (at < format.size() && std::strchr("hlzjtLq", format[at])) {
    directive.isLong |= format[at] != 'h';
    ++at;
  }
  if (at < format.size())
    directive.letter = format[at++];
  if (directive.text.size() > 16)
    directive.letter = 0;
  return at;
}

class Formatter {
public:
  Formatter(Warp &w, unsigned lane, uint64_t arguments) : w_(w), lane_(lane), at_(arguments) {}

  std::string all(std::string_view format) {
    std::string result;
    for (size_t i = 0; i < format.size();) {
      if (format[i] != '%') {
        result += format[i++];
      } else if (i + 1 < format.size() && format[i + 1] == '%') {
        result += '%';
        i += 2;
      } else {
        Directive directive;
        size_t end = parseDirective(format, i + 1, directive);
        result += one(directive, format.substr(i, end - i));
        i = end;
      }
    }
    return result;
  }

private:
  uint64_t next(unsigned size) {
    at_ = (at_ + size - 1) / size * size;
    uint64_t value = 0;
    read(w_, lane_, at_, &value, size);
    at_ += size;
    return value;
  }

  std::string one(const Directive &directive, std::string_view written) {
    char buffer[512] = "";
    switch (directive.letter) {
    case 'd':
    case 'i': {
      long long value = directive.isLong ? int64_t(next(8)) : int64_t(int32_t(next(4)));
      std::snprintf(buffer, sizeof buffer, (directive.text + "lld").c_str(), value);
      return buffer;
    }
    case 'u':
    case 'x':
    case 'X':
    case 'o': {
      unsigned long long value = directive.isLong ? next(8) : next(4);
      std::snprintf(buffer, sizeof buffer, (directive.text + "ll" + directive.letter).c_str(), value);
      return buffer;
    }
    case 'c': return std::string(1, char(next(4)));
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
    case 'a':
    case 'A':
      std::snprintf(buffer, sizeof buffer, (directive.text + directive.letter).c_str(),
                    std::bit_cast<double>(next(8)));
      return buffer;
    case 'p':
      std::snprintf(buffer, sizeof buffer, "0x%llx", static_cast<unsigned long long>(next(8)));
      return buffer;
    case 's': return readString(w_, next(8));
    default: return std::string(written);
    }
  }

  Warp &w_;
  unsigned lane_;
  uint64_t at_;
};

} // namespace

std::string readString(Warp &warp, uint64_t address) {
  std::string text;
  for (char c; text.size() < 4096 && read(warp, 0, address + text.size(), &c, 1) && c;)
    text += c;
  return text;
}

std::string formatPrintf(Warp &warp, unsigned lane, uint64_t format, uint64_t arguments) {
  return Formatter(warp, lane, arguments).all(readString(warp, format));
}

} // namespace tegula::ptxvm
