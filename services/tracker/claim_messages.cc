#include "services/tracker/claim_messages.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "services/process/digest.h"
#include "services/process/status.h"
#include "tracker/claims/refusal.h"
#include "tracker/ground/status_macros.h"
#include "tracker/ground/uuid.h"
#include "tracker/uplink/record_form.h"
#include "tracker/uplink/record_messages.h"

namespace berth::services {
namespace {

namespace pb = berth::tracker::v1;
using Kind = tracker::ClaimRefusalKind;
using tracker::FieldFault;

constexpr size_t kRequestIdMax = 128;
constexpr size_t kClaimIdMax = 64;  // a uuid, a slash and a number have fewer bytes
constexpr size_t kClassNameMax = 255;
constexpr int64_t kAmountMax = 2147483647;

absl::StatusOr<tracker::ClaimLimits> LimitsOf(const pb::Limits& limits) {
  const std::pair<const char*, int64_t> amounts[] = {{"memory_mib", limits.memory_mib()},
                                                     {"disk_gib", limits.disk_gib()},
                                                     {"vcpus", limits.vcpus()}};
  for (const auto& [field, amount] : amounts) {
    if (amount < 0) return FieldFault(absl::StrCat("limits.", field), "must not be negative");
  }
  tracker::ClaimLimits read;
  if (limits.has_memory_mib()) read.memory_mib = limits.memory_mib();
  if (limits.has_disk_gib()) read.disk_gib = limits.disk_gib();
  if (limits.has_vcpus()) read.vcpus = limits.vcpus();
  if (!limits.has_numa_cpu_ratio() && !limits.has_numa_memory_ratio()) return read;
  read.cells.emplace();
  if (limits.has_numa_cpu_ratio()) read.cells->cpu_allocation_ratio = limits.numa_cpu_ratio();
  if (limits.has_numa_memory_ratio()) {
    read.cells->ram_allocation_ratio = limits.numa_memory_ratio();
  }
  if (!(read.cells->cpu_allocation_ratio > 0)) {
    return FieldFault("limits.numa_cpu_ratio", "must be above 0");
  }
  if (!(read.cells->ram_allocation_ratio > 0)) {
    return FieldFault("limits.numa_memory_ratio", "must be above 0");
  }
  return read;
}

const char* ReasonOf(Kind kind) {
  switch (kind) {
    case Kind::kNodeUnavailable:
      return "NODE_UNAVAILABLE";
    case Kind::kAlreadyClaimed:
      return "INSTANCE_ALREADY_CLAIMED";
    case Kind::kResources:
      return "RESOURCES_UNAVAILABLE";
    case Kind::kPageSizeMismatch:
      return "PAGE_SIZE_MISMATCH";
    case Kind::kRequestIdReused:
      return "REQUEST_ID_REUSED";
    case Kind::kWrongState:
      return "WRONG_STATE";
    case Kind::kGroupPolicy:
      return "SERVER_GROUP_POLICY_VIOLATED";
    case Kind::kRecordConflict:
      return "RECORD_CONFLICT";
    case Kind::kInstanceNotFound:
      return "INSTANCE_NOT_FOUND";
    case Kind::kNoSuchClaim:
      return "CLAIM_NOT_FOUND";
    case Kind::kUnsettled:
      return "CLAIM_UNSETTLED";
    case Kind::kPlacementAway:
      return "PLACEMENT_UNAVAILABLE";
    case Kind::kOverloaded:
      return "OVERLOADED";
    case Kind::kOutcomeUnknown:
      return "OUTCOME_UNKNOWN";
    case Kind::kTooLate:
      return "TOO_LATE";
  }
  return "INTERNAL";
}

// The name of the test that failed with this reason (T-159).
std::string TestOf(const std::string& reason) {
  for (const char* const amount : {"memory", "disk", "vcpu"}) {
    if (absl::StartsWith(reason, absl::StrCat("Free ", amount))) return amount;
  }
  if (absl::StrContains(reason, "NUMA topology")) return "numa";
  return absl::StartsWith(reason, "Claim pci") ? "pci" : "named_unit";
}

// Whether `name` may be the name of a resource class.
bool IsClassName(absl::string_view name) {
  return !name.empty() && name.size() <= kClassNameMax &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return absl::ascii_isupper(c) || absl::ascii_isdigit(c) || c == '_';
         });
}

