// The door of the parser, its tokens and its errors.
#include "ptxvm/parse/Parser.h"

#include <algorithm>
#include <charconv>

namespace tegula::ptxvm {

Result<std::shared_ptr<const Module>> parse(std::string_view text, std::string name) {
  auto module = std::make_shared<Module>();
  module->name = std::move(name);
  module->text = std::string(text);
  Parser parser(*module);
  if (!parser.module())
    return parser.takeError();
  return std::shared_ptr<const Module>(std::move(module));
}

const PtxKernel *Module::find(std::string_view entry) const {
  for (const auto &kernel : kernels)
    if (kernel->name == entry)
      return kernel.get();
  return nullptr;
}

// The place where the user's kernel stands: for inlined code the outermost call.
static const Location *place(const PtxKernel &kernel, uint32_t instruction) {
  if (instruction >= kernel.instructions.size() || kernel.instructions[instruction].location < 0)
    return nullptr;
  const Location *location = &kernel.locations[kernel.instructions[instruction].location];
  while (location->inlinedAt >= 0)
    location = &kernel.locations[location->inlinedAt];
  return location;
}

std::string_view PtxKernel::sourceFile(uint32_t instruction) const {
  const Location *location = place(*this, instruction);
  return location && location->file < module->files.size() ? std::string_view(module->files[location->file])
                                                           : std::string_view();
}
uint32_t PtxKernel::sourceLine(uint32_t instruction) const {
  const Location *location = place(*this, instruction);
  return location ? location->line : 0;
}

std::string_view name(Space space) {
  constexpr std::string_view names[] = {"generic", "global", "shared", "local", "const", "param"};
  return names[size_t(space)];
}

bool Parser::accept(char mark) {
  if (!peek().is(mark))
    return false;
  take();
  return true;
}
bool Parser::acceptDotted(std::string_view name) {
  if (!peek().isDotted(name))
    return false;
  take();
  return true;
}
bool Parser::expect(char mark) {
  return accept(mark) || fail(peek(), std::string("expected `") + mark + "`");
}

bool Parser::fail(const Token &where, std::string reason) {
  std::string text(where.text.substr(0, 120));
  if (where.kind == Token::Kind::Dotted)
    text = "." + text;
  return failStatement(where.line, std::move(reason), where.kind == Token::Kind::End ? "end of text" : text);
}

bool Parser::failStatement(uint32_t line, std::string reason, std::string_view text) {
  if (error_.ok())
    error_ = Status::error(StatusCode::Parse, module_.name + ":" + std::to_string(line) + ": " + reason +
                                                  ": `" + std::string(text.substr(0, 400)) + "`");
  return false;
}

bool Parser::name(std::string_view &text) {
  if (!peek().isName())
    return fail(peek(), "expected a name");
  text = take().text;
  return true;
}

bool Parser::integer(uint64_t &value) {
  bool negative = accept('-');
  const Token &token = peek();
  std::string_view digits = token.text;
  if (token.kind != Token::Kind::Number)
    return fail(token, "expected an integer");
  if (digits.ends_with('U'))
    digits.remove_suffix(1);
  int base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0X"))
    base = 16;
  else if (digits.starts_with("0b") || digits.starts_with("0B"))
    base = 2;
  if (base != 10)
    digits.remove_prefix(2);
  else if (digits.size() > 1 && digits[0] == '0')
    base = 8;
  auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (code != std::errc() || end != digits.data() + digits.size())
    return fail(token, "not an integer of 64 bits");
  take();
  if (negative)
    value = uint64_t(0) - value;
  return true;
}

// From after an opening brace to after its closing one.
bool Parser::skipBraces() {
  for (uint64_t depth = 1; depth;) {
    if (peek().kind == Token::Kind::End)
      return fail(peek(), "expected `}`");
    const Token &token = take();
    depth += token.is('{');
    depth -= token.is('}');
  }
  return true;
}

} // namespace tegula::ptxvm
