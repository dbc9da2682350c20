// Reads the node, the flavors and the records of a recording of Nova's resource tracker into the
// tracker's values.
//
// Pure functions. Text in another form ends the process with an exception of nlohmann.
#ifndef BERTH_TESTS_ORACLE_NOVA_NOVA_WORLD_H_
#define BERTH_TESTS_ORACLE_NOVA_NOVA_WORLD_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/counted/naive_account.h"
#include "tests/oracle/nova/replay.h"
#include "tests/processes/short_uuid.h"
#include "tracker/account/account.h"
#include "tracker/claims/terms.h"

namespace berth::oracle::nova {

struct NovaWorld {
  tracker::HostAndNode self;  // the name of a node stands for its uuid
  tracker::NodeResources resources;
  std::map<std::string, tracker::Flavor> flavors;
  tracker::DeviceAliases aliases;
};

NovaWorld ReadWorld(const Json& setup);

// The uuid of a name. Nil if `name` is null.
inline tracker::Uuid ReadUuid(const Json& name) {
  return name.is_null() ? tracker::Uuid() : tracker::ShortUuid(name.get<std::string>());
}

tracker::Instance ReadInstance(const NovaWorld& world, const Json& record);
tracker::Migration ReadMigration(const NovaWorld& world, const Json& record);
// Null: no topology. The flavor says how the CPUs are used.
std::optional<tracker::GuestTopology> ReadTopology(const Json& cells,
                                                   const tracker::Flavor& flavor);
std::optional<tracker::MigrationContext> ReadContext(const NovaWorld& world, const Json& context,
                                                     const Json& old_flavor, const Json& new_flavor,
                                                     const tracker::Flavor& flavor);

tracker::ClaimLimits ReadLimits(const Json& limits);
// Reads the allocations of a claim, by provider.
std::vector<tracker::UnitAmount> ReadUnits(const Json& allocations);

// What an account says, in the form of a recording: node, stats, cells, tracked_instances,
// tracked_migrations, pci_devices, named_units_assigned.
Json DescribeAccount(const tracker::NodeAccount& account);
// The same of the naive account, which is what the rules demand.
Json DescribeNaively(const NovaWorld& world, const tracker::NaiveAccount& account,
                     int64_t failed_builds);

}  // namespace berth::oracle::nova

#endif  // BERTH_TESTS_ORACLE_NOVA_NOVA_WORLD_H_
