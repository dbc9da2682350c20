# The Debian packages berth-placement, berth-tracker and berth (`make packages`) and libberth-dev (`make stubs`), made by CPack from
# the components of the same names. deploy/debian has what only packages contain. The build must be configured with the prefix /usr.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME berth)
set(CPACK_PACKAGE_VENDOR Berth)
set(CPACK_PACKAGE_CONTACT "The Berth maintainers <maintainers@berth.example.org>")
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_SET_DESTDIR ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL ${BERTH_PROGRAMS})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

# The time of the commit, so that two builds of one commit are equal.
execute_process(COMMAND git log -1 --format=%ct WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
  OUTPUT_VARIABLE epoch OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT epoch)
  set(epoch 0)
endif()
execute_process(COMMAND date --utc --rfc-email --date=@${epoch}
  OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE)

set(debian ${CMAKE_CURRENT_BINARY_DIR}/debian)
foreach(name IN ITEMS ${BERTH_PROGRAMS} libberth-dev)
  configure_file(debian/changelog.in ${debian}/${name}/changelog @ONLY)
  execute_process(COMMAND gzip --force --best --no-name ${debian}/${name}/changelog)
  # Only the package has these files, so they are left out of a plain installation.
  install(FILES debian/copyright ${debian}/${name}/changelog.gz DESTINATION share/doc/${name} COMPONENT ${name} EXCLUDE_FROM_ALL)
  install(FILES ${CMAKE_SOURCE_DIR}/README.md DESTINATION share/doc/${name} COMPONENT ${name} EXCLUDE_FROM_ALL)
  install(FILES ${CMAKE_SOURCE_DIR}/CHANGELOG.md DESTINATION share/doc/${name} RENAME NEWS.md
    COMPONENT ${name} EXCLUDE_FROM_ALL)
endforeach()

# berth_service_package(NAME [FILE…]): settings, these other files of /etc/berth, scripts and dependencies of a package with a unit.
function(berth_service_package service)
  string(REPLACE berth- "" short ${service})
  string(TOUPPER ${service} upper)
  set(conffiles "")
  foreach(file IN ITEMS ${short}.toml ${ARGN})
    install(FILES debian/${file} DESTINATION /etc/berth COMPONENT ${service} EXCLUDE_FROM_ALL)
    string(APPEND conffiles "/etc/berth/${file}\n")
  endforeach()
  file(CONFIGURE OUTPUT ${debian}/${service}/conffiles CONTENT "${conffiles}")
  set(control ${debian}/${service}/conffiles)
  foreach(script IN ITEMS postinst prerm postrm)
    configure_file(debian/${script}.in ${debian}/${service}/${script} @ONLY)
    list(APPEND control ${debian}/${service}/${script})
  endforeach()
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA "${control}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "systemd | systemd-standalone-sysusers, passwd" PARENT_SCOPE)
endfunction()
berth_service_package(berth-placement access.toml)
berth_service_package(berth-tracker)
install(DIRECTORY DESTINATION /etc/berth/provider_config COMPONENT berth-tracker EXCLUDE_FROM_ALL)

set(CPACK_DEBIAN_BERTH-PLACEMENT_PACKAGE_NAME berth-placement)
set(CPACK_DEBIAN_BERTH-PLACEMENT_PACKAGE_RECOMMENDS "berth, postgresql-15")
set(CPACK_DEBIAN_BERTH-PLACEMENT_DESCRIPTION "This package has the central service, berth-placement. It records which
resources every hypervisor of a fleet has, and who holds them. Schedulers
ask it where a request would fit, and allocate it there.

The service keeps its ledger in a PostgreSQL that it starts by itself, or
in one of yours.")
set(CPACK_DEBIAN_BERTH-TRACKER_PACKAGE_NAME berth-tracker)
set(CPACK_DEBIAN_BERTH-TRACKER_PACKAGE_RECOMMENDS "libvirt-daemon-system")
set(CPACK_DEBIAN_BERTH-TRACKER_DESCRIPTION "This package has the service of each host, berth-tracker. It reads from
libvirt what its host has and which guests run on it, and reports this to
berth-placement. It only looks: it starts and stops no guest.")
set(CPACK_DEBIAN_BERTH_PACKAGE_NAME berth)
set(CPACK_DEBIAN_BERTH_DESCRIPTION "This package has the command line, berth. It shows and changes the ledger
of berth-placement: hosts and what they have, allocations, candidates for
a request, and why a request does not fit.")
set(CPACK_DEBIAN_LIBBERTH-DEV_PACKAGE_NAME libberth-dev)
set(CPACK_DEBIAN_LIBBERTH-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBBERTH-DEV_PACKAGE_SHLIBDEPS OFF)
# Generated code fits the versions of Debian 12 with which it is built. gRPC's files for CMake want the compiler, too.
set(CPACK_DEBIAN_LIBBERTH-DEV_PACKAGE_DEPENDS "libgrpc++-dev (>= 1.51), libgrpc++-dev (<< 1.52), libprotobuf-dev (>= 3.21), \
libprotobuf-dev (<< 3.22), libabsl-dev (>= 20220623), libabsl-dev (<< 20220624), libssl-dev (>= 3), protobuf-compiler-grpc")
set(CPACK_DEBIAN_LIBBERTH-DEV_DESCRIPTION "This package has what a C++ program needs to call berth-placement and
berth-tracker: the messages, the gRPC stubs and a client library as static
libraries, with headers, for CMake and pkg-config. For other languages it
has the protos.")
include(CPack)
