// The width of an access, and the sentence that says what keeps it from being wider. Values are
// named as the kernel names them where that is known: arguments, constants, and short sums and
// products of them.
#include "analysis/AxisFacts.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tegula::tile;

namespace tegula::analysis {

namespace {

std::string locationText(Value value) {
  if (auto place = value.getLoc()->findInstanceOf<FileLineColLoc>())
    return "line " + std::to_string(place.getLine());
  return "an earlier line";
}

std::string describe(Value value, unsigned depth = 3);

std::string describeArgument(BlockArgument argument) {
  if (auto function = dyn_cast<FuncOp>(argument.getOwner()->getParentOp()))
    if (auto name = function.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "tt.name"))
      return name.getValue().str();
  if (auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      loop && argument == loop.getInductionVar())
    return "the loop index of " + locationText(argument);
  return "a value carried by the loop of " + locationText(argument);
}

const char *signOf(Operation *op) {
  StringRef name = op->getName().getStringRef();
  return llvm::StringSwitch<const char *>(name)
      .Cases({"arith.addi", "tt.addptr"}, " + ")
      .Case("arith.subi", " - ")
      .Case("arith.muli", " * ")
      .Cases({"arith.divsi", "arith.divui"}, " // ")
      .Cases({"arith.remsi", "arith.remui"}, " % ")
      .Case("arith.andi", " & ")
      .Default(nullptr);
}

// Without the parentheses around the whole of it.
std::string withoutParentheses(const std::string &text) {
  int open = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    open += (text[i] == '(') - (text[i] == ')');
    if (open == 0 && i + 1 < text.size())
      return text;
  }
  return text.starts_with('(') ? text.substr(1, text.size() - 2) : text;
}

// Is what stands for `value` in the text a sum?
bool sumUnder(Value value) {
  Operation *op = value.getDefiningOp();
  while (
      isa_and_nonnull<SplatOp, BroadcastOp, ExpandDimsOp, arith::ExtSIOp, arith::ExtUIOp, arith::IndexCastOp>(
          op))
    op = op->getOperand(0).getDefiningOp();
  return isa_and_nonnull<arith::AddIOp, AddPtrOp>(op);
}

std::string describe(Value value, unsigned depth) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return describeArgument(argument);
  Operation *op = value.getDefiningOp();
  if (isa<SplatOp, BroadcastOp, ExpandDimsOp, arith::ExtSIOp, arith::ExtUIOp, arith::IndexCastOp>(op))
    return describe(op->getOperand(0), depth);
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (auto number = dyn_cast<IntegerAttr>(constant.getValue()))
      return std::to_string(number.getValue().getSExtValue());
    if (auto dense = dyn_cast<DenseIntElementsAttr>(constant.getValue()); dense && dense.isSplat())
      return std::to_string(dense.getSplatValue<APInt>().getSExtValue());
  }
  if (auto id = dyn_cast<GetProgramIdOp>(op))
    return "program_id(" + std::to_string(id.getAxis()) + ")";
  if (auto range = dyn_cast<MakeRangeOp>(op))
    return "arange(" + std::to_string(int32_t(range.getStart())) + ", " +
           std::to_string(int32_t(range.getEnd())) + ")";
  const char *sign = signOf(op);
  if (!sign || depth == 0)
    return "the value of " + locationText(value);
  std::string left = describe(op->getOperand(0), depth - 1);
  if (StringRef(sign) == " + " && sumUnder(op->getOperand(0)))
    left = withoutParentheses(left);
  return "(" + left + sign + describe(op->getOperand(1), depth - 1) + ")";
}

const char *comparison(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::eq: return " == ";
  case P::ne: return " != ";
  case P::slt:
  case P::ult: return " < ";
  case P::sle:
  case P::ule: return " <= ";
  case P::sgt:
  case P::ugt: return " > ";
  case P::sge:
  case P::uge: return " >= ";
  }
  llvm_unreachable("closed enumeration");
}

