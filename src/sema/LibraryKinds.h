// Says what a parameter of the language's own library takes, by its annotation in sema/library/*.py:
// `seed: integer`. A wrong argument is reported at the user's call, by the name that the user wrote, before
// the body is visited.
#pragma once
#include "sema/Session.h"
#include "syntax/Ast.h"

namespace tegula::sema {

// Is this function of the library? Only there do annotations name kinds.
bool isOfLibrary(const Function &function);
// Must an argument of this kind be known when the kernel is compiled?
bool isConstantKind(const syntax::Expr *annotation);
// Reports an argument that is not of the parameter's kind. An annotation that names no kind takes anything.
bool checkKind(Session &session, const Function &callee, const syntax::Parameter &parameter,
               const Value &argument);

} // namespace tegula::sema
