// MadeMachine: the CPUs and NUMA cells of a machine, made of files.
//
// As long as it lives, this process and the processes that it starts see its files in the place of
// those that the kernel shows below /sys/devices/system. So a libvirt daemon that is started
// meanwhile describes these cells and their huge pages. The files are all that there is: no process
// can be bound to a CPU that the real machine lacks, and no guest can have such a page. For the
// main thread.
#ifndef BERTH_TESTS_PROCESSES_MADE_MACHINE_H_
#define BERTH_TESTS_PROCESSES_MADE_MACHINE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/processes/own_mounts.h"
#include "tests/processes/private_cluster.h"

namespace berth::e2e {

struct MadeCell {
  std::vector<int> cpus;  // 0 to 31; each is a core of its own
  int64_t memory_mib = 0;
  std::map<int64_t, int64_t> huge_pages;  // their number by their size in KiB
};

class MadeMachine {
 public:
  // `cells[n]` is cell n, on socket n. No CPU is in two cells.
  //
  // REQUIRES: SeparateMounts was OK.
  explicit MadeMachine(const std::vector<MadeCell>& cells);
  MadeMachine(const MadeMachine&) = delete;
  MadeMachine& operator=(const MadeMachine&) = delete;

 private:
  void WriteCell(size_t cell, size_t cells, const MadeCell& made) const;
  void WriteCpu(int cpu, size_t cell, size_t core) const;
  // Writes a line into a file below `files_`.
  void Write(const std::string& path, const std::string& line) const;

  const placement::ScratchDirectory files_;
  std::vector<std::unique_ptr<MountOver>> mounts_;
};

}  // namespace berth::e2e

#endif  // BERTH_TESTS_PROCESSES_MADE_MACHINE_H_
