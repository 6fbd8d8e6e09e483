/* Prints the kernels of a file and their parameters. */
#include <stdio.h>
#include <tegula/tegula.h>

static int fail(tg_diagnostics *problems) {
  fprintf(stderr, "%s\n", tg_diagnostics_text(problems));
  tg_diagnostics_destroy(problems);
  return 1;
}

int main(int argc, char **argv) {
  tg_context *context = NULL;
  tg_module *module = NULL;
  tg_diagnostics *problems = NULL;
  if (argc != 2)
    return fprintf(stderr, "usage: list_kernels FILE.py\n"), 2;
  if (tg_context_create(NULL, &context, &problems) != TG_OK)
    return fail(problems);
  if (tg_module_from_file(context, argv[1], &module, &problems) != TG_OK)
    return fail(problems);
  for (size_t i = 0; i != tg_module_function_count(module); ++i) {
    tg_function *function = tg_module_function(module, i);
    printf("%s\n", tg_function_name(function));
    for (size_t p = 0; p != tg_function_parameter_count(function); ++p) {
      tg_parameter parameter = {.struct_size = sizeof parameter};
      tg_function_parameter(function, p, &parameter);
      printf("  %s%s\n", parameter.name, parameter.is_constexpr ? ": constexpr" : "");
    }
  }
  tg_module_destroy(module);
  tg_context_destroy(context);
  return 0;
}
