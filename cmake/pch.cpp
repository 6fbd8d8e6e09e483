// Carries the precompiled header of all modules that see MLIR.
