#include "tests/processes/made_machine.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "placement/ground/check.h"

namespace berth::e2e {
namespace {

constexpr int kCpusMax = 32;  // a mask of the kernel has 32 CPUs in a word

std::string MaskOf(const std::vector<int>& cpus) {
  uint32_t mask = 0;
  for (const int cpu : cpus) {
    BERTH_CHECK(cpu >= 0 && cpu < kCpusMax);
    mask |= uint32_t{1} << cpu;
  }
  return absl::StrFormat("%08x", mask);
}

}  // namespace

MadeMachine::MadeMachine(const std::vector<MadeCell>& cells) {
  std::vector<int> cpus;
  std::vector<size_t> ids;
  for (size_t cell = 0; cell < cells.size(); ++cell) {
    ids.push_back(cell);
    WriteCell(cell, cells.size(), cells[cell]);
    for (size_t core = 0; core < cells[cell].cpus.size(); ++core) {
      cpus.push_back(cells[cell].cpus[core]);
      WriteCpu(cpus.back(), cell, core);
    }
  }
  std::sort(cpus.begin(), cpus.end());
  for (const char* const list : {"online", "possible", "has_cpu"}) {
    Write(absl::StrCat("node/", list), absl::StrJoin(ids, ","));
  }
  for (const char* const list : {"online", "possible", "present"}) {
    Write(absl::StrCat("cpu/", list), absl::StrJoin(cpus, ","));
  }
  for (const char* const part : {"node", "cpu"}) {
    mounts_.push_back(std::make_unique<MountOver>(absl::StrCat(files_.path(), "/", part),
                                                  absl::StrCat("/sys/devices/system/", part)));
  }
}

void MadeMachine::WriteCell(size_t cell, size_t cells, const MadeCell& made) const {
  const std::string directory = absl::StrCat("node/node", cell);
  const int64_t memory_kib = made.memory_mib * 1024;
  Write(directory + "/cpumap", MaskOf(made.cpus));
  Write(directory + "/meminfo",
        absl::StrCat("Node ", cell, " MemTotal:       ", memory_kib, " kB\nNode ", cell,
                     " MemFree:        ", memory_kib, " kB"));
  std::vector<int> distances(cells, 20);
  distances[cell] = 10;
  Write(directory + "/distance", absl::StrJoin(distances, " "));
  for (const auto& [size_kib, count] : made.huge_pages) {
    const std::string pages = absl::StrCat(directory, "/hugepages/hugepages-", size_kib, "kB/");
    Write(pages + "nr_hugepages", absl::StrCat(count));
    Write(pages + "free_hugepages", absl::StrCat(count));
  }
}

void MadeMachine::WriteCpu(int cpu, size_t cell, size_t core) const {
  const std::string directory = absl::StrCat("cpu/cpu", cpu);
  Write(directory + "/online", "1");
  Write(directory + "/topology/physical_package_id", absl::StrCat(cell));
  Write(directory + "/topology/die_id", "0");
  Write(directory + "/topology/core_id", absl::StrCat(core));
  Write(directory + "/topology/thread_siblings", MaskOf({cpu}));
  Write(directory + "/topology/thread_siblings_list", absl::StrCat(cpu));
}

void MadeMachine::Write(const std::string& path, const std::string& line) const {
  const std::filesystem::path file = absl::StrCat(files_.path(), "/", path);
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file) << line << "\n";
}

}  // namespace berth::e2e
