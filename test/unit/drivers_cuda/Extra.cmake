# Drivers that need no GPU: one of today, and one from before code could be loaded without a context.
add_library(tegula_fake_cuda SHARED ${CMAKE_CURRENT_LIST_DIR}/fake/Libcuda.cpp)
add_library(tegula_fake_cuda_old SHARED ${CMAKE_CURRENT_LIST_DIR}/fake/Libcuda.cpp)
target_compile_definitions(tegula_fake_cuda_old PRIVATE FAKE_CUDA_WITHOUT_LIBRARIES)
add_dependencies(tegula_unit_drivers_cuda tegula_fake_cuda tegula_fake_cuda_old)
target_compile_definitions(tegula_unit_drivers_cuda PRIVATE
  FAKE_CUDA="$<TARGET_FILE:tegula_fake_cuda>" FAKE_CUDA_OLD="$<TARGET_FILE:tegula_fake_cuda_old>")
