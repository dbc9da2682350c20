// Parses what an emulator offers to guests, for example disk buses, video models and TPMs, and
// combines the offers of all emulators of a host.
//
// Pure functions.
#ifndef BERTH_TRACKER_FACTS_DOMAIN_CAPABILITIES_H_
#define BERTH_TRACKER_FACTS_DOMAIN_CAPABILITIES_H_

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace berth::tracker {

struct DomainCapabilities {
  std::string emulator;
  std::string arch;
  std::string machine;
  std::string domain_type;
  std::set<std::string> disk_buses;
  std::set<std::string> video_models;
  std::set<std::string> cpu_modes;   // the supported ones
  std::set<std::string> cpu_models;  // usable in CPU mode custom
  bool secure_boot = false;
  bool tpm_emulator = false;  // swtpm is installed
  std::set<std::string> tpm_models;
  bool tpm_versions_told = false;  // false for libvirt below 8.6, which does not tell versions
  std::set<std::string> tpm_versions;
  // How many guests can have encrypted memory at the same time: with SEV, and with SEV-ES.
  int64_t sev_guests_max = 0;
  int64_t sev_es_guests_max = 0;
  bool sev_snp = false;
};

// InvalidArgument if `xml` is not a domain capabilities document.
absl::StatusOr<DomainCapabilities> ParseDomainCapabilities(absl::string_view xml);

// Everything that at least one emulator of a host offers. The node's traits for guest devices are
// computed from this.
struct EmulatorOffer {
  std::set<std::string> archs;  // canonical
  std::set<std::string> disk_buses;
  std::set<std::string> video_models;
  bool secure_boot = false;  // some machine type of the host's own architecture has it
  bool tpm_emulator = false;
  std::set<std::string> tpm_models;
  bool tpm_versions_told = false;
  std::set<std::string> tpm_versions;
  // Of the emulators of the host's own architecture (see DomainCapabilities).
  int64_t sev_guests_max = 0;
  int64_t sev_es_guests_max = 0;
  bool sev_snp = false;
};

// Combines what the emulators in `all` offer. `host_arch`: the canonical name of the host's
// architecture, which alone decides about secure boot and encrypted memory.
EmulatorOffer CombineOffers(const std::vector<DomainCapabilities>& all,
                            absl::string_view host_arch);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_FACTS_DOMAIN_CAPABILITIES_H_
