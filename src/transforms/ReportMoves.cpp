#include "transforms/ReportMoves.h"
#include "ir/simt/Scratch.h"

using namespace mlir;
using tegula::layout::Axis;

namespace tegula::transforms {

namespace {

// "4 warps through 64 bytes of shared memory"
std::string overWarps(unsigned warps, uint64_t bytes) {
  return std::to_string(warps) + " warps through " + std::to_string(bytes) + " bytes of shared memory";
}

std::string overLanes(unsigned bits) {
  return std::to_string(1u << bits) + " lanes in " + std::to_string(bits) +
         (bits == 1 ? " shuffle" : " shuffles");
}

void add(std::string &text, const std::string &step) { text += (text.empty() ? "" : ", then ") + step; }

std::string stepsOf(tile::ReduceOp op) {
  layout::Layout source = simt::layoutOf(op.getOperands()[0]);
  simt::ReduceScratch scratch(op);
  std::string text;
  unsigned registers =
      source.size(Axis::Register) / source.sliced(unsigned(op.getAxis())).size(Axis::Register);
  if (registers > 1)
    add(text, std::to_string(registers) + " registers");
  if (unsigned lanes = unsigned(llvm::popcount(scratch.laneBits)))
    add(text, overLanes(lanes));
  if (scratch.warps > 1)
    add(text, overWarps(scratch.warps, scratch.bytes));
  return text;
}

std::string stepsOf(tile::ScanOp op) {
  simt::ScanScratch scratch(op);
  std::string text;
  for (const simt::ScanLevel &level : scratch.levels) {
    unsigned bits = unsigned(level.bits.size());
    add(text, level.axis == Axis::Register ? std::to_string(1u << bits) + " registers"
              : level.axis == Axis::Lane   ? overLanes(bits)
                                           : overWarps(1u << bits, scratch.bytes));
  }
  return text;
}

} // namespace

void reportMoves(ModuleOp module, std::vector<diag::Remark> &remarks) {
  module.walk([&](Operation *op) {
    auto remark = [&](const char *kind, std::string text) {
      remarks.push_back({tile::locationText(op->getLoc()), kind, std::move(text)});
    };
    std::string steps;
    if (auto convert = dyn_cast<simt::ConvertOp>(op)) {
      auto kind = convert.getPlan()->getKind();
      if (kind == layout::ConversionPlan::Kind::Shuffle || kind == layout::ConversionPlan::Kind::Shared)
        remark("convert", simt::planOf(convert).describe());
    } else if (auto reduce = dyn_cast<tile::ReduceOp>(op)) {
      if (steps = stepsOf(reduce); !steps.empty())
        remark("reduce", steps);
    } else if (auto scan = dyn_cast<tile::ScanOp>(op)) {
      if (steps = stepsOf(scan); !steps.empty())
        remark("scan", steps);
    }
  });
}

} // namespace tegula::transforms
