// Contexts, modules and functions.
#include "base/DeepStack.h"
#include "base/Environment.h"
#include "capi/Handles.h"
#include "compiler/Core.h"
#include "ptxvm/simulate/Simulation.h"
#include "runtime/Launch.h"
#include "sema/Session.h"
#include "syntax/Parser.h"

#include <cstdlib>
#include <cstring>

using namespace tegula;
using capi::guarded;

tg_status tg_context_create(const tg_context_options *options, tg_context **out, tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    std::optional<tg_context_options> known = capi::read(options, "tg_context_options", sink);
    if (!capi::checkGiven(out, "out", sink) || !known)
      return;
    *out = nullptr;
    for (size_t variable = 0; variable != variables().size(); ++variable)
      if (std::string problem = problemOf(Variable(variable)); !problem.empty())
        sink.report(diag::Kind::VariableMalformed, {}, {problem});
    if (sink.hasErrors())
      return;
    const tg_context_options &wanted = *known;
    auto context = std::make_unique<tg_context>();
    if (wanted.target)
      context->target = wanted.target;
    if (compiler::requireTarget(context->target, sink))
      capi::enter(*out = context.release(), capi::Handle::Context);
  });
}

void tg_context_destroy(tg_context *context) {
  if (capi::leave(context, capi::Handle::Context))
    delete context;
}

tg_function::tg_function(std::shared_ptr<const sema::Function> function, tg_context *context)
    : dispatcher(std::move(function)), defaultTarget(context->target) {
  capi::enter(this, capi::Handle::Function);
}

tg_function::~tg_function() { capi::leave(this, capi::Handle::Function); }

tg_status tg_variable_get(size_t index, tg_variable *out) {
  if (index >= variables().size())
    return TG_LAUNCH;
  const VariableRow &row = variables()[index];
  const char *value = std::getenv(row.name);
  thread_local std::string problem;
  problem = problemOf(Variable(index));
  return capi::fill<tg_variable>(out, {0, row.name, value, row.initial, row.read, row.what, problem.c_str()});
}

const char *tg_target_name(size_t index) {
  return index < compiler::targets().size() ? compiler::targets()[index].name.data() : nullptr;
}

tg_status tg_pass_get(const char *target, size_t index, tg_pass *out, tg_diagnostics **problems) {
  tg_status filled = TG_LAUNCH;
  tg_status status = guarded(problems, [&](diag::Sink &sink) {
    if (!capi::checkGiven(target, "target", sink) || !capi::checkGiven(out, "out", sink))
      return;
    compiler::TargetOptions options;
    const compiler::Target *found = compiler::chooseTarget(target, options, -1, sink);
    if (!found)
      return;
    const compiler::Core *core = compiler::requireCore(found->name, sink);
    if (!core)
      return;
    Result<compiler::PassList> list = core->passesOf(*found, options);
    if (!list)
      return compiler::reportStatus(list.status(), target, {}, sink);
    if (index >= list->passes.size())
      return;
    const pipeline::Pass &pass = *list->passes[index];
    filled = capi::fill<tg_pass>(out, {0, pass.name, pass.gives ? pass.gives : "", pass.what});
  });
  return status == TG_OK ? filled : status;
}

unsigned tg_threads() { return runtime::threadCount(); }

tg_status tg_set_threads(unsigned threads, tg_diagnostics **problems) {
  if (threads < 1 || threads > 1024)
    return capi::fail(diag::Kind::HostMisuse,
                      {"the number of threads is " + std::to_string(threads), "it is from 1 to 1024"},
                      problems);
  runtime::setThreadCount(threads);
  return TG_OK;
}

static tg_module *wrap(compiler::Module module, tg_context *context) {
  auto result = std::make_unique<tg_module>();
  result->module = std::move(module);
  for (const auto &function : result->module.functions)
    result->functions.push_back(std::make_unique<tg_function>(function, context));
  capi::enter(result.get(), capi::Handle::Module);
  return result.release();
}

tg_status tg_module_from_file(tg_context *context, const char *path, tg_module **out,
                              tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    if (!capi::checkGiven(out, "out", sink) || !capi::checkHandle(context, "tg_context", sink) ||
        !capi::checkGiven(path, "path", sink))
      return;
    *out = nullptr;
    diag::SourcePtr source = compiler::readSource(path, sink);
    if (!source)
      return;
    compiler::Module module = compiler::makeModule(std::move(source), nullptr, sink);
    if (!sink.hasErrors())
      *out = wrap(std::move(module), context);
  });
}

