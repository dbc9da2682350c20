#include "tracker/claims/claim.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tracker/account/holding.h"
#include "tracker/cells/constraints.h"
#include "tracker/claims/choice.h"
#include "tracker/claims/refusal.h"
#include "tracker/ground/status_macros.h"
#include "tracker/ground/uuid.h"

namespace berth::tracker {
namespace {

absl::Status CheckNode(const ClaimSettings& settings, const NodeAccount& account,
                       const Uuid& node_uuid, const Uuid& instance_uuid) {
  if (settings.enabled && node_uuid == account.self().node_uuid) return absl::OkStatus();
  return RefuseClaim(
      {ClaimRefusalKind::kNodeUnavailable,
       {absl::StrCat("Attempt to claim resources for instance ", instance_uuid.ToString(),
                     " on unknown node ", node_uuid.ToString(), " failed")}});
}

// Refuses a claim that nobody needs any more, so that it would end as soon as it is opened (T-166).
// `migration` is null if an instance is built.
absl::Status CheckNeeded(const NodeAccount& account, const Instance& requested,
                         const Migration* migration) {
  const std::optional<Instance> known = account.FindInstance(requested.uuid);
  if (IsPointless(&requested, nullptr) || (known.has_value() && IsPointless(&*known, nullptr))) {
    return absl::FailedPreconditionError(
        absl::StrCat("instance ", requested.uuid.ToString(), " is deleted"));
  }
  const Migration* recorded =
      migration == nullptr ? nullptr : account.FindMigration(migration->uuid);
  if (!IsPointless(nullptr, migration) && !IsPointless(nullptr, recorded)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("migration ", migration->uuid.ToString(), " is over"));
}

absl::Status RefuseClaimed(const Uuid& instance_uuid) {
  return RefuseClaim(
      {ClaimRefusalKind::kAlreadyClaimed,
       {absl::StrCat("instance ", instance_uuid.ToString(), " is claimed already")}});
}

// Returns `open`, the open claim of the instance, if the request repeats the one that opened it.
// Refuses every other request. `moves`: whether the request is for a move.
absl::StatusOr<OpenClaim> AnswerRepeat(const OpenClaim& open, const std::string& id,
                                       const std::string& body, bool moves) {
  if (id.empty() || open.id != id) return RefuseClaimed(open.instance.uuid);
  if (open.body != body || open.migration.has_value() != moves) return RefuseReusedId(id);
  return open;
}

// Refuses a nil uuid and values out of range, so that they never reach the account. `path`: the
// field of the request that has the flavor.
absl::Status CheckForm(const Instance& instance, const char* path, const Flavor& flavor,
                       const std::vector<UnitAmount>& units) {
  constexpr int64_t kVcpusMax = 65536;
  constexpr int64_t kAmountMax = int64_t{1} << 40;
  if (IsNil(instance.uuid)) return absl::InvalidArgumentError("instance.uuid is required");
  for (const auto& [field, amount] : kFlavorAmounts) {
    const int64_t max = amount == &Flavor::vcpus ? kVcpusMax : kAmountMax;
    if (flavor.*amount >= 0 && flavor.*amount <= max) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(path, ".", field, " must be 0 to ", max, ", but is ", flavor.*amount));
  }
  for (const DeviceRequest& request : instance.device_requests) {
    if (request.count >= 1 && request.count <= kRequestedDevicesMax) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("instance.pci_requests must ask for 1 to ", kRequestedDevicesMax,
                     " devices each, but one asks for ", request.count));
  }
  for (const UnitAmount& unit : units) {
    if (unit.amount >= 0 && unit.amount <= kAmountMax) continue;
    return absl::InvalidArgumentError("allocations must have amounts of 0 to 2^40");
  }
  return absl::OkStatus();
}

// The same failure, with the name of the field at the beginning of its message.
absl::Status About(absl::string_view field, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(field, " ", status.message()));
}

// Returns the text of `key`, or an empty text if there is no such key.
std::string TextAt(const std::map<std::string, std::string>& texts, const char* key) {
  const auto found = texts.find(key);
  return found == texts.end() ? "" : found->second;
}

// Returns the NUMA topology that flavor and image ask for (T-269).
absl::StatusOr<std::optional<GuestTopology>> WishedTopology(const Flavor& flavor,
                                                            const Instance& instance) {
  return ReadGuestTopology(
      {static_cast<int>(flavor.vcpus), flavor.memory_mib, flavor.extra_specs, instance.image});
}

