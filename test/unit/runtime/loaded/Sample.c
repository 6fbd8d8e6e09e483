// All that the loader of objects must bring together: code, constants, variables, zeros, functions of its
// own, of the host and of the C library, and tables of addresses.
#include <string.h>

extern long hostAdds(long a, long b);

static const double table[4] = {0.5, 1.5, 2.5, 3.5};
static long counter = 40;
static char zeros[5000];
static const char *const names[2] = {"one", "two"};

__attribute__((noinline)) static long twice(long x) { return hostAdds(x, x); }
long (*const operations[2])(long) = {twice, twice};
long exported = 7;

double fromTable(long index) { return table[index & 3]; }
long count(void) { return ++counter; }
long sumOfZeros(void) {
  long sum = 0;
  for (unsigned i = 0; i != sizeof zeros; ++i)
    sum += zeros[i];
  zeros[4999] = 1;
  return sum;
}
long callsHost(long x) { return operations[x & 1](x) + exported; }
long lengthOf(long index) { return (long)strlen(names[index & 1]); }
void copy(void *to, const void *from, unsigned long size) { memcpy(to, from, size); }
