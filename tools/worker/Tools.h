// The tools of the vendor that turn PTX into a cubin, or a cubin into text: a library loaded
// here (fast: nothing is started), or a program run on memory files (nothing is written to disk).
#pragma once
#include "targets/nvidia/WorkerProtocol.h"

#include <optional>
#include <string>
#include <vector>

namespace tegula::nvidia::worker {

struct Answer {
  Outcome outcome = Outcome::Done;
  std::string result, log, tool;
};

// Folders that hold tools: those of TEGULA_TOOLS, then the usual places.
std::vector<std::string> toolFolders();

// libnvJitLink. nullopt: there is none, or it is too old for this text.
std::optional<Answer> assembleInProcess(const std::string &arch, bool lineInfo, const std::string &ptx);
// Opens it and lets it do its first work, which takes longer than what follows.
void warmUpInProcess();
// ptxas, the one that TEGULA_PTXAS names if it is set. nullopt: there is none.
std::optional<Answer> assembleWithProgram(const std::string &arch, bool lineInfo, const std::string &ptx);
// nvdisasm or cuobjdump. nullopt: there is none.
std::optional<Answer> disassemble(const std::string &cubin);

} // namespace tegula::nvidia::worker
