#include "tests/oracle/nova/hosts_replay.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "services/client/cpp/weighers.h"
#include "tests/oracle/nova/host_form.h"
#include "tracker/cells/constraints.h"
#include "tracker/cells/fit.h"
#include "tracker/cells/usage.h"

namespace berth::oracle::nova {
namespace {

using client::HostView;

// A host as the replay keeps it.
struct View {
  Json node;  // the first record
  Json service;
  // Their aggregates and instances are in each answer.
  placement::v1::HostState around;
  std::vector<tracker::HostCell> all_cells;  // with nothing used
  std::vector<tracker::HostCell> cells;
  HostView state;
};

bool Equal(const Json& a, const Json& b) {
  if (a.is_number_float() || b.is_number_float()) {
    if (!a.is_number() || !b.is_number()) return false;
    const double x = a, y = b;
    return std::abs(x - y) <= 1e-9 * std::max({1.0, std::abs(x), std::abs(y)});
  }
  if (a.type() != b.type() && !(a.is_number() && b.is_number())) return false;
  if (!a.is_structured()) return a == b;
  if (a.size() != b.size()) return false;
  for (auto at = a.begin(); at != a.end(); ++at) {
    if (a.is_object() && !b.contains(at.key())) return false;
    const Json& other = a.is_object() ? b.at(at.key()) : b.at(static_cast<size_t>(at - a.begin()));
    if (!Equal(*at, other)) return false;
  }
  return true;
}

class HostsLine {
 public:
  HostsLine(const Json& line, const std::string& where) : line_(line), where_(where) {
    for (const Json& host : line.at("setup").at("hosts")) ReadHost(host);
    const Json& options = line.at("setup").at("options");
    limits_.max_io_ops_per_host = options.at("max_io_ops_per_host");
    limits_.max_instances_per_host = options.at("max_instances_per_host");
    for (const client::HostWeigher& weigher : client::HostWeighers()) {
      const std::string key(weigher.multiplier);
      multipliers_[key] = options.value(key, 0.0);  // a weigher that was not recorded says nothing
    }
  }

  Report Replay() && {
    for (const auto& [name, fields] : line_.at("after_update").items()) {
      CompareFields("after_update " + name, fields, name);  // T-332, T-333, T-335
    }
    for (size_t i = 0; i < line_.at("steps").size(); ++i) {
      step_ = absl::StrCat("step ", i, " ");
      Replay(line_.at("steps").at(i));
    }
    return std::move(report_);
  }

 private:
  void ReadHost(const Json& host) {
    View view;
    view.node = host.at("node");
    const std::string name = view.node.at("host");
    view.service = host.at("service");
    for (const Json& aggregate : line_.at("setup").at("aggregates")) {
      const std::set<std::string> hosts = aggregate.at("hosts");
      if (hosts.count(name) == 0) continue;
      auto* const to = view.around.add_aggregates();
      to->set_name(aggregate.at("name"));
      for (const auto& [key, value] : aggregate.at("metadata").items()) {
        (*to->mutable_metadata())[key] = value;
      }
    }
    for (const Json& uuid : host.at("instances")) view.around.add_instance_uuids(uuid);
    view.all_cells = ReadCells(host);
    Update(view.node, &view);
    order_.push_back(name);
    views_.emplace(name, std::move(view));
  }

  void Replay(const Json& step) {
    const std::string op = step.at("op");
    if (op == "select") return Select(step);
    View& view = views_.at(step.at("host"));
    if (op == "consume") return Consume(step, &view);
    Json node = view.node;
    node.update(step.at("node"));
    Update(node, &view);
    CompareFields("update", step.at("expect").at("state"), step.at("host"));  // T-334
  }

  static void Update(const Json& node, View* view) {
    placement::v1::HostState answer = ReadState(node, view->service);
    answer.MergeFrom(view->around);
    const bool taken = client::UpdateHostView(client::PartsOf(answer), &view->state);
    if (taken) view->cells = view->all_cells;
  }

  // Fits the guest into the host's cells. Fails if it has cells and they do not fit.
  static absl::StatusOr<std::optional<tracker::GuestTopology>> TakeCells(const Json& request,
                                                                         View* view) {
    const Json& flavor = request.at("flavor");
    auto guest = tracker::ReadGuestTopology(
        {flavor.at("vcpus"), flavor.at("memory_mb"), flavor.at("extra_specs"), {}});
    if (!guest.ok() || !guest->has_value()) return guest;
    tracker::FitOptions options;
    if (request.contains("numa_limits") && !request.at("numa_limits").is_null()) {
      const Json& limits = request.at("numa_limits");
      options.limits = {limits.at("cpu_allocation_ratio"), limits.at("ram_allocation_ratio")};
    }
    std::optional<tracker::GuestTopology> placed =
        tracker::PlaceGuest(view->cells, **guest, options);
    if (!placed) return absl::ResourceExhaustedError("the cells do not fit");
    const absl::Status used = tracker::AddUsage(*placed, &view->cells);
    if (!used.ok()) return used;
    return placed;
  }

