// FleetWorld: a World with trackers that say Hello and report, for tests of the fleet's rules.
//
// Processes are small numbers, reports are the notation of worlds. Answers are "OK" or the reason
// of the refusal; a refusal changes nothing, which each call checks. Not thread-safe.
#ifndef BERTH_TESTS_WORLDS_FLEET_WORLD_H_
#define BERTH_TESTS_WORLDS_FLEET_WORLD_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "tests/worlds/world.h"

namespace berth::placement {

class FleetWorld {
 public:
  World world;
  // What the last call that succeeded did and said.
  Outcome last;

  static Uuid Process(int number) { return Uuid{4, static_cast<uint64_t>(number)}; }

  std::string Register(const std::string& host, int process, const std::string& machine);
  std::string Mark(const std::string& host, int process, bool up);
  std::string Update(const std::string& host, std::optional<bool> disabled,
                     const std::string& reason, std::optional<bool> forced_down);

  // A snapshot of the node that stands first in `notation`, on top of the present generations.
  std::string Report(const std::string& host, int process, absl::string_view notation,
                     int64_t sequence);
  std::string Send(const ApplyReport& report) { return Answer(report); }
  // The same as a value, for tests that change something about it.
  ApplyReport MakeReport(const std::string& host, int process, absl::string_view notation,
                         int64_t sequence);
  // `report` as a delta: `parent` is what its first provider stands below, if it is not the root.
  static ApplyReport Delta(ApplyReport report, ProviderId node, const std::string& node_name);

  std::string Answer(CommandBody body);

  ServiceRecord service(const std::string& host) const;
  // The node whose root is called `name`. REQUIRES: it is there.
  NodeRecord node(absl::string_view name);
  bool HasNode(absl::string_view name);
  bool Has(absl::string_view provider_name);
  bool HasTrait(absl::string_view provider_name, absl::string_view trait);

 private:
  uint64_t registrations_ = 0;
};

}  // namespace berth::placement

#endif  // BERTH_TESTS_WORLDS_FLEET_WORLD_H_
