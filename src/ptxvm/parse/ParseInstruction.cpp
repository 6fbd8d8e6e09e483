// Instructions: guard, mnemonic, operands; the row of Opcodes.def that allows all of them.
#include "ptxvm/parse/Parser.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>

namespace tegula::ptxvm {

const std::vector<Parser::Candidate> &Parser::candidates(std::string_view mnemonic) {
  auto [it, isNew] = candidates_.try_emplace(mnemonic);
  if (!isNew)
    return it->second;
  std::vector<std::string_view> parts;
  for (size_t start = 0, dot; start <= mnemonic.size(); start = dot + 1) {
    dot = std::min(mnemonic.find('.', start), mnemonic.size());
    parts.push_back(mnemonic.substr(start, dot - start));
  }
  // Compilers also write an atomic's scope and semantic behind its space, in any order.
  if (parts[0] == "atom" || parts[0] == "red") {
    auto rank = [](std::string_view part) {
      if (part == "relaxed" || part == "acquire" || part == "release" || part == "acq_rel")
        return 0;
      if (part == "cta" || part == "gpu" || part == "sys")
        return 1;
      return part == "global" || part == "shared" ? 2 : 3;
    };
    auto end =
        std::find_if(parts.begin() + 1, parts.end(), [&](std::string_view part) { return rank(part) == 3; });
    std::sort(parts.begin() + 1, end, [&](auto a, auto b) { return rank(a) < rank(b); });
  }
  for (const Form *form : formsOf(parts[0]))
    if (std::optional<Spelling> spelling = match(*form, std::span(parts).subspan(1)))
      it->second.push_back({form, *spelling});
  return it->second;
}

bool Parser::guard(Operand &result) {
  if (!accept('@'))
    return true;
  bool negated = accept('!');
  Token token = peek();
  std::string_view text;
  if (!name(text))
    return false;
  auto symbol = find(text);
  if (!symbol || symbol->kind != Symbol::Kind::Register ||
      kernel_->registers[symbol->index].type != Type::Pred)
    return fail(token, "not a predicate");
  result.kind = OperandKind::Register;
  result.index = symbol->index;
  result.negated = negated;
  return true;
}

// The name and the parts behind it, as one text also where comments lie between them.
std::string_view Parser::mnemonicFrom(std::string_view text) {
  std::string_view whole = text;
  std::string joined;
  while (peek().kind == Token::Kind::Dotted) {
    std::string_view part = take().text;
    bool isNext = joined.empty() && part.data() == whole.data() + whole.size() + 1;
    if (isNext) {
      whole = {whole.data(), whole.size() + 1 + part.size()};
      continue;
    }
    if (joined.empty())
      joined = whole;
    joined += "." + std::string(part);
  }
  return joined.empty() ? whole : *joined_.insert(std::move(joined)).first;
}

bool Parser::instruction() {
  Instruction result;
  Token start = peek();
  if (!guard(result.guard))
    return false;
  Token mnemonicToken = peek();
  std::string_view text;
  if (!name(text))
    return false;
  std::string_view mnemonic = mnemonicFrom(text);

  result.line = mnemonicToken.line;
  result.location = location_;
  const auto &possible = candidates(mnemonic);
  if (possible.empty())
    return failStatement(mnemonicToken.line,
                         formsOf(text).empty() ? "unknown instruction" : "no such form of this instruction",
                         mnemonic);
  bool isCall = text == "call";
  std::vector<Written> operands;
  if (isCall) {
    result.firstOperand = uint32_t(kernel_->operands.size());
    if (!callOperands(result))
      return false;
  } else if (!peek().is(';')) {
    do {
      if (!operand(operands.emplace_back()))
        return false;
      while (accept('|')) {
        if (!operand(operands.emplace_back()))
          return false;
        operands.back().afterBar = true;
      }
    } while (accept(','));
  }
  std::string_view stop = peek().text;
  if (!expect(';'))
    return false;
  result.text = std::string_view(start.text.data(), size_t(stop.data() - start.text.data()));
  if (isCall)
    return finishCall(result, possible[0]);
  if (text == "ret" && !calls_.empty())
    return leaveCall(result);

  std::string reason;
  const Candidate *best = nullptr; // rows overlap: one that the module's version and target allow
  auto isAllowed = [&](const Candidate &one) {
    return one.spelling.ptx <= module_.version && hasArchitecture(one);
  };
  for (const Candidate &candidate : possible) {
    std::string why = whyNot(candidate, operands);
    if (why.empty() && (!best || (isAllowed(candidate) && !isAllowed(*best))))
      best = &candidate;
    if (reason.empty())
      reason = why;
  }
  if (best)
    return finish(result, *best, operands);
  return failStatement(result.line, reason, result.text);
}

bool Parser::hasArchitecture(const Candidate &candidate) const {
  uint32_t sm = candidate.spelling.sm;
  if (candidate.form->flags & Specific)
    return module_.arch == sm && module_.archSuffix == 'a';
  return sm <= module_.arch;
}

bool Parser::finish(Instruction instruction, const Candidate &candidate, std::span<Written> operands) {
  const Form &form = *candidate.form;
  uint32_t ptx = candidate.spelling.ptx, sm = candidate.spelling.sm;
  if (ptx > module_.version || !hasArchitecture(candidate))
    return failStatement(instruction.line,
                         "needs .version " + std::to_string(ptx / 10) + "." + std::to_string(ptx % 10) +
                             " and sm_" + std::to_string(sm) + (form.flags & Specific ? "a" : ""),
                         instruction.text);
  instruction.form = &form;
  instruction.modifiers = candidate.spelling.modifiers;
  instruction.types = candidate.spelling.types;
  instruction.columns = candidate.spelling.columns;
  if (instruction.operandCount == 0) {
    instruction.firstOperand = uint32_t(kernel_->operands.size());
    instruction.operandCount = uint32_t(operands.size());
    for (Written &written : operands) {
      if (written.operand.kind == OperandKind::Label || written.operand.kind == OperandKind::Targets)
        labels_.push_back({uint32_t(kernel_->operands.size()), -1, 0, open_.back(), written.token,
                           written.operand.kind == OperandKind::Targets});
      written.operand.afterBar = written.afterBar;
      kernel_->operands.push_back(written.operand);
    }
  }
  kernel_->instructions.push_back(std::move(instruction));
  return true;
}

// ---- operands ------------------------------------------------------------------------------

bool Parser::operand(Written &written) {
  written.token = peek();
  Operand &result = written.operand;
  if (peek().is('{'))
    return vectorOperand(result);
  if (peek().is('['))
    return addressOperand(result);
  if (accept('!'))
    result.negated = true;
  Token unknown;
  if (!simpleOperand(result, unknown))
    return false;
  if (unknown.kind == Token::Kind::Name) // a label that may stand later, or a list of them
    result.kind = OperandKind::Label;
  return true;
}

// A name, a number, or _. A name that is not known yet comes back in `unknown`.
bool Parser::simpleOperand(Operand &result, Token &unknown) {
  const Token &token = peek();
  if (token.kind == Token::Kind::Number || token.is('-') || token.is('~'))
    return constant(result);
  if (!token.isName())
    return fail(token, "expected an operand");
  Token nameToken = take();
  std::string_view text = nameToken.text;
  if (text == "_") {
    result.kind = OperandKind::Sink;
    return true;
  }
  if (text == "WARP_SZ") {
    result.kind = OperandKind::Immediate;
    result.value = 32;
    return true;
  }
  if (text.starts_with('%')) {
    if (peek().kind == Token::Kind::Dotted && peek().text.data() == text.data() + text.size() + 1)
      text = std::string_view(text.data(), text.size() + 1 + take().text.size());
    if (auto special = specialFromName(text)) {
      result.kind = OperandKind::Special;
      result.index = uint32_t(*special);
      return true;
    }
  }
  if (auto symbol = find(text)) {
    constexpr OperandKind kinds[] = {OperandKind::Register, OperandKind::Variable, OperandKind::Variable,
                                     OperandKind::Parameter, OperandKind::Function};
    result.kind = kinds[size_t(symbol->kind)];
    result.isModule = symbol->kind == Symbol::Kind::ModuleVariable;
    result.index = symbol->index;
    uint64_t offset = 0;
    if (result.kind == OperandKind::Variable && peek().is('+')) {
      take();
      if (!integer(offset))
        return false;
    }
    result.value = int64_t(offset);
    return true;
  }
  if (text.starts_with('%'))
    return fail(nameToken, "unknown register");
  unknown = nameToken;
  return true;
}

bool Parser::constant(Operand &result) {
  result.kind = OperandKind::Immediate;
  const Token &token = peek();
  bool complement = accept('~');
  bool isNegative = peek().is('-');
  std::string_view text = peek(isNegative ? 1 : 0).text;
  bool isBits = text.size() > 2 && text[0] == '0' &&
                (text[1] == 'f' || text[1] == 'F' || text[1] == 'd' || text[1] == 'D');
  bool isDecimal = text.find_first_not_of("0123456789") != text.npos && // 1.5, .5, 1e5
                   text.find_first_of(".eE") == text.find_first_not_of("0123456789");
  if (!isBits && !isDecimal) {
    uint64_t value = 0;
    if (!integer(value))
      return false;
    result.value = int64_t(complement ? ~value : value);
    return true;
  }
  accept('-');
  take();
  result.isFloat = true;
  uint64_t bits = 0;
  if (isBits) {
    bool isSingle = text[1] == 'f' || text[1] == 'F';
    result.floatBits = isSingle ? 32 : 64;
    auto [end, code] = std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
    if (text.size() != (isSingle ? 10u : 18u) || code != std::errc() || end != text.data() + text.size())
      return fail(token, "a float in hexadecimal has 8 or 16 digits");
  } else {
    result.floatBits = 64;
    double value = 0;
    auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code != std::errc() || end != text.data() + text.size())
      return fail(token, "not a number");
    bits = std::bit_cast<uint64_t>(value);
  }
  if (isNegative)
    bits ^= uint64_t(1) << (result.floatBits - 1);
  result.value = int64_t(bits);
  return true;
}

