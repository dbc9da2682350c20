#include "tests/oracle/nova/pci_replay.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/oracle/nova/pci_form.h"
#include "tests/oracle/nova/pci_rules.h"
#include "tests/processes/short_uuid.h"
#include "tracker/devices/device_table.h"

namespace berth::oracle::nova {
namespace {

using tracker::DeviceRecord;
using tracker::DeviceRequest;
using tracker::DeviceStatus;
using tracker::PciDevice;

const char* const kNoDifference = "";

tracker::Uuid InstanceOf(const PciJson& step) {
  return tracker::ShortUuid(step.at("instance").get<std::string>());
}

// A life while it is replayed.
class PciLife {
 public:
  PciLife(const PciJson& line, const std::string& where, Report* report)
      : line_(line),
        where_(where),
        netdevs_(line.at("setup").value("netdevs", PciJson::object())),
        report_(report) {}

  // Returns the first difference, or an empty text.
  std::string Replay();

 private:
  std::string ReadSpecs();
  std::string ReadAliases();
  std::string CompareTracked();
  std::string ReplayStep(const PciJson& step);
  std::string ReplayChange(const PciJson& step);
  std::string ReplayClaim(const PciJson& step);
  std::string ReplayAlias(const PciJson& step);
  std::string CompareClaim(const PciJson& step, const PciJson& expected,
                           const std::map<std::string, std::string>& kinds,
                           const absl::StatusOr<std::vector<tracker::ClaimedDevice>>& claimed);
  std::string CompareState(const PciJson& state) const;
  void LoadState(const PciJson& state);
  void List(const PciJson& device) { listed_json_[device.at("address")] = device; }
  void ReadListed();
  void Sync();
  bool Decides(const PciJson& of, const char* rule) const;
  void Except(const std::string& rule, const std::string& what) {
    report_->Except(rule, absl::StrCat(where_, " step ", step_), what);
  }

