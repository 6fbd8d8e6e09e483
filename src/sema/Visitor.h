// The visitor of trees: walks a kernel once and emits tile IR. Names are bound to values
// (compile-time constants, run-time values, tuples); constants decide `if`s and unroll
// loops while the visitor walks; a called function is walked in place of its call.
//
// Everything returns nullopt or Flow::Failed after a diagnostic has been reported. What
// was built by then may be incomplete, and the module is thrown away.
#pragma once
#include "sema/AssignedNames.h"
#include "sema/Budgets.h"
#include "sema/ConstEvaluate.h"
#include "sema/Sema.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/StringMap.h"

#include <span>

namespace tegula::sema {

// A name of a function, and what it is bound to.
struct Local {
  enum State : uint8_t {
    Defined,
    Declared,     // `x: tl.constexpr` without a value
    OneBranch,    // assigned in one branch of a run-time if
    InLoop,       // first assigned in a run-time loop that has ended
    LoopVariable, // of a loop that has ended
    Broken,       // its statement was refused; uses say nothing more
  };
  State state = Defined;
  bool isConstexpr = false; // annotated tl.constexpr
  uint32_t line = 0;        // of the statement that explains `state`, or assigned `number`
  Value value;
  std::optional<Const> number; // the constant whose plain assignment made the run-time `value`
};

// One function being walked.
struct Frame {
  const Function &function;
  Frame *caller = nullptr;
  llvm::StringMap<Local> locals;
  std::optional<Value> returned; // set when Flow::Returned
  unsigned noReturn = 0;         // run-time regions that a return cannot leave
  unsigned staticLoops = 0;      // unrolled loops around this point
  bool mayBindMore = false;      // a refused statement may have bound any name
};

enum class Flow : uint8_t { Next, Returned, Failed };

// The statements that run after a block, block by block outwards: an early return in a
// run-time `if` moves them into the branch that goes on.
struct Rest {
  std::span<syntax::Stmt *const> statements;
  const Rest *outer = nullptr;
};

class Visitor final : public FunctionCaller {
public:
  Visitor(mlir::OpBuilder &builder, diag::Sink &sink, const LanguageOptions &options, HostRecord &host)
      : session(builder, sink, options, *this), host(host), builder(builder) {}

  Session session;
  HostRecord &host; // through which every environment is asked

  // Walks the body of the kernel with its parameters bound.
  bool visitKernel(const Function &kernel, llvm::StringMap<Local> parameters);
  std::optional<Value> callFunction(const Function &callee, std::span<const Value> arguments,
                                    std::span<const NamedValue> keywords) override;
  // A parameter's default, evaluated where its function is defined.
  std::optional<Const> defaultValue(const Function &function, const syntax::Parameter &parameter);
  unsigned operations = 0;                                             // counted by the builder's listener
  llvm::DenseMap<const ValueTuple *, std::vector<std::string>> fields; // of NamedTuples among the arguments

private:
  using MaybeValue = std::optional<Value>;

  // VisitExpression.cpp
  MaybeValue visit(const syntax::Expr *node);
  MaybeValue dispatch(const syntax::Expr *node);
  MaybeValue visitName(const syntax::Name &node);
  MaybeValue globalName(const syntax::Name &node);
  MaybeValue visitAttribute(const syntax::Attribute &node);
  MaybeValue attributeOf(const Value &object, const std::string &name);
  MaybeValue visitSubscript(const syntax::Subscript &node);
  MaybeValue subscriptTuple(const Value &object, const syntax::Expr *index);
  std::optional<std::optional<int64_t>> sliceBound(const syntax::Expr *node);
  MaybeValue visitBinary(const syntax::Binary &node);
  MaybeValue binaryOf(syntax::BinaryOperator op, const Value &left, const Value &right);
  MaybeValue visitUnary(const syntax::Unary &node);
  MaybeValue visitBoolOp(const syntax::BoolOp &node);
  MaybeValue visitCompare(const syntax::Compare &node);
  MaybeValue visitConditional(const syntax::Conditional &node);
  MaybeValue tupleWithinLimits(ValueTuple elements);
  MaybeValue visitElements(const std::vector<syntax::Expr *> &nodes);
  MaybeValue visitListComp(const syntax::ListComp &node);
  std::optional<std::string> formatParts(const std::vector<syntax::FormatPart> &parts);
  std::optional<bool> constantCondition(const syntax::Expr *node);
  std::nullopt_t unsupported(std::string_view what, std::string_view instead);
  std::nullopt_t failConst(const ConstError &error);