bool Parser::vectorOperand(Operand &result) {
  constexpr size_t mostParts = 128; // a lane's of 64 x 256 elements that four warps hold
  take();
  result.kind = OperandKind::Vector;
  std::vector<Operand> parts;
  do {
    Token unknown, token = peek();
    if (!simpleOperand(parts.emplace_back(), unknown))
      return false;
    if (unknown.kind == Token::Kind::Name)
      return fail(token, "unknown name");
    if (parts.size() > mostParts)
      return fail(token, "a vector has at most " + std::to_string(mostParts) + " parts");
  } while (accept(','));
  result.first = uint32_t(kernel_->parts.size());
  result.count = uint32_t(parts.size());
  kernel_->parts.insert(kernel_->parts.end(), parts.begin(), parts.end());
  return expect('}');
}

// [base], [base + N], [base - N], [N], [base, {coordinates}]
bool Parser::addressOperand(Operand &result) {
  take();
  result.kind = OperandKind::Address;
  Token unknown, token = peek();
  Operand base;
  if (!simpleOperand(base, unknown))
    return false;
  if (unknown.kind == Token::Kind::Name)
    return fail(token, "unknown name");
  if (base.kind == OperandKind::Immediate) {
    result.value = base.value;
  } else {
    result.value = base.value;
    base.value = 0;
    result.first = uint32_t(kernel_->parts.size());
    result.count = 1;
    kernel_->parts.push_back(base);
    uint64_t offset = 0;
    if (accept('+') || peek().is('-')) {
      if (!integer(offset))
        return false;
      result.value = int64_t(uint64_t(result.value) + offset);
    }
    if (accept(',')) {
      Operand coordinates;
      if (!peek().is('{'))
        return fail(peek(), "coordinates are a list in braces");
      if (!vectorOperand(coordinates))
        return false;
      // They follow the base.
      std::vector<Operand> parts(kernel_->parts.begin() + coordinates.first, kernel_->parts.end());
      result.first = uint32_t(kernel_->parts.size());
      result.count = 1 + uint32_t(parts.size());
      kernel_->parts.push_back(base);
      kernel_->parts.insert(kernel_->parts.end(), parts.begin(), parts.end());
    }
  }
  return expect(']');
}