  const PciJson& line_;
  const std::string where_;
  const PciJson netdevs_;
  Report* const report_;
  int step_ = 0;
  tracker::DeviceSpecs specs_;
  std::optional<tracker::DeviceAliases> aliases_;
  tracker::GuestAffinity affinity_;
  tracker::DeviceTable table_;
  std::map<std::string, PciJson> listed_json_;  // what the hypervisor lists, as recorded
  std::vector<PciDevice> listed_;
  std::map<std::string, PciDevice> seen_;  // every device, as it was listed last
  bool synced_ = false;                    // since the last start
};

bool PciLife::Decides(const PciJson& of, const char* rule) const {
  const PciJson rules = of.value("rules", PciJson::array());
  return std::find(rules.begin(), rules.end(), rule) != rules.end();
}

std::string PciLife::Replay() {
  for (const PciJson& device : line_.at("setup").at("devices")) List(device);
  ReadListed();
  for (const PciJson& cell : line_["setup"].at("numa_cells")) {
    std::optional<int>& socket = affinity_.sockets[cell.at("id").get<int>()];
    if (!cell.at("socket").is_null()) socket = cell["socket"].get<int>();
  }
  std::string difference = ReadSpecs();
  if (!difference.empty() || line_.at("expect").contains("device_spec_error")) return difference;
  difference = ReadAliases();
  if (!difference.empty()) return difference;
  difference = CompareTracked();
  if (!difference.empty()) return difference;
  table_ = tracker::DeviceTable(specs_);
  for (const PciJson& step : line_.value("steps", PciJson::array())) {
    difference = ReplayStep(step);
    if (!difference.empty()) {
      return absl::StrCat("step ", step_, " (", step.at("op").get<std::string>(),
                          "): ", difference);
    }
    ++step_;
  }
  return kNoDifference;
}

std::string PciLife::ReadSpecs() {
  const auto options = line_.at("setup").at("device_spec").get<std::vector<std::string>>();
  absl::StatusOr<tracker::DeviceSpecs> specs = tracker::DeviceSpecs::Parse(options, {});
  absl::Status status = specs.status();
  if (specs.ok()) status = specs->CheckRemoteManaged(listed_);
  if (status.ok() == line_.at("expect").contains("device_spec_error")) {
    return absl::StrCat("device_spec: ", line_["expect"].dump(), ", here ", status.ToString());
  }
  if (status.ok()) specs_ = *std::move(specs);
  return kNoDifference;
}

std::string PciLife::ReadAliases() {
  const PciJson& expect = line_.at("expect");
  const auto options = line_.at("setup").at("alias").get<std::vector<std::string>>();
  absl::StatusOr<tracker::DeviceAliases> aliases = tracker::ParseDeviceAliases(options);
  if (!aliases.ok()) {
    if (expect.contains("alias_error")) return kNoDifference;
    return absl::StrCat("alias: here ", aliases.status().ToString());
  }
  if (expect.contains("alias_error")) {
    if (!Decides(line_, "T-244") || !HasTwoWithoutType(options)) {
      return "alias: accepted, Nova refuses it";
    }
    Except("T-244", "two definitions without device_type agree");
    return kNoDifference;
  }
  PciJson ours = PciJson::object();
  for (const auto& [name, alias] : *aliases) {
    ours[name] = {{"numa_policy", std::string(DeviceNumaPolicyName(alias.numa_policy))},
                  {"spec", JsonOf(alias.alternatives)}};
  }
  aliases_ = *std::move(aliases);
  if (ours == expect.at("alias")) return kNoDifference;
  return absl::StrCat("alias: ", expect["alias"].dump(), ", here ", ours.dump());
}

// Compares the devices that the rule tracks. The life then goes on with Nova's specifications.
std::string PciLife::CompareTracked() {
  const PciJson by_rule = line_.at("expect").value("tracked_by_rule", PciJson::object());
  if (!by_rule.contains("T-234")) return kNoDifference;
  table_ = tracker::DeviceTable(specs_);
  table_.Sync(listed_);
  std::set<std::string> tracked;
  for (const DeviceRecord& record : table_.Records()) tracked.insert(record.device.address);
  const auto wanted = by_rule["T-234"].get<std::set<std::string>>();
  if (tracked != wanted) {
    return absl::StrCat("T-234: tracked ", PciJson(tracked).dump(), ", not ",
                        PciJson(wanted).dump());
  }
  report_->Except("T-234", where_, "the life is replayed with case-sensitive expressions");
  const PciJson& options = line_["setup"]["device_spec"];
  specs_ = tracker::DeviceSpecs::Parse(SpecsAsNova(options), {}).value();
  return kNoDifference;
}

void PciLife::ReadListed() {
  listed_.clear();
  for (const auto& [address, device] : listed_json_) {
    listed_.push_back(DeviceOf(device, netdevs_));
  }
}

void PciLife::Sync() {
  ReadListed();
  table_.Sync(listed_);
  for (const PciDevice& device : listed_) seen_[device.address] = device;
  synced_ = true;
}

std::string PciLife::ReplayStep(const PciJson& step) {
  const std::string op = step.at("op");
  if (op == "claim") return ReplayClaim(step);
  const std::string difference = ReplayChange(step);
  if (!difference.empty()) return difference;
  if (step.contains("rules")) {
    // The pools of the recording are not the rules'. The next ones are, and are compared.
    if (step["rules"] != PciJson::array({"T-239"})) return "no replay of " + step["rules"].dump();
    Except("T-239", absl::StrCat(op, ": pools and devices follow what is listed"));
    return CompareDevices(WithoutUnlisted(step.at("state").at("devices"), listed_json_), table_);
  }
  const std::string rule =
      ChangesOwners(op) ? RuleOfRelatives(step.at("state").at("devices"), table_) : "";
  if (!rule.empty()) {
    Except(rule, absl::StrCat(op, ": the status follows from who has the relatives now"));
    LoadState(step.at("state"));  // the pools must be those of the recorded statuses
  }
  return CompareState(step.at("state"));
}

std::string PciLife::ReplayChange(const PciJson& step) {
  const std::string op = step.at("op");
  if (op == "report" || op == "plug" || op == "unplug" || op == "change") {
    for (const PciJson& device : step.value("add", PciJson::array())) List(device);
    for (const PciJson& address : step.value("remove", PciJson::array())) {
      listed_json_.erase(address.get<std::string>());
    }
    const PciJson change = step.value("change", PciJson::object());
    for (const auto& [address, fields] : change.items()) {
      const auto listed = listed_json_.find(address);
      if (listed != listed_json_.end()) listed->second.update(fields);
    }
    Sync();
  } else if (op == "restart") {
    table_ = tracker::DeviceTable::Load(specs_, table_.Records(), tracker::InterfacesOf(listed_));
    synced_ = false;
  } else if (ChangesOwners(op)) {
    // As the tracker does. Until the first report after a restart the table is all that is known.
    table_ = tracker::DeviceTable::Rebuild(specs_, synced_ ? listed_ : DevicesIn(table_),
                                           OwnedAfter(step, table_));
  } else {
    return "unknown operation";
  }
  return kNoDifference;
}

std::string PciLife::ReplayAlias(const PciJson& step) {
  const PciJson& result = step.at("result");
  std::optional<tracker::DeviceNumaPolicy> policy;
  if (step.at("policy").is_string()) {
    policy = tracker::ParseDeviceNumaPolicy(step["policy"].get<std::string>()).value();
  }
  absl::StatusOr<std::vector<DeviceRequest>> requests =
      RequestsOfFlavor(step["alias"].get<std::string>(), *aliases_, policy);
  if (result.contains("alias_error") == !requests.ok()) {
    if (!requests.ok()) return kNoDifference;
  } else if (!requests.ok() && Decides(step, "T-244") && AsksForNone(step)) {
    Except("T-244", "a count of 0 is refused");
    return kNoDifference;
  } else {
    return absl::StrCat("alias: ", result.dump(), ", here ", requests.status().ToString());
  }
  PciJson ours = PciJson::array();
  for (const DeviceRequest& request : *requests) ours.push_back(JsonOf(request));
  if (ours == step.at("requests")) return kNoDifference;
  return absl::StrCat("requests: ", step["requests"].dump(), ", here ", ours.dump());
}

std::string PciLife::ReplayClaim(const PciJson& step) {
  if (step.contains("alias") && aliases_) {
    const std::string difference = ReplayAlias(step);
    if (!difference.empty()) return difference;
  }
  if (Decides(step, "T-244")) {
    LoadState(step.at("state"));
    return kNoDifference;
  }
  if (!step.contains("requests")) return CompareState(step.at("state"));
  std::vector<DeviceRequest> requests;
  for (const PciJson& request : step.at("requests")) requests.push_back(RequestOf(request));
  for (const DeviceRequest& request : requests) {
    if (request.count < 1) return "a count below 1, and no T-244";
  }
  tracker::GuestAffinity affinity = affinity_;
  if (!step.at("guest_cells").is_null()) affinity.cells = step["guest_cells"].get<std::set<int>>();

  std::map<std::string, std::string> kinds;
  for (const tracker::DevicePool& pool : table_.Pools()) {
    for (const std::string& address : pool.addresses) kinds[address] = KindOf(pool.key).dump();
  }
  PciJson expected = step.at("result");
  const bool order_sensitive = step.value("order_sensitive", false);
  const bool by_rule = step.contains("by_rule");
  if (by_rule) {
    expected = step["by_rule"].at("T-247");
    Except("T-247", "the NUMA policy is applied last");
  }
  const bool supported = SupportsRequests(table_.Pools(), requests, affinity);
  if (supported != expected.at("supported").get<bool>() && !order_sensitive) {
    return absl::StrCat("supported: ", expected.dump(), ", here ", supported);
  }
  const PciJson before = DevicesOf(table_);
  const std::vector<tracker::DevicePool> pools = table_.Pools();
  const absl::StatusOr<std::vector<tracker::ClaimedDevice>> claimed =
      table_.Claim(InstanceOf(step), requests, affinity);
  if (!claimed.ok() &&
      (DevicesOf(table_) != before || CountPools(table_.Pools()) != CountPools(pools))) {
    return "T-250: a failed claim changed the devices";
  }
  if (claimed.ok()) {
    std::string wrong = CheckClaimed(table_, step.at("instance"), before, *claimed);
    if (wrong.empty()) wrong = CheckChoice(pools, table_, requests, affinity, *claimed);
    if (!wrong.empty()) return wrong;
  }
  const bool decided = Decides(step, "T-250");
  if (decided) {
    Except("T-250",
           claimed.ok() ? "a second claim adds to the first" : "a failed claim changes nothing");
  }
  const std::string difference = CompareClaim(step, expected, kinds, claimed);
  if (!difference.empty()) return difference;
  if (by_rule) {
    LoadState(step.at("state"));
    return kNoDifference;
  }
  // The pools of the recording lack devices then. Its next ones are the rules' again.
  return decided ? CompareDevices(step.at("state").at("devices"), table_)
                 : CompareState(step.at("state"));
}

std::string PciLife::CompareClaim(
    const PciJson& step, const PciJson& expected, const std::map<std::string, std::string>& kinds,
    const absl::StatusOr<std::vector<tracker::ClaimedDevice>>& claimed) {
  const bool order_sensitive = step.value("order_sensitive", false);
  const PciJson assigned = expected.value("assigned", PciJson());
  if (assigned.is_object() && assigned.empty() && step.at("state").at("devices").empty() &&
      !expected.at("supported").get<bool>() && !claimed.ok()) {
    Except("T-249", "a node without devices cannot serve a claim");
    return kNoDifference;
  }
  if (claimed.ok() != (assigned.is_object() && !assigned.empty())) {
    if (order_sensitive) {
      LoadState(step.at("state"));
      return kNoDifference;
    }
    return absl::StrCat("claim: ", expected.dump(), ", here ", claimed.status().ToString());
  }
  if (!claimed.ok()) return kNoDifference;
  std::multiset<std::pair<std::string, std::string>> wanted_kinds, given_kinds;
  std::multiset<std::pair<std::string, std::string>> wanted, given;
  for (const auto& [index, addresses] : assigned.items()) {
    for (const std::string address : addresses) {
      if (kinds.count(address) == 0) return absl::StrCat(address, " is not free here");
      wanted.emplace(index, address);
      wanted_kinds.emplace(index, kinds.at(address));
    }
  }
  for (const tracker::ClaimedDevice& device : *claimed) {
    given.emplace(absl::StrCat(device.request), device.address);
    given_kinds.emplace(absl::StrCat(device.request), kinds.at(device.address));
  }
  if (wanted == given) return kNoDifference;
  if (wanted_kinds != given_kinds && !order_sensitive) {
    std::string ours;
    for (const auto& [index, address] : given) absl::StrAppend(&ours, " ", index, ":", address);
    return absl::StrCat("claim: ", expected.dump(), ", here", ours);
  }
  if (step.value("forced", false) && !step.contains("by_rule")) {
    // Devices of one kind are left over, so no rule forces the choice: the orders that were tried
    // gave the same by chance.
    Except("T-249", "another device of the same kind is first in its pool");
  }
  LoadState(step.at("state"));
  return kNoDifference;
}

std::string PciLife::CompareState(const PciJson& state) const {
  const std::string difference = CompareDevices(state.at("devices"), table_);
  if (!difference.empty()) return difference;
  const PoolCounts wanted = CountPools(state.at("pools"));
  const PoolCounts given = CountPools(table_.Pools());
  if (wanted == given) return kNoDifference;
  return absl::StrCat("pools:", Text(wanted), ", here", Text(given));
}

void PciLife::LoadState(const PciJson& state) {
  std::vector<DeviceRecord> records;
  for (const auto& [address, status] : state.at("devices").items()) {
    DeviceRecord record;
    record.status = StatusOf(status.at(0));
    if (status.size() > 1) record.instance_uuid = tracker::ShortUuid(status[1].get<std::string>());
    // A taken device keeps its properties, and so does every device until the first report.
    const DeviceRecord* const known = table_.Find(address);
    const bool keeps = known != nullptr && (!synced_ || !IsNil(record.instance_uuid));
    record.device = keeps ? known->device : seen_.at(address);
    records.push_back(std::move(record));
  }
  table_ = tracker::DeviceTable::Load(specs_, records, tracker::InterfacesOf(listed_));
  if (synced_) table_.Sync(listed_);
}

}  // namespace

bool IsPciLife(const nlohmann::json& line) {
  return line.contains("setup") && line["setup"].contains("device_spec");
}

Report ReplayPciLife(const nlohmann::json& line, const std::string& where) {
  Report report;
  PciLife life(line, where, &report);
  const std::string difference = life.Replay();
  if (difference.empty()) {
    ++report.passed;
  } else {
    report.failures.push_back(absl::StrCat(where, ": ", difference));
  }
  return report;
}

}  // namespace berth::oracle::nova
