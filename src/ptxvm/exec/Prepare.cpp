// A kernel and a launch -> DecodedKernel: where registers, variables and parameters are, and each
// instruction as a micro-operation.
#include "base/OverLimit.h"
#include "ptxvm/exec/Lower.h"
#include "ptxvm/exec/Warp.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace tegula::ptxvm {
namespace {

using Lower = void (*)(Lowering &);
constexpr Lower lowerings[] = {
#define PTX_FORM(Op, mnemonic, modifiers, operands, ptx, sm, flags) &lower##Op,
#include "ptxvm/Opcodes.def"
#undef PTX_FORM
};

constexpr uint64_t mostLocalBytes = 512 << 10, mostSharedBytes = 227 << 10;

uint64_t alignTo(uint64_t value, uint64_t align) { return (value + align - 1) / align * align; }

class Preparation {
public:
  Preparation(const Module &module, const PtxKernel &kernel, const Launch &launch, DecodedKernel &program)
      : module_(module), kernel_(kernel), launch_(launch), program_(program) {}

  Status all() {
    program_.kernel = &kernel_;
    placeRegisters();
    placeParameters();
    if (Status status = placeVariables(); !status.ok())
      return status;
    placeBuffers();
    return lowerAll();
  }

private:
  void placeRegisters() {
    uint64_t bytes = 0;
    for (const Register &one : kernel_.registers) {
      if (one.type == Type::Pred) {
        program_.registerPlaces.push_back(program_.predicates++);
        continue;
      }
      program_.registerPlaces.push_back(uint32_t(bytes));
      unsigned bits = bitWidth(one.type);
      bytes += warpSize * (bits <= 32 ? 4 : bits / 8);
    }
    program_.image.assign(bytes, std::byte(0));
  }

  void placeParameters() {
    program_.parameters.assign(alignTo(kernel_.parameterBytes, 8), std::byte(0));
    size_t slot = 0;
    for (const Parameter &parameter : kernel_.parameters) {
      std::memcpy(program_.parameters.data() + parameter.offset, launch_.parameters.data() + slot,
                  parameter.bytes);
      slot += size_t(std::max<uint64_t>((parameter.bytes + 7) / 8, 1));
    }
  }

  // The module's shared variables that this kernel names.
  std::vector<bool> usedModuleVariables() const {
    std::vector<bool> used(module_.variables.size(), false);
    for (const auto *list : {&kernel_.operands, &kernel_.parts})
      for (const Operand &operand : *list)
        if (operand.kind == OperandKind::Variable && operand.isModule)
          used[operand.index] = true;
    return used;
  }

  Status placeVariables() {
    std::vector<bool> used = usedModuleVariables();
    program_.moduleVariables.assign(module_.variables.size(), 0);
    for (size_t i = 0; i < module_.variables.size(); ++i)
      placeModuleVariable(module_.variables[i], used[i], program_.moduleVariables[i]);
    for (const Variable &variable : kernel_.variables) {
      uint64_t &size = variable.space == Space::Shared ? program_.sharedBytes : program_.localBytes;
      bool isHost = variable.space == Space::Global || variable.space == Space::Const;
      if (isHost) {
        program_.kernelVariables.push_back(onHost(variable));
        continue;
      }
      size = alignTo(size, variable.align);
      program_.kernelVariables.push_back(size);
      size += variable.bytes;
    }
    placeDynamicShared(used);
    for (size_t i = 0; i < module_.variables.size(); ++i)
      for (const auto &reference : module_.variables[i].references) {
        uint64_t value = program_.moduleVariables[reference.variable] + uint64_t(reference.addend);
        std::memcpy(reinterpret_cast<std::byte *>(program_.moduleVariables[i]) + reference.offset, &value, 8);
      }
    program_.localBytes = alignTo(program_.localBytes, 16);
    if (program_.sharedBytes > mostSharedBytes)
      return Status::error(StatusCode::Resource,
                           overLimit("shared memory", program_.sharedBytes, mostSharedBytes));
    if (program_.localBytes > mostLocalBytes)
      return Status::error(StatusCode::Resource,
                           overLimit("local memory", program_.localBytes, mostLocalBytes));
    return Status::success();
  }

  void placeModuleVariable(const Variable &variable, bool used, uint64_t &address) {
    if (variable.space == Space::Global || variable.space == Space::Const) {
      address = onHost(variable);
    } else if (variable.space == Space::Shared && used && !variable.isExtern) {
      program_.sharedBytes = alignTo(program_.sharedBytes, variable.align);
      address = program_.sharedBytes;
      program_.sharedBytes += variable.bytes;
    }
  }

