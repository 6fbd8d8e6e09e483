// Bodies of entries: scopes, registers, labels, .loc. A scope's names end with it; a label may be
// named before it stands, so labels are resolved when the body ends.
#include "ptxvm/parse/Parser.h"

#include <charconv>

namespace tegula::ptxvm {

bool Parser::body() {
  while (!open_.empty())
    if (!statement())
      return false;
  bool resolved = resolveLabels();
  kernel_ = nullptr;
  return resolved;
}

bool Parser::statement() {
  const Token &token = peek();
  if (token.is('{')) {
    take();
    scopes_.emplace_back().parent = int32_t(open_.back());
    open_.push_back(uint32_t(scopes_.size() - 1));
    return true;
  }
  if (token.is('}')) {
    take();
    open_.pop_back();
    return true;
  }
  if (token.is(';')) {
    take();
    return true;
  }
  if (token.kind == Token::Kind::Dotted) {
    if (token.text == "reg")
      return registers();
    if (token.text == "loc")
      return location();
    if (token.text == "file" || token.text == "section" || token.text == "pragma")
      return topLevel();
    return variables(acceptDotted("extern"));
  }
  if (token.isName() && peek(1).is(':'))
    return label();
  if (token.isName() || token.is('@'))
    return instruction();
  return fail(token, "expected an instruction");
}

bool Parser::registers() {
  take();
  Token typeToken = take();
  if (typeToken.isDotted("v2") || typeToken.isDotted("v4"))
    return fail(typeToken, "vector registers are not known");
  std::optional<Type> type =
      typeToken.kind == Token::Kind::Dotted ? typeFromName(typeToken.text) : std::nullopt;
  if (!type)
    return fail(typeToken, "expected the type of a register");
  if (*type == Type::B128 && module_.version < 83)
    return fail(typeToken, "registers of 128 bits need .version 8.3");
  do {
    Token token = peek();
    std::string_view text;
    uint64_t count = 0;
    if (!name(text))
      return false;
    if (accept('<')) {
      if (!integer(count) || !expect('>'))
        return false;
      if (!scopes_[open_.back()].ranges.emplace(text, Range{*type, count}).second)
        return fail(token, "this name is declared already");
    } else if (rangeOf(text, scopes_[open_.back()])) {
      return fail(token, "this name is declared already");
    } else if (!declare(text, token, {Symbol::Kind::Register, addRegister(text, *type)})) {
      return false;
    }
  } while (accept(','));
  return expect(';');
}

uint32_t Parser::addRegister(std::string_view name, Type type) {
  kernel_->registers.push_back({std::string(name), type});
  return uint32_t(kernel_->registers.size() - 1);
}

bool Parser::declare(std::string_view name, const Token &where, Symbol symbol) {
  Scope &scope = scopes_[open_.back()];
  if (!scope.symbols.emplace(name, symbol).second)
    return fail(where, "this name is declared already");
  return true;
}

// The range of registers of a scope that has this name: %r<9> has %r0 to %r8.
const Parser::Range *Parser::rangeOf(std::string_view name, const Scope &scope) {
  for (size_t length = 1; length < name.size() && !scope.ranges.empty(); ++length) {
    std::string_view number = name.substr(name.size() - length);
    if (number[0] < '0' || number[0] > '9')
      break;
    auto it = scope.ranges.find(name.substr(0, name.size() - length));
    uint64_t value = 0;
    if (it != scope.ranges.end() && (number.size() == 1 || number[0] != '0') &&
        std::from_chars(number.data(), number.data() + number.size(), value).ec == std::errc() &&
        value < it->second.count)
      return &it->second;
  }
  return nullptr;
}

std::optional<Parser::Symbol> Parser::find(std::string_view name) {
  for (size_t i = open_.size(); i-- > 0;) {
    Scope &scope = scopes_[open_[i]];
    if (auto it = scope.symbols.find(name); it != scope.symbols.end())
      return it->second;
    if (const Range *range = rangeOf(name, scope)) {
      Symbol symbol{Symbol::Kind::Register, addRegister(name, range->type)};
      scope.symbols.emplace(name, symbol);
      return symbol;
    }
  }
  auto it = globals_.find(name);
  return it == globals_.end() ? std::nullopt : std::optional(it->second);
}

// .loc FILE LINE COLUMN [, function_name LABEL [+ N], inlined_at FILE LINE COLUMN]
bool Parser::location() {
  take();
  uint64_t values[6] = {};
  for (int i = 0; i < 3; ++i)
    if (!integer(values[i]))
      return false;
  Location result{uint32_t(values[0]), uint32_t(values[1]), uint32_t(values[2]), -1};
  while (accept(',')) {
    Token token = take();
    if (token.text == "function_name") {
      std::string_view ignored;
      if (!name(ignored) || (accept('+') && !integer(values[3])))
        return false;
    } else if (token.text == "inlined_at") {
      for (int i = 3; i < 6; ++i)
        if (!integer(values[i]))
          return false;
      // The place of the call is one that was said before.
      for (size_t i = kernel_->locations.size(); i-- > 0;) {
        const Location &outer = kernel_->locations[i];
        if (outer.file == values[3] && outer.line == values[4] && outer.column == values[5]) {
          result.inlinedAt = int32_t(i);
          break;
        }
      }
      if (result.inlinedAt < 0) {
        kernel_->locations.push_back({uint32_t(values[3]), uint32_t(values[4]), uint32_t(values[5]), -1});
        result.inlinedAt = int32_t(kernel_->locations.size() - 1);
      }
    } else {
      return fail(token, "unknown part of .loc");
    }
  }
  location_ = int32_t(kernel_->locations.size());
  kernel_->locations.push_back(result);
  return true;
}

bool Parser::label() {
  Token token = take();
  take();
  if (peek().isDotted("branchtargets"))
    return branchTargets(token.text);
  if (peek().isDotted("calltargets") || peek().isDotted("callprototype"))
    return fail(peek(), "indirect calls are not executed by this machine");
  Scope &scope = scopes_[open_.back()];
  if (!scope.labels.emplace(token.text, uint32_t(kernel_->instructions.size())).second)
    return fail(token, "this label stands already");
  return true;
}

bool Parser::branchTargets(std::string_view listName) {
  take();
  auto list = uint32_t(kernel_->targets.size());
  kernel_->targets.emplace_back();
  scopes_[open_.back()].targetLists.emplace(listName, list);
  do {
    Token token = peek();
    std::string_view text;
    if (!name(text))
      return false;
    PendingLabel pending{0,     int32_t(list), uint32_t(kernel_->targets[list].size()), open_.back(),
                         token, false};
    labels_.push_back(pending);
    kernel_->targets[list].push_back(0);
  } while (accept(','));
  return expect(';');
}

bool Parser::resolveLabels() {
  for (const PendingLabel &pending : labels_) {
    std::optional<uint32_t> target;
    for (int32_t at = int32_t(pending.scope); at >= 0 && !target; at = scopes_[at].parent) {
      const auto &names = pending.isList ? scopes_[at].targetLists : scopes_[at].labels;
      if (auto it = names.find(pending.name.text); it != names.end())
        target = it->second;
    }
    if (!target)
      return fail(pending.name, "no such label");
    if (pending.list >= 0)
      kernel_->targets[pending.list][pending.element] = *target;
    else
      kernel_->operands[pending.operand].index = *target;
  }
  return true;
}

} // namespace tegula::ptxvm
