// Matrix instructions of four warps: wgmma. LLVM has no intrinsics for them; they are inline assembly, which
// nothing may duplicate or make conditional. The registers of a sum are operands that the assembly both reads
// and writes, so that they stay where they are from one instruction to the next. Source: PTX ISA,
// "Asynchronous Warpgroup Level Matrix Instructions".
#include "targets/nvidia/AssemblyOperands.h"
#include "targets/nvidia/NvidiaHardware.h"

#include "llvm/IR/InlineAsm.h"

namespace tegula::nvidia {

namespace {

struct Row {
  llvm::StringRef name, types;
  unsigned k, bits;
  bool isInteger() const { return types.starts_with("s32"); }
  bool transposes() const { return bits == 16; }
};
constexpr Row rows[] = {
#define WGMMA(name, a, b, result, k, bits, types) {name, types, k, bits},
#include "targets/nvidia/Wgmma.def"
#undef WGMMA
};

const Row &rowOf(llvm::StringRef name) {
  return *llvm::find_if(rows, [&](const Row &row) { return row.name == name; });
}

// Assembly that touches memory by itself and has its place.
llvm::CallInst *emitAssembly(llvm::IRBuilderBase &b, llvm::Type *result, const std::string &text,
                             std::string constraints, llvm::ArrayRef<llvm::Value *> arguments) {
  llvm::SmallVector<llvm::Type *> types;
  for (llvm::Value *argument : arguments)
    types.push_back(argument->getType());
  constraints += constraints.empty() ? "~{memory}" : ",~{memory}";
  auto *assembly = llvm::InlineAsm::get(llvm::FunctionType::get(result, types, false), text, constraints,
                                        /*hasSideEffects=*/true);
  llvm::CallInst *call = b.CreateCall(assembly, arguments);
  call->setConvergent();
  return call;
}

constexpr unsigned unit = 16; // bytes, of addresses and distances in a descriptor

} // namespace

llvm::Value *NvidiaHardware::operandDescriptor(Builder &b, llvm::Value *address,
                                               const layout::OperandTile &tile) const {
  uint64_t code = tile.swizzle == 128 ? 1 : tile.swizzle == 64 ? 2 : 3;
  // Without a next pattern a distance means nothing.
  uint64_t leading = std::max<uint64_t>(tile.leading / unit, 1),
           stride = std::max<uint64_t>(tile.stride / unit, 1);
  uint64_t form = code << 62 | stride << 32 | leading << 16;
  llvm::Value *low = b.CreateTrunc(b.CreatePtrToInt(address, b.getInt64Ty()), b.getInt32Ty());
  low = b.CreateLShr(b.CreateAnd(low, 0x3ffff), b.getInt32(4));
  return b.CreateOr(b.CreateZExt(low, b.getInt64Ty()), b.getInt64(form), "", /*IsDisjoint=*/true);
}

llvm::Value *NvidiaHardware::advanceDescriptor(Builder &b, llvm::Value *descriptor, uint64_t bytes) const {
  return bytes ? b.CreateAdd(descriptor, b.getInt64(bytes / unit)) : descriptor;
}

// One text for all pieces and steps: between the first instruction and the last nothing moves their
// registers, or the assembler would let each wait for the one before.
simt::Hardware::Values NvidiaHardware::startProduct(Builder &b, const GroupProduct &product) const {
  const Row &row = rowOf(product.name);
  unsigned perPiece = product.columns / 2, count = perPiece * unsigned(product.pieces.size());
  bool areRead = !product.pieces.front().sums.empty();
  llvm::SmallVector<llvm::Type *> types(count, row.isInteger() ? b.getInt32Ty() : b.getFloatTy());
  std::string constraints = sumConstraints(types, areRead), text = "wgmma.fence.sync.aligned;";
  llvm::SmallVector<llvm::Value *> arguments;
  for (const GroupProduct::Piece &piece : product.pieces)
    llvm::append_range(arguments, piece.sums);
  unsigned next = areRead ? 2 * count : count;
  auto operand = [&](llvm::Value *value, const char *constraint) {
    constraints += constraint;
    arguments.push_back(value);
    return next++;
  };
  for (auto [step, descriptor] : llvm::enumerate(product.b)) {
    std::string ofB = "$" + std::to_string(operand(descriptor, ",l"));
    for (auto [index, piece] : llvm::enumerate(product.pieces)) {
      unsigned first = next;
      for (llvm::Value *value : piece.a[step])
        operand(value, product.isAInShared ? ",l" : ",r");
      std::string ofA =
          product.isAInShared ? "$" + std::to_string(first) : listed(first, unsigned(piece.a[step].size()));
      text += "\n\twgmma.mma_async.sync.aligned.m64n" + std::to_string(product.columns) + "k" +
              std::to_string(row.k) + "." + row.types.str() + " " +
              listed(unsigned(index) * perPiece, perPiece) + ", " + ofA + ", " + ofB + ", " +
              (step == 0 && !areRead ? "0" : "1") + (row.isInteger() ? "" : ", 1, 1");
      if (row.transposes())
        text += (product.isAInShared ? product.isATransposed ? ", 1" : ", 0" : "") +
                std::string(product.isBTransposed ? ", 1" : ", 0");
      text += ";";
    }
  }
  return parts(b,
               emitAssembly(b, llvm::StructType::get(b.getContext(), types), text, constraints, arguments));
}

void NvidiaHardware::commitProducts(Builder &b) const {
  emitAssembly(b, b.getVoidTy(), "wgmma.commit_group.sync.aligned;", "", {});
}

simt::Hardware::Values NvidiaHardware::waitForProducts(Builder &b, unsigned pending,
                                                       llvm::ArrayRef<llvm::Value *> sums) const {
  std::string text = "wgmma.wait_group.sync.aligned " + std::to_string(pending) + ";";
  if (sums.empty()) {
    emitAssembly(b, b.getVoidTy(), text, "", {});
    return {};
  }
  llvm::SmallVector<llvm::Type *> types;
  for (llvm::Value *sum : sums)
    types.push_back(sum->getType());
  return parts(b, emitAssembly(b, llvm::StructType::get(b.getContext(), types), text,
                               sumConstraints(types, true), sums));
}

void NvidiaHardware::fenceForProducts(Builder &b) const {
  emitAssembly(b, b.getVoidTy(), "fence.proxy.async.shared::cta;", "", {});
}

} // namespace tegula::nvidia
