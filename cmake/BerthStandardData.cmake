# berth_standard_data(TARGET t HEADER path NAMESPACE ns)
#
# Adds the standard resource classes and traits to library t as the header `path`: ns::StandardClasses() and
# ns::StandardTraits(). Each library that needs them generates
# its own, since placement/ and tracker/ share nothing.

# Debian's modules belong to Debian's interpreter; another python3 on the PATH would not find them.
set(BERTH_PYTHON /usr/bin/python3)

function(berth_standard_data)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TARGET;HEADER;NAMESPACE" "")
  cmake_path(GET arg_HEADER PARENT_PATH folder)
  set(out ${CMAKE_BINARY_DIR}/generated/${folder})
  set(script ${CMAKE_SOURCE_DIR}/cmake/standard_data.py)
  add_custom_command(
    OUTPUT ${out}/standard_data.h ${out}/standard_data.cc
    COMMAND ${BERTH_PYTHON} ${script} ${out} ${arg_HEADER} ${arg_NAMESPACE}
    DEPENDS ${script}
    COMMENT "Generating ${arg_HEADER}"
    VERBATIM)
  target_sources(${arg_TARGET} PRIVATE ${out}/standard_data.cc ${out}/standard_data.h)
  target_link_libraries(${arg_TARGET} PUBLIC absl::strings)
endfunction()
