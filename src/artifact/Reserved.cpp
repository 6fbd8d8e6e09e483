#include "artifact/Reserved.h"

#include <algorithm>
#include <iterator>

namespace tegula::artifact {
namespace {

// C23 6.4.1; C++23 [lex.key] and [lex.digraph]. Sorted.
constexpr std::string_view keywords[] = {"_Alignas",
                                         "_Alignof",
                                         "_Atomic",
                                         "_BitInt",
                                         "_Bool",
                                         "_Complex",
                                         "_Decimal128",
                                         "_Decimal32",
                                         "_Decimal64",
                                         "_Generic",
                                         "_Imaginary",
                                         "_Noreturn",
                                         "_Static_assert",
                                         "_Thread_local",
                                         "alignas",
                                         "alignof",
                                         "and",
                                         "and_eq",
                                         "asm",
                                         "auto",
                                         "bitand",
                                         "bitor",
                                         "bool",
                                         "break",
                                         "case",
                                         "catch",
                                         "char",
                                         "char16_t",
                                         "char32_t",
                                         "char8_t",
                                         "class",
                                         "co_await",
                                         "co_return",
                                         "co_yield",
                                         "compl",
                                         "concept",
                                         "const",
                                         "const_cast",
                                         "consteval",
                                         "constexpr",
                                         "constinit",
                                         "continue",
                                         "decltype",
                                         "default",
                                         "delete",
                                         "do",
                                         "double",
                                         "dynamic_cast",
                                         "else",
                                         "enum",
                                         "explicit",
                                         "export",
                                         "extern",
                                         "false",
                                         "float",
                                         "for",
                                         "friend",
                                         "goto",
                                         "if",
                                         "inline",
                                         "int",
                                         "long",
                                         "mutable",
                                         "namespace",
                                         "new",
                                         "noexcept",
                                         "not",
                                         "not_eq",
                                         "nullptr",
                                         "operator",
                                         "or",
                                         "or_eq",
                                         "private",
                                         "protected",
                                         "public",
                                         "register",
                                         "reinterpret_cast",
                                         "requires",
                                         "restrict",
                                         "return",
                                         "short",
                                         "signed",
                                         "sizeof",
                                         "static",
                                         "static_assert",
                                         "static_cast",
                                         "struct",
                                         "switch",
                                         "template",
                                         "this",
                                         "thread_local",
                                         "throw",
                                         "true",
                                         "try",
                                         "typedef",
                                         "typeid",
                                         "typename",
                                         "typeof",
                                         "typeof_unqual",
                                         "union",
                                         "unsigned",
                                         "using",
                                         "virtual",
                                         "void",
                                         "volatile",
                                         "wchar_t",
                                         "while",
                                         "xor",
                                         "xor_eq"};

// Those of <string.h>, <strings.h>, <stddef.h> and <stdint.h>, which the header includes; of <stdlib.h>,
// <stdio.h> and <unistd.h> those that a program hardly does without; macros of compilers. Sorted.
constexpr std::string_view libraryNames[] = {
    "NULL",       "abort",       "access",    "atexit",    "atof",        "atoi",     "atol",
    "basename",   "bcmp",        "bcopy",     "bzero",     "calloc",      "close",    "dup",
    "errno",      "exit",        "fclose",    "ffs",       "ffsl",        "ffsll",    "fopen",
    "fork",       "fprintf",     "fread",     "free",      "fwrite",      "getchar",  "getenv",
    "index",      "int16_t",     "int32_t",   "int64_t",   "int8_t",      "intmax_t", "intptr_t",
    "labs",       "linux",       "main",      "malloc",    "max_align_t", "memccpy",  "memchr",
    "memcmp",     "memcpy",      "memfrob",   "memmem",    "memmove",     "mempcpy",  "memrchr",
    "memset",     "offsetof",    "open",      "perror",    "pipe",        "printf",   "ptrdiff_t",
    "putchar",    "puts",        "qsort",     "rand",      "read",        "realloc",  "remove",
    "rename",     "rindex",      "scanf",     "size_t",    "sleep",       "snprintf", "sprintf",
    "srand",      "ssize_t",     "stderr",    "stdin",     "stdout",      "stpcpy",   "stpncpy",
    "strcasecmp", "strcasestr",  "strcat",    "strchr",    "strchrnul",   "strcmp",   "strcoll",
    "strcpy",     "strcspn",     "strdup",    "strerror",  "strfry",      "strlcat",  "strlcpy",
    "strlen",     "strncasecmp", "strncat",   "strncmp",   "strncpy",     "strndup",  "strnlen",
    "strpbrk",    "strrchr",     "strsep",    "strsignal", "strspn",      "strstr",   "strtok",
    "strverscmp", "strxfrm",     "swab",      "system",    "time",        "uint16_t", "uint32_t",
    "uint64_t",   "uint8_t",     "uintmax_t", "uintptr_t", "unix",        "write"};

// Of <stddef.h>, <stdio.h>, <errno.h>, <assert.h>, <complex.h>, <sys/sysmacros.h>, of compilers, of Qt and of
// Windows. Sorted.
constexpr std::string_view macros[] = {
    "BUFSIZ",  "EOF",    "FALSE",   "I",      "IN",    "NAN",    "NULL",    "OUT",
    "TRUE",    "assert", "complex", "emit",   "errno", "far",    "foreach", "forever",
    "linux",   "major",  "makedev", "max",    "min",   "minor",  "near",    "offsetof",
    "signals", "slots",  "small",   "stderr", "stdin", "stdout", "unix"};

template <size_t Count> constexpr bool has(const std::string_view (&sorted)[Count], std::string_view name) {
  return std::binary_search(std::begin(sorted), std::end(sorted), name);
}
static_assert(std::is_sorted(std::begin(keywords), std::end(keywords)) &&
              std::is_sorted(std::begin(libraryNames), std::end(libraryNames)) &&
              std::is_sorted(std::begin(macros), std::end(macros)));

} // namespace

bool isKeyword(std::string_view name) { return has(keywords, name); }

bool isOfLibraries(std::string_view name) {
  return has(libraryNames, name) || name.starts_with("tg_") || name.starts_with("tgr_") ||
         name.starts_with("TG_") || name.starts_with("__");
}

// <stdint.h> and <limits.h> name the bounds of each type alike.
bool isMacro(std::string_view name) {
  for (std::string_view end : {"_MAX", "_MIN", "_WIDTH", "_BIT", "_C"})
    if (name.ends_with(end))
      return true;
  return has(macros, name) || name.starts_with("__");
}

} // namespace tegula::artifact
