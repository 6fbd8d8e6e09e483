// Ops that move elements: with the layouts that conversion chose, each is a renaming of registers. A
// reshape of extents that are no powers of two is no linear map: it goes through shared memory, where
// elements lie in row-major order; so do halves of a concatenation that differ.
#include "codegen/simt/Emitter.h"
#include "ir/simt/Scratch.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Axis;
using tegula::layout::Layout;

namespace tegula::simt {

namespace {

// What one thread of lane 0, warp 0 holds: flat coordinate -> register.
llvm::DenseMap<uint32_t, unsigned> registersByCoordinate(const Layout &layout) {
  llvm::DenseMap<uint32_t, unsigned> result;
  for (unsigned reg = layout.size(Axis::Register); reg-- != 0;)
    result[layout.apply(reg, 0, 0)] = reg;
  return result;
}

// The operand's register for each of the result's: `map` takes coordinates to coordinates.
void rename(Emitter &e, Operation *op, llvm::function_ref<void(std::vector<int64_t> &)> map) {
  Value source = op->getOperand(0), result = op->getResult(0);
  Layout from = layoutOf(source), to = layoutOf(result);
  auto registerOf = registersByCoordinate(from);
  const Registers &values = e.registers(source);
  Registers renamed;
  for (unsigned reg = 0; reg != to.size(Axis::Register); ++reg) {
    std::vector<int64_t> at = to.coordinates(to.apply(reg, 0, 0));
    map(at);
    auto found = registerOf.find(from.flatten(at));
    assert(found != registerOf.end() && "the layouts of a renaming match");
    renamed.push_back(values[found->second]);
  }
  e.set(result, std::move(renamed));
}

// Where an element lies in row-major order of `extents`, in elements, moved by `offset` along `axis`.
llvm::Value *rowMajor(Emitter &e, const Layout &layout, unsigned reg, ArrayRef<int64_t> extents,
                      unsigned axis, int64_t offset) {
  auto &b = e.builder;
  llvm::Value *index = b.getInt32(0);
  for (unsigned d = 0; d != layout.rank(); ++d) {
    llvm::Value *at = e.coordinate(layout, d, reg);
    if (d == axis && offset)
      at = b.CreateAdd(at, b.getInt32(uint32_t(offset)));
    index = b.CreateAdd(b.CreateMul(index, b.getInt32(uint32_t(extents[d]))), at);
  }
  return index;
}

// Elements in the scratch of an op, as it stores them.
struct Stored {
  Stored(Emitter &e, Operation *op)
      : e(e), op(op), element(e.type(elementType(op->getResult(0).getType()))), type(storedType(e, element)),
        bytes(type->getScalarSizeInBits() / 8) {}
  llvm::Value *place(llvm::Value *index) {
    return e.scratch(op, e.builder.CreateMul(index, e.builder.getInt32(bytes)));
  }

  void write(Value tile, ArrayRef<int64_t> extents, unsigned axis, int64_t offset) {
    Layout from = layoutOf(tile);
    const Registers values = e.registers(tile);
    for (unsigned reg = 0; reg != values.size(); ++reg)
      if (from.isLive(reg))
        e.when(e.both(e.isFirstCopy(from), e.inside(from, reg)), [&] {
          llvm::Value *at = place(rowMajor(e, from, reg, extents, axis, offset));
          e.builder.CreateAlignedStore(toStored(e, values[reg]), at, llvm::Align(bytes));
        });
  }

  Registers read() {
    auto tile = cast<RankedTensorType>(op->getResult(0).getType());
    Layout to = layoutOf(tile);
    Registers result(to.size(Axis::Register), nullptr);
    for (unsigned reg = 0; reg != result.size(); ++reg)
      if (to.isLive(reg)) {
        // Outside of the extents any element will do.
        llvm::Value *index = rowMajor(e, to, reg, tile.getShape(), 0, 0),
                    *last = e.builder.getInt32(uint32_t(tile.getNumElements() - 1));
        index = e.builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin, index, last);
        result[reg] =
            fromStored(e, e.builder.CreateAlignedLoad(type, place(index), llvm::Align(bytes)), element);
      }
    return result;
  }