// Returns the requests of the aliases that the flavor names, and then those of the instance's
// ports. `path`: the field of the request that has the flavor.
absl::StatusOr<std::vector<DeviceRequest>> DevicesOf(const ClaimSettings& settings,
                                                     absl::string_view path, const Flavor& flavor,
                                                     const Instance& instance) {
  constexpr char kPolicy[] = "hw:pci_numa_affinity_policy";
  constexpr char kAlias[] = "pci_passthrough:alias";
  std::vector<DeviceRequest> devices;
  const auto alias = flavor.extra_specs.find(kAlias);
  if (alias != flavor.extra_specs.end()) {
    const auto policy = CombineDevicePolicies(
        TextAt(flavor.extra_specs, kPolicy), TextAt(instance.image, "hw_pci_numa_affinity_policy"));
    if (!policy.ok()) {
      return About(absl::StrCat(path, ".extra_specs[", kPolicy, "]"), policy.status());
    }
    auto requests = RequestsOfFlavor(alias->second, settings.device_aliases, *policy);
    if (!requests.ok()) {
      return About(absl::StrCat(path, ".extra_specs[", kAlias, "]"), requests.status());
    }
    devices = *std::move(requests);
  }
  for (const DeviceRequest& kept : instance.device_requests) {
    if (kept.source == DeviceRequestSource::kNeutronPort) devices.push_back(kept);
  }
  return devices;
}

// A record without cells, or without requests that come from an alias, does not say that the flavor
// asks for none: they are read from the flavor then.
absl::StatusOr<ClaimNeeds> NeedsOfInstance(const ClaimSettings& settings,
                                           const InstanceClaim& request,
                                           const NodeAccount& account) {
  const Instance& instance = request.instance;
  ClaimNeeds needs;
  needs.instance_uuid = instance.uuid;
  needs.amounts =
      AmountsOf(instance.flavor, instance.boot_from_volume, account.resources().overheads);
  needs.topology = instance.assigned.topology;
  if (!needs.topology.has_value()) {
    auto topology = WishedTopology(instance.flavor, instance);
    if (!topology.ok()) return topology.status();
    needs.topology = *std::move(topology);
  }
  needs.devices = instance.device_requests;
  if (std::none_of(needs.devices.begin(), needs.devices.end(), [](const DeviceRequest& known) {
        return known.source == DeviceRequestSource::kFlavorAlias;
      })) {
    auto devices = DevicesOf(settings, "instance.flavor", instance.flavor, instance);
    if (!devices.ok()) return devices.status();
    needs.devices = *std::move(devices);
  }
  needs.units = request.units;
  needs.limits = request.limits;
  return needs;
}

bool PageSizeDiffers(const Migration& migration, const Instance& instance, const Assigned& chosen) {
  if (migration.type != MigrationType::kLive || !chosen.topology.has_value() ||
      !instance.assigned.topology.has_value()) {
    return false;
  }
  const std::vector<GuestCell>& before = instance.assigned.topology->cells;
  const std::vector<GuestCell>& after = chosen.topology->cells;
  return !before.empty() && !after.empty() && before[0].page_size_kib != after[0].page_size_kib;
}

absl::StatusOr<ClaimNeeds> NeedsOfMove(const ClaimSettings& settings, const MoveClaim& request,
                                       const NodeAccount& account) {
  const Flavor& flavor = request.new_flavor;
  ClaimNeeds needs;
  needs.instance_uuid = request.instance.uuid;
  needs.amounts =
      AmountsOf(flavor, request.instance.boot_from_volume, account.resources().overheads);
  auto topology = WishedTopology(flavor, request.instance);
  if (!topology.ok()) return topology.status();
  needs.topology = *std::move(topology);
  auto devices = DevicesOf(settings, "new_flavor", flavor, request.instance);
  if (!devices.ok()) return devices.status();
  needs.devices = *std::move(devices);
  needs.devices_elsewhere = request.migration.type == MigrationType::kLive;
  needs.units = request.units;
  needs.limits = request.limits;
  return needs;
}

// Says, if the instance moves on its own node, why that takes more than the new flavor (T-348).
absl::Status ExplainMove(const absl::Status& refused, const MoveClaim& request,
                         const NodeAccount& account) {
  if (!(request.instance.on == account.self()) || !RefusalOf(refused).has_value()) return refused;
  absl::Status explained(
      refused.code(), absl::StrCat(refused.message(),
                                   " The instance counts twice while it is resized on its host: ",
                                   "with its old flavor and with its new one."));
  refused.ForEachPayload([&](absl::string_view type, const absl::Cord& payload) {
    explained.SetPayload(type, payload);
  });
  return explained;
}

