// What one emulator offers to guests: disk buses, video models, TPM, firmware, usable CPU models.
//
// A parser of text into values, and the union over several emulators; pure.
#ifndef BERTH_TRACKER_FACTS_DOMAIN_CAPABILITIES_H_
#define BERTH_TRACKER_FACTS_DOMAIN_CAPABILITIES_H_

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
  std::set<std::string> cpu_modes;   // those said to be supported
  std::set<std::string> cpu_models;  // those usable in mode custom
  bool secure_boot = false;
  bool tpm_emulator = false;  // swtpm is there
  std::set<std::string> tpm_models;
  bool tpm_versions_told = false;  // libvirt from 8.6 on tells versions
  std::set<std::string> tpm_versions;
};

// InvalidArgument when the text is not a domain capabilities document.
absl::StatusOr<DomainCapabilities> ParseDomainCapabilities(absl::string_view xml);

// What an operator's emulators offer together; a node's device traits come from it.
struct EmulatorOffer {
  std::set<std::string> archs;  // canonical
  std::set<std::string> disk_buses;
  std::set<std::string> video_models;
  bool secure_boot = false;  // some machine type of the host's architecture
  bool tpm_emulator = false;
  std::set<std::string> tpm_models;
  bool tpm_versions_told = false;
  std::set<std::string> tpm_versions;
};

EmulatorOffer CombineOffers(const std::vector<DomainCapabilities>& all,
                            absl::string_view host_arch);

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_FACTS_DOMAIN_CAPABILITIES_H_
