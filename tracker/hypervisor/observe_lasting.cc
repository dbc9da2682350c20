// The methods of Observer that read what cannot change while a connection lasts: versions, CPU,
// emulators.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tracker/facts/cpu_info.h"
#include "tracker/facts/domain_capabilities.h"
#include "tracker/facts/pmem.h"
#include "tracker/facts/version.h"
#include "tracker/hypervisor/command.h"
#include "tracker/hypervisor/observe.h"

namespace berth::tracker {
namespace {

// Returns the configured virtualization type. If none is configured: kvm if the host offers kvm for
// its own architecture, else the first type that the host offers for its own architecture.
std::string ChooseVirtType(const NodeConfiguration& configuration, const Capabilities& capabilities,
                           const std::string& host_arch) {
  if (!configuration.virt_type.empty()) return configuration.virt_type;
  std::string first;
  for (const GuestArch& guest : capabilities.guest_archs) {
    if (CanonicalArch(guest.arch).value_or("") != host_arch && !host_arch.empty()) continue;
    for (const std::string& type : guest.domain_types) {
      if (type == "kvm") return type;
      if (first.empty()) first = type;
    }
  }
  return first;
}

bool Hyperthreading(const Capabilities& capabilities) {
  for (const CapabilitiesCell& cell : capabilities.cells) {
    for (const CellCpu& cpu : cell.cpus) {
      if (cpu.siblings.Count() > 1) return true;
    }
  }
  return false;
}

std::string DefaultModel(const std::string& arch) {
  if (arch == "i686") return "qemu32";
  if (arch == "ppc64le") return "POWER8";
  if (arch == "aarch64") return "max";
  return "qemu64";
}

}  // namespace

absl::StatusOr<Observer::Lasting> Observer::ReadLasting() {
  Lasting lasting;
  lasting.connection_number = hypervisor_->connection_number();
  // Capabilities must be read first, because otherwise some versions of libvirt answer later calls
  // wrongly (T-71).
  BERTH_ASSIGN_OR_RETURN(const std::string xml, hypervisor_->CapabilitiesXml());
  BERTH_ASSIGN_OR_RETURN(lasting.capabilities, ParseCapabilities(xml));
  BERTH_RETURN_IF_ERROR(ReadVersions(&lasting));
  BERTH_RETURN_IF_ERROR(ReadCpu(&lasting));
  ReadEmulators(&lasting);
  ReadNamespaces(&lasting);
  for (const std::string& warning : hypervisor_->connect_warnings()) {
    lasting.facts.warnings.push_back(warning);
  }
  return lasting;
}

absl::Status Observer::ReadVersions(Lasting* lasting) {
  Facts& facts = lasting->facts;
  BERTH_ASSIGN_OR_RETURN(const std::string type, hypervisor_->Type());
  BERTH_ASSIGN_OR_RETURN(const int64_t version, hypervisor_->Version());
  BERTH_ASSIGN_OR_RETURN(const int64_t library, hypervisor_->LibraryVersion());
  facts.hypervisor_type = type;
  facts.hypervisor_version = version;
  facts.library_version = library;
  lasting->shows_this_machine = type != "TEST";
  return type == "QEMU" ? CheckVersions(library, version) : absl::OkStatus();
}

absl::Status Observer::ReadCpu(Lasting* lasting) {
  Facts& facts = lasting->facts;
  Capabilities& capabilities = lasting->capabilities;
  facts.supported_instances = capabilities.supported_instances;
  facts.host_arch = CanonicalArch(capabilities.cpu.arch.value_or("")).value_or("");
  facts.virt_type = ChooseVirtType(configuration_, capabilities, facts.host_arch);
  facts.hyperthreading = Hyperthreading(capabilities);
  if (facts.host_arch != "aarch64") {
    const absl::StatusOr<std::string> expanded = hypervisor_->ExpandCpuXml(capabilities.cpu_xml);
    if (expanded.ok()) {
      BERTH_ASSIGN_OR_RETURN(capabilities.cpu.features, ParseCpuFeatures(*expanded));
    } else if (absl::IsUnimplemented(expanded.status())) {
      facts.warnings.push_back("the hypervisor does not say which features its CPU has");  // T-91
    } else if (lasting->shows_this_machine) {
      return expanded.status();
    }
  }
  facts.cpu_info = CpuInfoJson(capabilities.cpu, static_cast<int>(capabilities.cells.size()));
  absl::StatusOr<std::optional<std::set<std::string>>> features = TraitFeatures(*lasting);
  if (features.ok()) {
    facts.cpu_features = *std::move(features);
  } else if (!absl::IsUnimplemented(features.status())) {
    facts.warnings.push_back(
        absl::StrCat("the CPU features could not be read, so CPU traits are not reported: ",
                     features.status().message()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::set<std::string>> Observer::ModelFeatures(const std::string& arch,
                                                              const std::string& model) {
  BERTH_ASSIGN_OR_RETURN(const std::string expanded,
                         hypervisor_->ExpandCpuXml(absl::StrCat(
                             "<cpu><arch>", arch, "</arch><model>", model, "</model></cpu>")));
  return ParseCpuFeatures(expanded);
}

// Returns the CPU features that are reported as traits. The CPU mode decides which these are.
// Returns nothing if the mode is unset and the virtualization type is not kvm or qemu (T-215).
absl::StatusOr<std::optional<std::set<std::string>>> Observer::TraitFeatures(
    const Lasting& lasting) {
  const Facts& facts = lasting.facts;
  CpuMode mode = configuration_.cpu_mode;
  if (mode == CpuMode::kUnset) {
    if (facts.virt_type != "kvm" && facts.virt_type != "qemu") {
      return std::optional<std::set<std::string>>();
    }
    mode = CpuMode::kHostModel;  // host-passthrough would give the same features
  }
  std::set<std::string> features;
  if (mode == CpuMode::kHostModel || mode == CpuMode::kHostPassthrough) {
    features = lasting.capabilities.cpu.features;
  } else {
    std::vector<std::string> models = configuration_.cpu_models;
    if (mode == CpuMode::kNone) models = {DefaultModel(facts.host_arch)};
    if (models.empty() && facts.host_arch == "aarch64") models = {"max"};
    for (const std::string& model : models) {
      BERTH_ASSIGN_OR_RETURN(std::set<std::string> one, ModelFeatures(facts.host_arch, model));
      features.merge(one);
    }
  }
  if (mode != CpuMode::kNone) {
    features.insert(configuration_.cpu_model_extra_flags.begin(),
                    configuration_.cpu_model_extra_flags.end());
  }
  return std::optional<std::set<std::string>>(std::move(features));
}

// If ndctl does not answer, all configured namespaces count as existing.
void Observer::ReadNamespaces(Lasting* lasting) {
  if (configuration_.pmem_namespaces.empty() || !lasting->shows_this_machine) return;
  const absl::StatusOr<std::string> output =
      RunCommand({"ndctl", "list", "-X"}, surroundings_.storage.command_timeout);
  absl::StatusOr<std::set<std::string>> names =
      output.ok() ? ParseNdctlList(*output) : output.status();
  if (!names.ok()) {
    lasting->facts.warnings.push_back(
        absl::StrCat("namespaces of persistent memory: ", names.status().message()));
    return;
  }
  for (const std::string& name : MissingNamespaces(configuration_.pmem_namespaces, *names)) {
    lasting->facts.warnings.push_back(
        absl::StrCat("pmem_namespaces: namespace ", name, " does not exist or is no devdax"));
  }
  lasting->facts.pmem_namespaces = *std::move(names);
}

void Observer::ReadEmulators(Lasting* lasting) {
  std::vector<DomainCapabilities> offers;
  for (const GuestArch& guest : lasting->capabilities.guest_archs) {
    const std::string& wanted = lasting->facts.virt_type;
    const std::vector<std::string>& types = guest.domain_types;
    if (types.empty() || guest.emulator.empty()) continue;
    const bool has_wanted = std::find(types.begin(), types.end(), wanted) != types.end();
    // The machine types without a version or, if there are none, the default machine type. This is
    // enough, because all versions of a machine type offer the same.
    std::vector<std::string> machines = guest.machine_aliases;
    if (machines.empty()) machines = {""};
    for (const std::string& machine : machines) {
      const absl::StatusOr<std::string> xml = hypervisor_->DomainCapabilitiesXml(
          guest.emulator, guest.arch, machine, has_wanted ? wanted : types[0]);
      if (!xml.ok()) continue;  // skips this pair of emulator and machine type (T-93)
      absl::StatusOr<DomainCapabilities> offer = ParseDomainCapabilities(*xml);
      if (offer.ok()) offers.push_back(*std::move(offer));
    }
  }
  lasting->facts.emulators = CombineOffers(offers, lasting->facts.host_arch);
}

}  // namespace berth::tracker
