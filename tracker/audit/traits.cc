#include "tracker/audit/traits.h"

#include <algorithm>
#include <initializer_list>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tracker/audit/standard_data.h"
#include "tracker/audit/trait_tables.h"
#include "tracker/facts/version.h"

namespace berth::tracker {
namespace {

using Names = std::initializer_list<const char*>;

// For each name in `names`, maps the trait `prefix` + name to holds(name) in `owned`.
template <typename Predicate>
void AddGroup(absl::string_view prefix, Names names, Predicate holds, OwnedTraits* owned) {
  for (const char* const name : names) (*owned)[absl::StrCat(prefix, name)] = holds(name);
}

bool Contains(const std::set<std::string>& set, const std::string& name) {
  return set.count(name) != 0;
}

bool RunsQemu(const Facts& facts) { return facts.virt_type == "kvm" || facts.virt_type == "qemu"; }

// Adds the traits for CPU features and architectures (E-1, E-2).
void AddCpu(const Facts& facts, OwnedTraits* owned) {
  if (facts.cpu_features) {  // if they were not read, the provider keeps its traits (T-214)
    for (const CpuFeatureTrait& entry : CpuFeatureTraits()) {
      bool& value = (*owned)[entry.trait];
      value = value || Contains(*facts.cpu_features, entry.feature);
    }
  }
  (*owned)["HW_CPU_HYPERTHREADING"] = facts.hyperthreading;
  const std::string host_trait = absl::StrCat("HW_ARCH_", absl::AsciiStrToUpper(facts.host_arch));
  for (const absl::string_view trait : StandardTraits()) {
    if (absl::StartsWith(trait, "HW_ARCH_")) (*owned)[std::string(trait)] = trait == host_trait;
  }
  AddGroup(
      "COMPUTE_ARCH_", {"AARCH64", "PPC64LE", "MIPSEL", "S390X", "RISCV64", "X86_64"},
      [&](const char* name) {
        return Contains(facts.emulators.archs, absl::AsciiStrToLower(name));
      },
      owned);
}

// Adds the traits for disk buses, graphics models and network models (E-3).
void AddGuestDevices(const Facts& facts, OwnedTraits* owned) {
  const bool qemu = RunsQemu(facts);
  AddGroup(
      "COMPUTE_STORAGE_BUS_", {"FDC", "IDE", "LXC", "SATA", "SCSI", "USB", "VIRTIO", "UML", "XEN"},
      [&](const std::string& name) {
        if (qemu) return Contains(facts.emulators.disk_buses, absl::AsciiStrToLower(name));
        if (facts.virt_type == "lxc") return name == "LXC";
        return facts.virt_type == "parallels" && (name == "IDE" || name == "SCSI");
      },
      owned);
  AddGroup(
      "COMPUTE_GRAPHICS_MODEL_",
      {"BOCHS", "CIRRUS", "GOP", "NONE", "QXL", "VGA", "VIRTIO", "VMVGA", "XEN"},
      [&](const char* name) {
        return Contains(facts.emulators.video_models, absl::AsciiStrToLower(name));
      },
      owned);
  AddGroup(
      "COMPUTE_NET_VIF_MODEL_",
      {"E1000", "E1000E", "NE2K_PCI", "PCNET", "RTL8139", "SPAPR_VLAN", "VIRTIO", "VMXNET3"},
      [&](const std::string& name) {
        if (facts.virt_type == "parallels") {
          return name == "VIRTIO" || name == "RTL8139" || name == "E1000";
        }
        return qemu;
      },
      owned);
  (*owned)["COMPUTE_NET_VIF_MODEL_LAN9118"] = facts.virt_type == "qemu";
  (*owned)["COMPUTE_NET_VIF_MODEL_IGB"] = qemu && facts.library_version >= EncodeVersion(9, 3, 0) &&
                                          facts.hypervisor_version >= EncodeVersion(8, 0, 0);
  (*owned)["COMPUTE_NET_VIRTIO_PACKED"] = true;
}

// Adds the traits for IOMMU, TPM and sound models (E-3).
void AddPlatformDevices(const Facts& facts, OwnedTraits* owned) {
  const EmulatorOffer& offer = facts.emulators;
  (*owned)["COMPUTE_VIOMMU_MODEL_AUTO"] = true;
  (*owned)["COMPUTE_VIOMMU_MODEL_INTEL"] = Contains(offer.archs, "x86_64");
  (*owned)["COMPUTE_VIOMMU_MODEL_SMMUV3"] = Contains(offer.archs, "aarch64");
  (*owned)["COMPUTE_VIOMMU_MODEL_VIRTIO"] = facts.library_version >= EncodeVersion(8, 3, 0);
  const auto version = [&](const char* name) {
    if (!offer.tpm_emulator) return false;
    return !offer.tpm_versions_told || Contains(offer.tpm_versions, name);
  };
  (*owned)["COMPUTE_SECURITY_TPM_1_2"] = version("1.2");
  (*owned)["COMPUTE_SECURITY_TPM_2_0"] = version("2.0");
  (*owned)["COMPUTE_SECURITY_TPM_TIS"] =
      offer.tpm_emulator && Contains(offer.tpm_models, "tpm-tis");
  (*owned)["COMPUTE_SECURITY_TPM_CRB"] =
      offer.tpm_emulator && Contains(offer.tpm_models, "tpm-crb");
  AddGroup(
      "COMPUTE_SOUND_MODEL_", {"SB16", "ES1370", "PCSPK", "AC97", "ICH6", "ICH9", "USB"},
      [](const char*) { return true; }, owned);
  (*owned)["COMPUTE_SOUND_MODEL_VIRTIO"] = facts.library_version >= EncodeVersion(10, 4, 0) &&
                                           facts.hypervisor_version >= EncodeVersion(8, 2, 0);
}

// Adds the traits for capabilities of the hypervisor (E-4). Here `true` means that the hypervisor
// has the capability. Berth itself need not use the capability.
void AddCapabilities(const Facts& facts, const NodeConfiguration& node, OwnedTraits* owned) {
  AddGroup(
      "COMPUTE_",
      {"NET_ATTACH_INTERFACE", "NET_ATTACH_INTERFACE_WITH_TAG", "DEVICE_TAGGING",
       "VOLUME_ATTACH_WITH_TAG", "VOLUME_EXTEND", "VOLUME_MULTI_ATTACH", "TRUSTED_CERTS",
       "ACCELERATORS", "RESCUE_BFV", "SOCKET_PCI_NUMA_AFFINITY", "STORAGE_VIRTIO_FS"},
      [](const char*) { return true; }, owned);
  (*owned)["COMPUTE_SAME_HOST_COLD_MIGRATE"] = false;
  const bool raw_only = node.disk_backend != DiskBackend::kFile && !node.force_raw_images;
  AddGroup(
      "COMPUTE_IMAGE_TYPE_",
      {"AKI", "AMI", "ARI", "ISO", "RAW", "QCOW2", "PLOOP", "VDI", "VHD", "VHDX", "VMDK"},
      [&](const std::string& name) {
        const std::vector<std::string>& excluded = node.image_type_exclude_list;
        const std::string lower = absl::AsciiStrToLower(name);
        if (std::find(excluded.begin(), excluded.end(), lower) != excluded.end()) return false;
        if (name == "QCOW2") return !raw_only;
        if (name == "PLOOP") return facts.virt_type == "parallels";
        return name != "VDI" && name != "VHD" && name != "VHDX" && name != "VMDK";
      },
      owned);
  (*owned)["COMPUTE_SECURITY_UEFI_SECURE_BOOT"] = facts.emulators.secure_boot;
  (*owned)["COMPUTE_SECURITY_STATELESS_FIRMWARE"] = facts.library_version >= EncodeVersion(8, 6, 0);
  const bool address_space = facts.library_version >= EncodeVersion(8, 7, 0);
  (*owned)["COMPUTE_ADDRESS_SPACE_PASSTHROUGH"] = address_space;
  (*owned)["COMPUTE_ADDRESS_SPACE_EMULATED"] = address_space;
  (*owned)["COMPUTE_MEM_BACKING_FILE"] = node.file_backed_memory_mib > 0;
  const bool luks = node.disk_backend == DiskBackend::kFile;
  (*owned)["COMPUTE_EPHEMERAL_ENCRYPTION"] = luks;
  (*owned)["COMPUTE_EPHEMERAL_ENCRYPTION_LUKS"] = luks;
  (*owned)["COMPUTE_EPHEMERAL_ENCRYPTION_PLAIN"] = false;
  (*owned)["COMPUTE_REMOTE_MANAGED_PORTS"] = false;  // there are no remote-managed device pools
}

}  // namespace

OwnedTraits DescribeRootTraits(const Facts& facts, const NodeConfiguration& configuration,
                               std::optional<bool> service_disabled) {
  OwnedTraits owned;
  AddCpu(facts, &owned);
  AddGuestDevices(facts, &owned);
  AddPlatformDevices(facts, &owned);
  AddCapabilities(facts, configuration, &owned);
  owned["COMPUTE_NODE"] = true;
  owned["OWNER_NOVA"] = true;
  if (service_disabled) owned["COMPUTE_STATUS_DISABLED"] = *service_disabled;
  for (auto it = owned.begin(); it != owned.end();) {
    it = IsStandardTrait(it->first) ? std::next(it) : owned.erase(it);
  }
  return owned;
}

std::set<std::string> EffectiveTraits(const std::set<std::string>& current,
                                      const OwnedTraits& owned) {
  std::set<std::string> result = current;
  for (const auto& [trait, value] : owned) {
    if (value) {
      result.insert(trait);
    } else {
      result.erase(trait);
    }
  }
  return result;
}

bool IsStandardTrait(absl::string_view name) {
  const auto all = StandardTraits();
  return std::binary_search(all.begin(), all.end(), name);
}

}  // namespace berth::tracker
