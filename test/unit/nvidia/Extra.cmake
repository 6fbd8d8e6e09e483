add_dependencies(tegula_unit_nvidia tegula_worker)
target_compile_definitions(tegula_unit_nvidia PRIVATE TEGULA_WORKER="$<TARGET_FILE:tegula_worker>")
