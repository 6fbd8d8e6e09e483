// The parser of PTX: recursive descent whose depth does not depend on the input. Each rule returns
// false when it failed; the first failure's place and reason are kept.
#pragma once
#include "ptxvm/Opcodes.h"
#include "ptxvm/parse/Lexer.h"

#include <string>
#include <unordered_map>
#include <unordered_set>

namespace tegula::ptxvm {

class Parser {
public:
  explicit Parser(Module &module) : module_(module), tokens_(tokenize(module.text)) {}
  bool module();
  Status takeError() { return error_; }

private:
  // ---- tokens (Parser.cpp) ----
  const Token &peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const Token &take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool accept(char mark);
  bool acceptDotted(std::string_view name);
  bool expect(char mark);
  bool fail(const Token &where, std::string reason);
  bool failStatement(uint32_t line, std::string reason, std::string_view text);
  bool integer(uint64_t &value); // with a sign
  bool name(std::string_view &text);
  bool skipBraces();

  // ---- module scope (ParseModule.cpp) ----
  bool version();
  bool target();
  bool topLevel();
  bool linkage();
  bool file();
  bool functionHeader();
  bool entry();
  struct Formal { // a parameter of a function
    Token token;
    Parameter parameter;
  };
  // Of a kernel, or of a function into `formals`.
  bool parameterList(PtxKernel *kernel, std::vector<Formal> *formals = nullptr);
  bool parameter(PtxKernel *kernel, std::vector<Formal> *formals);
  bool performanceDirective();
  bool triple(std::array<uint32_t, 3> &values);
  bool variables(bool isExtern);
  bool variable(Space space, uint32_t align, Type type, uint32_t lanes, bool isExtern);
  struct Shape { // of a variable
    Type type;
    uint32_t lanes;
    std::vector<uint64_t> extents;
  };
  bool initialiser(Variable &variable, const Shape &shape, bool isUnsized);
  bool values(Variable &variable, const Shape &shape, size_t depth, uint64_t growth, uint64_t &offset);
  bool initialValue(Variable &variable, Type type, uint64_t &offset);

  // ---- bodies (ParseBody.cpp) ----
  struct Symbol {
    enum class Kind : uint8_t { Register, Variable, ModuleVariable, Parameter, Function } kind{};
    uint32_t index = 0;
  };
  struct Range { // .reg .b32 %r<9>: registers come to be when they are named
    Type type;
    uint64_t count;
  };
  struct Scope {
    int32_t parent = -1;
    std::unordered_map<std::string_view, Symbol> symbols;
    std::unordered_map<std::string_view, Range> ranges;
    std::unordered_map<std::string_view, uint32_t> labels;      // instruction index
    std::unordered_map<std::string_view, uint32_t> targetLists; // of PtxKernel::targets
  };
  struct PendingLabel {
    uint32_t operand;  // of PtxKernel::operands, or for a list:
    int32_t list = -1; // of PtxKernel::targets
    uint32_t element = 0;
    uint32_t scope;
    Token name;
    bool isList = false; // names a .branchtargets
  };
  bool body();
  bool statement();
  bool registers();
  bool location();
  bool label();
  bool branchTargets(std::string_view name);
  bool resolveLabels();
  bool declare(std::string_view name, const Token &where, Symbol symbol);
  static const Range *rangeOf(std::string_view name, const Scope &scope);
  std::optional<Symbol> find(std::string_view name);
  uint32_t addRegister(std::string_view name, Type type);

  // ---- instructions (ParseInstruction.cpp) ----
  struct Written { // an operand as parsed
    Operand operand;
    bool afterBar = false;
    Token token;
  };
  struct Candidate {
    const Form *form;
    Spelling spelling;
  };
  std::string_view mnemonicFrom(std::string_view text);
  bool instruction();
  bool guard(Operand &guard);
  bool operand(Written &written);
  bool simpleOperand(Operand &operand, Token &unknown);
  bool vectorOperand(Operand &operand);
  bool addressOperand(Operand &operand);
  bool constant(Operand &operand);
  bool callOperands(Instruction &instruction);
  bool finishCall(const Instruction &instruction, const Candidate &candidate);
  const std::vector<Candidate> &candidates(std::string_view mnemonic);
  std::string whyNot(const Candidate &candidate, std::span<Written> operands);
  void takeOffBraces(const OperandSpec &spec, Type type, Operand &operand) const;
  std::string checkCopySizes(const Modifiers &has, std::span<Written> operands);
  std::string checkConstant(const Form &form, const Modifiers &has, size_t at, const Operand &operand);
  std::string checkMapConstant(const Modifiers &has, size_t at, uint64_t value);
  std::string checkOperand(const OperandSpec &spec, Type type, unsigned lanes, const Spelling &spelling,
                           const Operand &operand);
  std::string checkVector(const OperandSpec &spec, Type type, unsigned count, const Operand &operand);
  std::string checkRegister(const OperandSpec &spec, Type type, const Operand &operand);
  std::string checkMov(bool isSource, Type type, const Operand &operand);
  bool hasArchitecture(const Candidate &candidate) const;
  bool finish(Instruction instruction, const Candidate &candidate, std::span<Written> operands);

  // ---- functions with a body (InlineCalls.cpp) ----
  void findBodies();
  bool inlineCall(const Instruction &call, std::string_view function);
  bool bindFormals(const Instruction &call, const Operand &actuals, std::span<const Formal> formals);
  bool leaveCall(Instruction branch);

  Module &module_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  Status error_;
  std::unordered_map<std::string_view, Symbol> globals_;

  PtxKernel *kernel_ = nullptr;
  std::vector<Scope> scopes_;
  std::vector<uint32_t> open_; // indices of scopes_, innermost last
  std::vector<PendingLabel> labels_;
  std::unordered_map<std::string_view, size_t> bodies_; // function -> its token behind .func
  std::vector<std::string_view> calls_;                 // functions that are being inlined, innermost last
  int32_t location_ = -1;
  std::unordered_map<std::string_view, std::vector<Candidate>> candidates_;
  std::unordered_set<std::string> joined_; // mnemonics that stand in pieces
};

} // namespace tegula::ptxvm