// The part of a conjunction that changes inside of a group of `width`.
Value cutIn(Value mask, unsigned dim, int64_t width, llvm::function_ref<const AxisInfo &(Value)> at) {
  while (Operation *op = mask.getDefiningOp()) {
    if (!isa<arith::AndIOp, arith::OrIOp>(op))
      break;
    Value next = at(op->getOperand(0)).constancy[dim] < width ? op->getOperand(0) : op->getOperand(1);
    mask = next;
  }
  return mask;
}

std::string whyMask(Value mask, unsigned dim, int64_t width, llvm::function_ref<const AxisInfo &(Value)> at) {
  Value cut = cutIn(mask, dim, width, at);
  std::string end = " may end inside a vector";
  Operation *op = cut.getDefiningOp();
  while (isa_and_nonnull<BroadcastOp, ExpandDimsOp>(op)) {
    cut = op->getOperand(0);
    op = cut.getDefiningOp();
  }
  auto compare = dyn_cast_if_present<arith::CmpIOp>(op);
  if (!compare)
    return "the mask of " + locationText(mask) + " is not known to be equal for " + std::to_string(width) +
           " neighbours";
  std::string text = withoutParentheses(describe(compare.getLhs())) + comparison(compare.getPredicate()) +
                     withoutParentheses(describe(compare.getRhs()));
  for (Value side : {compare.getRhs(), compare.getLhs()}) {
    const AxisInfo &info = at(side);
    auto least = *std::min_element(info.divisibility.begin(), info.divisibility.end());
    if (least < width)
      return withoutParentheses(describe(side)) + " is not known to be a multiple of " +
             std::to_string(width) + ": the mask `" + text + "`" + end;
  }
  return "the mask `" + text + "`" + end;
}

} // namespace

unsigned AxisInfoAnalysis::accessWidth(Value pointers, Value mask, unsigned dim, unsigned limitBits,
                                       std::string *why) {
  auto pointer = cast<PointerType>(elementType(pointers.getType()));
  int64_t bits = bitsInMemory(pointer.getPointee()), bytes = bits / 8;
  int64_t limit = std::max<int64_t>(1, int64_t(llvm::bit_floor(limitBits)) / bits);
  AxisInfo info = at(pointers); // a copy: at() may move the table
  auto shape = shapeOf(pointers.getType());
  int64_t extent = shape.empty() ? 1 : shape[dim];
  int64_t width = limit;
  auto narrow = [&](int64_t to, auto reason) {
    if (to >= width)
      return;
    if (why)
      *why = reason();
    width = std::max<int64_t>(1, to);
  };
  narrow(powerOfTwoIn(extent), [&] {
    return "the tile's extent " + std::to_string(extent) + " is not a multiple of " + std::to_string(limit);
  });
  narrow(info.contiguity[dim], [&]() -> std::string {
    std::string along = shape.size() > 1 ? " along dimension " + std::to_string(dim) : "";
    if (info.constancy[dim] > 1)
      return "neighbours" + along + " share one address";
    if (info.contiguity[dim] == 1)
      return "neighbours" + along + " are not known to be adjacent in memory";
    return "only " + std::to_string(info.contiguity[dim]) + " neighbours" + along +
           " are known to be adjacent in memory";
  });
  narrow(info.divisibility[dim] / bytes, [&] {
    return withoutParentheses(describe(pointers)) + " is known to be aligned to " +
           std::to_string(std::max(bytes, info.divisibility[dim])) + " bytes only, not " +
           std::to_string(width * bytes);
  });
  if (mask) {
    unsigned maskDim = shapeOf(mask.getType()).empty() ? 0 : dim;
    int64_t equal = shapeOf(mask.getType()).empty() ? extent : at(mask).constancy[maskDim];
    narrow(equal,
           [&] { return whyMask(mask, maskDim, width, [&](Value v) -> const AxisInfo & { return at(v); }); });
  }
  return unsigned(width);
}

} // namespace tegula::analysis