  // .extern .shared arrays all begin where the static variables end.
  void placeDynamicShared(const std::vector<bool> &used) {
    uint64_t align = 16;
    for (size_t i = 0; i < used.size(); ++i)
      if (module_.variables[i].isExtern && used[i])
        align = std::max<uint64_t>(align, module_.variables[i].align);
    if (!launch_.sharedBytes && program_.sharedBytes == 0 &&
        !std::any_of(used.begin(), used.end(), [](bool u) { return u; }))
      return;
    uint64_t start = launch_.sharedBytes ? alignTo(program_.sharedBytes, align) : program_.sharedBytes;
    for (size_t i = 0; i < used.size(); ++i)
      if (module_.variables[i].isExtern)
        program_.moduleVariables[i] = start;
    for (size_t i = 0; i < kernel_.variables.size(); ++i)
      if (kernel_.variables[i].isExtern)
        program_.kernelVariables[i] = start;
    program_.sharedBytes = start + launch_.sharedBytes;
  }

  uint64_t onHost(const Variable &variable) {
    uint64_t align = std::max<uint64_t>(variable.align, 16);
    auto &bytes = program_.storage.emplace_back(std::make_unique<std::byte[]>(variable.bytes + align));
    uint64_t address = alignTo(reinterpret_cast<uint64_t>(bytes.get()), align);
    if (!variable.init.empty())
      std::memcpy(reinterpret_cast<std::byte *>(address), variable.init.data(), variable.init.size());
    if (variable.space == Space::Const)
      for (const Constants &written : launch_.constants)
        if (written.variable == variable.name)
          std::memcpy(reinterpret_cast<std::byte *>(address), written.bytes.data(),
                      std::min<size_t>(written.bytes.size(), variable.bytes));
    program_.ranges.push_back({address, address + variable.bytes, variable.isWritable,
                               variable.space == Space::Const, "variable " + variable.name});
    return address;
  }

