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
  bool isLastTrip = false;     // the variable of a loop that has ended: where types differ, nobody minds
  // Defined on the paths that go on only: it is not where those meet that left a loop or a trip.
  bool isOfPathsThatGoOn = false;
  unsigned loops = 0; // run-time ones around the annotation
};

// One function being walked.
struct Frame {
  const Function &function;
  Frame *caller = nullptr;
  llvm::StringMap<Local> locals;
  std::optional<Value> returned; // set when the function has been walked
  unsigned loops = 0;            // around this point
  unsigned staticLoops = 0;      // of those the unrolled ones
  unsigned runTimeLoops() const { return loops - staticLoops; }
  bool mayBindMore = false;   // a refused statement may have bound any name
  bool isConstructor = false; // of an aggregate: its first parameter has fields that it may set
};

// How a statement or a block ends: it goes on; some paths through it have left, and locals say under
// which condition (VisitExits.cpp); all have left.
enum class Flow : uint8_t { Next, MayExit, Exits, Failed };

// The statements of a block after one of them. A run-time `if` of which one branch leaves takes them into
// the other.
struct Rest {
  std::span<syntax::Stmt *const> statements;
  bool isTaken = false;
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
  // Operations for a host that runs statements itself (VisitFromHost.cpp), within `fromHost`: a call of what
  // it names; the bounds of a loop as (lower, upper, step) of one type, and whether the variable runs down
  // from the upper one to the lower; the truth of a condition, as a constant or an int1.
  std::optional<Value> fromHost(llvm::function_ref<std::optional<Value>()> operation);
  std::optional<Value> callFromHost(const Value &callee, std::span<const Value> arguments,
                                    std::span<const NamedValue> keywords);
  std::optional<Value> rangeFromHost(const Value &lower, const Value &upper, const Value &step);
  std::optional<Value> conditionFromHost(const Value &value);
  // A parameter's default, evaluated where its function is defined.
  std::optional<Const> defaultValue(const Function &function, const syntax::Parameter &parameter);
  unsigned operations = 0; // counted by the builder's listener

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
  std::optional<MaybeValue> operatorByName(const Value &object, std::string_view name,
                                           std::span<const Value> arguments);
  MaybeValue lengthOfHost(const Const &object);
  MaybeValue subscriptHost(const Const &object, const syntax::Expr *index);
  MaybeValue isKey(syntax::CompareOperator op, const Value &key, const Value &object);
  MaybeValue subscriptTuple(const Value &object, const syntax::Expr *index);
  MaybeValue subscriptText(std::string_view text, const syntax::Expr *index);
  std::optional<std::optional<int64_t>> sliceBound(const syntax::Expr *node);
  MaybeValue visitBinary(const syntax::Binary &node);
  MaybeValue binaryOf(syntax::BinaryOperator op, const Value &left, const Value &right);
  MaybeValue visitUnary(const syntax::Unary &node);
  MaybeValue unaryOf(syntax::UnaryOperator op, const Value &operand);
  MaybeValue visitBoolOp(const syntax::BoolOp &node);
  bool assignsBehind(const MaybeValue &runTime, const syntax::Expr *operand); // true: reported
  MaybeValue visitCompare(const syntax::Compare &node);
  MaybeValue compareOf(syntax::CompareOperator op, const Value &left, const Value &right);
  MaybeValue equalityOfTuples(syntax::CompareOperator op, const ValueTuple &left, const ValueTuple &right);
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
  bool mayBeUnused(const Value &callee);
  MaybeValue callValue(const Value &callee, std::span<const Value> arguments,
                       std::span<const NamedValue> keywords);
  void refuseRunTime(const OpaqueRef &callee, const Value &argument);
  MaybeValue callHost(const Const &callee, std::span<const Value> arguments,
                      std::span<const NamedValue> keywords);
  std::optional<MaybeValue> attributeByName(bool isQuestion, std::span<const Value> arguments);
  MaybeValue callBuiltinByName(const std::string &name, std::span<const Value> arguments,
                               std::span<const NamedValue> keywords);
  bool visitArguments(const syntax::Call &node, std::vector<Value> &arguments,
                      std::vector<NamedValue> &keywords);
  bool bindParameters(const Function &callee, std::span<const Value> arguments,
                      std::span<const NamedValue> keywords, llvm::StringMap<Local> &locals);
  bool bindParameter(const Function &callee, const syntax::Parameter &parameter, Value value,
                     llvm::StringMap<Local> &locals);
  MaybeValue enter(const Function &callee, llvm::StringMap<Local> locals, Value *made = nullptr);
  void explainLostConstants(const syntax::Call &node, size_t firstDiagnostic);