// Returns the claim, with the records as they are after it (T-168, steps 2 and 7).
OpenClaim MoveRecords(const MoveClaim& request, const HostAndNode& destination,
                      const ClaimNeeds& needs, const Assigned& chosen) {
  OpenClaim claim{request.id, request.instance, request.migration, request.body};
  claim.migration->destination = destination;
  if (request.migration.type != MigrationType::kLive) claim.migration->status = "pre-migrating";
  MigrationContext& context = claim.instance.context.emplace();
  context.migration_uuid = request.migration.uuid;
  context.old_flavor = request.instance.flavor;
  context.new_flavor = request.new_flavor;
  context.old_assigned = request.instance.assigned;
  context.new_assigned = chosen;
  context.old_device_requests = request.instance.device_requests;
  context.new_device_requests = needs.devices;
  return claim;
}

}  // namespace

absl::StatusOr<OpenClaim> ClaimInstance(const ClaimSettings& settings, const InstanceClaim& request,
                                        NodeAccount* account) {
  const Uuid& uuid = request.instance.uuid;
  const absl::Status node = CheckNode(settings, *account, request.node_uuid, uuid);
  if (!node.ok()) return node;
  BERTH_RETURN_IF_ERROR(
      CheckForm(request.instance, "instance.flavor", request.instance.flavor, request.units));
  if (const OpenClaim* open = account->OpenClaimOf(uuid); open != nullptr) {
    return AnswerRepeat(*open, request.id, request.body, /*moves=*/false);
  }
  if (account->IsTracked(uuid)) return RefuseClaimed(uuid);
  const auto needs = NeedsOfInstance(settings, request, *account);
  if (!needs.ok()) return needs.status();
  auto chosen = ChooseResources(settings, *account, *needs);
  if (!chosen.ok()) return chosen.status();
  BERTH_RETURN_IF_ERROR(CheckNeeded(*account, request.instance, nullptr));
  OpenClaim claim{request.id, request.instance, std::nullopt, request.body};
  claim.instance.on = account->self();
  claim.instance.claimed_generation = request.instance.generation;
  claim.instance.launched_on = account->self().host;
  claim.instance.assigned = *std::move(chosen);
  account->Open(claim);
  return claim;
}

absl::StatusOr<OpenClaim> ClaimMove(const ClaimSettings& settings, const MoveClaim& request,
                                    NodeAccount* account) {
  const Uuid& uuid = request.instance.uuid;
  const absl::Status node = CheckNode(settings, *account, request.node_uuid, uuid);
  if (!node.ok()) return node;
  BERTH_RETURN_IF_ERROR(
      CheckForm(request.instance, "new_flavor", request.new_flavor, request.units));
  const Migration* const recorded = account->FindMigration(request.migration.uuid);
  if (request.migration.instance_uuid != uuid ||
      (recorded != nullptr && recorded->instance_uuid != uuid)) {
    return absl::InvalidArgumentError("migration.instance_uuid must be the uuid of the instance");
  }
  if (request.migration.type == MigrationType::kLive &&
      request.new_flavor != request.instance.flavor) {
    return absl::InvalidArgumentError("new_flavor must be the instance's: the guest keeps running");
  }
  if (const OpenClaim* open = account->OpenClaimOf(uuid); open != nullptr) {
    return AnswerRepeat(*open, request.id, request.body, /*moves=*/true);
  }
  const std::optional<MigrationContext>& context = request.instance.context;
  if (context.has_value() && context->migration_uuid == request.migration.uuid) {
    return RefuseClaimed(uuid);
  }
  const auto needs = NeedsOfMove(settings, request, *account);
  if (!needs.ok()) return needs.status();
  const auto chosen = ChooseResources(settings, *account, *needs);
  if (!chosen.ok()) return ExplainMove(chosen.status(), request, *account);
  if (PageSizeDiffers(request.migration, request.instance, *chosen)) {
    return RefuseClaim({ClaimRefusalKind::kPageSizeMismatch,
                        {"Requested page size is different from current page size."}});
  }
  BERTH_RETURN_IF_ERROR(CheckNeeded(*account, request.instance, &request.migration));
  const OpenClaim claim = MoveRecords(request, account->self(), *needs, *chosen);
  account->Open(claim);
  return claim;
}

}  // namespace berth::tracker
