target_link_libraries(tegula_unit_codegen_llvm PRIVATE tegula_runtime) # runs what was compiled
