/* Tegula: the runtime, for programs that ship kernels compiled ahead of time (`tegula build`).
 *
 * The library is libtegula-rt. It holds no compiler: it loads an archive, chooses the code that fits the
 * processor or device at hand, and launches it. GPUs need their driver, and nothing else is needed.
 *
 * Usually a program includes the header that `tegula build --header` wrote, which has a typed function for
 * each kernel over the functions below.
 *
 * Rules that hold for every function: it never throws, aborts or exits; a failure is a tg_status other than
 * TG_OK, and tgr_message() says why; functions may be called from several threads. Other than in tegula.h,
 * handles are not looked up, so that a launch costs nothing for it: each is NULL or one that a function here
 * gave out and that lives; what happens with any other pointer is not defined.
 */
#ifndef TEGULA_RUNTIME_H
#define TEGULA_RUNTIME_H

#include "tegula/tegula.h" /* tg_status, tg_place: nothing of libtegula itself */

#ifdef __cplusplus
extern "C" {
#endif

/* The reason of the last failure on this thread, with what to do about it; "" before the first. Valid until
 * the next failure on this thread. */
TG_API const char *tgr_message(void);
/* The release, as "0.1.0". */
TG_API const char *tgr_version(void);

/* The kernels of an archive that have code for one target. */
typedef struct tgr_library tgr_library;
/* Lives as long as its library. */
typedef struct tgr_kernel tgr_kernel;

/* Programs along each axis, from 0 to 2^31 - 1; an axis that is not used has 1. */
typedef struct tgr_grid {
  int64_t x, y, z;
} tgr_grid;

/* Opens an archive for "cpu" or "cuda". `interface` is what the header says of names and parameters; NULL:
 * any. TG_DATA: the file cannot be read, is no archive, or has another interface. TG_UNSUPPORTED: it has no
 * code for the target. */
TG_API tg_status tgr_library_open(const char *path, const char *target, const char *interface,
                                  tgr_library **out);
/* The same of bytes in memory, which are copied. */
TG_API tg_status tgr_library_open_bytes(const void *data, size_t size, const char *target,
                                        const char *interface, tgr_library **out);
/* NULL is nothing. Not while a launch on cores runs; code on a device stays, since work may be queued. */
TG_API void tgr_library_close(tgr_library *library);

/* The kernel of this number, as in the header; NULL: there is none, or it has no code for the target. */
TG_API tgr_kernel *tgr_library_kernel(tgr_library *library, size_t number);
/* The kernel of this name; NULL as above. */
TG_API tgr_kernel *tgr_library_find(tgr_library *library, const char *name);

/* Launches: one slot of 8 bytes an argument, as of tg_launch. Returns when the work is queued on the place's
 * stream, on cores when it is done. TG_LAUNCH: the kernel is NULL, the number of slots is wrong, a value is
 * not divisible by 16 where the kernel was compiled for that, or the grid is none. TG_UNSUPPORTED: the
 * archive has no code for this processor or device. `slots` are read before it returns: a program may keep
 * them, change some, and launch again. */
TG_API tg_status tgr_launch(tgr_kernel *kernel, const tg_place *place, const uint64_t *slots,
                            size_t slot_count, tgr_grid grid);

/* Memory that kernels of the library reach: of the device `device` (-1: the current one), for cores of this
 * process, at an address divisible by 64. */
TG_API tg_status tgr_memory_allocate(tgr_library *library, int32_t device, size_t bytes, void **out);
TG_API tg_status tgr_memory_release(tgr_library *library, int32_t device, void *memory);
/* Between such memory, this process's, or both; done when it returns. */
TG_API tg_status tgr_memory_copy(tgr_library *library, int32_t device, void *to, const void *from,
                                 size_t bytes);
/* Waits for the work on the place's stream, and says what went wrong there. */
TG_API tg_status tgr_synchronize(tgr_library *library, const tg_place *place);

#ifdef __cplusplus
}
#endif
#endif /* TEGULA_RUNTIME_H */
