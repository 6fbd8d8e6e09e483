#include "codegen/simt/MatrixStores.h"

using namespace mlir;
using tegula::layout::Axis;

namespace tegula::simt {

std::optional<layout::MatrixAccess> planMatrixStore(const Emitter &e, const layout::Layout &layout,
                                                    const layout::SharedMap &map, unsigned bits) {
  bool isHeldOnce = llvm::none_of(std::initializer_list<Axis>{Axis::Register, Axis::Lane, Axis::Warp},
                                  [&](Axis axis) { return layout.freeBits(axis) != 0; });
  if (!e.hardware.hasMatrixStore() || bits > 16 || !isHeldOnce)
    return std::nullopt;
  std::optional<layout::MatrixAccess> access = layout::planMatrixAccess(layout, map, bits);
  // Turned bytes lie in pairs of matrices, of which there is no store.
  return access && !(access->isTransposed && bits == 8) ? access : std::nullopt;
}

void storeMatrices(Emitter &e, const layout::MatrixAccess &access, llvm::Type *stored,
                   const Registers &values, llvm::function_ref<llvm::Value *(uint32_t)> address) {
  auto &b = e.builder;
  for (const layout::MatrixAccess::Piece &piece : access.pieces) {
    Hardware::Values words;
    for (ArrayRef<unsigned> registers : piece.registers) {
      llvm::Value *word =
          llvm::PoisonValue::get(llvm::FixedVectorType::get(stored, unsigned(registers.size())));
      for (auto [i, reg] : llvm::enumerate(registers))
        if (values[reg]) // elements of a word lie apart in a tile, and may be outside of it
          word = b.CreateInsertElement(word, toStored(e, values[reg]), uint64_t(i));
      words.push_back(b.CreateBitCast(word, b.getInt32Ty()));
    }
    e.hardware.matrixStore(b, address(piece.offset), words, access.isTransposed);
  }
}

} // namespace tegula::simt
