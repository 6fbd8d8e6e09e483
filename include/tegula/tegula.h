/* Tegula: the C interface, version 0.
 *
 * Reads a kernel file, compiles a kernel for a signature or for the arguments of a call, and
 * runs it on this process's memory, or on a device's.
 *
 * Rules that hold for every function:
 *   - It returns a tg_status (or a plain value that cannot fail). It never throws, aborts or
 *     exits on bad input.
 *   - What went wrong is in the tg_diagnostics that it puts into `*problems`, when `problems` is
 *     not NULL and the status is not TG_OK; the caller destroys it.
 *   - Every struct that may grow begins with `struct_size`: set it to sizeof the struct.
 *   - Handles are opaque. A borrowed handle or string lives as long as what it came from. NULL, a
 *     destroyed handle, one of another kind or any other address is TG_LAUNCH, or NULL and 0 where
 *     there is no status; so are a NULL result, a struct_size that is not set, and items that are NULL.
 *   - Functions of the host that the library calls (tg_host, tg_tune_host, `print`) return: they throw
 *     nothing, and do not jump out.
 *   - Functions may be called from several threads; one handle is destroyed by one thread, when
 *     no other uses it.
 *
 * Names are UTF-8. Names of element types: "fp32" (upstream's), "f32", "float32"; pointers "*f32".
 */
#ifndef TEGULA_TEGULA_H
#define TEGULA_TEGULA_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define TG_OF_ANY_NUMBER : unsigned /* a host may pass any, which C++ allows only where the type is said */
#else
#define TG_OF_ANY_NUMBER
#endif

#if defined(__GNUC__)
#define TG_API __attribute__((visibility("default")))
#else
#define TG_API
#endif

#define TG_ABI_VERSION 0

/* The version of the interface that the library has, and the release as "0.1.0". */
TG_API uint32_t tg_abi_version(void);
TG_API const char *tg_version(void);

/* ---- status and diagnostics ------------------------------------------------------------- */

/* Stable numbers; new ones are appended. */
typedef enum tg_status TG_OF_ANY_NUMBER {
  TG_OK = 0,
  TG_PARSE = 1,       /* the text is not the language */
  TG_TYPE = 2,        /* the program means nothing: types, shapes, names, constexprs */
  TG_UNSUPPORTED = 3, /* right, but not on this target */
  TG_RESOURCE = 4,    /* too large: memory, limits, budgets */
  TG_TOOLCHAIN = 5,   /* an assembler or linker failed */
  TG_DRIVER = 6,      /* a device's driver refused */
  TG_LAUNCH = 7,      /* arguments or grid do not fit the kernel */
  TG_DATA = 8,        /* a file or buffer is not what it claims */
  TG_INTERNAL = 9,    /* a bug of this library */
  TG_ASSERTION = 10   /* a tl.device_assert was false while the kernel ran */
} tg_status;

/* "TG_OK", "TG_PARSE", ... */
TG_API const char *tg_status_name(tg_status status);

typedef enum tg_severity TG_OF_ANY_NUMBER { TG_ERROR = 0, TG_WARNING = 1, TG_REMARK = 2 } tg_severity;

/* A list of diagnostics: what a call refused, or what a compile warned of. */
typedef struct tg_diagnostics tg_diagnostics;

typedef struct tg_diagnostic {
  size_t struct_size;
  tg_severity severity;
  tg_status status;    /* the class of the error */
  const char *kind;    /* its name, "UndefinedName" */
  const char *file;    /* "" where it has no place */
  uint32_t line;       /* from 1; 0 where it has no place */
  uint32_t column;     /* from 1, in bytes; 0 where it has no place */
  const char *message; /* without place and kind */
  const char *hint;    /* "" where there is none */
} tg_diagnostic;

/* The status of the first error; TG_OK for a list of warnings and for NULL. */
TG_API tg_status tg_diagnostics_status(const tg_diagnostics *list);
/* All of them as a person reads them: place, line, caret, reason, hint. Beside errors without what the kernel
   printed while it was compiled (tl.static_print), which the list has. */
TG_API const char *tg_diagnostics_text(const tg_diagnostics *list);
TG_API size_t tg_diagnostics_count(const tg_diagnostics *list);
/* Fills `*out`; its strings live as long as the list. */
TG_API tg_status tg_diagnostics_get(const tg_diagnostics *list, size_t index, tg_diagnostic *out);
TG_API void tg_diagnostics_destroy(tg_diagnostics *list);

/* ---- values ----------------------------------------------------------------------------- */

typedef struct tg_function tg_function;
typedef struct tg_held tg_held;
typedef struct tg_value tg_value;

/* Element types; the numbers are stable. */
typedef enum tg_dtype TG_OF_ANY_NUMBER {
  TG_I1 = 0,
  TG_I8 = 1,
  TG_I16 = 2,
  TG_I32 = 3,
  TG_I64 = 4,
  TG_U8 = 5,
  TG_U16 = 6,
  TG_U32 = 7,
  TG_U64 = 8,
  TG_F16 = 9,
  TG_BF16 = 10,
  TG_F32 = 11,
  TG_F64 = 12,
  TG_F8E5 = 13,
  TG_F8E4NV = 14,
  TG_F8E4B8 = 15,
  TG_F8E5B16 = 16,
  TG_F8E4B15 = 17,
  /* of less than a byte, packed: pointers to them take bytes */
  TG_I2 = 18,
  TG_I3 = 19,
  TG_I4 = 20,
  TG_I5 = 21,
  TG_I6 = 22,
  TG_I7 = 23,
  TG_U1 = 24,
  TG_U2 = 25,
  TG_U3 = 26,
  TG_U4 = 27,
  TG_U5 = 28,
  TG_U6 = 29,
  TG_U7 = 30,
  TG_F4E2M1 = 31
} tg_dtype;

