# The front end alone, for golden tests and the comparison with CPython.
add_executable(tegula_sema_dump sema/Dump.cpp)
target_link_libraries(tegula_sema_dump PRIVATE tegula_sema tegula_syntax tegula_tile)
target_precompile_headers(tegula_sema_dump REUSE_FROM tegula_pch_mlir)
set_target_properties(tegula_sema_dump PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_compile_options(tegula_sema_dump PRIVATE -fPIC)