  void Consume(const Json& step, View* view) {
    const std::string host = step.at("host");
    const Json before = DescribeHost(view->state, view->cells);
    std::optional<tracker::GuestTopology> guest;
    const auto take = [&](const HostView& /*host*/) -> absl::Status {
      auto taken = TakeCells(step.at("request"), view);
      if (taken.ok()) guest = *std::move(taken);
      return taken.status();
    };
    const absl::Status status = client::ConsumeFromHost(
        ReadDemand(step.at("request").at("flavor")), TimeAt(step.at("at_s")), take, &view->state);
    if (!status.ok()) {  // T-336
      Compare("everything is as before", before, DescribeHost(view->state, view->cells));
      const bool by_rule = step.value("decided_by_rule", Json::object()).value("*", "") == "T-336";
      if (!by_rule) return Compare("the cells fit", true, false);
      return report_.Except("T-336", where_, "cells that do not fit take nothing");
    }
    Compare("the rule decides nothing", false, step.contains("decided_by_rule"));
    Compare("guest_cells", step.at("expect").at("guest_cells"), DescribeGuest(guest));
    CompareFields("consume", step.at("expect").at("state"), host);  // T-336
  }

  void Select(const Json& step) {
    const Json& expect = step.at("expect");
    const client::HostRequest request = ReadRequest(step.at("request"));
    std::map<std::string, std::vector<std::string>> alone;
    std::vector<std::string> names;
    std::vector<const HostView*> passing;
    for (const std::string& name : order_) {
      bool passes = true;
      for (const client::HostFilter& filter : client::HostFilters()) {
        const bool one = filter.passes(views_.at(name).state, request, limits_);
        if (one) alone[std::string(filter.name)].push_back(name);
        passes = passes && one;
      }
      if (!passes) continue;
      names.push_back(name);
      passing.push_back(&views_.at(name).state);
    }
    if (expect.contains("error")) return CheckGivenUp(step);
    for (const client::HostFilter& filter : client::HostFilters()) {  // T-340
      const std::string name(filter.name);
      Compare(name, expect.at("by_filter").value(name, Json(order_)), Json(alone[name]));
    }
    Compare("passing", expect.at("passing"), Json(names));
    if (!expect.contains("weighed")) return;
    CompareWeights(expect, request, names, passing);
  }

  void CompareWeights(const Json& expect, const client::HostRequest& request,
                      const std::vector<std::string>& names,
                      const std::vector<const HostView*>& passing) {
    for (const client::HostWeigher& weigher : client::HostWeighers()) {
      const std::vector<double> weights = WeighBy(weigher, multipliers_, request, passing);
      Json by_host = Json::object();
      for (size_t i = 0; i < names.size(); ++i) by_host[names[i]] = weights[i];
      const std::string name(weigher.name);
      if (!line_.at("setup").at("options").contains(std::string(weigher.multiplier))) continue;
      Compare(name, expect.at("by_weigher").value(name, Json::object()), by_host);
    }
    Json weighed = Json::array();
    for (const auto& [host, weight] : WeighHosts(multipliers_, request, passing)) {
      weighed.push_back({host->node->host(), weight});
    }
    Compare("weighed", expect.at("weighed"), weighed);
  }

  // Nova has given the request up. That is right only if it compares a number with metadata.
  void CheckGivenUp(const Json& step) {
    bool compares = false;
    for (const auto& [key, value] : step.at("request").at("flavor").at("extra_specs").items()) {
      const std::string text = value;
      compares |= absl::StartsWith(text, ">= ") || absl::StartsWith(text, "!= ") ||
                  absl::StartsWith(text, "<= ") || absl::StartsWith(text, "= ") ||
                  absl::StartsWith(text, "== ");
    }
    Compare("the request compares numbers", true, compares);
    report_.Except("README", where_, "metadata that is no number is not what is asked for");
  }

  void CompareFields(const std::string& what, const Json& recorded, const std::string& host) {
    const View& view = views_.at(host);
    const Json answer = DescribeHost(view.state, view.cells);
    for (const auto& [field, value] : recorded.items()) {
      Json wanted = value;
      if (field == "instances") wanted = value.get<std::set<std::string>>();
      Compare(absl::StrCat(what, " ", field), wanted, answer.value(field, Json("not compared")));
    }
  }

  void Compare(const std::string& what, const Json& recorded, const Json& answer) {
    if (Equal(recorded, answer)) {
      ++report_.passed;
      return;
    }
    report_.failures.push_back(absl::StrCat(where_, " ", step_, what, ": recorded ",
                                            recorded.dump(), ", answered ", answer.dump()));
  }

  const Json& line_;
  const std::string where_;
  std::string step_;
  std::vector<std::string> order_;
  std::map<std::string, View> views_;
  client::HostLimits limits_;
  client::HostMultipliers multipliers_;
  Report report_;
};

}  // namespace

Report ReplayHosts(const Json& line, const std::string& where) {
  return HostsLine(line, where).Replay();
}

}  // namespace berth::oracle::nova
