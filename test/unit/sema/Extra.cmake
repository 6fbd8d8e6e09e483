# The front end alone, for golden tests and the comparison with CPython.
add_executable(tegula_sema_dump sema/Dump.cpp)
target_link_libraries(tegula_sema_dump PRIVATE tegula_sema tegula_syntax tegula_tile)
tegula_use_mlir_pch(tegula_sema_dump)
