#include "tests/oracle/nova/host_form.h"

#include <google/protobuf/util/time_util.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "tests/oracle/nova/topology_form.h"

namespace berth::oracle::nova {
namespace {

using client::HostView;

namespace pb = ::berth::placement::v1;

constexpr double kServiceDownTimeS = 60;

std::optional<int64_t> NumberOrNone(const Json& node, const char* key) {
  return node.at(key).is_null() ? std::nullopt : std::make_optional(node.at(key).get<int64_t>());
}

void ReadAmounts(const Json& node, pb::Node* to) {
  pb::NodeFacts& facts = *to->mutable_facts();
  facts.set_memory_mib(node.at("memory_mb"));
  facts.set_disk_gib(node.at("local_gb"));
  facts.set_vcpus(node.at("vcpus"));
  facts.set_cpu_allocation_ratio(node.at("cpu_allocation_ratio"));
  facts.set_memory_allocation_ratio(node.at("ram_allocation_ratio"));
  facts.set_disk_allocation_ratio(node.at("disk_allocation_ratio"));
  if (!NumberOrNone(node, "free_disk_gb")) return;  // it was never audited
  pb::Amounts& used = *to->mutable_account()->mutable_used();
  used.set_memory_mib(node.at("memory_mb").get<int64_t>() - node.at("free_ram_mb").get<int64_t>());
  used.set_disk_gib(node.at("local_gb_used"));
  used.set_vcpus(node.at("vcpus_used"));
  const std::optional<int64_t> least = NumberOrNone(node, "disk_available_least");
  if (least) to->mutable_account()->set_disk_available_least_gib(*least);
}

std::set<std::string> Texts(const Json& texts) {
  if (texts.is_string()) return {texts.get<std::string>()};
  return texts.is_null() ? std::set<std::string>() : texts.get<std::set<std::string>>();
}

Json TextOrNull(const HostView& view, const std::string& text) {
  return view.updated_at ? Json(text) : Json();
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

pb::HostState ReadState(const Json& node, const Json& service) {
  pb::HostState state;
  pb::Node& to = *state.mutable_node();
  to.set_uuid(node.at("uuid"));
  to.set_host(node.at("host"));
  to.set_name(node.at("hypervisor_hostname"));
  pb::NodeFacts& facts = *to.mutable_facts();
  facts.set_hypervisor_type(node.at("hypervisor_type"));
  facts.set_hypervisor_version(node.at("hypervisor_version"));
  facts.set_host_ip(node.at("host_ip"));
  facts.set_cpu_info_json(node.at("cpu_info"));
  for (const Json& instance : node.at("supported_instances")) {
    pb::SupportedInstance& one = *facts.add_supported_instances();
    one.set_architecture(instance.at(0));
    one.set_hypervisor_type(instance.at(1));
    one.set_vm_mode(instance.at(2));
  }
  ReadAmounts(node, &to);
  for (const auto& [name, count] : node.at("stats").items()) (*state.mutable_stats())[name] = count;
  *to.mutable_updated_at() = google::protobuf::util::TimeUtil::MicrosecondsToTimestamp(
      absl::ToUnixMicros(TimeAt(node.at("updated_at_s"))));
  const Json& seen = service.at("last_seen_up_s");
  const double last = (seen.is_null() ? service.at("created_at_s") : seen).get<double>();
  const bool up = !service.at("forced_down").get<bool>() && std::abs(last) <= kServiceDownTimeS;
  state.mutable_service()->set_disabled(service.at("disabled"));
  state.mutable_service()->set_state(up ? pb::SERVICE_STATE_UP : pb::SERVICE_STATE_DOWN);
  return state;
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

client::HostRequest ReadRequest(const Json& request) {
  client::HostRequest to;
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

client::HostDemand ReadDemand(const Json& flavor) {
  return {flavor.at("memory_mb"),
          flavor.at("root_gb").get<int64_t>() + flavor.at("ephemeral_gb").get<int64_t>(),
          flavor.at("vcpus")};
}

Json DescribeHost(const HostView& view, const std::vector<tracker::HostCell>& cells) {
  const pb::Node& node = *view.node;
  const pb::NodeFacts& facts = node.facts();
  Json aggregates = Json::array();
  for (const auto& aggregate : view.aggregates) aggregates.push_back(aggregate->name());
  Json supported = Json::array();
  for (const pb::SupportedInstance& one : facts.supported_instances()) {
    supported.push_back({one.architecture(), one.hypervisor_type(), one.vm_mode()});
  }
  const bool known = view.updated_at.has_value();
  const auto ratio = [known](double value) { return known ? Json(value) : Json(); };
  return {
      {"host", node.host()},
      {"nodename", node.name()},
      {"uuid", TextOrNull(view, node.uuid())},
      {"hypervisor_hostname", TextOrNull(view, node.name())},
      {"hypervisor_type", TextOrNull(view, facts.hypervisor_type())},
      {"hypervisor_version", known ? Json(facts.hypervisor_version()) : Json()},
      {"host_ip", TextOrNull(view, facts.host_ip())},
      {"cpu_info", TextOrNull(view, facts.cpu_info_json())},
      {"supported_instances", known ? supported : Json()},
      {"total_usable_ram_mb", facts.memory_mib()},
      {"free_ram_mb", view.free_memory_mib},
      {"total_usable_disk_gb", facts.disk_gib()},
      {"free_disk_mb", view.free_disk_mib},
      {"disk_mb_used", view.used_disk_mib},
      {"vcpus_total", facts.vcpus()},
      {"vcpus_used", view.used_vcpus},
      {"num_instances", view.instance_count},
      {"num_io_ops", view.io_operation_count},
      {"failed_builds", view.failed_build_count},
      {"cpu_allocation_ratio", ratio(facts.cpu_allocation_ratio())},
      {"ram_allocation_ratio", ratio(facts.memory_allocation_ratio())},
      {"disk_allocation_ratio", ratio(facts.disk_allocation_ratio())},
      {"aggregates", aggregates},
      {"instances", view.instances},
      {"cells", known ? DescribeCells(cells) : Json()},
      {"updated_s", known ? Json(absl::ToDoubleSeconds(*view.updated_at - TimeAt(0))) : Json()}};
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
