target_compile_definitions(tegula_unit_capi PRIVATE TEGULA_TEST_FOLDER="${PROJECT_SOURCE_DIR}/test")
add_dependencies(tegula_unit_capi tegula_worker)
