// Carries the precompiled header of the tests of modules with MLIR.
