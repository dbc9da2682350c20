# berth_schema(TARGET t HEADER path NAMESPACE ns FILES NNNN_name.sql…)
#
# Embeds numbered schema steps into library t as ns::SchemaSteps(), which HEADER declares.
function(berth_schema)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TARGET;HEADER;NAMESPACE" "FILES")
  set(steps "")
  foreach(file IN LISTS arg_FILES)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    cmake_path(GET file STEM name)
    string(REGEX MATCH "^0*([1-9][0-9]*)_" unused "${name}")
    set(version ${CMAKE_MATCH_1})
    file(READ ${file} sql)
    string(APPEND steps "      {${version}, \"${name}\", R\"sql(${sql})sql\"},\n")
  endforeach()
  set(out ${CMAKE_BINARY_DIR}/generated/${arg_TARGET}_schema.cc)
  file(CONFIGURE OUTPUT ${out} @ONLY CONTENT "#include \"${arg_HEADER}\"

namespace ${arg_NAMESPACE} {

const std::vector<SchemaStep>& SchemaSteps() {
  static const std::vector<SchemaStep> steps = {
${steps}  };
  return steps;
}

}  // namespace ${arg_NAMESPACE}
")
  target_sources(${arg_TARGET} PRIVATE ${out})
endfunction()
