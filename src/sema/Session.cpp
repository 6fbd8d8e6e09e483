// Places and reports of a session.
#include "sema/Session.h"

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

std::nullopt_t Session::fail(diag::Kind kind, std::initializer_list<std::string_view> arguments) {
  diag::Diagnostic &diagnostic = sink.report(kind, place, arguments);
  diagnostic.notes.insert(diagnostic.notes.end(), frames.begin(), frames.end());
  return std::nullopt;
}

void Session::warn(diag::Kind kind, std::initializer_list<std::string_view> arguments) { fail(kind, arguments); }

} // namespace tegula::sema
