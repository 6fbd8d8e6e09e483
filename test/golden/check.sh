# check.sh ir|refused|said FILE KERNEL SIGNATURE
# Runs the front end on one kernel and FileCheck, with the kernel's name as prefix:
#   ir       its tile IR
#   refused  it must fail; its diagnostics
#   said     it must compile; its warnings and remarks
expected=0
[ "$1" = refused ] && expected=1
if [ "$1" = ir ]; then
  output=$(tegula_sema_dump "$2::$3" --signature "$4")
else
  output=$(tegula_sema_dump "$2::$3" --signature "$4" 2>&1)
fi
status=$?
if [ $status -ne $expected ]; then
  printf '%s\nexit status %s, expected %s\n' "$output" $status $expected >&2
  exit 1
fi
printf '%s\n' "$output" | FileCheck "$2" --check-prefix="$3"