// call (returned), name, (arguments);   call name, (arguments);   call name;
// Operands: the function, then Vector of the returned, Vector of the arguments.
bool Parser::callOperands(Instruction &instruction) {
  auto list = [&](Operand &result) {
    std::vector<Operand> parts;
    result.kind = OperandKind::Vector;
    if (!expect('('))
      return false;
    if (!accept(')')) {
      do {
        Token unknown, token = peek();
        if (!simpleOperand(parts.emplace_back(), unknown))
          return false;
        if (unknown.kind == Token::Kind::Name)
          return fail(token, "unknown name");
      } while (accept(','));
      if (!expect(')'))
        return false;
    }
    result.first = uint32_t(kernel_->parts.size());
    result.count = uint32_t(parts.size());
    kernel_->parts.insert(kernel_->parts.end(), parts.begin(), parts.end());
    return true;
  };
  Operand returned, function, arguments;
  returned.kind = arguments.kind = OperandKind::Vector;
  if (peek().is('(') && (!list(returned) || !expect(',')))
    return false;
  Token unknown, token = peek();
  if (!simpleOperand(function, unknown))
    return false;
  if (unknown.kind == Token::Kind::Name || function.kind != OperandKind::Function)
    return fail(token, "calls an unknown function");
  if (accept(',') && !list(arguments))
    return false;
  for (const Operand &one : {function, returned, arguments})
    kernel_->operands.push_back(one);
  instruction.operandCount = 3;
  return true;
}

