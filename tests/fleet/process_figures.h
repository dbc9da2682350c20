// What the kernel counts for a process.
//
// Pure functions of /proc.
#ifndef BERTH_TESTS_FLEET_PROCESS_FIGURES_H_
#define BERTH_TESTS_FLEET_PROCESS_FIGURES_H_

#include <sys/types.h>

#include <cstdint>

namespace berth::fleet {

// The processor time that the process has used, in seconds.
double CpuSeconds(pid_t pid);
// The memory of the process that is not in swap, in KiB.
int64_t ResidentKib(pid_t pid);
int64_t Threads(pid_t pid);

}  // namespace berth::fleet

#endif  // BERTH_TESTS_FLEET_PROCESS_FIGURES_H_
