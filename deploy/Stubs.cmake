# What a program of others needs to call Berth: the package libberth-dev and the file berth.protoset (`make stubs`).
set(include ${CMAKE_INSTALL_INCLUDEDIR})
set(stubs_cmake ${CMAKE_INSTALL_LIBDIR}/cmake/Berth)
set(only_package COMPONENT libberth-dev EXCLUDE_FROM_ALL)
add_custom_target(stubs)

# berth_stub_library(TARGET NAME EXPORT INCLUDE HEADERS [FOLDER])
#
# Adds the static library TARGET to the package, as Berth::NAME, after the libraries that it links. The headers of the directory
# HEADERS become INCLUDE/FOLDER, and its users get the include directory INCLUDE. Only google_rpc has another EXPORT than
# BerthTargets.
function(berth_stub_library target name export includes headers)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  add_dependencies(stubs ${target})
  install(TARGETS ${target} EXPORT ${export} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} ${only_package}
    INCLUDES DESTINATION ${includes})
  install(DIRECTORY ${headers}/ DESTINATION ${includes}/${ARGN} ${only_package} FILES_MATCHING PATTERN *.h)
  # CMake strips no static library.
  install(CODE "execute_process(COMMAND ${CMAKE_STRIP} --strip-debug --enable-deterministic-archives
    \$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/lib${target}.a COMMAND_ERROR_IS_FATAL ANY)" ${only_package})
  if(export STREQUAL BerthTargets)
    set(stubs_libraries "-l${target} ${stubs_libraries}" PARENT_SCOPE)
  endif()
endfunction()
set(generated ${CMAKE_BINARY_DIR}/generated)
# In an include directory of its own, so that nobody finds these headers who links another build of google/rpc.
berth_stub_library(berth_google_rpc google_rpc BerthGoogleRpc ${include}/berth/google_rpc ${generated}/berth_google_rpc)
berth_stub_library(berth_proto messages BerthTargets ${include} ${generated}/berth_proto)
berth_stub_library(berth_grpc proto BerthTargets ${include} ${generated}/berth_grpc)

# berth_package_copies(FILES TO): copies FILES of the client or its sample, which include each other by the path that they have
# in the tree, to the directory TO, where they include each other by the path that they have in the package.
function(berth_package_copies files to)
  file(REMOVE_RECURSE ${to})  # else a file that is renamed stays in the package
  foreach(file IN LISTS files)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    string(REPLACE "services/client/cpp/" "berth/client/" text "${text}")
    string(REPLACE "services/client/sample/" "" text "${text}")
    get_filename_component(name ${file} NAME)
    file(CONFIGURE OUTPUT ${to}/${name} CONTENT "${text}" @ONLY)
  endforeach()
endfunction()
file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/services/client/cpp/*.h)
berth_package_copies("${headers}" ${generated}/berth_client)
berth_stub_library(berth_client_tls client_tls BerthTargets ${include} ${generated}/berth_client berth/client)
berth_stub_library(berth_client client BerthTargets ${include} ${generated}/berth_client berth/client)

foreach(export IN ITEMS BerthGoogleRpc BerthTargets)
  install(EXPORT ${export} NAMESPACE Berth:: DESTINATION ${stubs_cmake} ${only_package})
endforeach()
include(CMakePackageConfigHelpers)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/BerthConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES stubs/BerthConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/BerthConfigVersion.cmake DESTINATION ${stubs_cmake} ${only_package})
configure_file(stubs/berth.pc.in ${CMAKE_CURRENT_BINARY_DIR}/berth.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/berth.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig ${only_package})

# The sample scheduler, to be copied and changed.
file(GLOB sample CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/services/client/sample/*.h ${CMAKE_SOURCE_DIR}/services/client/sample/*.cc)
berth_package_copies("${sample}" ${generated}/scheduler)
install(DIRECTORY stubs/scheduler ${generated}/scheduler DESTINATION share/doc/libberth-dev/examples ${only_package})

# For other languages, and for clients without reflection.
set(protos_folder ${CMAKE_SOURCE_DIR}/proto)
file(GLOB_RECURSE protos CONFIGURE_DEPENDS ${protos_folder}/*.proto)
set(protoset ${CMAKE_BINARY_DIR}/packages/berth.protoset)
add_custom_command(OUTPUT ${protoset}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/packages
  COMMAND ${BERTH_PROTOC} --include_imports --include_source_info --descriptor_set_out=${protoset} -I ${protos_folder} ${protos}
  DEPENDS ${protos}
  COMMENT "Generating berth.protoset"
  VERBATIM)
add_custom_target(protoset DEPENDS ${protoset})
add_dependencies(stubs protoset)
install(FILES ${protoset} DESTINATION share/berth ${only_package})
install(DIRECTORY ${protos_folder}/ DESTINATION share/berth/proto ${only_package} FILES_MATCHING PATTERN *.proto)
