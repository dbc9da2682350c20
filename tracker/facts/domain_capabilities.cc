#include "tracker/facts/domain_capabilities.h"

#include <algorithm>
#include <pugixml.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "tracker/facts/capabilities.h"

namespace berth::tracker {
namespace {

bool Supported(const pugi::xml_node& node) {
  return absl::string_view(node.attribute("supported").as_string()) == "yes";
}

// Returns the values that the child element <enum name='NAME'> of `node` lists.
std::set<std::string> Values(const pugi::xml_node& node, const char* name) {
  std::set<std::string> values;
  for (const pugi::xml_node value :
       node.find_child_by_attribute("enum", "name", name).children("value")) {
    values.insert(value.text().as_string());
  }
  return values;
}

void ReadCpuModes(const pugi::xml_node& cpu, DomainCapabilities* result) {
  for (const pugi::xml_node mode : cpu.children("mode")) {
    if (!Supported(mode)) continue;
    const std::string name = mode.attribute("name").as_string();
    result->cpu_modes.insert(name);
    if (name != "custom") continue;
    for (const pugi::xml_node model : mode.children("model")) {
      if (absl::string_view(model.attribute("usable").as_string()) == "yes") {
        result->cpu_models.insert(model.text().as_string());
      }
    }
  }
}

void ReadTpm(const pugi::xml_node& tpm, DomainCapabilities* result) {
  if (!Supported(tpm)) return;
  result->tpm_emulator = Values(tpm, "backendModel").count("emulator") != 0;
  result->tpm_models = Values(tpm, "model");
  result->tpm_versions_told =
      static_cast<bool>(tpm.find_child_by_attribute("enum", "name", "backendVersion"));
  result->tpm_versions = Values(tpm, "backendVersion");
}

void ReadMemoryEncryption(const pugi::xml_node& features, DomainCapabilities* result) {
  const pugi::xml_node sev = features.child("sev");
  if (!Supported(sev)) return;
  result->sev_guests_max = sev.child("maxGuests").text().as_llong();
  result->sev_es_guests_max = sev.child("maxESGuests").text().as_llong();
  const pugi::xml_node security = features.child("launchSecurity");
  result->sev_snp = Supported(security) && Values(security, "sectype").count("sev-snp") != 0;
}

}  // namespace

absl::StatusOr<DomainCapabilities> ParseDomainCapabilities(absl::string_view xml) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(xml.data(), xml.size());
  if (!parsed) {
    return absl::InvalidArgumentError(absl::StrCat("not XML: ", parsed.description()));
  }
  const pugi::xml_node root = document.child("domainCapabilities");
  if (!root) return absl::InvalidArgumentError("libvirt sent no <domainCapabilities> element");
  DomainCapabilities result;
  result.emulator = root.child("path").text().as_string();
  result.arch = root.child("arch").text().as_string();
  result.machine = root.child("machine").text().as_string();
  result.domain_type = root.child("domain").text().as_string();
  const pugi::xml_node loader = root.child("os").child("loader");
  result.secure_boot = Supported(loader) && Values(loader, "secure").count("yes") != 0;
  ReadCpuModes(root.child("cpu"), &result);
  const pugi::xml_node devices = root.child("devices");
  if (Supported(devices.child("disk"))) result.disk_buses = Values(devices.child("disk"), "bus");
  if (Supported(devices.child("video"))) {
    result.video_models = Values(devices.child("video"), "modelType");
  }
  ReadTpm(devices.child("tpm"), &result);
  ReadMemoryEncryption(root.child("features"), &result);
  return result;
}

EmulatorOffer CombineOffers(const std::vector<DomainCapabilities>& all,
                            absl::string_view host_arch) {
  EmulatorOffer offer;
  for (const DomainCapabilities& one : all) {
    const std::string arch = CanonicalArch(one.arch).value_or("");
    if (!arch.empty()) offer.archs.insert(arch);
    offer.disk_buses.insert(one.disk_buses.begin(), one.disk_buses.end());
    offer.video_models.insert(one.video_models.begin(), one.video_models.end());
    if (arch == host_arch) {
      offer.secure_boot |= one.secure_boot;
      offer.sev_guests_max = std::max(offer.sev_guests_max, one.sev_guests_max);
      offer.sev_es_guests_max = std::max(offer.sev_es_guests_max, one.sev_es_guests_max);
      offer.sev_snp |= one.sev_snp;
    }
    if (!one.tpm_emulator) continue;
    offer.tpm_emulator = true;
    offer.tpm_models.insert(one.tpm_models.begin(), one.tpm_models.end());
    offer.tpm_versions_told |= one.tpm_versions_told;
    offer.tpm_versions.insert(one.tpm_versions.begin(), one.tpm_versions.end());
  }
  return offer;
}

}  // namespace berth::tracker
