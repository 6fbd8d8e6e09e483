// Matrix instructions of four warps: wgmma. LLVM has no intrinsics for them; they are inline assembly, which
// nothing may duplicate or make conditional. The registers of a sum are operands that the assembly both reads
// and writes, so that they stay where they are from one instruction to the next. Source: PTX ISA,
// "Asynchronous Warpgroup Level Matrix Instructions".
#include "targets/nvidia/InlineAssembly.h"
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

llvm::Value *NvidiaHardware::operandPlace(Builder &b, llvm::Value *address) const {
  llvm::Value *place = b.CreateAnd(b.CreatePtrToInt(address, b.getInt32Ty()), 0x3ffff);
  return b.CreateLShr(place, llvm::Log2_32(unit), "", /*isExact=*/true);
}

llvm::Value *NvidiaHardware::advancePlace(Builder &b, llvm::Value *place, llvm::Value *count,
                                          uint64_t bytes) const {
  return b.CreateAdd(place, b.CreateMul(count, b.getInt32(uint32_t(bytes / unit))));
}

// The words meet in assembly. LLVM would make one sum of both, and of each step another one: a sum, a move of
// the high word and perhaps a carry, where the assembler adds a step to the whole in one instruction.
llvm::Value *NvidiaHardware::operandDescriptor(Builder &b, llvm::Value *place,
                                               const layout::OperandTile &tile) const {
  uint32_t code = tile.swizzle == 128 ? 1 : tile.swizzle == 64 ? 2 : 3;
  // Without a next pattern a distance means nothing.
  uint64_t leading = std::max<uint64_t>(tile.leading / unit, 1),
           stride = std::max<uint64_t>(tile.stride / unit, 1);
  llvm::Value *low = b.CreateAdd(place, b.getInt32(uint32_t(leading << 16)));
  uint32_t high = code << 30 | uint32_t(stride);
  return emitComputation(b, b.getInt64Ty(), "mov.b64 $0, {$1, " + std::to_string(high) + "};", "=l,r", {low});
}

llvm::Value *NvidiaHardware::advanceDescriptor(Builder &b, llvm::Value *descriptor, uint64_t bytes) const {
  return bytes ? b.CreateAdd(descriptor, b.getInt64(bytes / unit)) : descriptor;
}

// One text for all pieces, and for all steps whose rows lie in shared memory: between the first instruction
// and the last nothing moves their registers, or the assembler would let each wait for the one before. Rows
// in registers are computed, one step's ahead of the next one's (ProductSteps.h), so that each step has a
// text.
simt::Hardware::Values NvidiaHardware::startProduct(Builder &b, const GroupProduct &product) const {
  const Row &row = rowOf(product.name);
  unsigned perPiece = product.columns / 2, count = perPiece * unsigned(product.pieces.size());
  llvm::SmallVector<llvm::Type *> types(count, row.isInteger() ? b.getInt32Ty() : b.getFloatTy());
  Values sums;
  for (const GroupProduct::Piece &piece : product.pieces)
    llvm::append_range(sums, piece.sums);
  size_t together = product.isAInShared ? product.b.size() : 1;
  for (size_t first = 0; first != product.b.size(); first += together) {
    bool areRead = !sums.empty();
    std::string constraints = sumConstraints(types, areRead), text = startsProduct.str();
    llvm::SmallVector<llvm::Value *> arguments(sums.begin(), sums.end());
    unsigned next = areRead ? 2 * count : count;
    auto operand = [&](llvm::Value *value, const char *constraint) {
      constraints += constraint;
      arguments.push_back(value);
      return next++;
    };
    for (size_t step = first; step != first + together; ++step) {
      std::string ofB = "$" + std::to_string(operand(product.b[step], ",l"));
      for (auto [index, piece] : llvm::enumerate(product.pieces)) {
        unsigned word = next;
        for (llvm::Value *value : piece.a[step])
          operand(value, product.isAInShared ? ",l" : ",r");
        std::string ofA =
            product.isAInShared ? "$" + std::to_string(word) : listed(word, unsigned(piece.a[step].size()));
        text += "\n\twgmma.mma_async.sync.aligned.m64n" + std::to_string(product.columns) + "k" +
                std::to_string(row.k) + "." + row.types.str() + " " +
                listed(unsigned(index) * perPiece, perPiece) + ", " + ofA + ", " + ofB + ", " +
                (step == first && !areRead ? "0" : "1") + (row.isInteger() ? "" : ", 1, 1");
        if (row.transposes())
          text += (product.isAInShared ? product.isATransposed ? ", 1" : ", 0" : "") +
                  std::string(product.isBTransposed ? ", 1" : ", 0");
        text += ";";
      }
    }
    sums =
        parts(b, emitAssembly(b, llvm::StructType::get(b.getContext(), types), text, constraints, arguments));
  }
  return sums;
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

llvm::Value *NvidiaHardware::defineAnew(Builder &b, llvm::Value *value) const {
  bool isFloat = value->getType()->isFloatTy();
  return emitAssembly(b, value->getType(), "mov.b32 $0, $1;", isFloat ? "=f,f" : "=r,r", {value});
}

void NvidiaHardware::fenceForProducts(Builder &b) const {
  emitAssembly(b, b.getVoidTy(), "fence.proxy.async.shared::cta;", "", {});
}

} // namespace tegula::nvidia
