// Libraries: how the libraries that serve a process of Berth are to behave in it.
#ifndef BERTH_SERVICES_PROCESS_LIBRARIES_H_
#define BERTH_SERVICES_PROCESS_LIBRARIES_H_

namespace berth::services {

// Settings that hold for the whole process. REQUIRES: it has one thread, and has not used gRPC yet.
void SetUpLibraries();

}  // namespace berth::services

#endif  // BERTH_SERVICES_PROCESS_LIBRARIES_H_
