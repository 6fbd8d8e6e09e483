# The driver that needs no GPU, from the tests of drivers/cuda.
add_dependencies(tegula_unit_loader tegula_fake_cuda)
target_compile_definitions(tegula_unit_loader PRIVATE FAKE_CUDA="$<TARGET_FILE:tegula_fake_cuda>")
