#include "ir/tile/InlineAssembly.h"

#include <algorithm>

namespace tegula::tile {

using llvm::StringRef;

namespace {

constexpr StringRef kinds = "hrlfd";

Status fault(StringRef constraint, const std::string &reason) {
  return Status::error(StatusCode::Type, "the constraint '" + constraint.str() + "' " + reason);
}

Status addOutput(AsmConstraints &all, StringRef constraint) {
  StringRef kind = constraint.drop_front();
  kind.consume_front("&");
  if (!all.inputs.empty())
    return fault(constraint, "is an output behind an input");
  if (kind.size() != 1 || !kinds.contains(kind[0]))
    return fault(constraint, "names no kind of register");
  all.outputs.push_back({kind[0], std::nullopt});
  return {};
}

Status addInput(AsmConstraints &all, StringRef constraint) {
  size_t output;
  if (!constraint.getAsInteger(10, output)) {
    if (output >= all.outputs.size())
      return fault(constraint, "is tied to an output that there is not");
    for (const AsmRegister &input : all.inputs)
      if (input.tiedTo == output)
        return fault(constraint, "ties a second input to one output");
    all.inputs.push_back({all.outputs[output].kind, output});
    return {};
  }
  if (constraint.size() != 1 || !kinds.contains(constraint[0]))
    return fault(constraint, "names no kind of register");
  all.inputs.push_back({constraint[0], std::nullopt});
  return {};
}

} // namespace

Result<AsmConstraints> parseAsmConstraints(StringRef constraints) {
  AsmConstraints all;
  llvm::SmallVector<StringRef> each;
  if (!constraints.empty())
    constraints.split(each, ',');
  bool clobbered = false;
  for (StringRef constraint : each) {
    if (constraint.starts_with("~")) {
      if (constraint != "~{memory}")
        return fault(constraint, "clobbers something other than memory");
      clobbered = true;
      continue;
    }
    if (clobbered)
      return fault(constraint, "stands behind a clobber");
    Status status = constraint.starts_with("=") ? addOutput(all, constraint) : addInput(all, constraint);
    if (!status.ok())
      return status;
  }
  return all;
}

Status checkAsmText(StringRef text, size_t operands) {
  if (text.contains('\0'))
    return Status::error(StatusCode::Type, "the text has a zero byte");
  for (size_t at = text.find('$'); at != StringRef::npos; at = text.find('$', at)) {
    StringRef rest = text.drop_front(at + 1);
    if (rest.starts_with("$") || rest.starts_with("{:uid}")) {
      at += rest.starts_with("$") ? 2 : 7;
      continue;
    }
    bool braced = rest.consume_front("{");
    StringRef number = rest.take_while(llvm::isDigit);
    size_t operand = 0;
    bool isOperand = !number.empty() && !number.getAsInteger(10, operand) && operand < operands &&
                     (!braced || rest.drop_front(number.size()).starts_with("}"));
    if (!isOperand)
      return Status::error(StatusCode::Type, "'" + text.substr(at, 12).str() +
                                                 "' in the text stands for none of the " +
                                                 std::to_string(operands) + " operands");
    at += 1 + number.size();
  }
  return {};
}

static llvm::SmallVector<StringRef> partsOf(StringRef constraints) {
  llvm::SmallVector<StringRef> each;
  if (!constraints.empty())
    constraints.split(each, ',');
  return each;
}

static bool isInput(StringRef constraint) {
  return !constraint.starts_with("=") && !constraint.starts_with("~");
}

llvm::SmallVector<bool> immediatesOf(StringRef constraints) {
  llvm::SmallVector<bool> immediates;
  for (StringRef constraint : partsOf(constraints))
    if (isInput(constraint))
      immediates.push_back(constraint == "n" || constraint == "i");
  return immediates;
}

AsmText withoutImmediates(StringRef text, StringRef constraints,
                          llvm::ArrayRef<std::optional<int64_t>> numbers) {
  AsmText result;
  llvm::SmallVector<std::string> operands; // of the text, by number: as they are spelled from now on
  size_t input = 0, kept = 0;
  for (StringRef constraint : partsOf(constraints)) {
    bool isOperand = !constraint.starts_with("~");
    std::optional<int64_t> number = isInput(constraint) ? numbers[input++] : std::nullopt;
    if (isOperand)
      operands.push_back(number ? std::to_string(*number) : "${" + std::to_string(kept++) + "}");
    if (!number)
      result.constraints += (result.constraints.empty() ? "" : ",") + constraint.str();
  }
  for (size_t at = 0; at != text.size();) {
    if (text[at] != '$' || text.substr(at).starts_with("$$")) {
      size_t length = text[at] == '$' ? 2 : 1;
      result.text += text.substr(at, length);
      at += length;
      continue;
    }
    StringRef rest = text.drop_front(at + 1);
    bool braced = rest.consume_front("{");
    StringRef digits = rest.take_while(llvm::isDigit);
    size_t operand = 0;
    if (digits.getAsInteger(10, operand) ||
        operand >= operands.size()) { // checkAsmText says what is wrong with it
      result.text += text[at++];
      continue;
    }
    result.text += operands[operand];
    at += 1 + digits.size() + (braced ? 2 : 0);
  }
  return result;
}

unsigned registerBits(unsigned bits, unsigned pack) {
  bits = std::max(bits, 8u);
  return bits >= 32 ? bits : bits * std::min(pack, 32 / bits);
}

size_t registersOfRun(unsigned bits, unsigned pack) {
  bits = std::max(bits, 8u);
  unsigned each = bits >= 32 ? 1 : std::min(pack, 32 / bits);
  return (pack + each - 1) / each;
}

bool fits(const AsmRegister &reg, unsigned bits, unsigned pack) {
  unsigned needed = registerBits(bits, pack);
  return needed >= 32 ? reg.bits() == needed : reg.bits() == 32 || (reg.bits() == 16 && needed <= 16);
}

} // namespace tegula::tile
