// Asks the system for huge pages where a kernel is about to fill memory that has none yet: such memory is
// zeroed page by page as stores come, and one page of 2 MiB costs far less than 512 of 4 KiB. It is advice
// (madvise), given only where the system waits for it (`madvise` in
// /sys/kernel/mm/transparent_hugepage/enabled), for whole huge pages within the range, and for memory of
// which no page is there. TEGULA_HUGE_PAGES=0 turns it off.
#pragma once
#include <cstdint>

namespace tegula::runtime {

extern "C" {
// The kernel will store to most of the bytes behind the address. Compiled code calls it by name, once a
// launch and store; addresses that are no memory do no harm.
void tegula_expect_stores(uint64_t address, int64_t bytes);
}

} // namespace tegula::runtime
