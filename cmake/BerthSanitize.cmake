# The builds under sanitizers: our own code is instrumented, generated code and Debian's libraries are not.
#
# BERTH_FUZZ: our libraries count which of their code was reached, as a fuzzer wants it. Tests do not, which a precompiled header
# allows as long as it is said to the code generator alone.
set(BERTH_SANITIZE "" CACHE STRING "Value for -fsanitize= on our own code, such as address,undefined")
option(BERTH_FUZZ "Build what the fuzzers need" OFF)

if(BERTH_SANITIZE)
  add_compile_options(-fsanitize=${BERTH_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${BERTH_SANITIZE})
endif()

# Called by each folder whose code a fuzzer reaches.
macro(berth_count_reached_code)
  if(BERTH_FUZZ)
    add_compile_options(-fsanitize-coverage=inline-8bit-counters,pc-table,indirect-calls,trace-cmp)
  endif()
endmacro()