/* -1: there is no type of this name. */
TG_API int tg_dtype_from_name(const char *name);
/* "fp32"; NULL: there is no such type. */
TG_API const char *tg_dtype_name(int dtype);
/* Bytes of an element in memory; 0: there is no such type. */
TG_API size_t tg_dtype_size(int dtype);

typedef enum tg_value_kind TG_OF_ANY_NUMBER {
  TG_ABSENT = 0, /* no value: the parameter's default counts */
  TG_NONE = 1,
  TG_BOOL = 2,    /* as.integer */
  TG_INT = 3,     /* as.integer */
  TG_UINT = 4,    /* as.bits; for values above 2^63 - 1 */
  TG_FLOAT = 5,   /* as.real */
  TG_POINTER = 6, /* as.address, dtype */
  TG_STRING = 7,  /* as.text */
  TG_DTYPE = 8,   /* dtype */
  TG_LITERAL =
      9, /* as.text: a constant as Python writes it: "3", "1e-5", "None", "'relu'", "tl.float16", "(1, 2)" */
  TG_TUPLE = 10,    /* as.tuple */
  TG_FUNCTION = 11, /* as.function: a function of the language */
  /* In answers of a host's environment: */
  TG_MODULE = 12,  /* as.text: a module of the language by its canonical name, "triton.language" */
  TG_BUILTIN = 13, /* as.text: a builtin by its canonical name, "triton.language.load" */
  TG_OPAQUE = 14,  /* as.opaque: an object that only the host knows */
  /* The class of tuples with named elements. as.tuple: its name (TG_STRING), the class itself (TG_OPAQUE),
   * whether it is an aggregate (TG_BOOL), then the names of the fields (TG_STRING). */
  TG_CLASS = 15,
  /* as.tuple: the class (TG_CLASS), then the elements. An argument of a class with the name
   * "triton.language.tensor_descriptor" is a tensor descriptor: base (TG_POINTER), shape and strides
   * (TG_TUPLE of integers), block_shape (TG_TUPLE of integers, TG_CONSTEXPR) and padding ("zero" or "nan"),
   * as tl.make_tensor_descriptor takes them; and, where the host knows one, a number (TG_INT, TG_CONSTEXPR)
   * of which all strides that are no constants are multiples. */
  TG_NAMED_TUPLE = 16,
  TG_HELD = 17 /* as.held: a value of a program that runs one operation at a time */
} tg_value_kind;

typedef enum tg_value_flags TG_OF_ANY_NUMBER {
  TG_READ_ONLY = 1, /* TG_POINTER: a kernel that stores through it is refused */
  TG_TYPED = 2,     /* TG_BOOL, TG_INT, TG_UINT, TG_FLOAT, TG_LITERAL: the number has type `dtype` */
  TG_CONSTEXPR = 4, /* answers: a constant that kernels may use (tl.constexpr); arguments: a constant for any
                       parameter */
} tg_value_flags;

/* Bits of an opaque handle. The host sets the first in the handle of a function that may be called with
 * run-time values. To such a function these are opaque too, with the second bit and their number among the
 * arguments; what it answers may be one of them. */
#define TG_TAKES_VALUES (UINT64_C(1) << 61)
#define TG_RUN_TIME (UINT64_C(1) << 62)

struct tg_value {
  uint8_t kind;  /* tg_value_kind */
  uint8_t dtype; /* tg_dtype, where the kind or a flag says so */
  uint8_t flags; /* tg_value_flags */
  uint8_t reserved[5];
  union {
    int64_t integer;
    uint64_t bits;
    double real;
    void *address;
    tg_function *function;
    tg_held *held;
    struct {
      const char *data;
      size_t size;
    } text;
    struct {
      const tg_value *items;
      size_t count;
    } tuple;
    struct {
      uint64_t handle;
      const char *repr; /* for messages, zero-terminated */
    } opaque;
  } as;
};

/* ---- context ---------------------------------------------------------------------------- */

typedef struct tg_context tg_context;

typedef struct tg_context_options {
  size_t struct_size;
  const char *target; /* NULL: "cpu". "interp" is the reference interpreter; "cuda" are GPUs, "sm_90a" those
                         of one architecture */
} tg_context_options;

/* `options` may be NULL. The context outlives its modules. Variables of the environment whose values mean
   nothing are problems. */
TG_API tg_status tg_context_create(const tg_context_options *options, tg_context **out,
                                   tg_diagnostics **problems);
TG_API void tg_context_destroy(tg_context *context);

/* A variable of the environment that the library, its tools or the Python package read. */
typedef struct tg_variable {
  size_t struct_size;
  const char *name;
  const char *value;   /* NULL: it is not set */
  const char *initial; /* what counts then */
  const char *read;    /* by whom and when */
  const char *what;    /* one line */
  const char
      *problem; /* why the value means nothing, until this thread asks again; "" where it means something */
} tg_variable;
/* TG_LAUNCH past the last. */
TG_API tg_status tg_variable_get(size_t index, tg_variable *out);

/* The names of the targets of this build; NULL past the last. */
TG_API const char *tg_target_name(size_t index);

/* A step of a compile. A pass that runs twice is there twice. */
typedef struct tg_pass {
  size_t struct_size;
  const char *name;
  const char
      *gives; /* the form of the kernel behind it, as a stage; "" where the pass leaves the form as it is */
  const char *what; /* one line */
} tg_pass;
/* Fills `*out` with the pass that a compile for `target` runs at this place. TG_LAUNCH past the last. */
TG_API tg_status tg_pass_get(const char *target, size_t index, tg_pass *out, tg_diagnostics **problems);