bool Parser::finishCall(const Instruction &instruction, const Candidate &candidate) {
  const std::string &function = module_.functions[kernel_->operands[instruction.firstOperand].index].name;
  auto body = bodies_.find(function);
  return body == bodies_.end() ? finish(instruction, candidate, {}) : inlineCall(instruction, body->first);
}

// What the parts of a mnemonic forbid each other, across all rows.
static std::string_view contradiction(const Modifiers &has) {
  auto any = [&](std::initializer_list<Modifier> list) {
    return std::any_of(list.begin(), list.end(), [&](Modifier one) { return has[size_t(one)]; });
  };
  bool elsewhere = any({Modifier::shared, Modifier::sharedCta, Modifier::local, Modifier::Const,
                        Modifier::param, Modifier::paramEntry, Modifier::paramFunc});
  bool firstLevel = any({Modifier::l1EvictNormal, Modifier::l1EvictUnchanged, Modifier::l1EvictFirst,
                         Modifier::l1EvictLast, Modifier::l1NoAllocate});
  bool secondLevel =
      any({Modifier::l2CacheHint, Modifier::l2Prefetch64, Modifier::l2Prefetch128, Modifier::l2Prefetch256});
  bool isCopy = has[size_t(Modifier::async)]; // names both spaces
  if (elsewhere && !isCopy && (firstLevel || secondLevel))
    return "cache hints are for global memory";
  if (firstLevel &&
      any({Modifier::ca, Modifier::cg, Modifier::cs, Modifier::lu, Modifier::cv, Modifier::wb, Modifier::wt}))
    return "a cache operator and an eviction priority exclude each other";
  return "";
}

// ---- do the operands fit a row? ---------------------------------------------------------------

// A load's, store's or mov.b's register may stand in braces, a vector of one.
void Parser::takeOffBraces(const OperandSpec &spec, Type type, Operand &operand) const {
  using Kind = OperandSpec::Kind;
  bool isMov = spec.kind == Kind::MovDestination || spec.kind == Kind::MovSource;
  bool mayBeVector = spec.kind == Kind::VectorDestination || spec.kind == Kind::VectorSource ||
                     (isMov && kind(type) == TypeKind::Bits);
  if (mayBeVector && operand.kind == OperandKind::Vector && operand.count == 1)
    operand = Operand(kernel_->parts[operand.first]);
}

