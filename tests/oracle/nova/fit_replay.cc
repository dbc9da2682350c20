#include "tests/oracle/nova/fit_replay.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/oracle/nova/pci_form.h"
#include "tests/oracle/nova/topology_form.h"
#include "tracker/cells/fit.h"
#include "tracker/cells/usage.h"
#include "tracker/devices/pool.h"

namespace berth::oracle::nova {
namespace {

// The PCI devices of one line.
struct Devices {
  std::vector<tracker::DevicePool> pools;
  std::vector<tracker::DeviceRequest> requests;
  std::map<int, int64_t> free_by_cell;
  std::map<int, std::optional<int>> sockets;

  Devices(const Json& pci, const std::vector<tracker::HostCell>& host) {
    for (const Json& from : pci.at("pools")) {
      tracker::DevicePool pool;
      for (const auto& [key, value] : from.at("tags").items()) {
        pool.key.properties[key] = value.get<std::string>();
      }
      for (const char* const id : {"vendor_id", "product_id"}) {
        pool.key.properties[id] = from.at(id).get<std::string>();
      }
      pool.count = from.at("count");
      if (!from.at("numa_node").is_null()) {
        pool.key.numa_node = from.at("numa_node").get<int>();
        free_by_cell[*pool.key.numa_node] += pool.count;
      }
      pools.push_back(std::move(pool));
    }
    for (Json from : pci.at("requests")) {
      from.emplace("alias_name", nullptr);
      requests.push_back(RequestOf(from));
    }
    for (const tracker::HostCell& cell : host) sockets[cell.offer.id] = cell.offer.socket;
  }

  bool Satisfiable(absl::Span<const int> cells) const {
    return SupportsRequests(pools, requests, {{cells.begin(), cells.end()}, sockets});
  }
};

class FitLine {
 public:
  FitLine(const Json& line, const std::string& where)
      : line_(line), where_(where), host_(HostOf(line.at("host"))) {}

  Report Replay() && {
    if (line_.at("kind") == "usage") {
      const auto guest = GuestOf(line_.at("instance"), true);
      CheckUsage("usage", guest, line_.at("free").get<bool>());
    } else {
      CheckFit();
    }
    return std::move(report_);
  }

 private:
  const Json& expect() const { return line_.at("expect"); }

  void Compare(const std::string& what, const Json& recorded, const Json& answer) {
    if (recorded == answer) {
      ++report_.passed;
    } else {
      report_.failures.push_back(absl::StrCat(where_, " ", what, ": recorded ", recorded.dump(),
                                              ", answered ", answer.dump()));
    }
  }

  void CheckFit() {
    const tracker::GuestTopology guest = *GuestOf(line_.at("instance"), false);
    tracker::FitOptions options;
    options.pack = line_.at("packing");
    if (const Json& limits = line_.at("limits"); !limits.is_null()) {
      options.limits = {limits.at("cpu_allocation_ratio"), limits.at("ram_allocation_ratio")};
      if (limits.contains("network") && !limits.at("network").is_null()) {
        options.networks.emplace();
        limits.at("network").at("physnets").get_to(options.networks->physnets);
        options.networks->tunneled = limits.at("network").at("tunneled");
      }
    }
    const bool has_devices = line_.contains("pci") && !line_.at("pci").is_null();
    const Devices devices(has_devices ? line_.at("pci") : Json{{"pools", {}}, {"requests", {}}},
                          host_);
    const auto satisfiable = [&](absl::Span<const int> cells) {
      return devices.Satisfiable(cells);
    };
    if (has_devices) {
      options.devices =
          tracker::CellDevices{devices.free_by_cell, !devices.requests.empty(), satisfiable};
    }
    CheckOrder(guest, options);
    CheckPlaces(PlaceGuest(host_, guest, options));
  }

  void CheckOrder(const tracker::GuestTopology& guest, const tracker::FitOptions& options) {
    if (expect().at("order").is_null()) return;
    Json ids = Json::array();
    for (const int index : CellOrder(host_, guest, options)) {
      ids.push_back(host_[static_cast<size_t>(index)].offer.id);
    }
    Compare("order", expect().at("order"), ids);  // T-273
  }