/* Threads that launches on the cores use: TEGULA_NUM_THREADS, else the cores that this process may
 * run on. Between 1 and 1024. */
TG_API unsigned tg_threads(void);
TG_API tg_status tg_set_threads(unsigned threads, tg_diagnostics **problems);

/* ---- devices ---------------------------------------------------------------------------- */

/* The place where a launch runs. */
typedef struct tg_place {
  size_t struct_size;
  int32_t device; /* from 0; -1: the one that is current on this thread, else the first */
  void *stream;   /* the driver's handle (cudaStream_t, CUstream); NULL: its default stream */
} tg_place;

typedef struct tg_device {
  size_t struct_size;
  const char *name;
  const char *arch; /* as a target's name: "sm_90a" */
  int32_t major, minor;
  int32_t multiprocessors;
  int32_t warp_size;
  int32_t max_threads_per_block;
  int64_t max_shared_bytes; /* of one block */
  int64_t max_registers;    /* 32-bit registers of one block */
  int64_t memory_bytes;
  int64_t cache_bytes; /* of the cache that all multiprocessors share */
  int32_t clock_khz, memory_clock_khz;
  int32_t memory_bus_bits;
} tg_device;

/* The number of devices of a target; 0 for targets without. TG_DRIVER: there is no driver or no device. */
TG_API tg_status tg_device_count(const char *target, int32_t *count, tg_diagnostics **problems);
/* Fills `*out`; its strings live as long as the process. */
TG_API tg_status tg_device_get(const char *target, int32_t device, tg_device *out, tg_diagnostics **problems);
/* The device whose context is current on this thread, else the first. */
TG_API tg_status tg_device_current(const char *target, int32_t *device, tg_diagnostics **problems);

/* Memory that kernels of the target reach: of its device `device` (-1: the current one), of this
 * process for targets without devices. TG_RESOURCE: there is not so much. */
TG_API tg_status tg_memory_allocate(const char *target, int32_t device, size_t bytes, void **out,
                                    tg_diagnostics **problems);
/* With the target and the device that it came from; `memory` may be NULL. */
TG_API tg_status tg_memory_release(const char *target, int32_t device, void *memory,
                                   tg_diagnostics **problems);
/* Between such memory, this process's, or both; done when it returns. It waits for work on default
 * streams only: for another stream call tg_synchronize before. */
TG_API tg_status tg_memory_copy(const char *target, int32_t device, void *to, const void *from, size_t bytes,
                                tg_diagnostics **problems);
/* Waits for the work that was queued on the place's stream, and says what went wrong there. */
TG_API tg_status tg_synchronize(const char *target, const tg_place *place, tg_diagnostics **problems);

/* ---- modules and functions -------------------------------------------------------------- */

/* The host answers what the free names of a kernel mean. `lookup`, `attribute` and `call` return
 * 1 and fill `*out`; or 0: there is no such thing; or -1: it raised an error, whose text `*out` is
 * (TG_STRING). What `*out` points at stays valid until the next call of one of these functions;
 * opaque handles and functions as long as the module. They are called during compiles, and by calls
 * that find another `version`, on the thread that compiles or calls. */
typedef struct tg_host {
  size_t struct_size;
  void *user;
  int (*lookup)(void *user, const char *name, tg_value *out);
  int (*attribute)(void *user, const tg_value *object, const char *name, tg_value *out);
  int (*call)(void *user, const tg_value *callee, const tg_value *arguments, size_t count, tg_value *out);
  /* A number that is another one whenever an answer may be another one than before: then the next call
   * of a kernel asks again what its compile asked, and compiles anew where an answer differs. Asked at
   * each call, from any thread. NULL: answers never change. */
  uint64_t (*version)(void *user);
  /* In the place of `call`: names[i] is the keyword of argument i, NULL by position. The one argument of the
   * keyword "[]" is a key, `callee` a dictionary or range, and `*out` its entry: `callee[key]` in the kernel.
   * With "in" the argument is sought, and `*out` a bool; with "len()" it is None, and `*out` the length. */
  int (*call_named)(void *user, const tg_value *callee, const tg_value *arguments, const char *const *names,
                    size_t count, tg_value *out);
  /* The default of a parameter of the function that this host belongs to, evaluated. NULL, or 0: the text
   * of the function says it. */
  int (*default_of)(void *user, const char *parameter, tg_value *out);
  /* The name (TG_STRING) that a kernel of the function that this host belongs to gets, asked once a
   * specialization. The value is a tuple of one row (name, type, constant) a parameter that has a value: the
   * type is "*fp32", "constexpr" where `constant` is the value, and of a tuple a tuple of rows.
   * Characters that code cannot have in a name become "_$_". NULL, or 0: the function's name. */
  int (*name_of)(void *user, const tg_value *specialization, tg_value *out);
} tg_host;

typedef struct tg_module tg_module;

/* A module from a file: at most 8 MiB of UTF-8 text. Imports of triton or tegula, @triton.jit
 * functions and constants of the file are what its kernels see; the file is never executed. */
TG_API tg_status tg_module_from_file(tg_context *context, const char *path, tg_module **out,
                                     tg_diagnostics **problems);

typedef struct tg_source {
  size_t struct_size;
  const char *path; /* for messages */
  const char *text;
  size_t size;
  uint32_t first_line;   /* of `text` in the file; from 1 */
  uint32_t first_column; /* how far the text was indented in the file */
  const tg_host *host;   /* NULL: the text answers its own names. With a host every function of the
                            text is a kernel, decorated or not */
} tg_source;

