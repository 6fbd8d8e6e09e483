#include "eager/InlineAssembly.h"
#include "interp/Float.h"
#include "ir/tile/InlineAssembly.h"
#include "ptxvm/Run.h"

namespace tegula::eager {

namespace {

using tile::AsmConstraints;
using tile::AsmRegister;

// Elements that share one register: how many, and the bits of each.
struct Packing {
  unsigned bits, each;
};
Packing packingOf(unsigned width, unsigned pack) {
  unsigned bits = std::max(width, 8u);
  return {bits, bits >= 32 ? 1 : std::min(pack, 32 / bits)};
}

std::string bitsOf(const AsmRegister &reg) { return ".b" + std::to_string(reg.bits()); }

// The text with registers in the place of `$0`, `${1}`.
std::string substitute(llvm::StringRef text, llvm::ArrayRef<std::string> operands) {
  std::string result;
  while (!text.empty()) {
    if (text.consume_front("$$")) {
      result += '$';
    } else if (text.consume_front("${:uid}")) {
      result += '0';
    } else if (text.consume_front("$")) {
      bool braced = text.consume_front("{");
      size_t operand = 0;
      text.consumeInteger(10, operand);
      if (braced)
        text.consume_front("}");
      result += operands[operand];
    } else {
      result += text.front();
      text = text.drop_front();
    }
  }
  return result;
}

// One block a run: it reads its slots, 8 bytes an input, runs the text and writes 8 bytes an output.
std::string programOf(tile::ElementwiseInlineAsmOp op, const AsmConstraints &constraints) {
  std::string declared, loads, stores;
  std::vector<std::string> operands;
  auto number = [](size_t i) { return std::to_string(i); };
  for (size_t i = 0; i != constraints.outputs.size(); ++i) {
    operands.push_back("%tg_o" + number(i));
    declared += ".reg " + bitsOf(constraints.outputs[i]) + " " + operands.back() + ";\n";
    stores += "st.global" + bitsOf(constraints.outputs[i]) + " [%tg_out+" + number(8 * i) + "], " +
              operands.back() + ";\n";
  }
  for (size_t i = 0; i != constraints.inputs.size(); ++i) {
    const AsmRegister &reg = constraints.inputs[i];
    std::string name = reg.tiedTo ? operands[*reg.tiedTo] : "%tg_i" + number(i);
    if (!reg.tiedTo)
      declared += ".reg " + bitsOf(reg) + " " + name + ";\n";
    loads += "ld.global" + bitsOf(reg) + " " + name + ", [%tg_in+" + number(8 * i) + "];\n";
    operands.push_back(name);
  }
  auto start = [&](const char *name, size_t slots) {
    return "ld.param.u64 %tg_" + std::string(name) + ", [" + name + "];\nmul.wide.u32 %tg_at, %tg_run, " +
           number(8 * slots) + ";\nadd.s64 %tg_" + name + ", %tg_" + name + ", %tg_at;\n";
  };
  return ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry run(.param .u64 in, .param .u64 "
         "out)\n{\n"
         ".reg .b64 %tg_in;\n.reg .b64 %tg_out;\n.reg .b64 %tg_at;\n.reg .b32 %tg_run;\n" +
         declared + "mov.u32 %tg_run, %ctaid.x;\n" + start("in", constraints.inputs.size()) +
         start("out", constraints.outputs.size()) + loads + substitute(op.getAsmString(), operands) + "\n" +
         stores + "ret;\n}\n";
}

} // namespace

Status runInlineAssembly(tile::ElementwiseInlineAsmOp op, interp::Interpreter &machine) {
  const AsmConstraints constraints =
      *tile::parseAsmConstraints(op.getConstraints()); // the verifier has parsed it
  const unsigned pack = op.getPackedElement();
  interp::Tile first = interp::Interpreter::make(op.getResult(0).getType());
  const size_t count = first.size(), runs = (count + pack - 1) / pack;
  const size_t inputs = constraints.inputs.size(), outputs = constraints.outputs.size();
  std::vector<uint64_t> in(runs * std::max<size_t>(inputs, 1)), out(runs * outputs);
  size_t slot = 0;
  for (mlir::Value operand : op.getOperands()) {
    const interp::Tile &tile = machine.value(operand);
    const Packing packing = packingOf(tile.width(), pack);
    for (unsigned k = 0; k < pack; k += packing.each, ++slot)
      for (size_t run = 0; run != runs; ++run)
        for (unsigned j = 0; j != packing.each && k + j < pack;
             ++j) // a run that is not full repeats its last one
          in[run * inputs + slot] |= tile.bits[std::min(run * pack + k + j, count - 1)] << (j * packing.bits);
  }
  auto program = ptxvm::parse(programOf(op, constraints), "inline assembly");
  if (!program)
    return program.status();
  ptxvm::Buffer buffers[] = {{in.data(), in.size() * 8, false, true, "inputs"},
                             {out.data(), out.size() * 8, true, true, "outputs"}};
  ptxvm::Launch launch;
  launch.grid = {uint32_t(runs), 1, 1};
  launch.parameters = {reinterpret_cast<uintptr_t>(in.data()), reinterpret_cast<uintptr_t>(out.data())};
  launch.buffers = buffers;
  ptxvm::Report report = ptxvm::run(**program, "run", launch);
  if (!report.status.ok())
    return report.status;
  if (!report.findings.empty())
    return Status::error(StatusCode::Launch, "inline assembly: " + report.findings.front().message);
  slot = 0;
  for (mlir::Value result : op.getResults()) {
    interp::Tile tile = interp::Interpreter::make(result.getType());
    const Packing packing = packingOf(tile.width(), pack);
    for (unsigned k = 0; k < pack; k += packing.each, ++slot)
      for (size_t run = 0; run != runs; ++run)
        for (unsigned j = 0; j != packing.each && k + j < pack && run * pack + k + j < count; ++j)
          tile.bits[run * pack + k + j] =
              interp::truncate(out[run * outputs + slot] >> (j * packing.bits), tile.width());
    machine.define(result, std::move(tile));
  }
  return {};
}

} // namespace tegula::eager