  // VisitAggregate.cpp
  MaybeValue make(TupleClassPtr type, std::span<const Value> arguments, std::span<const NamedValue> keywords);
  MaybeValue makeNamed(TupleClassPtr type, std::span<const Value> arguments,
                       std::span<const NamedValue> keywords);
  void fillDefaults(const TupleClass &type, std::vector<MaybeValue> &fields);
  MaybeValue construct(TupleClassPtr type, std::shared_ptr<const Function> constructor,
                       std::span<const Value> arguments, std::span<const NamedValue> keywords);
  bool isNamedBy(const TupleClass &type, std::string_view list, size_t field);
  MaybeValue settleFields(ValueTuple fields);
  MaybeValue replaceFields(const Value &object, std::span<const NamedValue> changes);
  Const typeOfAggregate(const Value &object);
  std::optional<Value> memberOf(const TupleClass &type, const std::string &name);
  std::optional<MaybeValue> callMember(const Value &object, const std::string &name,
                                       std::span<const Value> arguments,
                                       std::span<const NamedValue> keywords = {});
  std::optional<MaybeValue> callEither(const Value &left, const Value &right, const std::string &method,
                                       const std::string &reflected);
  MaybeValue binaryOfAggregates(syntax::BinaryOperator op, const Value &left, const Value &right);
  MaybeValue compareAggregates(syntax::CompareOperator op, const Value &left, const Value &right);
  MaybeValue unaryOfAggregate(syntax::UnaryOperator op, const Value &operand);
  MaybeValue subscriptAggregate(const Value &object, const syntax::Expr *index);
  std::optional<MaybeValue> pythonOfAggregate(const std::string &function, const Value &object);
  MaybeValue truthOfAggregate(const Value &object);
  MaybeValue negated(const Value &truth);
  std::nullopt_t refuseAggregate(std::string_view what, const Value &object, std::string_view method);

  // VisitStatement.cpp
  Flow visitBlock(std::span<syntax::Stmt *const> statements, bool isOutermost = false);
  Flow runToEnd(std::span<syntax::Stmt *const> statements);
  Flow visitStatement(const syntax::Stmt *node, Rest &rest);
  Flow dispatchStatement(const syntax::Stmt *node, Rest &rest);
  bool recover(const syntax::Stmt *node);
  Flow visitReturn(const syntax::Return &node);
  bool visitAssign(const syntax::Assign &node);
  bool visitAugAssign(const syntax::AugAssign &node);
  bool visitAnnAssign(const syntax::AnnAssign &node);
  bool visitAssert(const syntax::Assert &node);
  bool refuse(const syntax::Stmt *node);
  bool assign(const syntax::Expr *target, const Value &value);
  void defineConstexpr(const syntax::Name &name, const Value &value);
  bool assignName(const syntax::Name &name, const Value &value);
  bool bindTarget(const syntax::Expr *target, const Value &value);
  bool assignField(const syntax::Attribute &target, const Value &value);
  bool spend();

  // VisitIf.cpp
  struct Condition { // exactly one is set
    std::optional<bool> constant;
    mlir::Value runTime;
  };
  std::optional<Condition> condition(const Value &value);
  Flow visitIf(const syntax::If &node, Rest &rest);
  Flow visitRunTimeIf(const syntax::If &node, mlir::Value condition, Rest &rest);
  using NameList = llvm::SmallVector<llvm::StringRef, 8>;
  using VisitSide = llvm::function_ref<Flow()>;
  // scf.if over two sides. `changed` are the names that they, or `rest`, may assign.
  Flow visitBranches(const syntax::Node &place, mlir::Value condition, NameList changed, VisitSide then,
                     VisitSide orelse, Rest &rest);
  std::nullopt_t refuseChoice(const Value &value);
  struct Sides;
  struct SideMerge;
  bool mergeSides(mlir::scf::IfOp op, const syntax::Node &place, Sides &sides);
  std::vector<std::optional<Local>> save(llvm::ArrayRef<llvm::StringRef> names);
  void restore(llvm::ArrayRef<llvm::StringRef> names, const std::vector<std::optional<Local>> &saved);

