#include "tests/oracle/nova/host_form.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "tests/oracle/nova/topology_form.h"

namespace berth::oracle::nova {
namespace {

using placement::HostState;
using placement::NodeStock;

constexpr double kServiceDownTimeS = 60;

std::optional<int64_t> NumberOrNone(const Json& node, const char* key) {
  return node.at(key).is_null() ? std::nullopt : std::make_optional(node.at(key).get<int64_t>());
}

// A value as Python prints it.
std::string PythonText(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const Json& item : value) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", "'", PythonText(item), "'");
  }
  return absl::StrCat("[", text, "]");
}

void Flatten(const Json& value, const std::string& path, std::map<std::string, std::string>* to) {
  if (!value.is_object()) {
    (*to)[path] = PythonText(value);
    return;
  }
  for (const auto& [key, inner] : value.items()) {
    Flatten(inner, path.empty() ? key : absl::StrCat(path, ":", key), to);
  }
}

void ReadAmounts(const Json& node, NodeStock* to) {
  to->memory_mib = node.at("memory_mb");
  to->free_memory_mib = node.at("free_ram_mb");
  to->disk_gib = node.at("local_gb");
  to->used_disk_gib = node.at("local_gb_used");
  to->free_disk_gib = NumberOrNone(node, "free_disk_gb");
  to->disk_available_least_gib = NumberOrNone(node, "disk_available_least");
  to->vcpus = node.at("vcpus");
  to->used_vcpus = node.at("vcpus_used");
  to->cpu_allocation_ratio = node.at("cpu_allocation_ratio");
  to->memory_allocation_ratio = node.at("ram_allocation_ratio");
  to->disk_allocation_ratio = node.at("disk_allocation_ratio");
}

std::set<std::string> Texts(const Json& texts) {
  if (texts.is_string()) return {texts.get<std::string>()};
  return texts.is_null() ? std::set<std::string>() : texts.get<std::set<std::string>>();
}

Json TextOrNull(const HostState& state, const std::string& text) {
  return state.updated_at ? Json(text) : Json();
}

Json DescribeCells(const std::vector<tracker::HostCell>& cells) {
  if (cells.empty()) return nullptr;
  Json described = PrintedUsage(cells);
  for (Json& cell : described) {
    cell["memory_usage_mb"] = cell.at("memory_usage");
    cell.erase("memory_usage");
  }
  return described;
}

}  // namespace

absl::Time TimeAt(double seconds) { return absl::UnixEpoch() + absl::Seconds(1e6 + seconds); }

NodeStock ReadNode(const Json& node) {
  NodeStock to;
  to.uuid = node.at("uuid");
  to.host = node.at("host");
  to.node_name = node.at("hypervisor_hostname");
  to.hypervisor_hostname = node.at("hypervisor_hostname");
  to.hypervisor_type = node.at("hypervisor_type");
  to.hypervisor_version = node.at("hypervisor_version");
  to.host_ip = node.at("host_ip");
  to.cpu_info = node.at("cpu_info");
  const Json cpu = Json::parse(to.cpu_info, nullptr, false);
  if (cpu.is_object()) Flatten(cpu, "", &to.cpu_info_values);
  node.at("supported_instances").get_to(to.supported_instances);
  ReadAmounts(node, &to);
  for (const auto& [name, count] : node.at("stats").items()) to.counters[name] = count;
  to.updated_at = TimeAt(node.at("updated_at_s"));
  return to;
}

placement::HostService ReadService(const Json& service) {
  const Json& seen = service.at("last_seen_up_s");
  const double last = (seen.is_null() ? service.at("created_at_s") : seen).get<double>();
  return {service.at("disabled"),
          !service.at("forced_down").get<bool>() && std::abs(last) <= kServiceDownTimeS};
}

std::vector<tracker::HostCell> ReadCells(const Json& host) {
  Json cells = Json::array();
  if (!host.contains("cells") || host.at("cells").is_null()) return {};
  for (Json cell : host.at("cells")) {
    cell["memory"] = cell.at("memory_mb");
    cell["cpu_usage"] = 0;
    cell["memory_usage"] = 0;
    cell["pinned_cpus"] = Json::array();
    for (Json& pages : cell.at("mempages")) pages["used"] = 0;
    cells.push_back(std::move(cell));
  }
  return HostOf({{"cells", cells}});
}

