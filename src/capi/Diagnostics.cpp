// Versions, names, statuses and lists of diagnostics.
#include "capi/Handles.h"

#include <algorithm>
#include <iterator>

using namespace tegula;

uint32_t tg_abi_version() { return TG_ABI_VERSION; }
const char *tg_version() { return TEGULA_VERSION; }

const char *tg_status_name(tg_status status) {
  static constexpr const char *names[] = {"TG_OK",       "TG_PARSE",     "TG_TYPE",     "TG_UNSUPPORTED",
                                          "TG_RESOURCE", "TG_TOOLCHAIN", "TG_DRIVER",   "TG_LAUNCH",
                                          "TG_DATA",     "TG_INTERNAL",  "TG_ASSERTION"};
  return size_t(status) < std::size(names) ? names[status] : "unknown";
}

static constexpr const char *dtypeNames[] = {
#define DTYPE(Enum, name, signature, bits, kind) name,
#include "base/DType.def"
#undef DTYPE
};
static_assert(TG_I1 == int(DType::I1) && TG_U64 == int(DType::U64) && TG_F64 == int(DType::F64) &&
              TG_F8E4NV == int(DType::F8E4NV) && TG_F8E4B15 == int(DType::F8E4B15) &&
              TG_F4E2M1 == int(DType::F4E2M1));

static bool isDtype(int dtype) { return dtype >= 0 && size_t(dtype) < std::size(dtypeNames); }

int tg_dtype_from_name(const char *name) {
  std::optional<DType> type = name ? dtypeFromName(name) : std::nullopt;
  return type ? int(*type) : -1;
}
const char *tg_dtype_name(int dtype) { return isDtype(dtype) ? dtypeNames[dtype] : nullptr; }
size_t tg_dtype_size(int dtype) { return isDtype(dtype) ? byteSize(DType(dtype)) : 0; }

// Beside errors a person reads no remarks: those are what the program printed while it was compiled.
static std::string textOf(std::vector<diag::Diagnostic> diagnostics) {
  auto is = [](diag::Severity severity) {
    return [severity](const diag::Diagnostic &each) { return diag::severity(each.kind) == severity; };
  };
  if (std::ranges::any_of(diagnostics, is(diag::Severity::Error)))
    std::erase_if(diagnostics, is(diag::Severity::Remark));
  return diag::render(diagnostics);
}

tg_diagnostics::tg_diagnostics(std::vector<diag::Diagnostic> diagnostics)
    : list(std::move(diagnostics)), text(textOf(list)) {
  capi::enter(this, capi::Handle::Diagnostics);
  for (const diag::Diagnostic &diagnostic : list) {
    Location location;
    if (const diag::SourcePtr &source = diagnostic.location.source) {
      location.file = source->path();
      location.position = source->position(diagnostic.location.range.begin);
    }
    locations.push_back(std::move(location));
  }
}

tg_status tg_diagnostics_status(const tg_diagnostics *list) {
  if (capi::isLive(list))
    for (const diag::Diagnostic &diagnostic : list->list)
      if (diag::severity(diagnostic.kind) == diag::Severity::Error)
        return tg_status(diag::statusCode(diagnostic.kind));
  return TG_OK;
}

const char *tg_diagnostics_text(const tg_diagnostics *list) {
  return capi::isLive(list) ? list->text.c_str() : "";
}
size_t tg_diagnostics_count(const tg_diagnostics *list) { return capi::isLive(list) ? list->list.size() : 0; }

tg_status tg_diagnostics_get(const tg_diagnostics *list, size_t index, tg_diagnostic *out) {
  if (index >= tg_diagnostics_count(list))
    return TG_LAUNCH;
  const diag::Diagnostic &diagnostic = list->list[index];
  const tg_diagnostics::Location &location = list->locations[index];
  return capi::fill<tg_diagnostic>(
      out, {0, tg_severity(diag::severity(diagnostic.kind)), tg_status(diag::statusCode(diagnostic.kind)),
            diag::name(diagnostic.kind).data(), location.file.c_str(), location.position.line,
            location.position.column, diagnostic.message.c_str(), diagnostic.hint.c_str()});
}

void tg_diagnostics_destroy(tg_diagnostics *list) {
  if (capi::leave(list, capi::Handle::Diagnostics))
    delete list;
}

namespace tegula::capi {

tg_status finish(diag::Sink &sink, tg_diagnostics **problems) {
  auto status = tg_status(sink.status().code);
  if (problems)
    *problems = new tg_diagnostics(sink.all());
  return status;
}

tg_status fail(diag::Kind kind, std::initializer_list<std::string_view> arguments,
               tg_diagnostics **problems) {
  diag::Sink sink;
  sink.report(kind, {}, arguments);
  return finish(sink, problems);
}

} // namespace tegula::capi