  // The rules that stand over the recorded answer, and answer otherwise here. T-277 stands only for
  // guests that ask for no page size.
  std::vector<std::string> RulesThatStand() const {
    std::vector<std::string> rules;
    const Json by_rule = line_.value("by_rule", Json::object());
    bool asks_for_pages = false;
    for (const Json& cell : line_.at("instance").at("cells")) {
      asks_for_pages |= !cell.at("pagesize").is_null() && cell.at("pagesize") != 0;
    }
    if (by_rule.contains("T-247")) rules.push_back("T-247");
    if (by_rule.contains("T-277") && !asks_for_pages) rules.push_back("T-277");
    return rules;
  }

  void CheckPlaces(const std::optional<tracker::GuestTopology>& placed) {
    const Json answer = PrintedPlaces(placed);
    for (const std::string& rule : RulesThatStand()) {
      const Json& wanted = line_.at("by_rule").at(rule);
      Compare("cells by " + rule, wanted, answer);
      if (wanted != expect().at("cells")) {
        report_.Except(rule, where_, "the rule places " + wanted.dump());
        if (answer == wanted && placed) CheckPlainUsage("usage by " + rule, placed, false);
        return;
      }
    }
    Compare("cells", expect().at("cells"), answer);
    if (answer != expect().at("cells") || !placed) return;
    CheckUsage("usage", placed, false);
    if (expect().contains("freed")) CheckUsage("freed", placed, true);
  }

  // Adds the guest to the host, or takes it away, and compares with the answer recorded as `what`.
  void CheckUsage(const std::string& what, const std::optional<tracker::GuestTopology>& guest,
                  bool free) {
    const Json& recorded = expect().at(what);
    if (recorded.is_object() && recorded.at("error") == "IndexError") {
      report_.Except("T-283", where_, "a cell that lists no pages is no error");
      Compare(what + " of a cell without pages", true, IsOnCellWithoutPages(*guest));
      CheckPlainUsage(what, guest, free);
      return;
    }
    const absl::Status status = Use(guest, free);
    if (!recorded.is_object()) {
      Compare(what, recorded, status.ok() ? PrintedUsage(host_) : Json(status.ToString()));
    } else {
      Compare(what, recorded.at("error"), ClassOf(status));
    }
  }

  absl::Status Use(const std::optional<tracker::GuestTopology>& guest, bool free) {
    if (!guest) return absl::OkStatus();
    return free ? RemoveUsage(*guest, &host_) : AddUsage(*guest, &host_);  // T-285
  }

  // Adds the guest to the host, or takes it away, and compares with plain arithmetic (T-283), because
  // the recording says nothing. Nova then does not find, either, that a reserved CPU is on a core
  // that is partly taken (T-281).
  void CheckPlainUsage(const std::string& what, const std::optional<tracker::GuestTopology>& guest,
                       bool free) {
    const Json plain = PlainUsage(*guest, free ? -1 : 1);
    const absl::Status status = Use(guest, free);
    if (!free && !status.ok() && ReservesOnTakenCore(status, *guest)) return;
    Compare(what + " by arithmetic", plain,
            status.ok() ? PrintedUsage(host_) : Json(status.ToString()));
  }

  // What is used of the host with the guest, or without it if `sign` is -1.
  Json PlainUsage(const tracker::GuestTopology& guest, int sign) const {
    Json cells = PrintedUsage(host_);
    for (size_t i = 0; i < host_.size(); ++i) {
      std::set<int> pinned = cells[i].at("pinned_cpus");
      const auto add = [&](Json* amount, int64_t by) {
        *amount = std::max<int64_t>(0, amount->get<int64_t>() + sign * by);
      };
      for (const tracker::GuestCell& cell : guest.cells) {
        if (cell.host_cell != host_[i].offer.id) continue;
        add(&cells[i]["memory_usage"], cell.memory_mib);
        add(&cells[i]["cpu_usage"], static_cast<int64_t>(cell.shared_cpus.Cpus().size()));
        const int64_t size_kib = ChargedPageSize(cell, host_[i].offer);
        if (size_kib > 0) {
          add(&cells[i]["pages_used"][std::to_string(size_kib)], cell.memory_mib * 1024 / size_kib);
        }
        for (const int cpu : OwnCpus(cell, host_[i].offer)) {
          if (sign > 0) pinned.insert(cpu);
          if (sign < 0) pinned.erase(cpu);
        }
      }
      cells[i]["pinned_cpus"] = pinned;
    }
    return cells;
  }

