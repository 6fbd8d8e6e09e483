# The neutral lowering is tested through the machine it is for.
target_link_libraries(tegula_unit_codegen_simt PRIVATE tegula_nvidia)