std::string Parser::whyNot(const Candidate &candidate, std::span<Written> operands) {
  const Form &form = *candidate.form;
  const Modifiers &has = candidate.spelling.modifiers;
  if (std::string_view why = contradiction(has); !why.empty())
    return std::string(why);
  unsigned lanes = 1;
  if (has[size_t(Modifier::v2)])
    lanes = 2;
  if (has[size_t(Modifier::v4)])
    lanes = 4;
  if (has[size_t(Modifier::v8)])
    lanes = 8;
  size_t at = 0;
  for (size_t i = 0; i < form.specs.size(); ++i) {
    const OperandSpec &spec = form.specs[i];
    bool isThere = at < operands.size() && operands[at].afterBar == spec.afterBar;
    // A cache policy is there if and only if the mnemonic says so.
    bool isPolicy = spec.isOptional && spec.type == Type::B64 && spec.kind == OperandSpec::Kind::Source;
    if (isPolicy && isThere != has[size_t(Modifier::l2CacheHint)])
      return isThere ? "a cache policy without .L2::cache_hint" : "a cache policy is missing";
    if (!isThere) {
      if (spec.isOptional)
        continue;
      return "an operand is missing";
    }
    Type type = spec.slot >= 0 ? candidate.spelling.types[size_t(spec.slot)] : spec.type;
    Operand &operand = operands[at].operand;
    // Where the row names a type of bits, such as a mask or a cache policy, floats have no place; nor in
    // redux.
    bool isFloat = operand.isFloat || (operand.kind == OperandKind::Register &&
                                       kind(kernel_->registers[operand.index].type) == TypeKind::Float);
    bool takesFloats = spec.slot >= 0 && form.lower != "Redux";
    if (isFloat && !takesFloats && kind(type) == TypeKind::Bits)
      return "operand " + std::to_string(at + 1) + " is a float";
    if (std::string why = checkConstant(form, has, at, operand); !why.empty())
      return why;
    if (spec.kind == OperandSpec::Kind::Targets && operand.kind == OperandKind::Label)
      operand.kind = OperandKind::Targets;
    if (lanes == 1)
      takeOffBraces(spec, type, operand);
    std::string why = checkOperand(spec, type, lanes, candidate.spelling, operand);
    if (!why.empty())
      return "operand " + std::to_string(at + 1) + " " + why;
    ++at;
  }
  if (at != operands.size())
    return "too many operands";
  bool isProduct = form.lower == "Product";
  if (isProduct && isInteger(candidate.spelling.types[0]) && candidate.spelling.columns > 32 &&
      candidate.spelling.columns % 16)
    return "above 32 the columns of integers are a multiple of 16";
  if (has[size_t(Modifier::async)])
    for (const Written &written : operands)
      if (written.operand.kind == OperandKind::Address && written.operand.count == 0)
        return "an address is a register or a variable";
  return form.lower == "CopyAsync" ? checkCopySizes(has, operands) : "";
}

// cp.async: the size is a constant, and so may be the size of the source, which is no larger.
std::string Parser::checkCopySizes(const Modifiers &has, std::span<Written> operands) {
  int64_t size = operands[2].operand.value;
  if (has[size_t(Modifier::cg)] ? size != 16 : size != 4 && size != 8 && size != 16)
    return has[size_t(Modifier::cg)] ? ".cg copies 16 bytes" : "a copy is of 4, 8 or 16 bytes";
  bool hasSourceSize = operands.size() > 3 && operands[3].operand.kind == OperandKind::Immediate;
  if (hasSourceSize && (operands[3].operand.value < 0 || operands[3].operand.value > size))
    return "the source's size is at most that of the copy";
  return "";
}