  // The smallest page size of the host cell, or the one that the guest got; 0: the cell lists none.
  static int64_t ChargedPageSize(const tracker::GuestCell& cell, const tracker::NumaCell& offer) {
    std::set<int64_t> sizes;
    for (const tracker::NumaPages& pages : offer.pages) sizes.insert(pages.size_kib);
    if (sizes.empty()) return 0;
    if (cell.page_size_kib == tracker::kNoPageSize) return *sizes.begin();
    return sizes.count(cell.page_size_kib) > 0 ? cell.page_size_kib : 0;
  }

  // The host CPUs that the guest cell has for itself: whole cores with the policy isolate.
  static std::set<int> OwnCpus(const tracker::GuestCell& cell, const tracker::NumaCell& offer) {
    std::set<int> cpus;
    for (const int cpu : cell.reserved_cpus.Cpus()) cpus.insert(cpu);
    for (const auto& [vcpu, cpu] : cell.pinning) cpus.insert(cpu);
    if (cell.cpu_thread_policy != tracker::CpuThreadPolicy::kIsolate) return cpus;
    std::set<int> cores;
    for (const tracker::CpuSet& siblings : offer.siblings) {
      const std::vector<int> core = siblings.Cpus();
      const bool used =
          std::any_of(core.begin(), core.end(), [&](int cpu) { return cpus.count(cpu) > 0; });
      if (used) cores.insert(core.begin(), core.end());
    }
    return cores;
  }

  // Whether a cell of the guest is placed on a host cell that lists no pages.
  bool IsOnCellWithoutPages(const tracker::GuestTopology& guest) const {
    for (const tracker::HostCell& host : host_) {
      for (const tracker::GuestCell& cell : guest.cells) {
        if (host.offer.pages.empty() && cell.host_cell == host.offer.id) return true;
      }
    }
    return false;
  }

  // Whether the guest was refused because its reserved CPU is on a core that is partly taken, which
  // Nova does not find for a cell without pages (T-281).
  bool ReservesOnTakenCore(const absl::Status& status, const tracker::GuestTopology& guest) const {
    if (ClassOf(status) != Json("CPUPinningInvalid")) return false;
    const tracker::CpuSet& reserved = guest.cells.at(0).reserved_cpus;
    for (const tracker::HostCell& host : host_) {
      for (const tracker::CpuSet& core : host.offer.siblings) {
        if (guest.cells[0].host_cell == host.offer.id && !core.And(reserved).empty() &&
            !core.And(host.usage.pinned_cpus).empty()) {
          return true;
        }
      }
    }
    return false;
  }

  // Nova's class of a refusal.
  static Json ClassOf(const absl::Status& status) {
    static constexpr std::pair<const char*, const char*> kClasses[] = {
        {": a guest is pinned to ", "CPUPinningUnknown"},
        {": these CPUs are already pinned", "CPUPinningInvalid"},
        {": a guest releases these CPUs, but they are not ", "CPUUnpinningUnknown"},
        {": a guest releases these CPUs, but no guest ", "CPUUnpinningInvalid"}};
    for (const auto& [text, name] : kClasses) {
      if (absl::StrContains(status.message(), text)) return name;
    }
    return status.ToString();
  }

  const Json& line_;
  const std::string& where_;
  std::vector<tracker::HostCell> host_;
  Report report_;
};

}  // namespace

bool IsFit(const Json& line) {
  return line.contains("host") && line.contains("instance") && line.contains("kind");
}

Report ReplayFit(const Json& line, const std::string& where) {
  return FitLine(line, where).Replay();
}

}  // namespace berth::oracle::nova
