// The header of an archive: declarations that a reader takes in, and bodies that only fill slots.
#include "artifact/Archive.h"
#include "artifact/Reserved.h"

#include <set>

namespace tegula::artifact {
namespace {

// The C type of a number; floats that C lacks are their bits. "" of types that no number has.
std::string typeOf(DType dtype) {
  switch (dtype) {
  case DType::I1: return "bool";
  case DType::I8: return "int8_t";
  case DType::I16: return "int16_t";
  case DType::I32: return "int32_t";
  case DType::I64: return "int64_t";
  case DType::U8: return "uint8_t";
  case DType::U16: return "uint16_t";
  case DType::U32: return "uint32_t";
  case DType::U64: return "uint64_t";
  case DType::F32: return "float";
  case DType::F64: return "double";
  default: return "";
  }
}

std::string typeOf(const Parameter &parameter) {
  std::string type = typeOf(parameter.dtype);
  if (parameter.isPointer)
    return (parameter.isWritten ? "" : "const ") + (type.empty() ? "void" : type) + " *";
  return (type.empty() ? bitWidth(parameter.dtype) == 16 ? "uint16_t" : "uint8_t" : type) + " ";
}

// Names of parameters become names of C: elements of tuples have dots, and C reserves words.
std::vector<std::string> namesOf(const std::vector<Parameter> &parameters) {
  // Names that a function's body has.
  static const std::set<std::string_view> own = {
      "library", "place",     "grid",    "memcpy",     "uint64_t",           "int64_t",
      "slots_",  "uintptr_t", "uint8_t", "tgr_launch", "tgr_library_kernel", "tgr_library"};
  std::vector<std::string> names;
  std::set<std::string> used;
  for (const Parameter &parameter : parameters) {
    std::string name;
    for (unsigned char c : parameter.name)
      name += std::isalnum(c) && c < 0x80 ? char(c) : '_';
    while (isKeyword(name) || isMacro(name) || own.contains(name) || used.contains(name))
      name += '_';
    used.insert(name);
    names.push_back(std::move(name));
  }
  return names;
}

// "fp32 *x, divisible by 16"
std::string describe(const Parameter &parameter, const std::string &cName) {
  std::string text = cName + ": " + (parameter.isPointer ? "*" : "") + std::string(name(parameter.dtype));
  if (parameter.divisibility > 1)
    text += (parameter.isPointer ? ", address divisible by " : ", divisible by ") +
            std::to_string(parameter.divisibility);
  return text;
}

std::string functionOf(const Archive::Entry &entry, size_t number, const std::string &prefix) {
  const Artifact &first = entry.code.front();
  std::vector<std::string> names = namesOf(first.parameters);
  std::string targets, comment, arguments, body;
  for (const Artifact &artifact : entry.code)
    targets += (targets.empty() ? "" : ", ") + (artifact.arch.empty() ? artifact.target : artifact.arch);
  for (size_t i = 0; i != names.size(); ++i) {
    const Parameter &parameter = first.parameters[i];
    comment += "\n *   " + describe(parameter, names[i]);
    arguments += ", " + typeOf(parameter) + names[i];
    std::string slot = "slots_[" + std::to_string(i) + "]", &value = names[i];
    bool isReal = parameter.dtype == DType::F32 || parameter.dtype == DType::F64;
    if (parameter.isPointer)
      body += "  " + slot + " = (uint64_t)(uintptr_t)" + value + ";\n";
    else if (isReal)
      body += "  memcpy(&" + slot + ", &" + value + ", sizeof " + value + ");\n";
    else
      body += "  " + slot + " = (uint64_t)" + (isSigned(parameter.dtype) ? "(int64_t)" : "") + value + ";\n";
  }
  std::string count = std::to_string(names.size());
  std::string text = "\n/* `" + first.kernel + "` for " + targets + "." + comment + " */\n";
  text += "static inline tg_status " + entry.name + "(" + prefix +
          "_library *library, const tg_place *place, tgr_grid grid" + arguments + ") {\n";
  text += "  uint64_t slots_[" + std::to_string(std::max<size_t>(1, names.size())) + "] = {0};\n" + body;
  return text + "  return tgr_launch(tgr_library_kernel((tgr_library *)library, " + std::to_string(number) +
         "), place, slots_, " + count + ", grid);\n}\n";
}

} // namespace

Status checkHeader(const Archive &archive, const std::string &prefix) {
  auto refuse = [](const std::string &what, const std::string &hint) {
    return Status::error(StatusCode::Launch, what + "; hint: " + hint);
  };
  if (!isIdentifier(prefix))
    return refuse("the prefix `" + prefix + "` of names in the header is no name of C",
                  "letters, digits and `_`, as in `my_kernels`");
  if (isOfLibraries(prefix + "_library"))
    return refuse("the prefix `" + prefix + "` of names in the header is that of a header that it includes",
                  "another one, as in `my_kernels`");
  for (const Archive::Entry &entry : archive.entries) {
    const std::string &name = entry.name;
    if (isKeyword(name) || isOfLibraries(name))
      return refuse("the header cannot have a function `" + name +
                        "`: C, C++ or a header that it includes has this name",
                    "give the kernel another name");
    for (const char *own : {"_open", "_open_bytes", "_close", "_library"})
      if (name == prefix + own)
        return refuse("the header has a `" + name + "` of its own, and cannot have a kernel of this name",
                      "give the kernel another name, or the header another prefix");
  }
  return Status::success();
}

std::string headerOf(const Archive &archive, const std::string &prefix) {
  std::string guard;
  for (char c : prefix)
    guard += char(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  std::string text =
      "/* Made by `tegula build`: the kernels of an archive as functions of C and C++.\n"
      " *\n"
      " * Open the archive for a target, \"cpu\" or the name of a GPU's (" +
      prefix +
      "_open), then call.\n"
      " * Each function returns when the work is queued on `place` (NULL: the current device's\n"
      " * default stream), on cores when it is done. What went wrong is in tgr_message().\n"
      " */\n";
  text += "#ifndef " + guard + "_KERNELS_H\n#define " + guard + "_KERNELS_H\n\n";
  text += "#include \"tegula/runtime.h\"\n\n#include <stdbool.h>\n#include <string.h>\n\n";
  text += "#if defined(__cplusplus) && defined(__GNUC__) /* casts that C has, too */\n"
          "#pragma GCC diagnostic push\n#pragma GCC diagnostic ignored \"-Wold-style-cast\"\n#endif\n\n";
  text += "/* Names and parameters of the kernels; an archive with others is not opened. */\n";
  text += "#define " + guard + "_INTERFACE \"" + interfaceDigest(archive) + "\"\n\n";
  text += "typedef struct " + prefix + "_library " + prefix + "_library;\n\n";
  text += "static inline tg_status " + prefix + "_open(const char *path, const char *target, " + prefix +
          "_library **out) {\n  return tgr_library_open(path, target, " + guard +
          "_INTERFACE, (tgr_library **)out);\n}\n";
  text += "/* The same of an archive in memory, which is copied. */\n";
  text += "static inline tg_status " + prefix +
          "_open_bytes(const void *data, size_t size, const char *target, " + prefix +
          "_library **out) {\n  return tgr_library_open_bytes(data, size, target, " + guard +
          "_INTERFACE, (tgr_library **)out);\n}\n";
  text += "static inline void " + prefix + "_close(" + prefix +
          "_library *library) {\n  tgr_library_close((tgr_library *)library);\n}\n";
  for (size_t i = 0; i != archive.entries.size(); ++i)
    text += functionOf(archive.entries[i], i, prefix);
  text += "\n#if defined(__cplusplus) && defined(__GNUC__)\n#pragma GCC diagnostic pop\n#endif\n";
  return text + "\n#endif\n";
}

} // namespace tegula::artifact