TG_API tg_status tg_module_from_text(tg_context *context, const tg_source *source, tg_module **out,
                                     tg_diagnostics **problems);
/* Destroys its functions, and their kernels but for those that the caller holds. */
TG_API void tg_module_destroy(tg_module *module);

TG_API size_t tg_module_function_count(const tg_module *module);
/* Borrowed; NULL past the last. */
TG_API tg_function *tg_module_function(const tg_module *module, size_t index);
TG_API tg_status tg_module_find(const tg_module *module, const char *name, tg_function **out,
                                tg_diagnostics **problems);

TG_API const char *tg_function_name(const tg_function *function);
TG_API size_t tg_function_parameter_count(tg_function *function);

typedef struct tg_parameter {
  size_t struct_size;
  const char *name;
  const char *annotation;    /* as written; "" without */
  const char *default_value; /* as written; NULL without */
  int is_constexpr;
  uint32_t line;
} tg_parameter;

TG_API tg_status tg_function_parameter(tg_function *function, size_t index, tg_parameter *out);
/* The value 1 and multiples of 16 are nothing special for this parameter; with
 * `only_alignment`, only multiples of 16 are not. Before the first launch. */
TG_API void tg_function_do_not_specialize(tg_function *function, size_t parameter, int only_alignment);
/* The annotation of a parameter that counts instead of the text's: "constexpr", "const", "i64", "*fp16".
 * Returns 0 where it says nothing here: then the text's counts. Before the first launch. */
TG_API int tg_function_annotate(tg_function *function, size_t parameter, const char *annotation);

/* ---- compiling and launching ------------------------------------------------------------ */

typedef struct tg_kernel tg_kernel;

typedef struct tg_compile_options {
  size_t struct_size;
  const char *target; /* NULL: the context's. "sm_80" ... compile for a GPU that need not be here; "cuda": for
                         the current one */
  const char *cpu;    /* a name of LLVM, "haswell"; "native": this machine; NULL: TEGULA_CPU's, else this
                         machine. Of cores only */
  int32_t num_warps;  /* 0: the default */
  int32_t num_stages; /* 0: the default */
  int32_t debug;
  /* Passes (tg_pass_get) ahead of or behind which `print` gets the kernel as it is then, under a heading that
   * is a comment; "all", or NULL: none. A kernel that does not compile is shown as far as it came. */
  const char *print_before, *print_after;
  void (*print)(void *user, const char *text);
  void *user;          /* what `print` gets first */
  const char *options; /* NULL: none. Options of a launch with constants: "num_warps=8,maxnreg=64"; of those
                          that stand here and above the ones above count. Libraries and a stage of the compile
                          are files: "extern_libs.NAME='FILE.bc',ir_override='FILE.ptx'" */
} tg_compile_options;

/* Compiles `function` for a signature: "x=*f32:16,n=i32,B=64,ACT='relu'". Each parameter is
 *   NAME=*TYPE[:16]   a pointer, divisible by 16; `:8`: by 8
 *   NAME=TYPE[:16]    a number known at run time, likewise (for a constexpr parameter: the type itself)
 *   NAME=CONSTANT     a constant
 * Parameters with defaults may be left out. The caller destroys the kernel, before its context.
 * `options` may be NULL. */
TG_API tg_status tg_compile(tg_function *function, const char *signature, const tg_compile_options *options,
                            tg_kernel **out, tg_diagnostics **problems);
/* Gives up the caller's hold on a kernel from tg_compile, tg_call or tg_prepare; NULL is nothing. */
TG_API void tg_kernel_destroy(tg_kernel *kernel);

/* A process keeps so many kernels compiled for calls; those that were not used for the longest time
 * go first, and are compiled again when they are called for. From TEGULA_MAX_KERNELS, else 1024;
 * a few hundred KB each. 0: no bound. Holds from the next compile on. */
TG_API size_t tg_kernel_limit(void);
TG_API void tg_set_kernel_limit(size_t kernels);
/* Says how many there are now. */
TG_API size_t tg_kept_kernels(void);
/* 1: a call may find the kernel again. 0: it was evicted, or comes from tg_compile. */
TG_API int tg_kernel_is_kept(const tg_kernel *kernel);

/* The compiled kernels on disk that all processes of a user share. Of a launch of a kernel that is new to its
 * process they are asked first; tg_compile compiles in any case. TG_DATA: there is no cache, and why. */
typedef struct tg_cache_info {
  size_t struct_size;
  const char *path;        /* of the folder; lives until this thread asks again */
  uint64_t entries, bytes; /* in it */
  uint64_t hits, misses;   /* of this process: found, compiled */
  uint64_t damaged;        /* of this process: refused and removed */
  /* Of this process and the remote cache (TEGULA_REMOTE_CACHE): taken from there; refused, since nobody who
   * is believed has signed them */
  uint64_t remote_hits, remote_refused;
} tg_cache_info;
TG_API tg_status tg_cache_get_info(tg_cache_info *out, tg_diagnostics **problems);
/* Reads every entry and removes those that are damaged; both counts may be NULL. */
TG_API tg_status tg_cache_verify(uint64_t *entries, uint64_t *damaged, tg_diagnostics **problems);
/* Removes all entries. */
TG_API tg_status tg_cache_clear(uint64_t *entries, tg_diagnostics **problems);

/* Writes all entries to a file, and adds those of such a file that are not there: to take compiled kernels to
 * another machine. Entries that do not fit it (another processor, another build of the library) are not found
 * there. The file holds code: take it only from where you take programs. `*entries`, which may be NULL:
 * written, added. */
