// Places and reports of a session.
#include "sema/Session.h"
#include "sema/Const.h"

#include "mlir/IR/Location.h"

namespace tegula::sema {

mlir::Location Session::loc() const {
  mlir::MLIRContext *context = builder.getContext();
  if (!place.source)
    return mlir::UnknownLoc::get(context);
  if (last_.source != place.source.get() || last_.offset != place.range.begin || !last_.file) {
    diag::Position position = place.source->position(place.range.begin);
    auto file = mlir::FileLineColLoc::get(context, place.source->path(), position.line, position.column);
    last_ = {place.source.get(), place.range.begin, file};
  }
  mlir::Location file(last_.file);
  return caller ? mlir::Location(mlir::CallSiteLoc::get(file, *caller)) : file;
}

// Texts of the user's own are shown as they are.
static bool showsAll(diag::Kind kind) {
  using diag::Kind;
  return kind == Kind::StaticPrint || kind == Kind::StaticAssertFailed || kind == Kind::HostFunctionRaised;
}

std::nullopt_t Session::fail(diag::Kind kind, std::initializer_list<std::string_view> arguments) {
  std::vector<std::string> texts;
  for (std::string_view argument : arguments)
    texts.push_back(showsAll(kind) ? std::string(argument) : shortened(argument));
  auto at = [&](size_t i) { return i < texts.size() ? std::string_view(texts[i]) : std::string_view(); };
  explain(sink.report(kind, place, {at(0), at(1), at(2), at(3), at(4)}));
  return std::nullopt;
}

void Session::explain(diag::Diagnostic &reported) {
  reported.notes.insert(reported.notes.end(), frames.begin(), frames.end());
  sink.dropRepeatedError();
}

void Session::warn(diag::Kind kind, std::initializer_list<std::string_view> arguments) {
  fail(kind, arguments);
}

void Session::endLine() {
  if (openLine.ends_with('\n'))
    openLine.pop_back();
  warn(diag::Kind::StaticPrint, {openLine});
  openLine.clear();
}

// ---- compile-time arithmetic, reported at the session's place ------------------------------

namespace {
template <class T>
std::optional<T> reported(Session &session, std::optional<T> value, const ConstError &error) {
  if (!value)
    session.explain(error.report(session.sink, session.place));
  return value;
}
} // namespace

std::optional<Const> constBinary(Session &session, syntax::BinaryOperator op, const Const &left,
                                 const Const &right) {
  ConstError error;
  return reported(session, evaluate(op, left, right, error), error);
}

std::optional<Const> constCompare(Session &session, syntax::CompareOperator op, const Const &left,
                                  const Const &right) {
  ConstError error;
  return reported(session, evaluate(op, left, right, error), error);
}

std::optional<Const> constUnary(Session &session, syntax::UnaryOperator op, const Const &operand) {
  ConstError error;
  return reported(session, evaluate(op, operand, error), error);
}

std::optional<bool> truth(Session &, const Const &value) { return isTrue(value); }

} // namespace tegula::sema