  // VisitExits.cpp
  bool hasExit(llvm::StringRef exit) const { return frame->locals.contains(exit); }
  bool isAlways(llvm::StringRef exit) const;
  Flow leave(llvm::StringRef exit);
  Flow leaveLoopBy(llvm::StringRef exit);
  void forget(llvm::StringRef exit);
  void forgetExits();
  mlir::Value exitFlag(llvm::ArrayRef<llvm::StringRef> exits);
  mlir::Value negate(mlir::Value flag);
  Flow goOn(Flow flow, const syntax::Node &place, NameList changed, VisitSide rest);
  Flow goOn(Flow flow, const syntax::Node &place, std::span<syntax::Stmt *const> rest);

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
  Flow visitForOverTuple(const syntax::For &node);
  Flow visitTrip(const syntax::For &node, const Value &value, Flow before);
  Flow leaveStaticRange();
  void bindLastTrip(const syntax::For &node, const RunTimeRange &range, const std::optional<Local> &before);
  mlir::Value valueWithoutTrip(const std::optional<Local> &before, const Tensor &start);
  // The same, or else the start.
  Tensor variableWithoutTrip(const RunTimeRange &range, const std::optional<Local> &before);
  // False: the body does not assign the variable.
  bool keepAssignedVariable(const syntax::For &node, const RunTimeRange &range,
                            const std::optional<Local> &before);
  bool isAssignedIn(const syntax::Block &body, llvm::StringRef name);
  mlir::Value hasTripOf(const RunTimeRange &range);
  static Tensor startOf(const RunTimeRange &range);
  void bindLoopVariable(const syntax::For &node, const Tensor &value, bool isKnown);
  Flow visitWhile(const syntax::While &node);
  std::vector<std::pair<llvm::StringRef, Local>> foundByCondition(const syntax::While &node,
                                                                  const Carried &carried);
  // VisitLoopWithExits.cpp
  bool leavesEarly(const syntax::Block &body, const Carried &carried, const syntax::Name *variable);
  Flow visitForWithExits(const syntax::For &node, const RunTimeRange &range, Carried &carried,
                         const std::optional<Local> &outer);
  Flow visitWhileWithExits(const syntax::While &node, Carried &carried);
  struct ExitLoop;
  using Values = llvm::SmallVector<mlir::Value>;
  std::optional<Values> visitTripWithExits(const syntax::Stmt &node, ExitLoop &loop,
                                           mlir::ValueRange arguments);
  Flow visitLoopWithExits(const syntax::Stmt &node, ExitLoop &loop);
  std::optional<Carried> carriedNames(const syntax::Stmt *place, const syntax::Block &body,
                                      const syntax::Expr *condition, const syntax::Expr *target);
  void bindCarried(Carried &carried, mlir::ValueRange values);
  bool letGo(Carried &carried, size_t i, llvm::SmallVectorImpl<mlir::Value> &into);
  std::optional<llvm::SmallVector<mlir::Value>> collectCarried(Carried &carried);
  void leaveLoop(Carried &carried, mlir::ValueRange results, uint32_t line);

  uint32_t lineOf(const syntax::Node *node) const;

  mlir::OpBuilder &builder;
  Frame *frame = nullptr;
  AssignedNames names;
  unsigned steps = 0, nesting = 0, callDepth = 0, regions = 0;
  llvm::SmallVector<const syntax::FunctionDef *, 1> inlinedAllTheSame; // noinline=True, and told
  const syntax::Call *standsAlone = nullptr; // a statement that is a call, while it is visited
  bool isExhausted = false;                  // a budget is spent: nothing may recover
};

// Exits as names that no kernel can have, since they are keywords: true where a path has left. What a
// return gives is under `returnValue`.
inline constexpr llvm::StringLiteral exitReturn = "return", exitBreak = "break", exitContinue = "continue";
inline constexpr llvm::StringLiteral returnValue = "return value";
// The value of a conditional expression, as a name that its sides assign.
inline constexpr llvm::StringLiteral conditionalValue = "conditional value";

// The run-time values in a value, in order; and `like` with others in their places.
void leaves(const Value &value, llvm::SmallVectorImpl<mlir::Value> &into);
Value rebuild(const Value &like, mlir::ValueRange &values);
// Zeros, or null pointers; null after a diagnostic.
mlir::Value zeroOf(Session &session, const Type &type);

// The elements of a tuple of either kind; nullopt for other values. An aggregate is no tuple.
std::optional<ValueTuple> elementsOf(const Value &value);
// The elements of a tuple, or the fields of an aggregate.
std::optional<ValueTuple> partsOf(const Value &value);
bool isSameClass(const TupleClassPtr &a, const TupleClassPtr &b);
// A constant where all elements are.
Value makeTupleValue(ValueTuple elements);
// How messages call the type of a value: "fp32", "int", "tuple", "None".
std::string describeType(const Value &value);
// The same of two values that do not meet; constants in which alone they differ are shown: "A(int32, 2)".
std::pair<std::string, std::string> describeTypes(const Value &a, const Value &b);
// Says why two values do not meet where one of them is no number; the hint of `kind` is about types.
void explainConstants(Session &session, diag::Kind kind, const Value &a, const Value &b);

} // namespace tegula::sema
