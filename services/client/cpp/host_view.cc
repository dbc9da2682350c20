#include "services/client/cpp/host_view.h"

#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace berth::client {
namespace {

constexpr int64_t kMibInGib = 1024;
// Trackers report what they like. Sums of amounts up to this one, in MiB too, cannot overflow.
constexpr int64_t kToldMax = int64_t{1} << 42;
constexpr double kPromisableMax = 1e15;
// protobuf's parser takes a time that is quadratic in how deep a text is nested.
constexpr size_t kJsonBytesMax = 64 << 10;
constexpr int kJsonDepthMax = 32;
constexpr size_t kPathBytesMax = 1 << 20;

int64_t Bounded(int64_t amount) { return std::clamp(amount, -kToldMax, kToldMax); }

int64_t CounterOf(const HostParts& parts, const std::string& name) {
  const auto found = parts.stats.find(name);
  int64_t count = 0;
  if (found == parts.stats.end() || !absl::SimpleAtoi(found->second, &count)) return 0;
  return Bounded(count);
}

// The free disk is the smaller one of what the accounting has left and what sparse images leave
// (T-333).
int64_t FreeDiskMib(const pb::Node& node) {
  const pb::NodeAccount& account = node.account();
  const int64_t free = Bounded(node.facts().disk_gib()) - Bounded(account.used().disk_gib());
  if (!account.has_disk_available_least_gib()) return kMibInGib * free;
  return kMibInGib * std::min(free, Bounded(account.disk_available_least_gib()));
}

absl::Time TimeOf(const google::protobuf::Timestamp& time) {
  return absl::FromUnixMicros(google::protobuf::util::TimeUtil::TimestampToMicroseconds(time));
}

// A value as Python prints it, because requests are written for that.
std::string PythonText(const google::protobuf::Value& value) {
  if (value.has_string_value()) return value.string_value();
  if (value.has_bool_value()) return value.bool_value() ? "true" : "false";
  if (value.has_number_value()) {
    const double number = value.number_value();
    const bool is_whole = std::nearbyint(number) == number && std::abs(number) < 1e15;
    return is_whole ? absl::StrCat(static_cast<int64_t>(number)) : absl::StrCat(number);
  }
  if (!value.has_list_value()) return "null";
  std::vector<std::string> items;
  for (const google::protobuf::Value& item : value.list_value().values()) {
    items.push_back(absl::StrCat("'", PythonText(item), "'"));
  }
  return absl::StrCat("[", absl::StrJoin(items, ", "), "]");
}

// Returns whether the paths had room. Takes their bytes, those of objects too, from `room`.
bool Flatten(const google::protobuf::Value& value, const std::string& path, size_t* room,
             std::map<std::string, std::string>* to) {
  if (path.size() > *room) return false;
  *room -= path.size();
  if (!value.has_struct_value()) {
    (*to)[path] = PythonText(value);
    return true;
  }
  for (const auto& [key, inner] : value.struct_value().fields()) {
    if (!Flatten(inner, path.empty() ? key : absl::StrCat(path, ":", key), room, to)) return false;
  }
  return true;
}

// Whether the text is short and flat enough to be parsed. The parser knows both kinds of quotes.
bool IsSmall(absl::string_view json) {
  if (json.size() > kJsonBytesMax) return false;
  int depth = 0;
  char quote = 0;  // of the string around; 0: there is none
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (quote != 0) {
      if (c == '\\') ++i;
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      if (++depth > kJsonDepthMax) return false;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return true;
}

std::map<std::string, std::string> ValuesIn(const std::string& json) {
  std::map<std::string, std::string> values;
  google::protobuf::Value parsed;
  if (!IsSmall(json)) return values;
  if (!google::protobuf::util::JsonStringToMessage(json, &parsed).ok()) return values;
  size_t room = kPathBytesMax;
  if (parsed.has_struct_value() && !Flatten(parsed, "", &room, &values)) values.clear();
  return values;
}

std::string RatioText(double ratio) {
  const std::string text = absl::StrCat(ratio);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string ListText(const pb::NodeFacts& facts) {
  std::vector<std::string> texts;
  for (const pb::SupportedInstance& one : facts.supported_instances()) {
    texts.push_back(absl::StrCat("['", one.architecture(), "', '", one.hypervisor_type(), "', '",
                                 one.vm_mode(), "']"));
  }
  return absl::StrCat("[", absl::StrJoin(texts, ", "), "]");
}

std::map<std::string, std::string> AmountTexts(const HostView& view) {
  const pb::NodeFacts& facts = view.node->facts();
  return {{"total_usable_ram_mb", absl::StrCat(facts.memory_mib())},
          {"total_usable_disk_gb", absl::StrCat(facts.disk_gib())},
          {"disk_mb_used", absl::StrCat(view.used_disk_mib)},
          {"free_ram_mb", absl::StrCat(view.free_memory_mib)},
          {"free_disk_mb", absl::StrCat(view.free_disk_mib)},
          {"vcpus_total", absl::StrCat(facts.vcpus())},
          {"vcpus_used", absl::StrCat(view.used_vcpus)},
          {"num_instances", absl::StrCat(view.instance_count)},
          {"num_io_ops", absl::StrCat(view.io_operation_count)},
          {"failed_builds", absl::StrCat(view.failed_build_count)}};
}

std::map<std::string, std::string> DescriptionTexts(const pb::Node& node) {
  const pb::NodeFacts& facts = node.facts();
  return {{"uuid", node.uuid()},
          {"hypervisor_hostname", node.name()},
          {"hypervisor_type", facts.hypervisor_type()},
          {"hypervisor_version", absl::StrCat(facts.hypervisor_version())},
          {"host_ip", facts.host_ip()},
          {"cpu_info", facts.cpu_info_json()},
          {"supported_instances", ListText(facts)},
          {"cpu_allocation_ratio", RatioText(facts.cpu_allocation_ratio())},
          {"ram_allocation_ratio", RatioText(facts.memory_allocation_ratio())},
          {"disk_allocation_ratio", RatioText(facts.disk_allocation_ratio())}};
}

// Whether the record and the amounts were taken over (T-334).
bool TakeRecord(const HostParts& parts, HostView* view) {
  const pb::Node& node = *parts.node;
  const absl::Time updated_at = TimeOf(node.updated_at());
  const bool is_new = !view->updated_at.has_value() || *view->updated_at <= updated_at;
  if (!node.has_account() || !is_new) {
    if (view->cpu_info != nullptr) return false;
    auto unknown = std::make_shared<pb::Node>();
    unknown->set_uuid(node.uuid());
    unknown->set_host(node.host());
    unknown->set_name(node.name());
    unknown->set_sequence(node.sequence());
    view->node = std::move(unknown);
    return false;
  }
  view->node = parts.node;
  view->stats = parts.stats;
  view->cpu_info = std::make_shared<const CpuInfo>(parts.node);
  const pb::Amounts& used = node.account().used();
  view->free_memory_mib = Bounded(node.facts().memory_mib()) - Bounded(used.memory_mib());
  view->free_disk_mib = FreeDiskMib(node);
  view->used_disk_mib = Bounded(used.disk_gib()) * kMibInGib;
  view->used_vcpus = Bounded(used.vcpus());
  view->instance_count = CounterOf(parts, "num_instances");
  view->io_operation_count = CounterOf(parts, "io_workload");
  view->failed_build_count = CounterOf(parts, "failed_builds");
  view->updated_at = updated_at;
  return true;
}

// A part of what the node has, by its ratio. Nothing: the ratio is not known.
std::optional<double> Promisable(int64_t total, double ratio) {
  if (!std::isfinite(ratio) || ratio <= 0) return std::nullopt;
  return std::clamp(static_cast<double>(total) * ratio, -kPromisableMax, kPromisableMax);
}

}  // namespace

HostParts PartsOf(const pb::HostState& state) {
  HostParts parts;
  parts.node = std::make_shared<const pb::Node>(state.node());
  parts.stats = {state.stats().begin(), state.stats().end()};
  if (state.has_service()) parts.service = std::make_shared<const pb::Service>(state.service());
  for (const pb::HostAggregate& aggregate : state.aggregates()) {
    parts.aggregates.push_back(std::make_shared<const pb::HostAggregate>(aggregate));
  }
  parts.instances = {state.instance_uuids().begin(), state.instance_uuids().end()};
  parts.stale = state.stale();
  return parts;
}

const std::map<std::string, std::string>& CpuInfo::values() const {
  absl::call_once(read_, [this] { values_ = ValuesIn(node_->facts().cpu_info_json()); });
  return values_;
}

HostDemand DemandOf(const pb::Flavor& flavor) {
  return {Bounded(flavor.memory_mib()),
          Bounded(flavor.root_disk_gib()) + Bounded(flavor.ephemeral_disk_gib()), flavor.vcpus()};
}

std::string NameOf(const HostView& view) {
  return absl::StrCat(view.node->host(), ":", view.node->name());
}

bool UpdateHostView(HostParts parts, HostView* view) {
  const bool taken = TakeRecord(parts, view);
  view->service = std::move(parts.service);
  view->aggregates = std::move(parts.aggregates);
  view->instances = std::move(parts.instances);
  view->stale = parts.stale;
  return taken;
}

absl::Status ConsumeFromHost(const HostDemand& demand, absl::Time now, TakeCells take_cells,
                             HostView* view) {
  // Cells and devices come first, because nothing else can fail.
  if (absl::Status taken = take_cells(*view); !taken.ok()) return taken;
  view->free_memory_mib -= demand.memory_mib;
  view->free_disk_mib -= demand.disk_gib * kMibInGib;
  view->used_vcpus += demand.vcpus;
  ++view->instance_count;
  ++view->io_operation_count;
  view->updated_at = now;
  return absl::OkStatus();
}

tracker::v1::Limits LimitsOf(const HostView& view) {
  const pb::NodeFacts& facts = view.node->facts();
  tracker::v1::Limits limits;
  const auto memory = Promisable(facts.memory_mib(), facts.memory_allocation_ratio());
  const auto disk = Promisable(facts.disk_gib(), facts.disk_allocation_ratio());
  const auto vcpus = Promisable(facts.vcpus(), facts.cpu_allocation_ratio());
  if (memory) limits.set_memory_mib(static_cast<int64_t>(*memory));
  if (disk) limits.set_disk_gib(static_cast<int64_t>(*disk));
  if (vcpus) limits.set_vcpus(static_cast<int64_t>(*vcpus));
  if (vcpus) limits.set_numa_cpu_ratio(facts.cpu_allocation_ratio());
  if (memory) limits.set_numa_memory_ratio(facts.memory_allocation_ratio());
  return limits;
}

std::optional<std::string> AttributeOf(const HostView& view, const std::string& name) {
  const pb::Node& node = *view.node;
  if (name == "host") return node.host();
  if (name == "nodename") return node.name();
  const auto find = [&](const std::map<std::string, std::string>& texts) {
    const auto found = texts.find(name);
    return found == texts.end() ? std::nullopt : std::make_optional(found->second);
  };
  if (auto amount = find(AmountTexts(view)); amount.has_value()) return amount;
  // Nothing is known of a node that was never audited.
  return view.updated_at.has_value() ? find(DescriptionTexts(node)) : std::nullopt;
}

}  // namespace berth::client
