/* Host time of a launch from C, in microseconds: the driver's own, and one through libtegula-rt with slots
 * that are kept. In: an archive whose first kernel has 3 pointers and an i32. The two take turns, in batches
 * that never fill the queue.
 *
 *   tegula build examples/kernels/vector_add.py::add_kernel --targets sm_90a -o add.tga --signature ...
 *   cc -O2 -I include bench/launch/prepared.c -L build/lib -ltegula-rt -ldl -o prepared && ./prepared add.tga
 */
#include "tegula/runtime.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { batch = 200, rounds = 200 };

static const char *const text =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry nothing(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n"
    "{\n  ret;\n}\n";

typedef int (*Launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                      void **, void **);

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static int fail(const char *what) {
  fprintf(stderr, "%s: %s\n", what, tgr_message());
  return 1;
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  static double driver[rounds], ours[rounds];
  tgr_library *library;
  void *memory[3];
  if (argc != 2 || tgr_library_open(argv[1], "cuda", NULL, &library))
    return fail("open");
  for (int i = 0; i != 3; ++i)
    if (tgr_memory_allocate(library, -1, 1 << 20, &memory[i]))
      return fail("allocate");
  uint64_t slots[] = {(uint64_t)memory[0], (uint64_t)memory[1], (uint64_t)memory[2], 3000};
  tgr_kernel *kernel = tgr_library_kernel(library, 0);
  tgr_grid grid = {3, 1, 1};
  if (tgr_launch(kernel, NULL, slots, 4, grid) || tgr_synchronize(library, NULL))
    return fail("launch");

  void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *module = NULL, *function = NULL;
  int (*load)(void **, const void *) = (int (*)(void **, const void *))dlsym(cuda, "cuModuleLoadData");
  int (*get)(void **, void *, const char *) =
      (int (*)(void **, void *, const char *))dlsym(cuda, "cuModuleGetFunction");
  Launch launch = (Launch)dlsym(cuda, "cuLaunchKernel");
  void *parameters[] = {&slots[0], &slots[1], &slots[2], &slots[3]};
  if (load(&module, text) || get(&function, module, "nothing"))
    return fprintf(stderr, "the driver does not take the kernel\n"), 1;
  for (int round = 0; round != rounds; ++round) {
    double start = now();
    for (int i = 0; i != batch; ++i)
      launch(function, 3, 1, 1, 128, 1, 1, 0, NULL, parameters, NULL);
    driver[round] = (now() - start) / batch;
    tgr_synchronize(library, NULL);
    start = now();
    for (int i = 0; i != batch; ++i)
      tgr_launch(kernel, NULL, slots, 4, grid);
    ours[round] = (now() - start) / batch;
    if (tgr_synchronize(library, NULL))
      return fail("synchronize");
  }
  qsort(driver, rounds, sizeof *driver, compare);
  qsort(ours, rounds, sizeof *ours, compare);
  printf("{\"cuLaunchKernel\": {\"median\": %.3f, \"least\": %.3f}, \"tgr_launch\": {\"median\": %.3f, "
         "\"least\": %.3f}}\n",
         driver[rounds / 2], driver[0], ours[rounds / 2], ours[0]);
  return 0;
}
