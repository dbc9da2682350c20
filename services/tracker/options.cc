#include "services/tracker/options.h"

#include <cstdlib>
#include <functional>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "services/tracker/extra_settings.h"
#include "services/tracker/node_setting.h"
#include "tracker/devices/device_spec.h"
#include "tracker/devices/request.h"
#include "tracker/ground/status_macros.h"
#include "tracker/settings/cpu_set.h"

namespace berth::services {
namespace {

using tracker::NodeConfiguration;

absl::Status Bad(absl::string_view text, absl::string_view want) {
  return absl::InvalidArgumentError(absl::StrCat("'", text, "' is not valid: it must be ", want));
}

std::function<absl::Status(const Texts&, NodeConfiguration*)> Set(
    std::optional<tracker::CpuSet> NodeConfiguration::*field) {
  return [field](const Texts& texts, NodeConfiguration* node) {
    BERTH_ASSIGN_OR_RETURN(node->*field, tracker::CpuSet::Parse(absl::StrJoin(texts, ",")));
    return absl::OkStatus();
  };
}

std::function<absl::Status(const Texts&, NodeConfiguration*)> Number(
    int64_t NodeConfiguration::*field) {
  return [field](const Texts& texts, NodeConfiguration* node) {
    const bool good = texts.size() == 1 && absl::SimpleAtoi(texts[0], &(node->*field));
    return good ? absl::OkStatus() : Bad(absl::StrJoin(texts, ","), "a whole number");
  };
}

template <typename Field>
std::function<absl::Status(const Texts&, NodeConfiguration*)> Ratio(
    Field NodeConfiguration::*field) {
  return [field](const Texts& texts, NodeConfiguration* node) {
    double value = 0;
    if (texts.size() != 1 || !absl::SimpleAtod(texts[0], &value)) {
      return Bad(absl::StrJoin(texts, ","), "a number");
    }
    node->*field = value;
    return absl::OkStatus();
  };
}

std::function<absl::Status(const Texts&, NodeConfiguration*)> Text(
    std::string NodeConfiguration::*field) {
  return [field](const Texts& texts, NodeConfiguration* node) {
    node->*field = absl::StrJoin(texts, ",");
    return absl::OkStatus();
  };
}

// Each text is JSON, and `check` says what is wrong with all of them together.
template <typename Check>
std::function<absl::Status(const Texts&, NodeConfiguration*)> Json(
    std::vector<std::string> NodeConfiguration::*field, Check check) {
  return [field, check](const Texts& texts, NodeConfiguration* node) {
    node->*field = texts;
    return check(texts).status();
  };
}

std::function<absl::Status(const Texts&, NodeConfiguration*)> List(
    std::vector<std::string> NodeConfiguration::*field) {
  return [field](const Texts& texts, NodeConfiguration* node) {
    node->*field = absl::StrSplit(absl::StrJoin(texts, ","), ',', absl::SkipWhitespace());
    return absl::OkStatus();
  };
}

std::function<absl::Status(const Texts&, NodeConfiguration*)> Flag(bool NodeConfiguration::*field) {
  return [field](const Texts& texts, NodeConfiguration* node) {
    const bool good = texts.size() == 1 && absl::SimpleAtob(texts[0], &(node->*field));
    return good ? absl::OkStatus() : Bad(absl::StrJoin(texts, ","), "yes or no");
  };
}

template <typename Choice>
std::function<absl::Status(const Texts&, NodeConfiguration*)> OneOf(
    Choice NodeConfiguration::*field, const std::map<std::string, Choice>& choices) {
  return [field, choices](const Texts& texts, NodeConfiguration* node) {
    const auto found = texts.size() == 1 ? choices.find(texts[0]) : choices.end();
    if (found == choices.end()) {
      return Bad(
          absl::StrJoin(texts, ","),
          absl::StrCat("one of ", absl::StrJoin(choices, ", ", [](std::string* out, auto& one) {
                         out->append(one.first);
                       })));
    }
    node->*field = found->second;
    return absl::OkStatus();
  };
}

absl::Status ReservePages(const Texts& texts, NodeConfiguration* node) {
  for (const std::string& text : texts) {
    BERTH_ASSIGN_OR_RETURN(const tracker::ReservedPages pages, tracker::ParseReservedPages(text));
    node->reserved_huge_pages.push_back(pages);
  }
  return absl::OkStatus();
}

absl::Status AttachNetworks(const Texts& texts, NodeConfiguration* node) {
  BERTH_ASSIGN_OR_RETURN(node->physical_network_cells,
                         tracker::ParseNetworkCells(absl::StrJoin(texts, " ")));
  return absl::OkStatus();
}

std::vector<NodeSetting> CapacitySettings() {
  using Node = NodeConfiguration;
  return {
      {"cpu-shared-set", "CPUs that guests share, such as 0-3,^2 (CPUs 0, 1 and 3)",
       Set(&Node::cpu_shared_set)},
      {"cpu-dedicated-set", "CPUs that are each used by one guest only",
       Set(&Node::cpu_dedicated_set)},
      {"vcpu-pin-set", "The older name of cpu-shared-set", Set(&Node::vcpu_pin_set)},
      {"cpu-power-management",
       "true: dedicated CPUs count even if offline; Berth does not turn them on; default: false",
       Flag(&Node::cpu_power_management)},
      {"reserved-host-cpus", "How many CPUs are reserved for the host",
       Number(&Node::reserved_host_cpus)},
      {"reserved-host-memory-mb", "Memory that is reserved for the host, in MiB; default 512",
       Number(&Node::reserved_host_memory_mib)},
      {"reserved-host-disk-mb", "Disk that is reserved for the host, in MiB",
       Number(&Node::reserved_host_disk_mib)},
      {"reserved-huge-pages",
       "Huge pages that are reserved for the host, such as node:0,size:2M,count:64", ReservePages},
      {"physical-network-cells",
       "NUMA cells of physical networks, such as \"public:0 storage:0-1\"", AttachNetworks},
      {"tunnel-cells", "NUMA cells of tunnelled networks, such as 0-1", Set(&Node::tunnel_cells)},
      {"cpu-allocation-ratio", "How many times each CPU may be allocated (overcommitment)",
       Ratio(&Node::cpu_allocation_ratio)},
      {"ram-allocation-ratio", "How many times the memory may be allocated (overcommitment)",
       Ratio(&Node::ram_allocation_ratio)},
      {"disk-allocation-ratio", "How many times the disk may be allocated (overcommitment)",
       Ratio(&Node::disk_allocation_ratio)},
      {"initial-cpu-allocation-ratio",
       "CPU allocation ratio of a new node, until somebody sets one; default 4",
       Ratio(&Node::initial_cpu_allocation_ratio)},
      {"initial-ram-allocation-ratio",
       "Memory allocation ratio of a new node, until somebody sets one; default 1",
       Ratio(&Node::initial_ram_allocation_ratio)},
      {"initial-disk-allocation-ratio",
       "Disk allocation ratio of a new node, until somebody sets one; default 1",
       Ratio(&Node::initial_disk_allocation_ratio)},
  };
}

// Settings that say where reserves and allocation ratios come from.
std::vector<NodeSetting> SourceSettings() {
  using Node = NodeConfiguration;
  using tracker::RatioMode;
  return {
      {"reserve-hugepages-in-memory-mb",
       "true: all huge pages are reserved, because no guest uses them; default: false",
       Flag(&Node::reserve_hugepages_in_memory_mib)},
      {"ratio-mode",
       "Which allocation ratio a class has: config: the one of the settings; api: the one that "
       "placement has, if any; api-with-initial (default): the one that is set, else the one that "
       "placement has",
       OneOf<RatioMode>(&Node::ratio_mode, {{"api-with-initial", RatioMode::kApiWithInitial},
                                            {"config", RatioMode::kConfig},
                                            {"api", RatioMode::kApi}})},
  };
}

std::vector<NodeSetting> DeviceSettings() {
  using Node = NodeConfiguration;
  return {
      {"pci-device-spec",
       "PCI devices that guests may get: JSON, such as {\"vendor_id\": \"8086\"}, or a list",
       Json(&Node::pci_device_specs,
            [](const Texts& texts) {  // the other settings and the host are known only later
              return tracker::DeviceSpecs::Parse(
                  texts, {.report_in_placement = true, .live_migration = true});
            })},
      {"pci-alias",
       "Name of PCI devices for flavors: JSON, such as {\"name\": \"nic\", \"vendor_id\": "
       "\"8086\"}",
       Json(&Node::pci_aliases, tracker::ParseDeviceAliases)},
      {"pci-report-in-placement",
       "true: placement has a provider for each PCI device that guests may get, and one for all "
       "virtual functions of a device; default false",
       Flag(&Node::pci_report_in_placement)},
      {"pack-numa-cells", "true: guests are packed on few NUMA cells; default false",
       Flag(&Node::pack_numa_cells)},
  };
}

std::vector<NodeSetting> CpuSettings() {
  using Node = NodeConfiguration;
  using tracker::CpuMode;
  return {
      {"virt-type", "Type of virtualization: kvm, qemu, ...; default: kvm if the host has it",
       Text(&Node::virt_type)},
      {"cpu-mode",
       "CPU mode with which guests are started: none, host-model, host-passthrough or custom; "
       "decides which CPU traits the node has",
       OneOf<CpuMode>(&Node::cpu_mode, {{"none", CpuMode::kNone},
                                        {"host-model", CpuMode::kHostModel},
                                        {"host-passthrough", CpuMode::kHostPassthrough},
                                        {"custom", CpuMode::kCustom}})},
      {"cpu-models", "CPU models with which guests are started, for cpu-mode custom",
       List(&Node::cpu_models)},
      {"cpu-model-extra-flags",
       "CPU features with which guests are started in addition to those of cpu-mode",
       List(&Node::cpu_model_extra_flags)},
  };
}

std::vector<NodeSetting> StorageSettings() {
  using Node = NodeConfiguration;
  using tracker::DiskBackend;
  using tracker::OrphanPolicy;
  return {
      {"file-backed-memory",
       "Capacity, in MiB, of files that hold the memory of guests; default 0: no such files",
       Number(&Node::file_backed_memory_mib)},
      {"images-type", "How local disks of guests are stored: file, lvm or rbd",
       OneOf<DiskBackend>(
           &Node::disk_backend,
           {{"file", DiskBackend::kFile}, {"lvm", DiskBackend::kLvm}, {"rbd", DiskBackend::kRbd}})},
      {"instances-path", "Directory of guests' local disks; default STATE_DIR/instances",
       Text(&Node::instances_path)},
      {"images-volume-group", "Volume group, for images-type lvm", Text(&Node::volume_group)},
      {"images-rbd-pool", "Ceph pool, for images-type rbd; default rbd", Text(&Node::rbd_pool)},
      {"rbd-report-usable",
       "true (default): the disk of a Ceph pool is what it holds and can still take; false: it is "
       "the whole cluster with every copy",
       Flag(&Node::rbd_report_usable)},
      {"image-cache-path",
       "Directory of cached images, for images-type file: disk is reserved for its present size",
       Text(&Node::image_cache_path)},
      {"force-raw-images",
       "true: guests' images are stored in raw format; decides which image traits the node has",
       Flag(&Node::force_raw_images)},
      {"shared-disk-provider", "true: another provider reports the disk, so this node does not",
       Flag(&Node::shared_disk_provider)},
      {"image-type-exclude-list", "Image types for which the node gets no trait",
       List(&Node::image_type_exclude_list)},
      {"monitors", "What is measured in every audit: cpu.virt_driver; default: nothing",
       List(&Node::monitors)},
      {"orphans",
       "withhold (default): what orphan guests use cannot be allocated to others; report: it can "
       "be allocated, and the orphans are only reported",
       OneOf<OrphanPolicy>(&Node::orphans, {{"withhold", OrphanPolicy::kWithhold},
                                            {"report", OrphanPolicy::kReport}})},
  };
}

const std::vector<NodeSetting>& NodeSettings() {
  static const std::vector<NodeSetting>* const all = [] {
    auto* const settings = new std::vector<NodeSetting>(CapacitySettings());
    for (NodeSetting& setting : SourceSettings()) settings->push_back(std::move(setting));
    for (NodeSetting& setting : ExtraSettings()) settings->push_back(std::move(setting));
    for (NodeSetting& setting : DeviceSettings()) settings->push_back(std::move(setting));
    for (NodeSetting& setting : CpuSettings()) settings->push_back(std::move(setting));
    for (NodeSetting& setting : StorageSettings()) settings->push_back(std::move(setting));
    return settings;
  }();
  return *all;
}

absl::Status Apply(const std::string& name, const Texts& texts, NodeConfiguration* node) {
  for (const NodeSetting& setting : NodeSettings()) {
    if (name != setting.name) continue;
    const absl::Status status = setting.apply(texts, node);
    if (status.ok()) return status;
    return absl::InvalidArgumentError(absl::StrCat(name, ": ", status.message()));
  }
  return absl::OkStatus();  // AddNodes reads the other keys of a table: name and uri
}

std::string TextOf(const ConfigTable& table, const std::string& key) {
  const auto found = table.find(key);
  return found == table.end() ? "" : absl::StrJoin(found->second, ",");
}

absl::Status ApplyTable(const ConfigTable& table, NodeConfiguration* node) {
  for (const auto& [name, texts] : table) {
    BERTH_RETURN_IF_ERROR(Apply(name, texts, node));
  }
  if (node->name.empty()) node->name = TextOf(table, "name");
  return absl::OkStatus();
}

// Reads NAME=URI or URI. The text before the first '=' is a NAME if it has neither ':' nor '/'.
NodeConfiguration ReadHypervisor(const std::string& text) {
  NodeConfiguration node;
  const size_t equals = text.find('=');
  if (equals != std::string::npos && text.find_first_of(":/") > equals) {
    node.name = text.substr(0, equals);
    node.uri = text.substr(equals + 1);
  } else {
    node.uri = text;
  }
  return node;
}

}  // namespace

client::CertificateUse TrackerCertificateUse(const std::string& host) {
  client::CertificateUse use;
  use.role = client::kTrackerRole;
  use.name = host;
  use.server = use.client = true;
  return use;
}

absl::Status AddNodes(const TrackerOptions& options, tracker::Configuration* configuration) {
  NodeConfiguration defaults;
  for (const auto& [name, text] : options.node_defaults) {
    if (text.empty()) continue;
    BERTH_RETURN_IF_ERROR(Apply(name, {text}, &defaults));
  }
  std::vector<NodeConfiguration> named;
  for (const std::string& text : options.hypervisor) named.push_back(ReadHypervisor(text));
  if (named.empty()) {
    for (const ConfigTable& table : options.hypervisor_tables) {
      named.emplace_back().uri = TextOf(table, "uri");
      named.back().name = TextOf(table, "name");
    }
  }
  if (named.empty()) named.emplace_back().uri = "qemu:///system";
  for (const NodeConfiguration& one : named) {
    NodeConfiguration node = defaults;
    node.name = one.name;
    node.uri = one.uri;
    for (const ConfigTable& table : options.hypervisor_tables) {
      const bool same_name = !node.name.empty() && TextOf(table, "name") == node.name;
      if (!same_name && TextOf(table, "uri") != node.uri) continue;
      BERTH_RETURN_IF_ERROR(ApplyTable(table, &node));
    }
    configuration->nodes.push_back(std::move(node));
  }
  return absl::OkStatus();
}

void AddTrackerOptions(TrackerOptions* options, Config* config) {
  AddServiceOptions(options, config);
  config->Add("placement", &options->placement, "Placement's address: HOST:PORT or unix:PATH");
  config->Add("host", &options->host,
              "Host name of this service; empty: the host name of the system");
  config->Add("zone", &options->zone, "Availability zone of this host; empty: none");
  config->Add("my-ip", &options->my_ip,
              "IP address of this host; empty: that of the interface with the default route");
  config->Add("state-dir", &options->state_dir,
              absl::StrCat("Directory that keeps the identities of nodes; empty: ",
                           DefaultStateDirectory("berth-tracker")));
  config->Add("provider-config-location", &options->provider_config_location,
              "Directory of provider configuration files (*.yaml), which add classes and traits");
  config->Add(
      "hypervisor", &options->hypervisor,
      "[NAME=]URI: the libvirt URI of a hypervisor, and the name of its node; repeatable; empty: "
      "qemu:///system");
  config->Add("update-resources-interval", &options->update_resources_interval,
              "Seconds between two audits; 0 means 60; negative: no periodic audits");
  config->Add("periodic-fuzzy-delay", &options->periodic_fuzzy_delay,
              "Delay the first periodic audit randomly by up to this many seconds");
  config->Add("driver-timeout", &options->driver_timeout, "How long one libvirt call may take");
  config->Add("startup-driver-timeout", &options->startup_driver_timeout,
              "How long to wait at start for a hypervisor to answer");
  config->Add(
      "orphan-confirmation", &options->orphan_confirmation,
      "Delay from finding an orphan until what it uses can no longer be allocated to others");
  std::set<std::string> keys = {"name", "uri"};
  for (const NodeSetting& setting : NodeSettings()) {
    keys.insert(setting.name);
    config->Add(setting.name, &options->node_defaults[setting.name], setting.description);
  }
  config->AddTables("hypervisor", keys, &options->hypervisor_tables);
}

}  // namespace berth::services
