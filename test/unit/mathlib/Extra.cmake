# The library for the machine at hand (Native.c), and LLVM to read the bitcode with.
add_library(tegula_mathlib_native OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/Native.c)
target_include_directories(tegula_mathlib_native PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(tegula_mathlib_native PRIVATE ${TEGULA_MATHLIB_FLAGS} -mavx2 -mfma)
target_link_libraries(tegula_unit_mathlib PRIVATE tegula_mathlib_native tegula_llvm)

# Built and run by hand: every float, minutes a function.
add_executable(tegula_mathlib_exhaustive EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/Exhaustive.cpp)
target_compile_options(tegula_mathlib_exhaustive PRIVATE -O2)
target_link_libraries(tegula_mathlib_exhaustive PRIVATE tegula_mathlib_native)