TG_API tg_status tg_cache_export(const char *path, uint64_t *entries, tg_diagnostics **problems);
TG_API tg_status tg_cache_import(const char *path, uint64_t *entries, tg_diagnostics **problems);

/* The features of this processor that generated code may use, by LLVM's names; NULL past the last. */
TG_API const char *tg_cpu_feature(size_t index);

/* A kernel of an archive. Entries with one name, one behind the other, are one kernel for several targets;
 * they have the same parameters. */
typedef struct tg_archive_entry {
  const char *name; /* of the function in the header: a name of C */
  const tg_kernel *kernel;
} tg_archive_entry;
/* Writes compiled kernels as an archive for libtegula-rt (tegula/runtime.h), and the header with a typed
 * function for each. `header` is the path of the header, NULL: none is written; names in it begin with
 * `prefix`. Files are whole or not there. TG_LAUNCH: the entries do not go together, or have names that the
 * header cannot have. TG_DATA: a file cannot be written. */
TG_API tg_status tg_archive_write(const tg_archive_entry *entries, size_t count, const char *path,
                                  const char *header, const char *prefix, tg_diagnostics **problems);

TG_API const char *tg_kernel_name(const tg_kernel *kernel);
TG_API const char *tg_kernel_target(const tg_kernel *kernel);
/* The run-time arguments, in the order of slots. */
TG_API size_t tg_kernel_argument_count(const tg_kernel *kernel);

typedef struct tg_kernel_argument {
  size_t struct_size;
  const char *name;
  tg_dtype dtype; /* of the number, or of the pointer's elements */
  int is_pointer;
  int is_written; /* the kernel may store through it */
} tg_kernel_argument;

TG_API tg_status tg_kernel_get_argument(const tg_kernel *kernel, size_t index, tg_kernel_argument *out);

/* The resources of a device that a launch takes. -1 where the target has nothing of the kind. */
typedef struct tg_kernel_attributes {
  size_t struct_size;
  const char *arch;     /* what it was compiled for: "sm_90a"; "" where the target has one only */
  int32_t warps;        /* of a block */
  int32_t registers;    /* of a thread */
  int32_t spill_bytes;  /* of a thread: what did not fit into registers */
  int64_t shared_bytes; /* of a block */
} tg_kernel_attributes;
TG_API tg_status tg_kernel_get_attributes(tg_kernel *kernel, tg_kernel_attributes *out,
                                          tg_diagnostics **problems);

/* Names of the stages: "ttir", then the target's ("nests", "llvm", "asm", "obj" of cores; "simt",
 * "llvm", "ptx", "cubin", "sass" of GPUs). NULL past the last. */
TG_API const char *tg_kernel_stage_name(const tg_kernel *kernel, size_t index);
/* The text (or, for "obj" and "cubin", the bytes) of a stage; lives as long as the kernel. */
TG_API tg_status tg_kernel_stage(tg_kernel *kernel, const char *stage, const char **data, size_t *size,
                                 tg_diagnostics **problems);

/* A choice of the compiler, with its place in the source. */
typedef struct tg_remark {
  size_t struct_size;
  const char *location; /* "file:line:column" */
  const char *kind;
  const char *text;
} tg_remark;
TG_API size_t tg_kernel_remark_count(const tg_kernel *kernel);
TG_API tg_status tg_kernel_remark(const tg_kernel *kernel, size_t index, tg_remark *out);

/* Milliseconds of each step of the compile. NULL past the last. */
TG_API const char *tg_kernel_time(const tg_kernel *kernel, size_t index, double *milliseconds);
/* The warnings of the compile; NULL: there are none. The caller destroys it. */
TG_API tg_diagnostics *tg_kernel_warnings(const tg_kernel *kernel);

/* Runs every program of the grid (1 to 3 extents). Returns when they are done; on a device, when
 * they are queued on the place's stream: what a kernel does wrong shows at the next call that waits.
 * One slot of 8 bytes an argument: a pointer's address, an integer sign- or zero-extended, the bits
 * of a float in the low bytes. `place` NULL: the current device's default stream; targets without
 * devices do not look at it. */
TG_API tg_status tg_launch(tg_kernel *kernel, const tg_place *place, const uint64_t *slots, size_t slot_count,
                           const int64_t *grid, size_t grid_count, tg_diagnostics **problems);
/* Compiles what a launch of such a grid would: kernels with loops that a call or tg_prepare compiled have
 * other code for grids of which each program has a multiprocessor of a GPU for itself. Runs nothing. */
TG_API tg_status tg_kernel_prepare(tg_kernel *kernel, const tg_place *place, const int64_t *grid,
                                   size_t grid_count, tg_diagnostics **problems);

/* An argument of a call: by position, or by name when `name` is not NULL. Names that are no
 * parameters are options: num_warps, num_stages, debug ... */
typedef struct tg_argument {
  tg_value value;
  const char *name;
} tg_argument;

/* Calls a kernel: compiles it for these arguments when they are of a new kind, and runs it. The
 * rules are upstream's: the integer 1 is a constant, other integers are i32 or i64 by value, floats
 * are fp32, annotations pin types, pointers and integers divisible by 16 are known to be so. Integers from
 * 24 on that 8 divides are known to be so, too.
 * `target` NULL: the context's. `place` as in tg_launch; pointers are of its device. `*kernel` is the
 * caller's, who destroys it before the function's module; `kernel` may be NULL. */
TG_API tg_status tg_call(tg_function *function, const char *target, const tg_place *place,
                         const tg_argument *arguments, size_t count, const int64_t *grid, size_t grid_count,
                         tg_kernel **kernel, tg_diagnostics **problems);
/* Only compiles. */
TG_API tg_status tg_prepare(tg_function *function, const char *target, const tg_place *place,
                            const tg_argument *arguments, size_t count, tg_kernel **kernel,
                            tg_diagnostics **problems);

