// RecordWorld: a World in which tests write the records of instances and migrations. Answers are
// "OK", or the reason and the field of the refusal. Not thread-safe.
#ifndef BERTH_TESTS_PLACEMENT_RULES_RECORD_WORLD_H_
#define BERTH_TESTS_PLACEMENT_RULES_RECORD_WORLD_H_

#include <optional>
#include <string>
#include <utility>

#include "placement/values/refusal.h"
#include "tests/worlds/world.h"

namespace berth::placement {

class RecordWorld {
 public:
  World world;
  Outcome last;  // of the last call that succeeded

  static InstanceId Instance(uint64_t number) { return InstanceId{Uuid{11, number}}; }
  static MigrationId Migration(uint64_t number) { return MigrationId{Uuid{12, number}}; }

  static InstanceRecord InstanceOn(uint64_t number, const std::string& host) {
    InstanceRecord record;
    record.id = Instance(number);
    record.name = "guest";
    record.project = "project";
    record.user = "user";
    record.host = host;
    record.vm_state = "active";
    record.flavor = {2, 512, 10, 0, 0};
    record.body = "bytes";
    return record;
  }
  static MigrationRecord MigrationOf(uint64_t number, uint64_t instance, const std::string& from,
                                     const std::string& to) {
    MigrationRecord record;
    record.id = Migration(number);
    record.instance = Instance(instance);
    record.type = MigrationType::kLive;
    record.source_host = from;
    record.destination_host = to;
    return record;
  }

  std::string Answer(CommandBody body) {
    const std::string before = world.Text();
    absl::StatusOr<Outcome> outcome = world.Do(std::move(body));
    if (outcome.ok()) {
      last = *std::move(outcome);
      return "OK";
    }
    EXPECT_EQ(world.Text(), before) << "a refusal changed something";
    const std::optional<Refusal> refusal = RefusalOf(outcome.status());
    if (!refusal) return outcome.status().ToString();
    const auto field =
        refusal->items.empty() ? FaultItem::const_iterator() : refusal->items[0].find("field");
    const bool has_field = !refusal->items.empty() && field != refusal->items[0].end();
    return has_field ? refusal->reason + " " + field->second : refusal->reason;
  }
  std::string Set(InstanceRecord record, std::optional<Generation> expected = std::nullopt) {
    return Answer(SetInstance{std::move(record), expected});
  }
  // REQUIRES: the record is there.
  InstanceRecord instance(uint64_t number) const {
    return *world.state().records().FindInstance(Instance(number));
  }
  MigrationRecord migration(uint64_t number) const {
    return *world.state().records().FindMigration(Migration(number));
  }
};

}  // namespace berth::placement

#endif  // BERTH_TESTS_PLACEMENT_RULES_RECORD_WORLD_H_