  Emitter &e;
  Operation *op;
  llvm::Type *element, *type;
  unsigned bytes;
};

void throughShared(Emitter &e, ReshapeOp op) {
  Stored stored(e, op);
  stored.write(op.getValue(), shapeOf(op.getValue().getType()), 0, 0);
  e.hardware.barrier(e.builder);
  e.set(op, stored.read());
}

void concatenate(Emitter &e, CatOp op) {
  unsigned axis = unsigned(op.getAxis());
  int64_t middle = shapeOf(op.getLhs().getType())[axis];
  auto extents = shapeOf(op.getType());
  if (op->hasAttr(scratchName)) {
    Stored stored(e, op);
    stored.write(op.getLhs(), extents, axis, 0);
    stored.write(op.getRhs(), extents, axis, middle);
    e.hardware.barrier(e.builder);
    return e.set(op, stored.read());
  }
  Layout from = layoutOf(op.getLhs()), to = layoutOf(op.getResult());
  auto registerOf = registersByCoordinate(from);
  Registers result;
  for (unsigned reg = 0; reg != to.size(Axis::Register); ++reg) {
    std::vector<int64_t> at = to.coordinates(to.apply(reg, 0, 0));
    bool isRight = at[axis] >= middle;
    at[axis] -= isRight ? middle : 0;
    result.push_back(e.registers(isRight ? op.getRhs() : op.getLhs())[registerOf.at(from.flatten(at))]);
  }
  e.set(op, std::move(result));
}

} // namespace

void emitShape(Emitter &e, Operation *op) {
  if (auto splat = dyn_cast<SplatOp>(op)) {
    e.set(splat, Registers(layoutOf(splat).size(Axis::Register), e.scalar(splat.getValue())));
  } else if (auto unsplat = dyn_cast<UnsplatOp>(op)) {
    e.set(unsplat, {e.registers(unsplat.getValue())[0]});
  } else if (auto expand = dyn_cast<ExpandDimsOp>(op)) {
    rename(e, op, [&](std::vector<int64_t> &at) { at.erase(at.begin() + expand.getAxis()); });
  } else if (auto broadcast = dyn_cast<BroadcastOp>(op)) {
    auto shape = shapeOf(broadcast.getValue().getType());
    rename(e, op, [&](std::vector<int64_t> &at) {
      for (unsigned d = 0; d != shape.size(); ++d)
        if (shape[d] == 1)
          at[d] = 0;
    });
  } else if (auto trans = dyn_cast<TransOp>(op)) {
    if (isFetchedByUser(e, trans))
      return;
    rename(e, op, [&](std::vector<int64_t> &at) {
      std::vector<int64_t> source(at.size());
      for (auto [to, from] : llvm::enumerate(trans.getOrder()))
        source[from] = at[to];
      at = std::move(source);
    });
  } else if (auto piece = dyn_cast<PieceOp>(op)) {
    auto dim = unsigned(piece.getDim());
    int64_t before = piece.getIndex() * shapeOf(piece.getType())[dim];
    rename(e, op, [&](std::vector<int64_t> &at) { at[dim] += before; });
  } else if (auto cat = dyn_cast<CatOp>(op)) {
    concatenate(e, cat);
  } else if (op->hasAttr(scratchName)) {
    throughShared(e, cast<ReshapeOp>(op));
  } else if (isa<ReshapeOp>(op)) {
    Layout from = layoutOf(op->getOperand(0)), to = layoutOf(op->getResult(0));
    rename(e, op, [&](std::vector<int64_t> &at) { at = from.coordinates(to.flatten(at)); });
  } else if (auto join = dyn_cast<JoinOp>(op)) {
    Layout from = layoutOf(join.getLhs()), to = layoutOf(join.getResult());
    auto registerOf = registersByCoordinate(from);
    Registers result;
    for (unsigned reg = 0; reg != to.size(Axis::Register); ++reg) {
      std::vector<int64_t> at = to.coordinates(to.apply(reg, 0, 0));
      bool right = at.back() != 0;
      at.pop_back();
      result.push_back(e.registers(right ? join.getRhs() : join.getLhs())[registerOf.at(from.flatten(at))]);
    }
    e.set(join, std::move(result));
  } else {
    auto split = cast<SplitOp>(op);
    Layout from = layoutOf(split.getValue()), to = layoutOf(split.getLhs());
    auto registerOf = registersByCoordinate(from);
    for (int64_t half : {0, 1}) {
      Registers result;
      for (unsigned reg = 0; reg != to.size(Axis::Register); ++reg) {
        std::vector<int64_t> at = to.coordinates(to.apply(reg, 0, 0));
        at.push_back(half);
        result.push_back(e.registers(split.getValue())[registerOf.at(from.flatten(at))]);
      }
      e.set(split->getResult(unsigned(half)), std::move(result));
    }
  }
}

} // namespace tegula::simt