/* A call that is bound once: specialized, compiled, its arguments in slots. Launches of it look nothing up.
 */
typedef struct tg_bound tg_bound;
/* Binds a call as tg_call takes it, and runs nothing. `place` and `grid` are those of its launches. A tuple
 * among the arguments is TG_UNSUPPORTED. What changes in the host later does not change the kernel. */
TG_API tg_status tg_bind(tg_function *function, const char *target, const tg_place *place,
                         const tg_argument *arguments, size_t count, const int64_t *grid, size_t grid_count,
                         tg_bound **out, tg_diagnostics **problems);
/* Replaces argument `index` of the call, from 0, by one of the same kind: TG_LAUNCH where the kernel would be
 * another one (another type, a constant, an address that is not divisible by 16 any more, a number that 8
 * divides in place of one that it does not). */
TG_API tg_status tg_bound_set(tg_bound *bound, size_t index, const tg_value *value,
                              tg_diagnostics **problems);
/* Runs it; of one thread at a time. `place` NULL: the one that it was bound with; `grid` NULL as well. */
TG_API tg_status tg_bound_launch(tg_bound *bound, const tg_place *place, const int64_t *grid,
                                 size_t grid_count, tg_diagnostics **problems);
/* Has a call with these arguments, in the order in which they were bound, the kernel of the bound one? Then
 * 1, and `slots` gets what tg_bound_run takes: `*slot_count` of them, of which there is room for as many as
 * there are arguments and defaults; above `room` the answer is 0. Names are not looked at. 0 as well once the
 * function's table has given the kernel up (tg_set_kernel_limit). Safe from several threads. */
TG_API int tg_bound_fits(const tg_bound *bound, const tg_argument *arguments, size_t count, uint64_t *slots,
                         size_t room, size_t *slot_count);
/* Runs the kernel of the bound call with slots that tg_bound_fits wrote, as tg_call does. Safe from several
 * threads. */
TG_API tg_status tg_bound_run(const tg_bound *bound, const tg_place *place, const uint64_t *slots,
                              size_t slot_count, const int64_t *grid, size_t grid_count,
                              tg_diagnostics **problems);
TG_API void tg_bound_destroy(tg_bound *bound);

/* Gives the meaning of a dotted name in the language: "triton.language.load" (TG_BUILTIN),
 * "triton.language.math" (TG_MODULE), "triton.language.float32" (TG_DTYPE). Returns 0: there is no such name,
 * or it has a meaning only in a kernel. */
TG_API int tg_language_name(const char *dotted_name, tg_value *out);
/* The bare name of function `index` of a module of the language ("triton.language", "triton.language.math",
 * "triton.language.extra.libdevice"), among those that have a meaning; types are not listed. NULL: there are
 * not as many, or there is no such module. The text stays. */
TG_API const char *tg_language_name_at(const char *module, size_t index);

/* ---- tuning ----------------------------------------------------------------------------- */

/* One of the ways to compile and launch a kernel that a tuning compares. */
typedef struct tg_configuration {
  const char *name;             /* NULL: made of what it adds, "BLOCK=64, num_warps=4" */
  const tg_argument *arguments; /* constants and options that it adds to the call, each with its name */
  size_t count;
  const char *text; /* NULL: nothing more. The same as text: "BLOCK=64,num_warps=4" */
  int32_t is_late;  /* 1: of a tg_tune_host: compile it where it is measured, on the thread that called */
} tg_configuration;

typedef struct tg_memory_range {
  void *address;
  size_t bytes;
} tg_memory_range;

/* A host that compiles and measures itself, for calls that only it can make. Both return 1; or 0: the
 * configuration cannot run here, why is `*text` (TG_STRING); or -1: an error, whose text it is. What `*text`
 * points at stays valid until the same thread's next call of one of these functions. */
typedef struct tg_tune_host {
  size_t struct_size;
  void *user;
  /* `*text`: a text that is the same for configurations whose launches do the same, or TG_ABSENT. Called from
   * several threads at a time. */
  int (*compile)(void *user, size_t configuration, tg_value *text);
  /* The milliseconds of each of `runs` runs. Called on the thread that called tg_tune. */
  int (*measure)(void *user, size_t configuration, size_t runs, double *milliseconds, tg_value *text);
  int32_t measures_quantiles; /* 1: `measure` is called once for each, with 3 runs, and gives the quantiles
                                 0.5, 0.2 and 0.8, which count as they are */
  int32_t measures_beside_compiles; /* 1: a device runs what is measured, and compiles do not disturb it */
  const char *subject;              /* the kernel and the device, of which results are kept; NULL: none are */
  const char *call;                 /* types and constants of the call */
  const int64_t *sizes;             /* its numbers: results of near ones say where to begin */
  size_t size_count;
} tg_tune_host;

typedef struct tg_tune_options {
  size_t struct_size;
  const char *target;           /* NULL: the context's */
  const tg_place *place;        /* as of tg_call */
  const tg_argument *arguments; /* of the call, without those of the configurations */
  size_t count;
  const tg_configuration *configurations; /* NULL: those that the decorator @autotune in the file lists */
  size_t configuration_count;
  const char *grid;              /* one to three integers of arguments and constants, as Python writes them:
                                    "cdiv(n, BLOCK), 1" */
  const tg_memory_range *memory; /* the memory behind every pointer through which the kernel writes: it is put
                                    back behind each run. TG_LAUNCH: one is missing */
  size_t memory_count;
  uint32_t threads;         /* that compile; 0: the cores */
  double milliseconds;      /* that a configuration is measured for; 0: 20 */
  int32_t forgets;          /* 1: what was measured is neither kept on disk nor looked for there */
  int32_t shows_progress;   /* 1: a line on the error stream, where that is a terminal */
  const tg_tune_host *host; /* NULL: the library compiles and measures. Else only configurations, threads,
                               milliseconds, forgets and shows_progress are looked at */
} tg_tune_options;