  // VisitCall.cpp
  MaybeValue visitCall(const syntax::Call &node);
  MaybeValue callValue(const Value &callee, std::span<const Value> arguments,
                       std::span<const NamedValue> keywords);
  MaybeValue callHost(const Const &callee, std::span<const Value> arguments,
                      std::span<const NamedValue> keywords);
  MaybeValue callBuiltinByName(const std::string &name, std::span<const Value> arguments,
                               std::span<const NamedValue> keywords);
  bool visitArguments(const syntax::Call &node, std::vector<Value> &arguments,
                      std::vector<NamedValue> &keywords);
  bool bindParameters(const Function &callee, std::span<const Value> arguments,
                      std::span<const NamedValue> keywords, llvm::StringMap<Local> &locals);
  bool bindParameter(const Function &callee, const syntax::Parameter &parameter, Value value,
                     llvm::StringMap<Local> &locals);
  MaybeValue enter(const Function &callee, llvm::StringMap<Local> locals);
  void explainLostConstants(const syntax::Call &node, size_t firstDiagnostic);

  // VisitStatement.cpp
  Flow visitBlock(std::span<syntax::Stmt *const> statements, const Rest *rest);
  Flow runToEnd(std::span<syntax::Stmt *const> statements, const Rest *rest);
  Flow visitStatement(const syntax::Stmt *node, const Rest &rest);
  Flow dispatchStatement(const syntax::Stmt *node, const Rest &rest);
  bool recover(const syntax::Stmt *node);
  Flow visitReturn(const syntax::Return &node);
  bool visitAssign(const syntax::Assign &node);
  bool visitAugAssign(const syntax::AugAssign &node);
  bool visitAnnAssign(const syntax::AnnAssign &node);
  bool visitAssert(const syntax::Assert &node);
  bool refuse(const syntax::Stmt *node);
  bool assign(const syntax::Expr *target, const Value &value);
  bool assignName(const syntax::Name &name, const Value &value);
  bool spend();

  // VisitIf.cpp
  struct Condition { // exactly one is set
    std::optional<bool> constant;
    mlir::Value runTime;
  };
  std::optional<Condition> condition(const Value &value);
  Flow visitIf(const syntax::If &node, const Rest &rest);
  Flow visitRunTimeIf(const syntax::If &node, mlir::Value condition, const Rest &rest);
  bool mergeBranches(mlir::scf::IfOp op, const syntax::If &node, llvm::ArrayRef<llvm::StringRef> names,
                     std::vector<std::optional<Local>> before, std::vector<std::optional<Local>> afterThen,
                     std::vector<std::optional<Local>> afterElse);
  bool mergeReturns(mlir::scf::IfOp op, Value thenValue, Value elseValue);
  std::vector<std::optional<Local>> save(llvm::ArrayRef<llvm::StringRef> names);
  void restore(llvm::ArrayRef<llvm::StringRef> names, const std::vector<std::optional<Local>> &saved);

  // VisitLoop.cpp
  struct Bounds;
  struct RunTimeRange;
  struct Carried;
  std::optional<RunTimeRange> runTimeRange(const Bounds &bounds);
  BlockFacts liveFacts(const syntax::Block &body, llvm::ArrayRef<llvm::StringRef> assigned,
                       const syntax::Name *variable);
  Flow visitFor(const syntax::For &node);
  std::optional<Bounds> visitBounds(const syntax::Call &call, bool isStatic);
  Flow visitStaticRange(const syntax::For &node, const Bounds &bounds);
  Flow visitRunTimeFor(const syntax::For &node, const Bounds &bounds);
  Flow visitWhile(const syntax::While &node);
  std::optional<Carried> carriedNames(const syntax::Stmt *place, const syntax::Block &body,
                                      const syntax::Expr *condition, const syntax::Expr *target);
  void bindCarried(const Carried &carried, mlir::ValueRange values);
  std::optional<llvm::SmallVector<mlir::Value>> collectCarried(const Carried &carried);
  void leaveLoop(const Carried &carried, mlir::ValueRange results, uint32_t line);

  uint32_t lineOf(const syntax::Node *node) const;

  mlir::OpBuilder &builder;
  Frame *frame = nullptr;
  AssignedNames names;
  unsigned steps = 0, nesting = 0, callDepth = 0, regions = 0;
  bool isExhausted = false; // a budget is spent: nothing may recover
};

// The elements of a tuple of either kind; nullopt for other values.
std::optional<ValueTuple> elementsOf(const Value &value);
// A constant where all elements are.
Value makeTupleValue(ValueTuple elements);
// How messages call the type of a value: "fp32", "int", "tuple", "None".
std::string describeType(const Value &value);

} // namespace tegula::sema
