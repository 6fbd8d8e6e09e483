# Takes everything of the compiling target out of Mathlib.ll, so that its functions inline into a kernel of any
# target features: the target's attributes, triple, layout and flags. Vector arguments stay first class, which is
# why clang was given AVX-512. `noundef` goes too: a kernel may pass lanes that a mask leaves undefined.
/^attributes /s/ "[^"]*"="[^"]*"//g
/^attributes /s/ uwtable//
s/^define weak dso_local /define linkonce_odr /
s/ noundef / /g
/^source_filename/d
/^target /d
/^!llvm\.module\.flags/d
/^!llvm\.ident/d
/^!llvm\.errno\.tbaa/d