typedef struct tg_tuning tg_tuning;

/* Finds the fastest configuration of a call: compiles all of them side by side, measures each alone, equal
 * code once, those at the front again until their order is certain; where it does not become so, the earlier
 * in the list wins. Arguments are afterwards what they were. What was measured before on this device, for
 * this code, call and configuration, is not measured again. TG_RESOURCE: no configuration can run. `function`
 * may be NULL with a host. */
TG_API tg_status tg_tune(tg_function *function, const tg_tune_options *options, tg_tuning **out,
                         tg_diagnostics **problems);
TG_API void tg_tuning_destroy(tg_tuning *tuning);

/* A configuration's result. */
typedef struct tg_tuning_row {
  size_t struct_size;
  const char *name;
  const char *refusal; /* why it cannot run here; "": it can */
  double milliseconds, low,
      high;        /* the quantiles 0.5, 0.2 and 0.8 of its runs; infinite where it cannot run */
  uint64_t runs;   /* in this tuning */
  int64_t same_as; /* the configuration whose code it has, and whose times; -1: none */
  int32_t is_kept; /* 1: an earlier tuning measured it */
} tg_tuning_row;
TG_API size_t tg_tuning_count(const tg_tuning *tuning);
/* Fills `*out`; its strings live as long as the tuning. */
TG_API tg_status tg_tuning_get(const tg_tuning *tuning, size_t index, tg_tuning_row *out);
/* The number of the fastest. */
TG_API size_t tg_tuning_best(const tg_tuning *tuning);
/* Says what the tuning began with, and why. NULL past the last. */
TG_API const char *tg_tuning_remark(const tg_tuning *tuning, size_t index);

/* Writes 64 digits and a zero: the same for kernels whose launches do the same. */
TG_API tg_status tg_kernel_digest(const tg_kernel *kernel, char out[65]);

/* ---- one operation at a time ------------------------------------------------------------ */

/* The programs of one launch, for a host that executes the statements of the kernel itself: a debugger, or
 * Python. Each operation is typed by the rules that compile kernels, and has been carried out when it
 * returns. Of one thread at a time. */
typedef struct tg_program tg_program;

/* Binds the arguments of a call to the function's parameters, with options as tg_call has them. `bound` has
 * room for tg_function_parameter_count values: TG_HELD (the caller's, who releases it), TG_TUPLE of such, or
 * TG_ABSENT: a constant, which the host has. Tuples live as long as the program. */
TG_API tg_status tg_program_create(tg_function *function, const tg_argument *arguments, size_t count,
                                   tg_value *bound, tg_program **out, tg_diagnostics **problems);
TG_API void tg_program_destroy(tg_program *program);
/* The operations that follow belong to this program of the grid; both have `count` entries, 1 to 3. The first
 * program may be named of an empty grid, too. */
TG_API tg_status tg_program_move(tg_program *program, const int64_t *index, const int64_t *grid, size_t count,
                                 tg_diagnostics **problems);
/* A file for places. `*number` is its number in a tg_span. The text is copied. */
TG_API tg_status tg_program_add_source(tg_program *program, const char *path, const char *text, size_t size,
                                       uint32_t *number, tg_diagnostics **problems);

typedef enum tg_action TG_OF_ANY_NUMBER {
  TG_DO_CALL = 0,      /* the first operand, a TG_BUILTIN or TG_FUNCTION, with the others as arguments */
  TG_DO_METHOD = 1,    /* the method `name` of the first operand, with the others as arguments */
  TG_DO_ATTRIBUTE = 2, /* the attribute `name` of the operand */
  TG_DO_BINARY = 3,    /* the operator that Python spells `name`: "+", "//"; for the next three, too */
  TG_DO_COMPARE = 4,
  TG_DO_UNARY = 5,
  TG_DO_LOGICAL = 6,   /* "and", "or" */
  TG_DO_SUBSCRIPT = 7, /* the first operand at the others; TG_ABSENT is `:` */
  TG_DO_TENSOR = 8,    /* the operand, a number, as a scalar of a program */
  TG_DO_RANGE = 9, /* (start, stop, step) of a loop -> (lower, upper, step, does it run down?), of one type */
  TG_DO_CONDITION = 10 /* the truth of the operand, as `if` has it */
} tg_action;

/* A place in a source: lines and columns (in bytes) from 1; `end_column` is behind the last byte. */
typedef struct tg_span {
  uint32_t source, line, column, end_line, end_column;
} tg_span;

/* Carries out an operation. Operands: TG_HELD, constants, pointers and typed numbers, and tuples of such;
 * those with names are keyword arguments and come last. `*out` is a constant, a TG_TUPLE, or TG_HELD: each of
 * those is the caller's, who releases it; the rest lives until the next operation. `span` NULL: no place.
 * `*problems` has warnings, and what tl.static_print says, when it succeeds. */
TG_API tg_status tg_program_do(tg_program *program, tg_action action, const char *name,
                               const tg_argument *operands, size_t count, const tg_span *span, tg_value *out,
                               tg_diagnostics **problems);
/* 1: `object.name` is a method, for TG_DO_METHOD. */
TG_API int tg_program_has_method(tg_program *program, const tg_value *object, const char *name);

