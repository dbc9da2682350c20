#include "tracker/audit/children.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tracker/audit/placed_children.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {
namespace {

// Makes the children of one node.
class Children {
 public:
  Children(const Facts& facts, const NodeConfiguration& configuration, const Uuid& node_uuid,
           absl::string_view node_name, const Records* records)
      : facts_(facts),
        configuration_(configuration),
        node_uuid_(node_uuid),
        node_name_(node_name),
        records_(records) {}

  ChildProviders Describe() {
    DescribeGpus();
    DescribeMemoryEncryption();
    KeepPlaced();
    return std::move(children_);
  }

 private:
  // Returns the provider below the root that has this name, or null.
  const KnownProvider* Known(const std::string& name) const {
    if (records_ == nullptr) return nullptr;
    for (const KnownProvider& known : records_->tree) {
      if (known.name == name && !IsNil(known.parent_uuid)) return &known;
    }
    return nullptr;
  }

  void Add(const std::string& suffix, const std::string& resource_class, int64_t total,
           int64_t max_unit, const std::string& trait) {
    if (total <= 0) return;
    WantedProvider child;
    child.name = absl::StrCat(node_name_, "_", suffix);
    described_.insert(child.name);
    const KnownProvider* const known = Known(child.name);
    if (known != nullptr && known->traits.count("OWNER_NOVA") == 0) {
      children_.problems.push_back(absl::StrCat(
          "provider ", child.name, " exists, but no tracker has made it, so it is not reported"));
      return;
    }
    child.uuid = known != nullptr ? known->uuid : NamedUuid(node_uuid_, child.name);
    child.parent_uuid = node_uuid_;
    child.inventories[resource_class] = {total, 0, 1, max_unit, 1, 1.0};
    child.traits["OWNER_NOVA"] = true;
    if (!trait.empty() && IsStandardTrait(trait)) child.traits[trait] = true;
    if (known != nullptr) KeepUsed(*known, &child);
    children_.providers.push_back(std::move(child));
  }

  // Lets the child have what consumers hold of it: placement would refuse a report with less, and
  // with it all other changes of the node.
  void KeepUsed(const KnownProvider& known, WantedProvider* child) {
    for (const auto& [name, placed] : AsUsed(known, *records_).inventories) {
      const auto [offered, is_gone] = child->inventories.try_emplace(name, placed);
      if (!is_gone && offered->second.total >= placed.total) continue;
      offered->second.total = placed.total;
      children_.problems.push_back(absl::StrCat("provider ", child->name, ": consumers hold ",
                                                placed.total, " of ", name,
                                                ", more than there is; no more is offered"));
    }
  }

  // The children that the host has no more, as far as consumers hold something of them. If the
  // devices could not be listed, nobody knows which GPUs the host has.
  void KeepPlaced() {
    if (records_ == nullptr) return;
    const std::string gpus = absl::StrCat(node_name_, "_pci_");
    const std::string keys = absl::StrCat(node_name_, "_amd_sev");
    for (const KnownProvider& known : records_->tree) {
      const bool is_gpu = absl::StartsWith(known.name, gpus);
      const bool is_ours = known.traits.count("OWNER_NOVA") != 0 && !IsNil(known.parent_uuid);
      if (!is_ours || described_.count(known.name) != 0) continue;
      if (!is_gpu && !absl::StartsWith(known.name, keys)) continue;
      if (is_gpu && !facts_.devices_known) {
        children_.providers.push_back(AsPlaced(known));
        continue;
      }
      WantedProvider child = AsUsed(known, *records_);
      if (child.inventories.empty()) continue;
      children_.problems.push_back(absl::StrCat("provider ", known.name,
                                                " offers nothing any more, but consumers hold "
                                                "resources of it; it goes when they do"));
      children_.providers.push_back(std::move(child));
    }
  }

  // Returns the type that guests get from a device, or null.
  const MediatedType* TypeOf(const std::string& address) const {
    const MediatedType* any = nullptr;
    for (const MediatedType& type : configuration_.mediated_types) {
      if (type.addresses.count(address) != 0) return &type;
      if (type.addresses.empty()) any = &type;
    }
    return any;
  }

  void DescribeGpus() {
    std::set<std::string> missing;
    for (const MediatedType& type : configuration_.mediated_types) {
      missing.insert(type.addresses.begin(), type.addresses.end());
    }
    for (const MediatedParent& parent : facts_.mediated_parents) {
      const MediatedType* const type = TypeOf(parent.address);
      if (type == nullptr) continue;
      const auto count = [type](const std::map<std::string, int64_t>& counts) {
        const auto found = counts.find(type->type);
        return found == counts.end() ? 0 : found->second;
      };
      const int64_t total = count(parent.existing) + count(parent.available);
      if (total > 0) missing.erase(parent.address);
      const int64_t offered = std::min(total, type->max_instances.value_or(total));
      // libvirt's name of the device
      Add(absl::StrCat("pci_", absl::StrReplaceAll(parent.address, {{":", "_"}, {".", "_"}})),
          type->resource_class, offered, offered, "");
    }
    for (const std::string& address : missing) {
      children_.problems.push_back(absl::StrCat("mediated_types: device ", address,
                                                " does not exist or does not offer the type ",
                                                TypeOf(address)->type));
    }
  }

  // Returns how many guests can be encrypted: `offered` by the hypervisor, at most `configured`.
  int64_t Limit(int64_t offered, const std::optional<int64_t>& configured, const char* option) {
    if (configured && *configured > offered) {
      children_.problems.push_back(
          absl::StrCat(option, " is ", *configured, ", but the hypervisor allows ", offered));
    }
    return std::min(offered, configured.value_or(offered));
  }

  // libvirt tells no limit for SEV-SNP. Its guests take their keys from those of SEV-ES, so they are
  // offered only if a setting says how many of these keys are for them.
  void DescribeMemoryEncryption() {
    const EmulatorOffer& offer = facts_.emulators;
    const int64_t snp = configuration_.sev_snp_guests_max.value_or(0) == 0 || !offer.sev_snp
                            ? 0
                            : Limit(offer.sev_es_guests_max, configuration_.sev_snp_guests_max,
                                    "sev_snp_guests_max");
    constexpr char kClass[] = "MEM_ENCRYPTION_CONTEXT";
    Add("amd_sev", kClass,
        Limit(offer.sev_guests_max, configuration_.sev_guests_max, "sev_guests_max"), 1,
        "HW_CPU_X86_AMD_SEV");
    Add("amd_sev_es", kClass,
        Limit(offer.sev_es_guests_max - snp, configuration_.sev_es_guests_max, "sev_es_guests_max"),
        1, "HW_CPU_X86_AMD_SEV_ES");
    Add("amd_sev_snp", kClass, snp, 1, "HW_CPU_X86_AMD_SEV_SNP");
  }

  const Facts& facts_;
  const NodeConfiguration& configuration_;
  const Uuid& node_uuid_;
  const absl::string_view node_name_;
  const Records* const records_;
  std::set<std::string> described_;  // the names of all children that the host has
  ChildProviders children_;
};

}  // namespace

ChildProviders DescribeChildren(const Facts& facts, const NodeConfiguration& configuration,
                                const Uuid& node_uuid, absl::string_view node_name,
                                const Records* records) {
  return Children(facts, configuration, node_uuid, node_name, records).Describe();
}

}  // namespace berth::tracker
