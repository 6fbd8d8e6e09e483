// Calls of functions that have a body in the module: the body is parsed where it is called, as a scope of its
// own whose parameters are the caller's .param variables, and `ret` goes behind the call. So the machine has
// no frames. A function that calls itself is refused.
#include "ptxvm/parse/Parser.h"

#include <algorithm>
#include <utility>

namespace tegula::ptxvm {
namespace {

// No name of a program has a blank.
constexpr std::string_view returnLabel = "behind the call";

} // namespace

// A function may be called above the place of its body.
void Parser::findBodies() {
  size_t depth = 0;
  for (size_t at = 0; at + 1 < tokens_.size(); ++at) {
    depth += tokens_[at].is('{');
    depth -= depth && tokens_[at].is('}');
    if (depth || !tokens_[at].isDotted("func"))
      continue;
    size_t start = at + 1, nameAt = start;
    if (tokens_[nameAt].is('('))
      while (nameAt + 1 < tokens_.size() && !tokens_[nameAt++].is(')'))
        ;
    size_t end = nameAt;
    while (end + 1 < tokens_.size() && !tokens_[end].is(';') && !tokens_[end].is('{'))
      ++end;
    if (tokens_[end].is('{'))
      bodies_.emplace(tokens_[nameAt].text, start);
  }
}

// The names of one list of a function's head stand for the variables of the call.
bool Parser::bindFormals(const Instruction &call, const Operand &actuals, std::span<const Formal> formals) {
  if (actuals.count != formals.size())
    return failStatement(call.line, "the function has another number of parameters", call.text);
  for (uint32_t i = 0; i != actuals.count; ++i) {
    const Operand &actual = kernel_->parts[actuals.first + i];
    const auto &[token, parameter] = formals[i];
    if (actual.kind != OperandKind::Variable || actual.isModule || actual.value ||
        kernel_->variables[actual.index].space != Space::Param)
      return fail(token, "is called with no .param variable");
    if (kernel_->variables[actual.index].bytes != parameter.bytes)
      return fail(token, "is called with a variable of another size");
    if (!declare(token.text, token, {Symbol::Kind::Variable, actual.index}))
      return false;
  }
  return true;
}

// [@guard] bra to behind the call.
bool Parser::leaveCall(Instruction branch) {
  Written target;
  target.operand.kind = OperandKind::Label;
  target.token.text = returnLabel;
  target.token.line = branch.line;
  branch.operandCount = 0;
  return finish(std::move(branch), candidates("bra").front(), {&target, 1});
}

bool Parser::inlineCall(const Instruction &call, std::string_view function) {
  constexpr size_t mostNested = 64, mostInstructions = 1 << 16;
  if (std::find(calls_.begin(), calls_.end(), function) != calls_.end())
    return failStatement(call.line, "a function that calls itself is not executed by this machine",
                         call.text);
  if (calls_.size() == mostNested || kernel_->instructions.size() > mostInstructions)
    return failStatement(call.line, "calls become more than this machine executes", call.text);
  Operand returned = kernel_->operands[call.firstOperand + 1];
  Operand arguments = kernel_->operands[call.firstOperand + 2];
  size_t after = at_;
  int32_t location = location_;
  std::vector<uint32_t> outside = std::exchange(open_, {uint32_t(scopes_.size())});
  uint32_t scope = open_[0];
  scopes_.emplace_back();
  calls_.push_back(function);
  at_ = bodies_.at(function);
  bool done = true;
  if (call.guard.kind == OperandKind::Register) {
    Instruction around = call;
    around.guard.negated = !around.guard.negated;
    done = leaveCall(around);
  }
  std::vector<Formal> results, parameters;
  std::string_view ignored;
  done = done && (!peek().is('(') || parameterList(nullptr, &results)) && name(ignored) &&
         (!peek().is('(') || parameterList(nullptr, &parameters)) && bindFormals(call, returned, results) &&
         bindFormals(call, arguments, parameters);
  while (done && !peek().is('{'))
    take(); // attributes, which the head was read with
  done = done && expect('{');
  while (done && !open_.empty())
    done = statement();
  scopes_[scope].labels.emplace(returnLabel, uint32_t(kernel_->instructions.size()));
  calls_.pop_back();
  open_ = std::move(outside);
  location_ = location;
  at_ = after;
  return done;
}

} // namespace tegula::ptxvm
