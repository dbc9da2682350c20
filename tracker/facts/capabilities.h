// What libvirt's capabilities document says of a host: its CPU, its NUMA cells, its guest kinds.
//
// A parser of text into values; pure.
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
  CpuSet siblings;  // the threads of its core, itself included
};

struct CapabilitiesCell {
  int id = 0;
  int64_t memory_kib = 0;
  std::map<int64_t, int64_t> pages_by_size_kib;  // page size in KiB -> number of pages
  std::vector<CellCpu> cpus;
};

// A kind of guest that the host can run, in canonical names (T-92).
struct SupportedInstance {
  std::string arch;
  std::string hypervisor_type;
  std::string vm_mode;
  friend bool operator==(const SupportedInstance& a, const SupportedInstance& b) {
    return a.arch == b.arch && a.hypervisor_type == b.hypervisor_type && a.vm_mode == b.vm_mode;
  }
};

// An emulator for one architecture with its machine types, as the document names them.
struct GuestArch {
  std::string arch;  // libvirt's own name
  std::string emulator;
  std::vector<std::string> domain_types;
  std::vector<std::string> machine_aliases;  // those that stand for a versioned type: pc, q35, virt
};

struct Capabilities {
  CpuDescription cpu;
  std::string cpu_xml;  // the <cpu> element of the host, what baselines are made from
  std::vector<CapabilitiesCell> cells;
  std::vector<SupportedInstance> supported_instances;
  std::vector<GuestArch> guest_archs;
};

// InvalidArgument when the text is not a capabilities document.
absl::StatusOr<Capabilities> ParseCapabilities(absl::string_view xml);

// The names of <feature> elements in a <cpu> document; those with policy disable or forbid are left
// out. InvalidArgument when it is none.
absl::StatusOr<std::set<std::string>> ParseCpuFeatures(absl::string_view cpu_xml);

// Our name of an architecture, or nothing when it is unknown.
std::optional<std::string> CanonicalArch(absl::string_view arch);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_FACTS_CAPABILITIES_H_
