// Prints and checks. Each element is a line that the thread with its first copy prints; text is as the
// interpreter's. A check fails in the threads that hold a false element, and ends their warps.
#include "codegen/llvm/Arithmetic.h"
#include "codegen/simt/Emitter.h"
#include "ir/tile/Checks.h"

using namespace mlir;
using namespace tegula::tile;
using tegula::layout::Axis;
using tegula::layout::Layout;

namespace tegula::simt {

namespace {

// A line under construction: C's format and what it asks for.
struct Line {
  std::string format;
  SmallVector<llvm::Value *> arguments;

  void text(StringRef words) {
    for (char c : words)
      format += c == '%' ? "%%" : std::string(1, c);
  }
  void value(const std::string &directive, llvm::Value *value) {
    format += "%" + directive;
    arguments.push_back(value);
  }
};

void addProgram(Emitter &e, Line &line) {
  line.text("pid (");
  for (unsigned axis : {0u, 1u, 2u}) {
    line.text(axis ? ", " : "");
    line.value("u", e.programId(axis));
  }
  line.text(")");
}

// Coordinates, each as wide as the largest of its axis.
void addIndex(Emitter &e, Line &line, const Layout *layout, unsigned reg) {
  line.text(" idx (");
  for (unsigned d = 0; layout && d != layout->rank(); ++d) {
    line.text(d ? ", " : "");
    size_t width = std::to_string(layout->extents()[d] - 1).size();
    line.value((width > 1 ? std::to_string(width) : "") + "u", e.coordinate(*layout, d, reg));
  }
  line.text(")");
}

void addElement(Emitter &e, Line &line, llvm::Value *value, Type element, bool hex, bool isSigned) {
  auto &b = e.builder;
  bool isPointer = isa<PointerType>(element);
  unsigned bits = isPointer ? 64 : element.getIntOrFloatBitWidth();
  if (isa<FloatType>(element) && !hex) {
    if (bits == 8)
      value =
          codegen::convertFloat(b, value, element, Float32Type::get(element.getContext()), b.getFloatTy());
    return line.value("f", b.CreateFPExt(value, b.getDoubleTy()));
  }
  if (isPointer)
    value = b.CreatePtrToInt(value, b.getInt64Ty());
  value = b.CreateBitCast(value, b.getIntNTy(bits));
  isSigned &= bits > 1 && !hex && !isPointer;
  llvm::Type *wide = b.getIntNTy(bits > 32 ? 64 : 32);
  value = isSigned ? b.CreateSExt(value, wide) : b.CreateZExt(value, wide);
  std::string length = bits > 32 ? "ll" : "";
  if (!hex && !isPointer)
    return line.value(length + (isSigned ? "d" : "u"), value);
  line.text("0x");
  line.value("0" + std::to_string((bits + 3) / 4) + length + "x", value);
}

} // namespace

void emitPrint(Emitter &e, PrintOp op) {
  auto &b = e.builder;
  llvm::Value *isThread = b.CreateICmpEQ(e.thread(), b.getInt32(0));
  auto print = [&](Line &line) {
    line.text("\n");
    e.hardware.print(b, line.format, line.arguments);
  };
  if (op.getOperands().empty())
    return e.when(isThread, [&] {
      Line line;
      addProgram(e, line);
      line.text(op.getPrefix());
      print(line);
    });
  for (auto [number, operand] : llvm::enumerate(op.getOperands())) {
    auto element = [&](const Layout *layout, unsigned reg) {
      Line line;
      addProgram(e, line);
      addIndex(e, line, layout, reg);
      line.text(op.getPrefix());
      if (op.getNumOperands() > 1)
        line.text("(operand " + std::to_string(number) + ") ");
      addElement(e, line, e.registers(operand)[reg], elementType(operand.getType()), op.getHex(),
                 op.getIsSigned()[number] != 0);
      print(line);
    };
    if (!isa<RankedTensorType>(operand.getType())) {
      e.when(isThread, [&] { element(nullptr, 0); });
      continue;
    }
    Layout layout = layoutOf(operand);
    for (unsigned reg = 0; reg != layout.size(Axis::Register); ++reg)
      if (layout.isLive(reg) && !(reg & layout.freeBits(Axis::Register)))
        e.when(e.both(e.isFirstCopy(layout), e.inside(layout, reg)), [&] { element(&layout, reg); });
  }
}

namespace {

void fail(Emitter &e, AssertOp op) {
  if (op->hasAttr(wordlessName))
    return e.hardware.failWordless(e.builder);
  auto at = op.getLoc()->findInstanceOf<FileLineColLoc>();
  e.hardware.fail(e.builder, op.getMessage(), at ? at.getFilename().getValue() : "", at ? at.getLine() : 0,
                  e.builder.GetInsertBlock()->getParent()->getName());
}

} // namespace

// Warps in which a lane fails go no further: behind a call that comes back the assembler would keep all
// values over it, and none as the warp's, as it does behind a branch of single lanes. A thread that combines
// elements of a reduction or a scan does so by itself, and goes on.
void emitAssert(Emitter &e, AssertOp op) {
  auto &b = e.builder;
  llvm::Value *fails = nullptr, *stops = nullptr;
  if (op->getParentOfType<ReduceOp>() || op->getParentOfType<ScanOp>())
    return e.when(b.CreateNot(e.scalar(op.getCondition())), [&] { fail(e, op); });
  if (!isa<RankedTensorType>(op.getCondition().getType())) {
    stops = b.CreateNot(e.scalar(op.getCondition())); // the program's
    fails = b.CreateICmpEQ(e.thread(), b.getInt32(0));
  } else {
    Layout layout = layoutOf(op.getCondition());
    const Registers values = e.registers(op.getCondition());
    for (unsigned reg = 0; reg != values.size(); ++reg)
      if (layout.isLive(reg) && !(reg & layout.freeBits(Axis::Register))) {
        llvm::Value *one = e.both(e.inside(layout, reg), b.CreateNot(values[reg]));
        fails = fails ? b.CreateOr(fails, one) : one;
      }
    fails = e.both(e.isFirstCopy(layout), fails);
    stops = e.hardware.holdsInLane(b, fails);
  }
  llvm::BasicBlock *stop = e.newBlock("stop"), *next = e.newBlock("next");
  b.CreateCondBr(stops, stop, next);
  b.SetInsertPoint(stop);
  if (op->hasAttr(wordlessName))
    fail(e, op);
  else
    e.when(fails, [&] { fail(e, op); });
  b.CreateRetVoid();
  b.SetInsertPoint(next);
}

} // namespace tegula::simt