typedef enum tg_held_kind TG_OF_ANY_NUMBER {
  TG_HELD_TILE = 0, /* a scalar (rank 0) or tile */
  TG_HELD_BLOCK_POINTER = 1,
  TG_HELD_DESCRIPTOR = 2,
  TG_HELD_TYPE = 3 /* of a pointer or tile; an element type is a TG_DTYPE */
} tg_held_kind;

typedef struct tg_held_info {
  size_t struct_size;
  tg_held_kind kind;
  tg_dtype dtype; /* of the elements, or of what pointers point at */
  int is_pointer;
  size_t rank;
  const int64_t *shape; /* `rank` extents */
  const char *type;     /* as messages spell it: "<['16'], fp32>" */
} tg_held_info;
/* Fills `*out`; what it points at lives as long as the value. */
TG_API tg_status tg_held_get(tg_held *held, tg_held_info *out);
/* The elements of a tile in row-major order, as they are in memory (a pointer is 8 bytes); they live as long
 * as the value. NULL: it is no tile. */
TG_API const void *tg_held_data(tg_held *held, size_t *size);
TG_API void tg_held_release(tg_held *held);

/* ---- simulation ------------------------------------------------------------------------- */

/* Runs a GPU's code on the cores of this machine, warp by warp, and reports what hardware does not
 * tell: accesses out of bounds, misaligned, to memory that is read-only or was never written; races;
 * barriers that part of a block does not reach. One handle collects the runs and what they found. */
typedef struct tg_simulation tg_simulation;

typedef struct tg_simulation_options {
  size_t struct_size;
  const char *schedule; /* of warps: NULL: "round-robin"; "random", "priority", "apart" */
  uint64_t seed;        /* of the schedule: the same seed gives the same run */
  uint64_t step_limit;  /* instructions of the warps of one block; 0: a thousand million */
  uint32_t threads;     /* 0: the cores. Other schedules than round-robin run on one */
  int32_t profile;      /* count what each line costs */
  const char *bundle;   /* NULL: none. A folder that is written when there are findings; it repeats the run */
  int32_t records_all;  /* write it also without findings */
  const char *copies;   /* asynchronous ones complete: NULL: "late", when they are waited for; "at-once";
                           "random", by the seed */
} tg_simulation_options;

/* `options` may be NULL. */
TG_API tg_status tg_simulation_create(const tg_simulation_options *options, tg_simulation **out,
                                      tg_diagnostics **problems);
TG_API void tg_simulation_destroy(tg_simulation *simulation);

/* Memory that kernels may touch. Without any, they may touch all that the process has mapped, and
 * extents are not checked. `name` is for messages; it is copied. */
TG_API void tg_simulation_add_memory(tg_simulation *simulation, void *memory, size_t bytes, const char *name,
                                     int is_writable);
/* The stream of a tg_place with which tg_call and tg_launch run in the simulation, on target "ptxvm". */
TG_API void *tg_simulation_stream(tg_simulation *simulation);

typedef struct tg_simulation_launch {
  size_t struct_size;
  const char *path; /* of the code, for messages */
  const char *text; /* PTX */
  size_t size;
  const char *entry; /* NULL or "": the only one */
  uint32_t grid[3], block[3];
  uint64_t shared_bytes;     /* dynamic shared memory of a block */
  const tg_value *arguments; /* in the order of the entry's parameters */
  size_t count;
} tg_simulation_launch;

/* Findings are no failure: the status says whether it ran. */
TG_API tg_status tg_simulation_run(tg_simulation *simulation, const tg_simulation_launch *launch,
                                   tg_diagnostics **problems);
/* Runs what a bundle holds, on memory of its own, with the bundle's schedule. */
TG_API tg_status tg_simulation_replay(tg_simulation *simulation, const char *bundle,
                                      tg_diagnostics **problems);

/* The state of the run that is under way, or of the last one: instructions of warps so far, blocks that are
 * done, and blocks in all. From any thread. Zeros: nothing has run. */
TG_API void tg_simulation_progress(const tg_simulation *simulation, uint64_t *steps, uint64_t *done,
                                   uint64_t *blocks);

TG_API size_t tg_simulation_finding_count(const tg_simulation *simulation);
/* "findings": each with its places; "profile": the source with its costs; "html": both as one page;
 * "printed": what kernels printed; "memory": a number of what a replay has left in memory. NULL: there is no
 * such text. Valid until the next call with the handle. */
TG_API const char *tg_simulation_text(tg_simulation *simulation, const char *what);

/* ---- checking --------------------------------------------------------------------------- */

/* Every problem of a kernel file that shows without a signature: its text, undefined names,
 * constructs that kernels cannot have. TG_OK: none. */
TG_API tg_status tg_check_file(tg_context *context, const char *path, tg_diagnostics **problems);

/* The values of a launch, as far as they are known. */
typedef struct tg_check_options {
  size_t struct_size;
  const char *signature;        /* as of tg_compile; NULL: `arguments` say the types */
  const tg_argument *arguments; /* of a call; addresses are not looked at but for what divides them */
  size_t count;
  const int64_t *elements; /* of each argument: the elements of the array; -1: not known. NULL: none is */
  const int64_t *grid;     /* NULL: not known */
  size_t grid_count;
} tg_check_options;
/* The classic mistakes in a kernel that compiles: accesses of a tail without a mask, reductions over lanes
 * that are masked off, offsets that overflow for these values, // and % of negative numbers, masks that are
 * never used. TG_OK, with `*findings` NULL where there are none; the caller destroys it. */
TG_API tg_status tg_check_kernel(tg_function *function, const tg_check_options *options,
                                 tg_diagnostics **findings);

#ifdef __cplusplus
}
#endif
#endif /* TEGULA_TEGULA_H */
