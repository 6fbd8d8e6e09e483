# Links LLVM and MLIR from their static archives into tegula_llvm: the release build.
#
# MLIR's exported static targets name the *shared* LLVM in INTERFACE_LINK_LIBRARIES. Left there,
# two LLVMs meet in one process and abort at start ("Option ... registered more than once"):
# the name is taken out, and the components are linked instead. The linker drops what nothing
# names (--as-needed, --gc-sections), so the list may be generous.

foreach(lib IN LISTS MLIR_EXPORTED_TARGETS)
  get_target_property(type ${lib} TYPE)
  if(type STREQUAL "STATIC_LIBRARY" OR type STREQUAL "INTERFACE_LIBRARY")
    get_target_property(needs ${lib} INTERFACE_LINK_LIBRARIES)
    if(needs)
      list(REMOVE_ITEM needs LLVM)
      set_target_properties(${lib} PROPERTIES INTERFACE_LINK_LIBRARIES "${needs}")
    endif()
  endif()
endforeach()

llvm_map_components_to_libnames(tegula_llvm_components
  X86 NVPTX Passes Core Support Target MC Object BitReader BitWriter IRReader Linker
  InstCombine ScalarOpts TransformUtils ipo Analysis AggressiveInstCombine TargetParser)

target_link_libraries(tegula_llvm INTERFACE
  MLIRArithDialect MLIRMathDialect MLIRSCFDialect MLIRIR MLIRParser MLIRPass MLIRTransforms MLIRTransformUtils
  MLIRFunctionInterfaces MLIRControlFlowInterfaces MLIRSideEffectInterfaces MLIRBytecodeReader MLIRBytecodeWriter
  ${tegula_llvm_components})