placement::HostRequest ReadRequest(const Json& request) {
  placement::HostRequest to;
  to.instance_uuid = request.at("instance_uuid");
  request.at("flavor").at("extra_specs").get_to(to.extra_specs);
  const Json hints = request.value("hints", Json::object());
  to.different_host = Texts(hints.value("different_host", Json()));
  to.same_host = Texts(hints.value("same_host", Json()));
  if (!request.contains("group") || request.at("group").is_null()) return to;
  const Json& group = request.at("group");
  to.group.emplace();
  to.group->policy = group.at("policy");
  to.group->members = Texts(group.value("members", Json()));
  to.group->hosts = Texts(group.value("hosts", Json()));
  const Json most = group.value("max_server_per_host", Json());
  if (!most.is_null()) to.group->max_server_per_host = most.get<int64_t>();
  return to;
}

placement::HostDemand ReadDemand(const Json& flavor) {
  return {flavor.at("memory_mb"),
          flavor.at("root_gb").get<int64_t>() + flavor.at("ephemeral_gb").get<int64_t>(),
          flavor.at("vcpus")};
}

Json DescribeHost(const HostState& state, const std::vector<tracker::HostCell>& cells) {
  const NodeStock& node = state.node;
  Json aggregates = Json::array();
  for (const placement::HostAggregate& aggregate : state.aggregates) {
    aggregates.push_back(aggregate.name);
  }
  const bool known = state.updated_at.has_value();
  const auto ratio = [known](double value) { return known ? Json(value) : Json(); };
  return {
      {"host", node.host},
      {"nodename", node.node_name},
      {"uuid", TextOrNull(state, node.uuid)},
      {"hypervisor_hostname", TextOrNull(state, node.hypervisor_hostname)},
      {"hypervisor_type", TextOrNull(state, node.hypervisor_type)},
      {"hypervisor_version", known ? Json(node.hypervisor_version) : Json()},
      {"host_ip", TextOrNull(state, node.host_ip)},
      {"cpu_info", TextOrNull(state, node.cpu_info)},
      {"supported_instances", known ? Json(node.supported_instances) : Json()},
      {"total_usable_ram_mb", node.memory_mib},
      {"free_ram_mb", state.free_memory_mib},
      {"total_usable_disk_gb", node.disk_gib},
      {"free_disk_mb", state.free_disk_mib},
      {"disk_mb_used", state.used_disk_mib},
      {"vcpus_total", node.vcpus},
      {"vcpus_used", state.used_vcpus},
      {"num_instances", state.instance_count},
      {"num_io_ops", state.io_operation_count},
      {"failed_builds", state.failed_build_count},
      {"cpu_allocation_ratio", ratio(node.cpu_allocation_ratio)},
      {"ram_allocation_ratio", ratio(node.memory_allocation_ratio)},
      {"disk_allocation_ratio", ratio(node.disk_allocation_ratio)},
      {"aggregates", aggregates},
      {"instances", state.instances},
      {"cells", known ? DescribeCells(cells) : Json()},
      {"updated_s", known ? Json(absl::ToDoubleSeconds(*state.updated_at - TimeAt(0))) : Json()}};
}

Json DescribeGuest(const std::optional<tracker::GuestTopology>& guest) {
  if (!guest) return nullptr;
  Json cells = Json::array();
  for (const tracker::GuestCell& cell : guest->cells) {
    Json pinning = Json::object();
    for (const auto& [vcpu, cpu] : cell.pinning) pinning[std::to_string(vcpu)] = cpu;
    cells.push_back(
        {{"host_cell", *cell.host_cell},
         {"memory_mb", cell.memory_mib},
         {"page_size_kb",
          cell.page_size_kib == tracker::kNoPageSize ? Json() : Json(cell.page_size_kib)},
         {"pinned_cpus", cell.pinned_cpus.Cpus()},
         {"pinning", pinning},
         {"reserved_cpus", cell.reserved_cpus.Cpus()},
         {"shared_cpus", cell.shared_cpus.Cpus()}});
  }
  return cells;
}

}  // namespace berth::oracle::nova