template <typename Allocations>
absl::StatusOr<std::vector<tracker::UnitAmount>> UnitsOf(const Allocations& allocations) {
  std::vector<tracker::UnitAmount> units;
  for (int i = 0; i < allocations.size(); ++i) {
    const std::string path = absl::StrCat("allocations[", i, "]");
    BERTH_ASSIGN_OR_RETURN(const tracker::Uuid provider,
                           ReadUuid(path + ".provider_uuid", allocations[i].provider_uuid()));
    for (const auto& [resource_class, amount] : allocations[i].resources()) {
      if (!IsClassName(resource_class) || amount < 0 || amount > kAmountMax) {
        return FieldFault(
            path + ".resources",
            absl::StrCat("must be names of classes, with amounts of 0 to ", kAmountMax));
      }
      units.push_back({provider, resource_class, amount});
    }
  }
  return units;
}

// A fault unless the record has a uuid and the generation that it had when it was last read.
template <typename Record>
absl::Status CheckGeneration(const std::string& path, const Record& record) {
  BERTH_RETURN_IF_ERROR(ReadUuid(path + ".uuid", record.uuid()).status());
  if (record.generation() != 0) return absl::OkStatus();
  return FieldFault(path + ".generation",
                    "is required: the generation of the record as it was last read");
}

