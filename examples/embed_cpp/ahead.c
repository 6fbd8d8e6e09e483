/* Runs a kernel that was compiled when this program was built: no compiler and no Python is loaded.
 *   ahead [cpu|cuda]   exits with 77 where there is no such device */
#include "added.h"

#include <stdio.h>

static int fail(const char *what, int code) {
  fprintf(stderr, "%s: %s\n", what, tgr_message());
  return code;
}

int main(int argc, char **argv) {
  enum { n = 4000, block = 1024 };
  static float x[n], y[n], out[n];
  float *memory[3];
  added_library *kernels;
  for (int i = 0; i != n; ++i)
    x[i] = (float)i, y[i] = 1.0f;

  if (added_open(ADDED_ARCHIVE, argc > 1 ? argv[1] : "cpu", &kernels))
    return fail("open", 1);
  tgr_library *library = (tgr_library *)kernels;
  for (int i = 0; i != 3; ++i)
    if (tgr_memory_allocate(library, -1, sizeof x, (void **)&memory[i]))
      return fail("allocate", 77);
  if (tgr_memory_copy(library, -1, memory[0], x, sizeof x) ||
      tgr_memory_copy(library, -1, memory[1], y, sizeof y))
    return fail("copy", 1);

  tgr_grid grid = {(n + block - 1) / block, 1, 1};
  if (add_kernel(kernels, NULL, grid, memory[0], memory[1], memory[2], n))
    return fail("launch", 1);

  if (tgr_synchronize(library, NULL) || tgr_memory_copy(library, -1, out, memory[2], sizeof out))
    return fail("copy back", 1);
  for (int i = 0; i != n; ++i)
    if (out[i] != x[i] + y[i])
      return fprintf(stderr, "element %d is %g\n", i, out[i]), 1;
  for (int i = 0; i != 3; ++i)
    tgr_memory_release(library, -1, memory[i]);
  added_close(kernels);
  puts("right");
  return 0;
}
