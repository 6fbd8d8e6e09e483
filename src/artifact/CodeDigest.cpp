#include "artifact/CodeDigest.h"
#include "artifact/Bytes.h"
#include "artifact/Sha256.h"

namespace tegula::artifact {

std::string codeDigest(const Artifact &artifact, std::string_view description) {
  Writer out;
  out.text(artifact.target);
  out.text(artifact.arch);
  for (const Parameter &parameter : artifact.parameters) {
    out.text(parameter.name);
    out.text(tegula::name(parameter.dtype));
    out.number(uint8_t(parameter.isPointer | parameter.isWritten << 1));
    out.number(parameter.divisibility);
  }
  const auto &[entry, warps, sharedBytes, scratchBytes, isCooperative, launchesEarly, registers, spillBytes,
               ownSharedBytes] = artifact.launch; // all there is
  out.text(entry);
  for (uint64_t number :
       {uint64_t(warps), sharedBytes, scratchBytes, uint64_t(isCooperative), uint64_t(launchesEarly),
        uint64_t(registers), uint64_t(spillBytes), uint64_t(ownSharedBytes)})
    out.number(number);
  for (const Part &part : artifact.parts)
    if (part.name != description || artifact.parts.size() == 1) {
      out.text(part.name);
      out.text(part.bytes);
    }
  return hexadecimal(sha256(out.bytes()));
}

} // namespace tegula::artifact