// tensormap.replace: the number of a dimension, or the value of a field that is one of few.
std::string Parser::checkMapConstant(const Modifiers &has, size_t at, uint64_t value) {
  struct Bound {
    Modifier field;
    uint64_t most;
  };
  constexpr Bound ofDimensions[] = {{Modifier::mapBox, 4},
                                    {Modifier::mapExtent, 4},
                                    {Modifier::mapStride, 3},
                                    {Modifier::mapElementStride, 4}};
  constexpr Bound ofValues[] = {{Modifier::mapType, 12},
                                {Modifier::mapInterleave, 2},
                                {Modifier::mapSwizzle, 3},
                                {Modifier::mapFill, 1}};
  if (at != 1)
    return "";
  for (auto [field, most] : ofDimensions)
    if (has[size_t(field)] && value > most)
      return "the number of a dimension is at most " + std::to_string(most);
  for (auto [field, most] : ofValues)
    if (has[size_t(field)] && value > most)
      return "the value of this field is at most " + std::to_string(most);
  return "";
}

// Constants whose range is bound: barriers, counts of threads, bit fields, fractions.
std::string Parser::checkConstant(const Form &form, const Modifiers &has, size_t at, const Operand &operand) {
  bool isRed = form.lower == "BarRed";
  if (operand.kind != OperandKind::Immediate)
    return "";
  if (form.lower == "PhaseArrive" && at == 2 && !has[size_t(Modifier::expectBytes)])
    return operand.value < 1 ? "a number of arrivals is 1 or more" : "";
  if (form.lower == "PhaseWait" && at == 2 && has[size_t(Modifier::parity)])
    return uint64_t(operand.value) > 1 ? "a parity is 0 or 1" : "";
  if (form.mnemonic == "setmaxnreg")
    return operand.value < 24 || operand.value > 256 || operand.value % 8
               ? "a number of registers is a multiple of 8 from 24 to 256"
               : "";
  if (form.mnemonic == "pmevent")
    return uint64_t(operand.value) > 15 ? "there are 16 events" : "";
  if (form.lower == "MapReplace")
    return checkMapConstant(has, at, uint64_t(operand.value));
  if ((form.lower == "Bfe" || form.lower == "Bfi") && at + 2 >= form.specs.size())
    return uint64_t(operand.value) > 255 ? "a bit field's place and length are at most 255" : "";
  if (form.lower == "CreatePolicy" && operand.isFloat) {
    auto value = operand.floatBits == 32 ? double(std::bit_cast<float>(uint32_t(operand.value)))
                                         : std::bit_cast<double>(operand.value);
    return value > 0 && value <= 1 ? "" : "a fraction is above 0 and at most 1";
  }
  if (form.lower == "MoveMatrix")
    return "a fragment is a register";
  if (form.lower == "MapFence" || form.lower == "MapPublish")
    return operand.value == 128 ? "" : "a map has 128 bytes";
  if ((form.lower == "BulkCopy" || form.lower == "BulkStore") && form.specs[at].type == Type::U32) {
    constexpr uint64_t unit = 16, most = 1048560;
    auto size = uint64_t(operand.value);
    return size % unit || size > most ? "a size is a multiple of 16, at most 1048560" : "";
  }
  if (form.lower == "ProductWait")
    return operand.value < 0 ? "a number of groups is not negative" : "";
  if (form.lower == "Product" && form.specs[at].kind == OperandSpec::Kind::Immediate) {
    constexpr size_t scalesEnd = 6; // D, A, B, the predicate, two scales; then what is transposed
    if (at < scalesEnd)
      return operand.value == 1 || operand.value == -1 ? "" : "a scale is 1 or -1";
    return operand.value == 0 || operand.value == 1 ? "" : "a matrix is transposed by 1, or not by 0";
  }
  if (form.lower != "Bar" && !isRed)
    return "";
  size_t number = isRed ? 1 : 0;
  auto value = uint64_t(operand.value);
  if (at == number && value > 15)
    return "there are 16 barriers";
  bool isCount = at == number + 1 && form.specs[at].kind == OperandSpec::Kind::Source;
  return isCount && (value == 0 || value % 32) ? "the number of threads is a multiple of 32" : "";
}

