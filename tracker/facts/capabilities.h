// Parses libvirt's capabilities document of a host: its CPU, its NUMA cells, and the kinds of
// guests that it can run.
//
// Pure functions.
#ifndef BERTH_TRACKER_FACTS_CAPABILITIES_H_
#define BERTH_TRACKER_FACTS_CAPABILITIES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tracker/settings/cpu_set.h"

namespace berth::tracker {

struct CpuDescription {
  std::optional<std::string> arch;
  std::optional<std::string> model;
  std::optional<std::string> vendor;
  std::optional<int> sockets;
  std::optional<int> cores;
  std::optional<int> threads;
  std::optional<std::string> maxphysaddr_mode;
  std::optional<int> maxphysaddr_bits;
  std::set<std::string> features;
};

struct CellCpu {
  int id = 0;
  std::optional<int> socket;
  CpuSet siblings;  // all threads of the CPU's core, this CPU included
};

struct CapabilitiesCell {
  int id = 0;
  int64_t memory_kib = 0;
  std::map<int64_t, int64_t> pages_by_size_kib;  // page size in KiB -> number of pages
  std::vector<CellCpu> cpus;
};

// A kind of guest that the host can run, in canonical names (T-92), for example x86_64, kvm, hvm.
struct SupportedInstance {
  std::string arch;
  std::string hypervisor_type;
  std::string vm_mode;
  friend bool operator==(const SupportedInstance&, const SupportedInstance&) = default;
};

// One emulator and the architecture that it emulates, as libvirt's document names them.
struct GuestArch {
  std::string arch;  // libvirt's name, for example i686
  std::string emulator;
  std::vector<std::string> domain_types;
  std::vector<std::string> machine_aliases;  // names without a version: pc, q35, virt
};

struct Capabilities {
  CpuDescription cpu;
  std::string cpu_xml;  // the <cpu> element of the host, for Hypervisor::ExpandCpuXml
  std::vector<CapabilitiesCell> cells;
  std::vector<SupportedInstance> supported_instances;
  std::vector<GuestArch> guest_archs;
};

// InvalidArgument if `xml` is not a capabilities document, or if a CPU id in it is out of range.
absl::StatusOr<Capabilities> ParseCapabilities(absl::string_view xml);

// Returns the names of the <feature> elements in a <cpu> document, except for those with policy
// disable or forbid. InvalidArgument if `cpu_xml` is not a <cpu> document.
absl::StatusOr<std::set<std::string>> ParseCpuFeatures(absl::string_view cpu_xml);

// Returns the canonical name of an architecture, for example i686 for i386, or nothing if the
// architecture is unknown.
std::optional<std::string> CanonicalArch(absl::string_view arch);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_FACTS_CAPABILITIES_H_
