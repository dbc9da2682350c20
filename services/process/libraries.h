// Settings of the libraries that a process of Berth uses: gRPC, Abseil, libvirt and libpq.
#ifndef BERTH_SERVICES_PROCESS_LIBRARIES_H_
#define BERTH_SERVICES_PROCESS_LIBRARIES_H_

namespace berth::services {

// Applies the settings to this process. REQUIRES: the process has one thread and has not used gRPC
// yet.
void SetUpLibraries();

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_LIBRARIES_H_