std::string Parser::checkOperand(const OperandSpec &spec, Type type, unsigned lanes, const Spelling &spelling,
                                 const Operand &operand) {
  using Kind = OperandSpec::Kind;
  bool isRegister = operand.kind == OperandKind::Register;
  Type registerType = isRegister ? kernel_->registers[operand.index].type : Type::None;
  if (operand.negated && spec.kind != Kind::PredicateIn)
    return "may not be negated";
  switch (spec.kind) {
  case Kind::PredicateOut:
    if (operand.kind == OperandKind::Sink && (spec.maySink || spec.afterBar))
      return "";
    return registerType == Type::Pred ? "" : "is not a predicate";
  case Kind::PredicateIn:
    if (operand.kind == OperandKind::Immediate && !operand.isFloat && !operand.negated)
      return "";
    return registerType == Type::Pred ? "" : "is not a predicate";
  case Kind::Address: {
    if (operand.kind != OperandKind::Address)
      return "is not an address";
    auto isCoordinate = [&](const Operand &part) {
      if (part.kind == OperandKind::Immediate)
        return !part.isFloat;
      Type partType = part.kind == OperandKind::Register ? kernel_->registers[part.index].type : Type::None;
      return bitWidth(partType) == 32 && (kind(partType) == TypeKind::Bits || isInteger(partType));
    };
    if (operand.count != 0 && operand.count != spec.count + 1u)
      return spec.count ? "has another number of coordinates" : "has coordinates";
    if (operand.count > 1 && operand.value != 0)
      return "has an offset beside coordinates";
    for (uint32_t i = 1; i < operand.count; ++i)
      if (!isCoordinate(kernel_->parts[operand.first + i]))
        return "has a coordinate that is no integer of 32 bits";
    if (operand.count == 0)
      return spec.count ? "has no coordinates" : "";
    const Operand &base = kernel_->parts[operand.first];
    if (base.kind != OperandKind::Register)
      return base.kind == OperandKind::Variable || base.kind == OperandKind::Parameter ? ""
                                                                                       : "has no such base";
    Type baseType = kernel_->registers[base.index].type;
    bool isInt = kind(baseType) == TypeKind::Bits || isInteger(baseType);
    const Modifiers &has = spelling.modifiers;
    bool isNear = has[size_t(Modifier::shared)] || has[size_t(Modifier::sharedCta)] ||
                  has[size_t(Modifier::sharedCluster)] || has[size_t(Modifier::local)] ||
                  has[size_t(Modifier::Const)] || has[size_t(Modifier::param)];
    unsigned bits = bitWidth(baseType);
    bool isWide = type == Type::B64 || !isNear; // an address of global memory beside one of shared memory
    return isInt && (bits == 64 || (bits == 32 && !isWide)) ? "" : "has a base that is no address";
  }
  case Kind::Label: return operand.kind == OperandKind::Label ? "" : "is not a label";
  case Kind::Targets: return operand.kind == OperandKind::Targets ? "" : "is not a list of targets";
  case Kind::Immediate:
    return operand.kind == OperandKind::Immediate && !operand.isFloat ? "" : "is not an integer constant";
  case Kind::MovDestination: return checkMov(false, type, operand);
  case Kind::MovSource: return checkMov(true, type, operand);
  case Kind::VectorDestination:
  case Kind::VectorSource:
    if (lanes > 1 && bitWidth(type) * lanes > 128 && operand.kind == OperandKind::Vector &&
        operand.count == lanes)
      return "is a vector of more than 128 bits";
    return lanes == 1 ? checkRegister(spec, type, operand) : checkVector(spec, type, lanes, operand);
  case Kind::Destination:
  case Kind::Source:
    if (spec.ofColumns)
      return checkVector(spec, type, spelling.columns / 2u, operand);
    return spec.count ? checkVector(spec, type, spec.count, operand) : checkRegister(spec, type, operand);
  case Kind::Call: return "";
  }
  return "is not understood";
}

