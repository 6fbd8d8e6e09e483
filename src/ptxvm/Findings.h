// What a run found wrong, each with the PTX line and the source line. Thread safe: workers and
// observers report into one list. A finding of one kind at one instruction is kept once, with a
// count, so that a bad loop does not fill memory.
#pragma once
#include <array>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::ptxvm {

struct PtxKernel;

enum class FindingKind : uint8_t {
#define FINDING(Enum, text, meaning) Enum,
#include "ptxvm/Findings.def"
#undef FINDING
};
std::string_view name(FindingKind kind);    // "out-of-bounds"
std::string_view meaning(FindingKind kind); // one line for a reader

// A place in the program: the index of an instruction in its kernel, and who executed it.
struct Site {
  uint32_t instruction = 0;
  std::array<uint32_t, 3> block{};
  uint32_t warp = 0;
  uint32_t lane = 0;
};

struct Finding {
  FindingKind kind{};
  std::string message; // without places: "reads 4 bytes at offset 512 of shared memory, which has 512"
  Site site;
  uint32_t ptxLine = 0;   // 1-based
  std::string ptxText;    // the instruction as written
  std::string sourceFile; // "" when the PTX has no .loc
  uint32_t sourceLine = 0;
  std::optional<Site> other; // the other access of a race, the barrier that waits, ...
  uint32_t otherPtxLine = 0;
  std::string otherPtxText, otherSourceFile;
  uint32_t otherSourceLine = 0;
  uint64_t count = 1; // how often at this instruction
};

class Findings {
public:
  explicit Findings(const PtxKernel &kernel) : kernel_(kernel) {}
  // Fills in the lines and texts from the places.
  void add(FindingKind kind, std::string message, const Site &site, std::optional<Site> other = std::nullopt);
  // In order of instruction, then kind: the same for every order of threads.
  std::vector<Finding> take();
  bool any() const;

private:
  const PtxKernel &kernel_;
  mutable std::mutex mutex_;
  std::vector<Finding> list_;
};

} // namespace tegula::ptxvm