tg_status tg_module_from_text(tg_context *context, const tg_source *source, tg_module **out,
                              tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    std::optional<tg_source> known = capi::read(source, "tg_source", sink);
    if (!known || !capi::checkGiven(out, "out", sink) || !capi::checkHandle(context, "tg_context", sink) ||
        !capi::checkGiven(source, "source", sink))
      return;
    *out = nullptr;
    const tg_source &s = *known;
    std::string path = s.path ? s.path : "<text>";
    if (s.size > syntax::maxTextBytes) {
      sink.report(diag::Kind::FileTooLarge, {}, {path, std::to_string(s.size)});
      return;
    }
    std::optional<tg_host> host = capi::read(s.host, "tg_host", sink);
    if (!host || (s.size && !capi::checkGiven(s.text, "text", sink)))
      return;
    auto text = std::make_shared<diag::Source>(path, std::string(s.size ? s.text : "", s.size),
                                               std::max(1u, s.first_line), s.first_column);
    std::shared_ptr<sema::HostEnv> env;
    if (s.host)
      env = capi::makeCallbackEnv(*host);
    compiler::Module module = compiler::makeModule(std::move(text), std::move(env), sink);
    if (sink.hasErrors())
      return;
    *out = wrap(std::move(module), context);
    if (s.host && host->name_of)
      for (const auto &function : (*out)->functions)
        function->dispatcher.nameKernels(capi::makeCallbackNames(*host));
  });
}

void tg_module_destroy(tg_module *module) {
  if (capi::leave(module, capi::Handle::Module))
    delete module;
}

size_t tg_module_function_count(const tg_module *module) {
  return capi::isLive(module) ? module->functions.size() : 0;
}

tg_function *tg_module_function(const tg_module *module, size_t index) {
  return capi::isLive(module) && index < module->functions.size() ? module->functions[index].get() : nullptr;
}

tg_status tg_module_find(const tg_module *module, const char *name, tg_function **out,
                         tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    if (!capi::checkGiven(out, "out", sink) || !capi::checkHandle(module, "tg_module", sink) ||
        !capi::checkGiven(name, "name", sink))
      return;
    *out = nullptr;
    auto found = compiler::findFunction(module->module, name, sink);
    for (const auto &function : module->functions)
      if (&function->dispatcher.function() == found.get())
        *out = function.get();
  });
}

const char *tg_function_name(const tg_function *function) {
  return capi::isLive(function) ? function->dispatcher.function().definition->name.c_str() : nullptr;
}

size_t tg_function_parameter_count(tg_function *function) {
  return capi::isLive(function) ? function->dispatcher.parameters().size() : 0;
}

tg_status tg_function_parameter(tg_function *function, size_t index, tg_parameter *out) {
  if (!capi::isLive(function))
    return TG_LAUNCH;
  const auto &parameters = function->dispatcher.parameters();
  if (index >= parameters.size())
    return TG_LAUNCH;
  const compiler::Parameter &parameter = parameters[index];
  const diag::Location &place = parameter.location;
  return capi::fill<tg_parameter>(out,
                                  {0, parameter.name.c_str(), parameter.annotation.c_str(),
                                   parameter.hasDefault ? parameter.defaultText.c_str() : nullptr,
                                   parameter.isConstexpr, place.source->position(place.range.begin).line});
}

void tg_function_do_not_specialize(tg_function *function, size_t parameter, int only_alignment) {
  if (capi::isLive(function))
    function->dispatcher.doNotSpecialize(unsigned(parameter), only_alignment != 0);
}

int tg_function_annotate(tg_function *function, size_t parameter, const char *annotation) {
  return capi::isLive(function) &&
         function->dispatcher.annotate(unsigned(parameter), annotation ? annotation : "");
}

tg_status tg_check_file(tg_context *, const char *path, tg_diagnostics **problems) {
  return guarded(problems, [&](diag::Sink &sink) {
    if (!capi::checkGiven(path, "path", sink))
      return;
    diag::SourcePtr source = compiler::readSource(path, sink);
    if (!source && ptxvm::isCodeFile(path) && sink.last()->kind != diag::Kind::FileUnreadable)
      sink.last()->hint = "a file with this ending holds the text of a GPU's code";
    if (source && ptxvm::isCodeFile(path)) {
      if (auto module = ptxvm::parse(source->text(), path); !module)
        sink.report(diag::Kind::CodeNotUnderstood, {}, {module.status().message});
    } else if (source) {
      compiler::Module module = compiler::makeModule(std::move(source), nullptr, sink);
      if (const compiler::Core *core = compiler::requireCore("interp", sink))
        onDeepStack([&] { core->check(module, sink); });
    }
  });
}

const char *tg_language_name_at(const char *module, size_t index) {
  if (!module)
    return nullptr;
  std::vector<std::string_view> names = sema::builtinsIn(module);
  return index < names.size() ? names[index].data() : nullptr;
}

int tg_language_name(const char *dotted_name, tg_value *out) {
  if (!out)
    return 0;
  *out = {};
  if (!dotted_name)
    return 0;
  std::optional<sema::Const> found = sema::findBuiltin(dotted_name);
  if (!found)
    return 0;
  if (auto *type = std::get_if<sema::TypeRef>(&found->value)) {
    out->kind = TG_DTYPE;
    out->dtype = uint8_t(type->element);
    return !type->pointer;
  }
  out->kind = std::holds_alternative<sema::ModuleRef>(found->value) ? TG_MODULE : TG_BUILTIN;
  out->as.text = {dotted_name, std::strlen(dotted_name)};
  return 1;
}