std::string Parser::checkVector(const OperandSpec &spec, Type type, unsigned count, const Operand &operand) {
  if (operand.kind != OperandKind::Vector || operand.count != count)
    return "is not a vector of " + std::to_string(count);
  unsigned width = 0;
  for (uint32_t i = 0; i < operand.count; ++i) {
    const Operand &part = kernel_->parts[operand.first + i];
    if ((spec.count || spec.ofColumns) && part.kind == OperandKind::Immediate)
      return "has a constant for a register of a matrix";
    if (std::string why = checkRegister(spec, type, part); !why.empty())
      return why;
    if (part.kind != OperandKind::Register)
      continue;
    unsigned bits = bitWidth(kernel_->registers[part.index].type);
    if (width && bits != width)
      return "has parts of different widths";
    width = bits;
  }
  return "";
}

std::string Parser::checkRegister(const OperandSpec &spec, Type type, const Operand &operand) {
  using Kind = OperandSpec::Kind;
  bool isSource = spec.kind == Kind::Source || spec.kind == Kind::VectorSource;
  unsigned bits = bitWidth(type) * (spec.isDouble ? 2 : 1);
  bool isFloatLike = kind(type) == TypeKind::Float || kind(type) == TypeKind::Packed;
  if (operand.kind == OperandKind::Sink)
    return spec.maySink || spec.kind == Kind::VectorDestination ? "" : "may not be _";
  if (operand.kind == OperandKind::Immediate) {
    if (!isSource)
      return "is written and may not be a constant";
    if (operand.isFloat)
      return type == Type::F32 || type == Type::F64 ||
                     (kind(type) == TypeKind::Bits && bits == operand.floatBits)
                 ? ""
                 : "may not be a float constant";
    return isFloatLike ? "may not be an integer constant" : "";
  }
  if (operand.kind == OperandKind::Special)
    return "is a special register, which only mov reads";
  if (operand.kind != OperandKind::Register)
    return "is not a register";
  Type got = kernel_->registers[operand.index].type;
  if (got == Type::Pred)
    return "is a predicate";
  if (spec.mayBeWider && kind(got) != TypeKind::Float && !isFloatLike ? bitWidth(got) < bits
                                                                      : bitWidth(got) != bits)
    return "has " + std::to_string(bitWidth(got)) + " bits, not " + std::to_string(bits);
  TypeKind mine = kind(got), wanted = kind(type);
  if (mine == TypeKind::Bits || wanted == TypeKind::Bits)
    return "";
  if (isInteger(got) && isInteger(type))
    return "";
  // u16x2 and its kin live in any 32-bit register of integers.
  if (got == type || (wanted == TypeKind::Packed && isInteger(got)))
    return "";
  return "is of another type than ." + std::string(ptxvm::name(type));
}

std::string Parser::checkMov(bool isSource, Type type, const Operand &operand) {
  OperandSpec spec;
  spec.kind = isSource ? OperandSpec::Kind::Source : OperandSpec::Kind::Destination;
  if (operand.kind == OperandKind::Variable || operand.kind == OperandKind::Parameter) {
    if (!isSource)
      return "is written and may not be an address";
    return bitWidth(type) == 64 || bitWidth(type) == 32 ? "" : "is an address of 64 bits";
  }
  if (operand.kind == OperandKind::Special && isSource) {
    unsigned bits = bitWidth(typeOf(Special(operand.index)));
    return bitWidth(type) == bits || (bits == 32 && bitWidth(type) == 64) ? "" : "has another width";
  }
  if (operand.kind != OperandKind::Vector)
    return checkRegister(spec, type, operand);
  if (kind(type) != TypeKind::Bits)
    return "is a vector, for which mov takes .b types";
  if (operand.count != 2 && operand.count != 4)
    return "is not a vector of 2 or 4";
  for (uint32_t i = 0; i < operand.count; ++i) {
    const Operand &part = kernel_->parts[operand.first + i];
    if (part.kind == OperandKind::Sink && !isSource)
      continue;
    if (part.kind == OperandKind::Immediate && isSource)
      continue;
    if (part.kind != OperandKind::Register)
      return "is not a vector of registers";
    if (bitWidth(kernel_->registers[part.index].type) * operand.count != bitWidth(type))
      return "has parts of another width";
  }
  return "";
}

} // namespace tegula::ptxvm
