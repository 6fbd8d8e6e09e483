target_include_directories(tegula_unit_pipeline PRIVATE ${PROJECT_SOURCE_DIR}/test/unit/analysis)
