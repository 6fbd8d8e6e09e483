// The tools of the vendor that turn PTX into a cubin, or a cubin into text: programs run on pipes
// and memory files (nothing is written to disk), or a library loaded here.
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

// ptxas, the one that TEGULA_PTXAS names if it is set. nullopt: there is none.
std::optional<Answer> assembleWithProgram(const std::string &arch, const std::string &ptx);
// Starts it, up to where it waits for a text: most of its time for a small kernel. One that waits already, of
// the same program for the same architecture, is enough.
void prepareProgram(const std::string &arch);
bool hasPrepared();
void dropPrepared();

// libnvJitLink. nullopt: there is none.
std::optional<Answer> assembleInProcess(const std::string &arch, const std::string &ptx);
// Opens it and lets it do its first work, which takes longer than what follows.
void warmUpInProcess();

// nvdisasm or cuobjdump. nullopt: there is none.
std::optional<Answer> disassemble(const std::string &cubin);

} // namespace tegula::nvidia::worker
