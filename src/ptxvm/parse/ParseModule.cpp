// Module scope: .version, .target, .file, variables with their initialisers, heads of functions
// and entries. PTX ISA manual, "PTX module directives", "Kernel entry and function directives".
#include "ptxvm/parse/Parser.h"

#include <bit>
#include <charconv>
#include <cstring>

namespace tegula::ptxvm {
namespace {

constexpr uint64_t mostBytes = uint64_t(1) << 32; // of one variable

std::optional<Space> spaceOf(std::string_view name) {
  if (name == "global")
    return Space::Global;
  if (name == "shared")
    return Space::Shared;
  if (name == "local")
    return Space::Local;
  if (name == "const")
    return Space::Const;
  if (name == "param")
    return Space::Param;
  return std::nullopt;
}

} // namespace

bool Parser::module() {
  if (!version() || !target())
    return false;
  findBodies();
  while (peek().kind != Token::Kind::End)
    if (!topLevel())
      return false;
  return true;
}

bool Parser::version() {
  if (!acceptDotted("version"))
    return fail(peek(), "a module starts with .version");
  Token token = take();
  size_t dot = token.text.find('.');
  uint32_t major = 0, minor = 0;
  const char *begin = token.text.data(), *end = begin + token.text.size();
  if (token.kind != Token::Kind::Number || dot == token.text.npos ||
      std::from_chars(begin, begin + dot, major).ptr != begin + dot ||
      std::from_chars(begin + dot + 1, end, minor).ptr != end || major > 99 || minor > 9)
    return fail(token, "expected a version such as 8.0");
  module_.version = major * 10 + minor;
  return true;
}

bool Parser::target() {
  if (!acceptDotted("target"))
    return fail(peek(), ".version is followed by .target");
  Token token = peek();
  std::string_view text;
  if (!name(text))
    return false;
  const char *begin = text.data() + 3, *end = text.data() + text.size();
  if (!text.starts_with("sm_"))
    return fail(token, "expected a target such as sm_90a");
  auto [rest, code] = std::from_chars(begin, end, module_.arch);
  if (code != std::errc() || end - rest > 1 || (rest != end && *rest != 'a' && *rest != 'f'))
    return fail(token, "expected a target such as sm_90a");
  if (rest != end)
    module_.archSuffix = *rest;
  while (accept(',')) {
    Token option = peek();
    if (!name(text))
      return false;
    if (text != "debug" && text != "texmode_independent" && text != "texmode_unified")
      return fail(option, "unknown option of .target");
  }
  if (acceptDotted("address_size")) {
    uint64_t bits = 0;
    Token where = peek();
    if (!integer(bits))
      return false;
    if (bits != 64)
      return fail(where, "only 64-bit addresses are known");
  }
  module_.files.assign(1, "");
  return true;
}

bool Parser::topLevel() {
  const Token &token = peek();
  if (token.is(';')) {
    take();
    return true;
  }
  if (token.kind != Token::Kind::Dotted)
    return fail(token, "expected a directive");
  if (token.text == "file")
    return file();
  if (token.text == "section") {
    while (!peek().is('{') && peek().kind != Token::Kind::End)
      take();
    return expect('{') && skipBraces();
  }
  if (token.text == "pragma") {
    take();
    while (!peek().is(';') && peek().kind != Token::Kind::End)
      take();
    return expect(';');
  }
  if (token.text == "loc") {
    for (uint32_t line = token.line; peek().line == line && peek().kind != Token::Kind::End;)
      take();
    return true;
  }
  return linkage();
}

bool Parser::linkage() {
  bool isExtern = false;
  for (;;) {
    if (acceptDotted("extern"))
      isExtern = true;
    else if (!acceptDotted("visible") && !acceptDotted("weak") && !acceptDotted("common"))
      break;
  }
  if (acceptDotted("entry"))
    return entry();
  if (acceptDotted("func"))
    return functionHeader();
  return variables(isExtern);
}

bool Parser::file() {
  take();
  uint64_t index = 0;
  Token where = peek();
  if (!integer(index))
    return false;
  if (index > 100000 || peek().kind != Token::Kind::String)
    return fail(where, "expected .file NUMBER \"NAME\"");
  if (module_.files.size() <= index)
    module_.files.resize(index + 1);
  module_.files[index] = std::string(take().text);
  for (uint64_t ignored; accept(',');) // time stamp, size
    if (!integer(ignored))
      return false;
  return true;
}

// .func [(returned)] name [(parameters)] attributes ;   A body is passed over: it is parsed where it is
// called.
bool Parser::functionHeader() {
  if (peek().is('(') && !parameterList(nullptr))
    return false;
  std::string_view functionName;
  if (!name(functionName) || (peek().is('(') && !parameterList(nullptr)))
    return false;
  acceptDotted("noreturn");
  auto index = uint32_t(module_.functions.size());
  module_.functions.push_back({std::string(functionName)});
  globals_[functionName] = {Symbol::Kind::Function, index};
  if (accept('{'))
    return skipBraces();
  return expect(';');
}

bool Parser::entry() {
  auto kernel = std::make_unique<PtxKernel>();
  kernel->module = &module_;
  kernel->line = peek().line;
  Token token = peek();
  std::string_view text;
  if (!name(text))
    return false;
  if (module_.find(text))
    return fail(token, "an entry of this name exists");
  kernel->name = std::string(text);
  kernel_ = kernel.get();
  module_.kernels.push_back(std::move(kernel));
  scopes_.assign(1, Scope());
  open_.assign(1, 0);
  labels_.clear();
  location_ = -1;
  if (peek().is('(') && !parameterList(kernel_))
    return false;
  while (peek().kind == Token::Kind::Dotted)
    if (!performanceDirective())
      return false;
  return expect('{') && body();
}

bool Parser::parameterList(PtxKernel *kernel, std::vector<Formal> *formals) {
  if (!expect('('))
    return false;
  if (accept(')'))
    return true;
  do {
    if (!parameter(kernel, formals))
      return false;
  } while (accept(','));
  return expect(')');
}

bool Parser::parameter(PtxKernel *kernel, std::vector<Formal> *formals) {
  Parameter result;
  uint64_t align = 0, extent = 0, ignored = 0;
  if (formals && peek().isDotted("reg"))
    return fail(peek(), "calls with parameters in registers are not executed by this machine");
  if (!acceptDotted("param") && !(kernel == nullptr && acceptDotted("reg")))
    return fail(peek(), "expected .param");
  if (acceptDotted("align") && !integer(align))
    return false;
  std::optional<Type> type = peek().kind == Token::Kind::Dotted ? typeFromName(peek().text) : std::nullopt;
  if (!type)
    return fail(peek(), "expected the type of a parameter");
  take();
  if (acceptDotted("ptr")) {
    if (peek().kind == Token::Kind::Dotted && spaceOf(peek().text))
      take();
    if (acceptDotted("align") && !integer(ignored))
      return false;
  }
  result.type = *type;
  Token token = peek();
  std::string_view text;
  if (!name(text))
    return false;
  result.name = std::string(text);
  result.bytes = byteSize(result.type);
  if (accept('[')) {
    result.isArray = true;
    if (!peek().is(']') && !integer(extent))
      return false;
    if (!expect(']'))
      return false;
    if (extent > 32768)
      return fail(token, "a parameter of more than 32,768 bytes");
    result.bytes *= extent;
  }
  result.align = uint32_t(align ? align : byteSize(result.type));
  if (!std::has_single_bit(result.align) || result.align > 128)
    return fail(token, "an alignment is a power of two up to 128");
  if (formals)
    formals->push_back({token, result});
  if (!kernel)
    return true;
  result.offset = (kernel->parameterBytes + result.align - 1) / result.align * result.align;
  kernel->parameterBytes = result.offset + result.bytes;
  if (kernel->parameterBytes > 32764)
    return fail(token, "more than 32,764 bytes of parameters");
  if (!declare(text, token, {Symbol::Kind::Parameter, uint32_t(kernel->parameters.size())}))
    return false;
  kernel->parameters.push_back(std::move(result));
  return true;
}

bool Parser::performanceDirective() {
  Token token = take();
  std::array<uint32_t, 3> ignored{};
  if (token.text == "reqntid")
    return triple(kernel_->reqntid);
  if (token.text == "maxntid")
    return triple(kernel_->maxntid);
  if (token.text == "minnctapersm" || token.text == "maxnctapersm" || token.text == "maxnreg" ||
      token.text == "maxclusterrank")
    return triple(ignored);
  if (token.text == "reqnctapercluster") {
    if (!triple(ignored))
      return false;
    if (ignored[0] * uint64_t(ignored[1]) * ignored[2] != 1)
      return fail(token, "clusters of several blocks are not executed by this machine");
    return true;
  }
  if (token.text == "explicitcluster")
    return true;
  if (token.text == "pragma") {
    if (peek().kind == Token::Kind::String)
      take();
    return expect(';');
  }
  return fail(token, "unknown directive of an entry");
}

bool Parser::triple(std::array<uint32_t, 3> &values) {
  values = {1, 1, 1};
  for (unsigned i = 0; i < 3; ++i) {
    uint64_t value = 0;
    Token where = peek();
    if (!integer(value))
      return false;
    if (value > 0x7fffffff)
      return fail(where, "too large");
    values[i] = uint32_t(value);
    if (!accept(','))
      break;
  }
  return true;
}

// .global .align 4 .v2 .b8 a[4] = {...}, b;   Also .shared, .local, .const, and .param in bodies.
bool Parser::variables(bool isExtern) {
  std::optional<Space> space = peek().kind == Token::Kind::Dotted ? spaceOf(peek().text) : std::nullopt;
  if (!space)
    return fail(peek(), "unknown directive");
  Token start = take();
  uint64_t align = 0;
  uint32_t lanes = 1;
  std::optional<Type> type;
  while (peek().kind == Token::Kind::Dotted) {
    Token token = take();
    if (token.text == "align") {
      if (!integer(align))
        return false;
      if (!std::has_single_bit(align) || align > 65536)
        return fail(token, "an alignment is a power of two");
    } else if (token.text == "v2" || token.text == "v4") {
      lanes = token.text == "v2" ? 2 : 4;
    } else if (token.text == "attribute") {
      return fail(token, "attributes of variables are not known");
    } else if (!(type = typeFromName(token.text)) || *type == Type::Pred) {
      return fail(token, "expected the type of a variable");
    }
  }
  if (!type)
    return fail(start, "a variable without a type");
  do {
    if (!variable(*space, uint32_t(align ? align : byteSize(*type) * lanes), *type, lanes, isExtern))
      return false;
  } while (accept(','));
  return expect(';');
}

bool Parser::variable(Space space, uint32_t align, Type type, uint32_t lanes, bool isExtern) {
  Variable result;
  Token token = peek();
  std::string_view text;
  if (!name(text))
    return false;
  result.name = std::string(text);
  result.space = space;
  result.align = align;
  result.isExtern = isExtern;
  result.isWritable = space != Space::Const;
  Shape shape{type, lanes, {}};
  result.bytes = uint64_t(byteSize(type)) * lanes;
  bool isUnsized = false;
  while (accept('[')) {
    uint64_t extent = 0;
    if (peek().is(']') && shape.extents.empty())
      isUnsized = true;
    else if (!integer(extent))
      return false;
    if (!expect(']'))
      return false;
    if (extent > mostBytes || (extent && result.bytes > mostBytes / extent))
      return fail(token, "a variable of more than 4 GiB");
    shape.extents.push_back(isUnsized && shape.extents.empty() ? mostBytes : extent);
    result.bytes *= isUnsized && shape.extents.size() == 1 ? 1 : extent;
  }
  if (isUnsized && isExtern)
    result.bytes = 0;
  if (accept('=')) {
    if (space != Space::Global && space != Space::Const)
      return fail(token, "only .global and .const variables have initialisers");
    if (!initialiser(result, shape, isUnsized))
      return false;
  } else if (isUnsized && !isExtern) {
    return fail(token, "an array needs its extent");
  }
  if (isExtern && space != Space::Shared)
    return fail(token, "variables of other modules are not known");
  if (!calls_.empty() && space != Space::Local && space != Space::Param)
    return fail(token, "a function has variables only in .local and .param");
  bool inKernel = kernel_ != nullptr && !open_.empty();
  auto &list = inKernel ? kernel_->variables : module_.variables;
  Symbol symbol{inKernel ? Symbol::Kind::Variable : Symbol::Kind::ModuleVariable, uint32_t(list.size())};
  list.push_back(std::move(result));
  if (inKernel)
    return declare(text, token, symbol);
  if (!globals_.emplace(text, symbol).second)
    return fail(token, "this name is declared already");
  return true;
}

// Braces nest as the extents do; what they hold fills the variable in order, as the assembler does it.
bool Parser::initialiser(Variable &variable, const Shape &shape, bool isUnsized) {
  uint64_t item = variable.bytes, offset = 0; // of the first extent, where there is none
  if (!isUnsized)
    variable.init.assign(variable.bytes, std::byte(0));
  Token start = peek();
  if (!values(variable, shape, 0, isUnsized ? item : 0, offset))
    return false;
  if (isUnsized && offset == 0)
    return fail(start, "an array without an extent has as many elements as values: none");
  variable.bytes = variable.init.size();
  return true;
}

// One value, the lanes of a vector, or an array of that behind `depth` braces. An array without an extent
// grows by `growth` bytes an item.
bool Parser::values(Variable &variable, const Shape &shape, size_t depth, uint64_t growth, uint64_t &offset) {
  bool isVector = depth == shape.extents.size();
  if (isVector && shape.lanes == 1)
    return initialValue(variable, shape.type, offset);
  if (!peek().is('{'))
    return fail(peek(), "expected the values in braces");
  take();
  uint64_t count = 0, most = isVector ? shape.lanes : shape.extents[depth];
  for (; !peek().is('}'); ++count) {
    if (count && !expect(','))
      return false;
    if (count == most)
      return fail(peek(), "more initial values than elements");
    if (growth)
      variable.init.resize(variable.init.size() + growth);
    if (!(isVector ? initialValue(variable, shape.type, offset)
                   : values(variable, shape, depth + 1, 0, offset)))
      return false;
  }
  if (isVector && count != shape.lanes)
    return fail(peek(), "a vector has a value for each of its elements");
  return expect('}');
}

bool Parser::initialValue(Variable &variable, Type type, uint64_t &offset) {
  Token token = peek();
  uint64_t value = 0;
  unsigned size = byteSize(type);
  if (offset + size > variable.init.size())
    return fail(token, "more initial values than elements");
  bool isGeneric = token.text == "generic" && peek(1).is('(');
  if (isGeneric) {
    take();
    take();
    if (!peek().isName())
      return fail(peek(), "expected a variable");
  }
  if (peek().isName()) {
    Token symbolName = take();
    auto it = globals_.find(symbolName.text);
    if (it == globals_.end() || it->second.kind != Symbol::Kind::ModuleVariable || size != 8)
      return fail(symbolName, "an initial value names an unknown variable");
    if (isGeneric && !expect(')'))
      return false;
    if ((accept('+') || peek().is('-')) && !integer(value))
      return false;
    variable.references.push_back({offset, it->second.index, int64_t(value), isGeneric});
  } else {
    Operand operand;
    if (!constant(operand))
      return false;
    if (operand.isFloat ? isInteger(type) : kind(type) == TypeKind::Float && size > 2)
      return fail(token, operand.isFloat ? "a float cannot be the value of an integer"
                                         : "an integer cannot be the value of a float: write 3.0 for 3");
    value = uint64_t(operand.value);
    if (operand.isFloat && operand.floatBits == 64 && bitWidth(type) == 32)
      value = std::bit_cast<uint32_t>(float(std::bit_cast<double>(value)));
    std::memcpy(variable.init.data() + offset, &value, std::min<size_t>(size, 8));
  }
  offset += size;
  return true;
}

} // namespace tegula::ptxvm