  void placeBuffers() {
    for (const Buffer &buffer : launch_.buffers) {
      auto begin = reinterpret_cast<uint64_t>(buffer.base);
      if (buffer.size)
        program_.ranges.push_back({begin, begin + buffer.size, buffer.writable, false,
                                   buffer.name.empty() ? "a buffer" : buffer.name});
    }
    std::sort(program_.ranges.begin(), program_.ranges.end(), [](const Range &a, const Range &b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    for (size_t i = 1; i < program_.ranges.size(); ++i)
      program_.overlap |= program_.ranges[i].begin < program_.ranges[i - 1].end;
  }

  Status lowerAll() {
    Joins joins = findJoins(kernel_);
    for (uint32_t i = 0; i < kernel_.instructions.size(); ++i) {
      const Instruction &instruction = kernel_.instructions[i];
      Lowering lowering(program_, instruction);
      lowering.op.instruction = i;
      if (instruction.guard.kind == OperandKind::Register) {
        lowering.op.guard = program_.registerPlaces[instruction.guard.index];
        lowering.op.guardFlip = instruction.guard.negated ? allLanes : 0;
      }
      lowerings[instruction.form->index](lowering);
      if (!lowering.error.empty())
        return Status::error(StatusCode::Unsupported, module_.name + ":" + std::to_string(instruction.line) +
                                                          ": " + lowering.error + ": `" +
                                                          std::string(instruction.text) + "`");
      lowering.op.join = joins.places[i];
      lowering.op.isSoftJoin = joins.areSoft[i];
      program_.ops.push_back(lowering.op);
    }
    Op end;
    end.instruction = uint32_t(kernel_.instructions.size());
    end.control = Control::Exit;
    program_.ops.push_back(end);
    numberProductRegisters();
    return Status::success();
  }

  // Numbers the registers of products, and finds who else touches them.
  void numberProductRegisters() {
    std::map<uint32_t, uint32_t> numbers; // by place
    for (ProductOp &product : program_.products) {
      auto numberOf = [&](uint32_t place) {
        return numbers.try_emplace(place, numbers.size()).first->second;
      };
      for (uint32_t place : product.d)
        product.numbersOfD.push_back(numberOf(place));
      if (product.isAInRegisters)
        for (uint32_t place : product.aRegisters)
          product.numbersOfA.push_back(numberOf(place));
    }
    program_.productRegisters = uint32_t(numbers.size());
    if (numbers.empty())
      return;
    for (uint32_t i = 0; i < kernel_.instructions.size(); ++i) {
      const Instruction &instruction = kernel_.instructions[i];
      if (instruction.form->lower == "Product")
        continue;
      std::vector<uint32_t> touched;
      auto touch = [&](const Operand &operand) {
        if (operand.kind != OperandKind::Register || kernel_.registers[operand.index].type == Type::Pred)
          return;
        if (auto found = numbers.find(program_.registerPlaces[operand.index]); found != numbers.end())
          touched.push_back(found->second);
      };
      for (uint32_t o = 0; o < instruction.operandCount; ++o) {
        const Operand &operand = kernel_.operands[instruction.firstOperand + o];
        touch(operand);
        if (operand.kind == OperandKind::Vector || operand.kind == OperandKind::Address)
          for (uint32_t p = 0; p < operand.count; ++p)
            touch(kernel_.parts[operand.first + p]);
      }
      if (touched.empty())
        continue;
      program_.ops[i].touched = uint32_t(program_.touched.size());
      program_.touched.push_back(std::move(touched));
    }
  }

  const Module &module_;
  const PtxKernel &kernel_;
  const Launch &launch_;
  DecodedKernel &program_;
};

} // namespace

Result<std::unique_ptr<DecodedKernel>> prepare(const Module &module, const PtxKernel &kernel,
                                               const Launch &launch) {
  auto program = std::make_unique<DecodedKernel>();
  if (Status status = Preparation(module, kernel, launch, *program).all(); !status.ok())
    return status;
  return program;
}

// ---- Lowering ------------------------------------------------------------------------------

uint32_t Lowering::constant(uint64_t bits, bool is64) {
  auto [it, isNew] = program.constants.try_emplace({bits, is64}, uint32_t(program.image.size()));
  if (!isNew)
    return it->second;
  for (unsigned lane = 0; lane < warpSize; ++lane) {
    auto *bytes = reinterpret_cast<const std::byte *>(&bits);
    program.image.insert(program.image.end(), bytes, bytes + (is64 ? 8 : 4));
  }
  return it->second;
}

uint32_t Lowering::place(const Operand &operand, Type wanted) {
  switch (operand.kind) {
  case OperandKind::Register: return program.registerPlaces[operand.index];
  case OperandKind::Special: {
    bool is64 = bitWidth(typeOf(Special(operand.index))) == 64;
    for (const auto &known : program.specials)
      if (known.which == Special(operand.index))
        return known.place;
    auto place = uint32_t(program.image.size());
    program.image.resize(program.image.size() + warpSize * (is64 ? 8 : 4));
    program.specials.push_back({Special(operand.index), place, is64});
    return place;
  }
  case OperandKind::Immediate: {
    auto bits = uint64_t(operand.value);
    unsigned width = bitWidth(wanted);
    if (operand.isFloat && operand.floatBits != width) {
      Conversion conversion;
      conversion.from = operand.floatBits == 32 ? Type::F32 : Type::F64;
      conversion.to = width == 32 ? Type::F32 : Type::F64;
      uint64_t in[warpSize] = {bits}, out[warpSize] = {};
      if (ConvertFunction convert = convertFunction(conversion))
        convert(conversion, 1, out, in, nullptr);
      bits = out[0];
    }
    if (width < 64)
      bits &= (uint64_t(1) << width) - 1;
    return constant(bits, width == 64);
  }
  case OperandKind::Variable:
  case OperandKind::Parameter: {
    Space space;
    return constant(address(operand, space), bitWidth(wanted) == 64);
  }
  default: return nowhere;
  }
}

uint32_t Lowering::predicate(const Operand &operand, bool &negated) const {
  negated = operand.negated;
  if (operand.kind == OperandKind::Immediate) {
    negated = operand.value == 0;
    return 0;
  }
  return operand.kind == OperandKind::Register ? program.registerPlaces[operand.index] : nowhere;
}

void Lowering::regular(Type wanted) {
  uint32_t *places[] = {&op.d, &op.a, &op.b, &op.c};
  for (unsigned i = 0; i < operandCount() && i < 4; ++i)
    *places[i] = place(i, wanted);
}

unsigned Lowering::registerBits(const Operand &operand, Type wanted) const {
  unsigned bits = bitWidth(wanted);
  if (operand.kind == OperandKind::Register)
    bits = bitWidth(kernel().registers[operand.index].type);
  if (operand.kind == OperandKind::Special)
    bits = bitWidth(typeOf(Special(operand.index)));
  return std::max(bits, 32u);
}

uint64_t Lowering::address(const Operand &operand, Space &space) const {
  if (operand.kind == OperandKind::Parameter) {
    space = Space::Param;
    return kernel().parameters[operand.index].offset + uint64_t(operand.value);
  }
  const Variable &variable =
      operand.isModule ? kernel().module->variables[operand.index] : kernel().variables[operand.index];
  // The parameters of a call are the caller's own memory.
  space = variable.space == Space::Param ? Space::Local : variable.space;
  return (operand.isModule ? program.moduleVariables : program.kernelVariables)[operand.index] +
         uint64_t(operand.value);
}

Round Lowering::round() const {
  if (has(Modifier::rz) || has(Modifier::rzi))
    return Round::Zero;
  if (has(Modifier::rm) || has(Modifier::rmi))
    return Round::Down;
  if (has(Modifier::rp) || has(Modifier::rpi))
    return Round::Up;
  if (has(Modifier::rna))
    return Round::NearestAway;
  return Round::Nearest;
}

LaneMode Lowering::laneMode() const {
  LaneMode mode;
  mode.round = round();
  mode.ftz = has(Modifier::ftz);
  mode.sat = has(Modifier::sat);
  mode.relu = has(Modifier::relu);
  mode.satfinite = has(Modifier::satfinite);
  mode.nan = has(Modifier::nanPropagating);
  mode.xorsignAbs = has(Modifier::xorsign);
  return mode;
}

} // namespace tegula::ptxvm
