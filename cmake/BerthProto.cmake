# berth_proto_library(NAME target ROOT dir PROTOS file… [GRPC] [ACCESS] [IMPORTS dir…] [LIBRARIES target…])
#
# Builds a library from protocol buffer files that lie under ROOT. Without GRPC it holds the messages; with GRPC
# it holds only the service stubs, and LIBRARIES names the target with the messages. Includes are relative to ROOT:
# ROOT/berth/x/v1/y.proto gives "berth/x/v1/y.pb.h" and "berth/x/v1/y.grpc.pb.h".
#
# With ACCESS the build fails if an RPC does not say who may call it.
#
# Generated code is compiled without warnings and reaches its users as system headers.

find_program(BERTH_PROTOC protoc REQUIRED)
if(NOT BERTH_DOMAIN_ONLY)
  find_program(BERTH_GRPC_PLUGIN grpc_cpp_plugin REQUIRED)
endif()

function(berth_proto_library)
  cmake_parse_arguments(PARSE_ARGV 0 arg "GRPC;ACCESS" "NAME;ROOT" "PROTOS;IMPORTS;LIBRARIES")
  set(out ${CMAKE_BINARY_DIR}/generated/${arg_NAME})
  file(MAKE_DIRECTORY ${out})
  cmake_path(ABSOLUTE_PATH arg_ROOT NORMALIZE)

  if(arg_GRPC)
    set(suffix .grpc.pb)
    set(generate --grpc_out=${out} --plugin=protoc-gen-grpc=${BERTH_GRPC_PLUGIN})
  else()
    set(suffix .pb)
    set(generate --cpp_out=${out})
  endif()
  set(paths -I ${arg_ROOT})
  foreach(directory IN LISTS arg_IMPORTS)
    list(APPEND paths -I ${directory})
  endforeach()

  set(check_access "")
  set(check_script "")
  if(arg_ACCESS)
    set(check_script ${CMAKE_SOURCE_DIR}/cmake/check_access.py)
  endif()
  set(sources "")
  foreach(proto IN LISTS arg_PROTOS)
    cmake_path(ABSOLUTE_PATH proto NORMALIZE)
    if(arg_GRPC)
      # A file without a service has no stubs. Looked at when configuring, so configure again when it changes.
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${proto})
      file(STRINGS ${proto} services REGEX "^service ")
      if(NOT services)
        continue()
      endif()
    endif()
    cmake_path(RELATIVE_PATH proto BASE_DIRECTORY ${arg_ROOT} OUTPUT_VARIABLE relative)
    cmake_path(REMOVE_EXTENSION relative LAST_ONLY)
    cmake_path(GET relative PARENT_PATH folder)
    file(MAKE_DIRECTORY ${out}/${folder})
    if(check_script)
      set(check_access COMMAND ${BERTH_PYTHON} ${check_script} ${proto})
    endif()
    add_custom_command(
      OUTPUT ${out}/${relative}${suffix}.cc ${out}/${relative}${suffix}.h
      ${check_access}
      COMMAND ${BERTH_PROTOC} ${generate} --dependency_out=${out}/${relative}${suffix}.d ${paths} ${proto}
      DEPENDS ${proto} ${check_script}
      DEPFILE ${out}/${relative}${suffix}.d
      COMMENT "Generating ${relative}${suffix}"
      VERBATIM)
    list(APPEND sources ${out}/${relative}${suffix}.cc ${out}/${relative}${suffix}.h)
  endforeach()

  # Stubs are little beside gRPC's headers, so they are compiled together. In a release the linker takes only the stubs that a
  # program needs.
  if(arg_GRPC AND sources AND NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    list(TRANSFORM sources REPLACE "^${out}/(.*[.]cc)$" "#include \"\\1\"\n" OUTPUT_VARIABLE stubs)
    list(FILTER stubs INCLUDE REGEX "^#include")
    list(JOIN stubs "" stubs)
    file(CONFIGURE OUTPUT ${out}/stubs.cc CONTENT "${stubs}" @ONLY)
    set_source_files_properties(${sources} PROPERTIES HEADER_FILE_ONLY ON)
    set_source_files_properties(${out}/stubs.cc PROPERTIES OBJECT_DEPENDS "${sources}")
    list(APPEND sources ${out}/stubs.cc)
  endif()

  if(sources)
    add_library(${arg_NAME} STATIC ${sources})
    target_include_directories(${arg_NAME} SYSTEM PUBLIC $<BUILD_INTERFACE:${out}>)
    target_compile_options(${arg_NAME} PRIVATE -w -fno-sanitize=all)
    # Two files of messages define the same private names; files of stubs do not.
    if(NOT arg_GRPC)
      set_target_properties(${arg_NAME} PROPERTIES UNITY_BUILD OFF)
    endif()
    target_link_libraries(${arg_NAME} PUBLIC protobuf::libprotobuf ${arg_LIBRARIES})
  else()
    add_library(${arg_NAME} INTERFACE)
    target_link_libraries(${arg_NAME} INTERFACE protobuf::libprotobuf ${arg_LIBRARIES})
  endif()
endfunction()

# berth_embedded_protos(TARGET t HEADER path NAMESPACE ns ROOT dir PROTOS file…)
#
# Adds to library t what the protos say about themselves, as the header `path`: ns::EmbeddedProtos(). Who reads it needs no
# message of these protos: a program links only those that it speaks.
function(berth_embedded_protos)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "TARGET;HEADER;NAMESPACE;ROOT" "PROTOS")
  cmake_path(GET arg_HEADER PARENT_PATH folder)
  cmake_path(GET arg_HEADER STEM stem)
  set(out ${CMAKE_BINARY_DIR}/generated/${folder})
  file(MAKE_DIRECTORY ${out})
  set(script ${CMAKE_SOURCE_DIR}/cmake/embedded_protos.py)
  add_custom_command(
    OUTPUT ${out}/${stem}.h ${out}/${stem}.cc
    COMMAND ${BERTH_PROTOC} --descriptor_set_out=${out}/${stem}.protoset -I ${arg_ROOT} ${arg_PROTOS}
    COMMAND ${BERTH_PYTHON} ${script} ${out}/${stem}.protoset ${out} ${arg_HEADER} ${arg_NAMESPACE}
    DEPENDS ${arg_PROTOS} ${script}
    COMMENT "Generating ${arg_HEADER}"
    VERBATIM)
  target_sources(${arg_TARGET} PRIVATE ${out}/${stem}.cc ${out}/${stem}.h)
endfunction()