// Reads what both kinds of claims have.
template <typename Request, typename Claim>
absl::Status ReadShared(const Request& request, Claim* claim) {
  BERTH_ASSIGN_OR_RETURN(claim->node_uuid, ReadUuid("node_uuid", request.node_uuid()));
  if (request.request_id().size() > kRequestIdMax) {
    return FieldFault("request_id", absl::StrCat("must have at most ", kRequestIdMax, " bytes"));
  }
  BERTH_RETURN_IF_ERROR(tracker::CheckText(request));
  BERTH_RETURN_IF_ERROR(CheckInstance(request.instance()));
  BERTH_RETURN_IF_ERROR(tracker::CheckInstanceForm("instance", request.instance()));
  claim->id = request.request_id();
  if (!claim->id.empty()) claim->body = MessageDigest(request, {"request_id"});
  claim->instance = tracker::ReadInstance(request.instance());
  if (!claim->instance.unreadable.empty()) {
    return FieldFault("instance", absl::StrCat("cannot be read: ", claim->instance.unreadable));
  }
  BERTH_ASSIGN_OR_RETURN(claim->limits, LimitsOf(request.limits()));
  BERTH_ASSIGN_OR_RETURN(claim->units, UnitsOf(request.allocations()));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<tracker::Uuid> ReadUuid(const std::string& field, const std::string& text) {
  const std::optional<tracker::Uuid> uuid = tracker::ParseName(text);
  if (!uuid) return FieldFault(field, "must be a uuid");
  return *uuid;
}

absl::StatusOr<tracker::InstanceClaim> ClaimOf(const pb::ClaimInstanceRequest& request) {
  tracker::InstanceClaim claim;
  BERTH_RETURN_IF_ERROR(ReadShared(request, &claim));
  return claim;
}

absl::StatusOr<tracker::MoveClaim> ClaimOf(const pb::ClaimMoveRequest& request) {
  tracker::MoveClaim claim;
  BERTH_RETURN_IF_ERROR(ReadShared(request, &claim));
  BERTH_RETURN_IF_ERROR(CheckGeneration("migration", request.migration()));
  BERTH_RETURN_IF_ERROR(tracker::CheckMigrationForm(request.migration()));
  BERTH_RETURN_IF_ERROR(tracker::CheckFlavorForm("new_flavor", request.new_flavor()));
  claim.migration = tracker::ReadMigration(request.migration());
  claim.new_flavor =
      request.has_new_flavor() ? tracker::ReadFlavor(request.new_flavor()) : claim.instance.flavor;
  return claim;
}

absl::Status CheckInstance(const placement::v1::Instance& instance) {
  BERTH_RETURN_IF_ERROR(CheckGeneration("instance", instance));
  if (!instance.has_flavor()) return FieldFault("instance.flavor", "is required");
  return absl::OkStatus();
}

absl::StatusOr<std::string> ClaimIdOf(const pb::AbortClaimRequest& request) {
  const absl::string_view id = request.claim_id();
  if (id.empty()) return FieldFault("claim_id", "is required");
  if (id.size() > kClaimIdMax) {
    return FieldFault("claim_id", absl::StrCat("must have at most ", kClaimIdMax, " bytes"));
  }
  const size_t end = std::min(id.find('/'), id.size());
  const std::optional<tracker::Uuid> uuid = tracker::Uuid::Parse(id.substr(0, end));
  return uuid ? absl::StrCat(uuid->ToString(), id.substr(end)) : std::string(id);
}

tracker::Instance KnownOf(const pb::UpdateUsageRequest& request) {
  placement::v1::Instance known;
  known.set_uuid(request.instance().uuid());
  known.set_generation(request.instance().generation());
  if (request.instance().has_updated_at()) {
    *known.mutable_updated_at() = request.instance().updated_at();
  }
  return tracker::ReadInstance(known);
}

absl::StatusOr<tracker::MoveDrop> DropOf(const pb::DropMoveClaimRequest& request) {
  BERTH_ASSIGN_OR_RETURN(const tracker::Uuid instance,
                         ReadUuid("instance_uuid", request.instance_uuid()));
  BERTH_ASSIGN_OR_RETURN(const tracker::Uuid migration,
                         ReadUuid("migration_uuid", request.migration_uuid()));
  if (request.side() != pb::MOVE_SIDE_OLD && request.side() != pb::MOVE_SIDE_NEW) {
    return FieldFault("side", "must be a side that this release knows");
  }
  const bool old = request.side() == pb::MOVE_SIDE_OLD;
  return tracker::MoveDrop{instance, migration,
                           old ? tracker::ClaimEnd::kConfirm : tracker::ClaimEnd::kRevert};
}

void FillClaim(const tracker::OpenClaim& claim, pb::Claim* to) {
  to->set_claim_id(tracker::ClaimIdOf(claim));
  const tracker::Assigned& assigned =
      claim.migration.has_value() ? claim.instance.context->new_assigned : claim.instance.assigned;
  if (assigned.topology.has_value()) {
    for (const tracker::GuestCell& cell : assigned.topology->cells) {
      *to->add_numa_cells() = tracker::WireGuestCell(cell);
    }
  }
  for (const std::string& address : assigned.devices) {
    placement::v1::PciDevice* const device = to->add_pci_devices();
    device->set_address(address);
    const auto request = assigned.request_ids.find(address);
    if (request != assigned.request_ids.end()) device->set_request_id(request->second);
  }
  for (const tracker::NamedUnit& unit : assigned.units) {
    pb::NamedUnit* const wire = to->add_named_units();
    wire->set_provider_uuid(unit.provider_uuid.ToString());
    wire->set_resource_class(unit.resource_class);
    wire->set_identifier(unit.name);
  }
}

std::string ReasonOf(const absl::Status& status) {
  if (status.ok()) return "";
  if (const auto refused = tracker::RefusalOf(status)) return ReasonOf(refused->kind);
  if (absl::IsInvalidArgument(status) || absl::IsNotFound(status)) return "INVALID_FIELD";
  return absl::IsFailedPrecondition(status) ? "WRONG_STATE" : "INTERNAL";
}

grpc::Status ClaimStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  placement::Refusal refusal;
  refusal.reason = ReasonOf(status);
  const auto refused = tracker::RefusalOf(status);
  if (refused && refused->kind == Kind::kResources) {
    for (const std::string& reason : refused->reasons) {
      refusal.items.push_back({{"test", TestOf(reason)}, {"text", reason}});
    }
  }
  if (refusal.reason != "INVALID_FIELD") {
    return WireStatus(status.code(), status.message(), kTrackerDomain, refusal);
  }
  const std::vector<std::string> words = absl::StrSplit(std::string(status.message()), ' ');
  // The message about a setting of a flavor or an image has a colon after its name.
  refusal.items.push_back({{"field", std::string(absl::StripSuffix(words[0], ":"))}});
  return WireStatus(absl::StatusCode::kInvalidArgument, status.message(), kTrackerDomain, refusal);
}

}  // namespace berth::services
