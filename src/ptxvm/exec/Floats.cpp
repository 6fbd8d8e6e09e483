// Floating-point instructions: which function of float/ a form is.
#include "ptxvm/exec/Lower.h"
#include "ptxvm/exec/Warp.h"

namespace tegula::ptxvm {
namespace {

void arithmetic(Warp &w, const Op &op, uint32_t mask) {
  std::byte *file = w.file.data();
  op.function(mask, file + op.d, file + op.a, op.b == nowhere ? nullptr : file + op.b,
              op.c == nowhere ? nullptr : file + op.c, op.laneMode);
}

// Factors, or the first of two operands, are narrow; they become f32, exactly.
void mixedArithmetic(Warp &w, const Op &op, uint32_t mask) {
  std::byte *file = w.file.data();
  Format narrow = Type(op.value) == Type::F16 ? Format::F16 : Format::BF16;
  uint32_t wide[2][32];
  auto widened = [&](unsigned i, uint32_t place) -> const void * {
    auto *from = reinterpret_cast<const uint32_t *>(file + place);
    for (unsigned lane = 0; lane != 32; ++lane)
      wide[i][lane] = uint32_t(convert(Format::F32, narrow, from[lane], {}));
    return wide[i];
  };
  bool isProduct = op.c != nowhere;
  op.function(mask, file + op.d, widened(0, op.a), isProduct ? widened(1, op.b) : file + op.b,
              isProduct ? file + op.c : nullptr, op.laneMode);
}

FloatOp opOf(const Lowering &l) {
  std::string_view m = l.mnemonic();
  bool approx = l.has(Modifier::approx), isDouble = l.type() == Type::F64;
  if (m == "add")
    return FloatOp::Add;
  if (m == "sub")
    return FloatOp::Sub;
  if (m == "mul")
    return FloatOp::Mul;
  if (m == "fma" || m == "mad")
    return FloatOp::Fma;
  if (m == "div")
    return approx ? FloatOp::DivApprox : l.has(Modifier::full) ? FloatOp::DivFull : FloatOp::Div;
  if (m == "rcp")
    return !approx ? FloatOp::Rcp : isDouble ? FloatOp::RcpApproxFtzF64 : FloatOp::RcpApprox;
  if (m == "sqrt")
    return approx ? FloatOp::SqrtApprox : FloatOp::Sqrt;
  if (m == "rsqrt")
    return isDouble && l.has(Modifier::ftz) ? FloatOp::RsqrtApproxFtzF64 : FloatOp::Rsqrt;
  if (m == "sin")
    return FloatOp::Sin;
  if (m == "cos")
    return FloatOp::Cos;
  if (m == "lg2")
    return FloatOp::Lg2;
  if (m == "ex2")
    return FloatOp::Ex2;
  if (m == "tanh")
    return FloatOp::Tanh;
  if (m == "abs")
    return FloatOp::Abs;
  if (m == "neg")
    return FloatOp::Neg;
  bool ofThree = l.operandCount() == 4;
  if (m == "min")
    return ofThree ? FloatOp::Min3 : FloatOp::Min;
  if (m == "max")
    return ofThree ? FloatOp::Max3 : FloatOp::Max;
  return FloatOp::CopySign;
}

void classify(Warp &w, const Op &op, uint32_t mask) {
  if (op.d == nowhere)
    return;
  uint32_t is = classifyFloats(FloatClass(op.mode), Type(op.value), mask, w.file.data() + op.a);
  w.predicates[op.d] = (w.predicates[op.d] & ~mask) | (is & mask);
}

} // namespace

void lowerFloat(Lowering &l) {
  l.regular(l.type());
  l.op.laneMode = l.laneMode();
  l.op.function = floatFunction(opOf(l), l.type(), l.op.laneMode);
  l.op.run = arithmetic;
  if (!l.op.function)
    l.error = "no arithmetic for this form";
}

void lowerMixedFloat(Lowering &l) {
  lowerFloat(l);
  l.op.a = l.place(1, l.type(1));
  if (l.operandCount() == 4)
    l.op.b = l.place(2, l.type(1));
  l.op.value = uint64_t(l.type(1));
  l.op.run = mixedArithmetic;
}

void lowerTestp(Lowering &l) {
  constexpr std::pair<Modifier, FloatClass> table[] = {
      {Modifier::finite, FloatClass::Finite}, {Modifier::infinite, FloatClass::Infinite},
      {Modifier::number, FloatClass::Number}, {Modifier::notanumber, FloatClass::NotANumber},
      {Modifier::normal, FloatClass::Normal}, {Modifier::subnormal, FloatClass::Subnormal}};
  bool ignored = false;
  l.op.d = l.predicate(l.operand(0), ignored);
  l.op.a = l.place(1, l.type());
  for (auto [modifier, what] : table)
    if (l.has(modifier))
      l.op.mode = uint8_t(what);
  l.op.value = uint64_t(l.type());
  l.op.run = classify;
}

} // namespace tegula::ptxvm
