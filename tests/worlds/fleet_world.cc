#include "tests/worlds/fleet_world.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "placement/ground/check.h"
#include "placement/values/refusal.h"
#include "tests/worlds/safety.h"
#include "tests/worlds/script.h"

namespace berth::placement {

std::string FleetWorld::Answer(CommandBody body) {
  const std::string before = world.Text();
  absl::StatusOr<Outcome> outcome = world.Do(std::move(body));
  CheckSafety(world.state());
  if (outcome.ok()) {
    last = *std::move(outcome);
    return "OK";
  }
  EXPECT_EQ(world.Text(), before);
  const std::optional<Refusal> refusal = RefusalOf(outcome.status());
  if (!refusal) return outcome.status().ToString();
  EXPECT_EQ(outcome.status().code(), CodeOf(refusal->reason));
  return refusal->reason;
}

std::string FleetWorld::Register(const std::string& host, int process, const std::string& machine) {
  return Answer(RegisterService{host, "berth-tracker", Process(process), machine, "0.1.0",
                                Uuid{5, ++registrations_}});
}

std::string FleetWorld::Mark(const std::string& host, int process, bool up) {
  return Answer(MarkService{host, "berth-tracker", Process(process), up});
}

std::string FleetWorld::Update(const std::string& host, std::optional<bool> disabled,
                               const std::string& reason, std::optional<bool> forced_down) {
  return Answer(UpdateService{host, "berth-tracker", disabled, reason, forced_down});
}

std::string FleetWorld::Report(const std::string& host, int process, absl::string_view notation,
                               int64_t sequence) {
  return Answer(MakeReport(host, process, notation, sequence));
}

ApplyReport FleetWorld::MakeReport(const std::string& host, int process, absl::string_view notation,
                                   int64_t sequence) {
  ApplyReport report;
  report.host = host;
  report.incarnation = Process(process);
  report.sequence = sequence;
  report.digest = absl::StrCat("digest ", sequence);
  report.facts = std::make_shared<const std::string>(absl::StrCat("facts ", sequence));
  report.account = absl::StrCat("account ", sequence);
  std::vector<std::pair<int, ProviderId>> above;
  for (const absl::string_view text : absl::StrSplit(notation, '\n')) {
    if (absl::StripAsciiWhitespace(text).empty()) continue;
    const ProviderNotation line = ParseProvider(text);
    while (!above.empty() && above.back().first >= line.indent) above.pop_back();
    ReportedProvider& provider = report.providers.emplace_back();
    provider.id = world.provider(line.name);
    provider.name = line.name;
    if (!above.empty()) provider.parent = above.back().second;
    if (const auto place = world.state().FindProvider(provider.id)) {
      provider.base_generation = place->config().generation;
    }
    provider.inventories = line.inventories;
    provider.traits_present = line.traits;
    provider.traits_present.push_back("OWNER_NOVA");
    above.emplace_back(line.indent, provider.id);
  }
  report.node = report.providers.front().id;
  report.node_name = report.providers.front().name;
  return report;
}

ApplyReport FleetWorld::Delta(ApplyReport report, ProviderId node, const std::string& node_name) {
  report.complete = false;
  report.node = node;
  report.node_name = node_name;
  for (ReportedProvider& provider : report.providers) {
    if (!provider.parent && provider.id != node) provider.parent = node;
  }
  return report;
}

ServiceRecord FleetWorld::service(const std::string& host) const {
  const auto* found = world.state().services().Find(std::pair(host, std::string("berth-tracker")));
  BERTH_CHECK(found != nullptr);
  return **found;
}

NodeRecord FleetWorld::node(absl::string_view name) {
  const auto* found = world.state().nodes().Find(world.provider(name));
  BERTH_CHECK(found != nullptr);
  return **found;
}

bool FleetWorld::HasNode(absl::string_view name) {
  return world.state().nodes().Find(world.provider(name)) != nullptr;
}

bool FleetWorld::Has(absl::string_view provider_name) {
  return world.state().FindProvider(world.provider(provider_name)).has_value();
}

bool FleetWorld::HasTrait(absl::string_view provider_name, absl::string_view trait) {
  const std::optional<TraitId> id = world.state().catalog().traits.Find(trait);
  return id && world.place(provider_name).config().HasTrait(*id);
}

}  // namespace berth::placement
