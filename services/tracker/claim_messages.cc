#include "services/tracker/claim_messages.h"

#include <optional>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "services/process/digest.h"
#include "services/process/status.h"
#include "tracker/claims/refusal.h"
#include "tracker/ground/status_macros.h"
#include "tracker/ground/uuid.h"
#include "tracker/uplink/record_messages.h"

namespace berth::services {
namespace {

namespace pb = berth::tracker::v1;
using Kind = tracker::ClaimRefusalKind;

constexpr size_t kRequestIdMax = 128;

absl::StatusOr<tracker::ClaimLimits> LimitsOf(const pb::Limits& limits) {
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
    return absl::InvalidArgumentError("limits.numa_cpu_ratio must be above 0");
  }
  if (!(read.cells->ram_allocation_ratio > 0)) {
    return absl::InvalidArgumentError("limits.numa_memory_ratio must be above 0");
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

// Reads what both kinds of claims have.
template <typename Request, typename Claim>
absl::Status ReadShared(const Request& request, Claim* claim) {
  const std::optional<std::string> node_uuid = tracker::CanonicalUuid(request.node_uuid());
  if (!node_uuid) return absl::InvalidArgumentError("node_uuid must be a uuid");
  claim->node_uuid = *node_uuid;
  if (request.request_id().size() > kRequestIdMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("request_id must have at most ", kRequestIdMax, " characters"));
  }
  BERTH_RETURN_IF_ERROR(CheckInstance(request.instance()));
  claim->id = request.request_id();
  if (!claim->id.empty()) claim->body = MessageDigest(request, {"request_id"});
  claim->instance = tracker::ReadInstance(request.instance());
  if (!claim->instance.unreadable.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("instance cannot be read: ", claim->instance.unreadable));
  }
  BERTH_ASSIGN_OR_RETURN(claim->limits, LimitsOf(request.limits()));
  for (const auto& held : request.allocations()) {
    for (const auto& [resource_class, amount] : held.resources()) {
      claim->units.push_back(
          {tracker::CanonicalIfUuid(held.provider_uuid()), resource_class, amount});
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<tracker::InstanceClaim> ClaimOf(const pb::ClaimInstanceRequest& request) {
  tracker::InstanceClaim claim;
  BERTH_RETURN_IF_ERROR(ReadShared(request, &claim));
  return claim;
}

absl::StatusOr<tracker::MoveClaim> ClaimOf(const pb::ClaimMoveRequest& request) {
  tracker::MoveClaim claim;
  BERTH_RETURN_IF_ERROR(ReadShared(request, &claim));
  if (!tracker::CanonicalUuid(request.migration().uuid())) {
    return absl::InvalidArgumentError("migration.uuid must be a uuid");
  }
  if (request.migration().generation() == 0) {
    return absl::InvalidArgumentError(
        "migration.generation is required: the generation of the record as it was last read");
  }
  claim.migration = tracker::ReadMigration(request.migration());
  claim.new_flavor =
      request.has_new_flavor() ? tracker::ReadFlavor(request.new_flavor()) : claim.instance.flavor;
  return claim;
}

absl::Status CheckInstance(const placement::v1::Instance& instance) {
  if (!tracker::CanonicalUuid(instance.uuid())) {
    return absl::InvalidArgumentError("instance.uuid must be a uuid");
  }
  if (instance.generation() == 0) {
    return absl::InvalidArgumentError(
        "instance.generation is required: the generation of the record as it was last read");
  }
  if (!instance.has_flavor()) return absl::InvalidArgumentError("instance.flavor is required");
  return absl::OkStatus();
}

std::string ClaimIdOf(const pb::AbortClaimRequest& request) {
  const absl::string_view id = request.claim_id();
  const size_t uuid = id.find('/');
  if (uuid == absl::string_view::npos) return tracker::CanonicalIfUuid(id);
  return absl::StrCat(tracker::CanonicalIfUuid(id.substr(0, uuid)), id.substr(uuid));
}

absl::StatusOr<tracker::MoveDrop> DropOf(const pb::DropMoveClaimRequest& request) {
  const auto instance = tracker::CanonicalUuid(request.instance_uuid());
  if (!instance) return absl::InvalidArgumentError("instance_uuid must be a uuid");
  const auto migration = tracker::CanonicalUuid(request.migration_uuid());
  if (!migration) return absl::InvalidArgumentError("migration_uuid must be a uuid");
  if (request.side() != pb::MOVE_SIDE_OLD && request.side() != pb::MOVE_SIDE_NEW) {
    return absl::InvalidArgumentError("side must be a side that this release knows");
  }
  const bool old = request.side() == pb::MOVE_SIDE_OLD;
  return tracker::MoveDrop{*instance, *migration,
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
  for (const std::string& address : assigned.devices) to->add_pci_devices()->set_address(address);
  for (const tracker::NamedUnit& unit : assigned.units) {
    pb::NamedUnit* const wire = to->add_named_units();
    wire->set_provider_uuid(unit.provider_uuid);
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
  refusal.items.push_back({{"field", words[0]}});
  return WireStatus(absl::StatusCode::kInvalidArgument, status.message(), kTrackerDomain, refusal);
}

}  // namespace berth::services
