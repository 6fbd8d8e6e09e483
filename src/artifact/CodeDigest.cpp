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
  const auto &[entry, warps, sharedBytes, scratchBytes, isCooperative, launchesEarly, programs, registers,
               spillBytes, ownSharedBytes, copyMaps] = artifact.launch; // all there is
  out.text(entry);
  for (uint64_t number :
       {uint64_t(warps), sharedBytes, scratchBytes, uint64_t(isCooperative), uint64_t(launchesEarly),
        uint64_t(programs), uint64_t(registers), uint64_t(spillBytes), uint64_t(ownSharedBytes)})
    out.number(number);
  for (const auto &[pointer, strideOf, isNarrow, strideScale, elementBytes, columns, rows, boxColumns,
                    boxRows] : copyMaps)
    for (uint64_t number :
         {uint64_t(pointer), uint64_t(strideOf), uint64_t(isNarrow), uint64_t(strideScale),
          uint64_t(elementBytes), uint64_t(columns), uint64_t(rows), uint64_t(boxColumns), uint64_t(boxRows)})
      out.number(number);
  for (const Part &part : artifact.parts)
    if (part.name != description || artifact.parts.size() == 1) {
      out.text(part.name);
      out.text(part.bytes);
    }
  return hexadecimal(sha256(out.bytes()));
}

} // namespace tegula::artifact
