#include "services/api/kept_reply.h"

#include <functional>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "berth/placement/v1/ledger.pb.h"
#include "services/api/audit_messages.h"
#include "services/api/host_messages.h"
#include "services/wire/allocation.h"
#include "services/wire/catalog.h"
#include "services/wire/claim.h"
#include "services/wire/consumer.h"
#include "services/wire/fleet.h"
#include "services/wire/import.h"
#include "services/wire/instance.h"
#include "services/wire/inventory.h"
#include "services/wire/provider.h"
#include "services/wire/reshape.h"

namespace berth::services {
namespace {

using Reply = std::function<void(const WriteAnswer&, google::protobuf::Any*)>;

template <typename Response>
void Pack(const WriteAnswer& answer, Response response, google::protobuf::Any* to) {
  SetRevision(answer.decision.revision, response.mutable_revision());
  to->PackFrom(response);
}

// Packs into `to` a reply that has only the revision.
template <typename Response>
void Bare(const WriteAnswer& answer, google::protobuf::Any* to) {
  Pack(answer, Response(), to);
}

// Returns a function that makes a reply: `fill` sets the fields of the reply from the answer.
template <typename Response>
Reply By(void (*fill)(const WriteAnswer&, Response*)) {
  return [fill](const WriteAnswer& answer, google::protobuf::Any* to) {
    Response response;
    fill(answer, &response);
    Pack(answer, std::move(response), to);
  };
}

// Like the function above, but `fill` also gets the part of the request that the ledger kept.
template <typename Response>
Reply By(void (*fill)(const WriteAnswer&, const std::string&, Response*)) {
  return [fill](const WriteAnswer& answer, google::protobuf::Any* to) {
    Response response;
    fill(answer, answer.decision.asked.subject, &response);
    Pack(answer, std::move(response), to);
  };
}

// Packs into `to` a reply with a service as it was after the command. The time at which the service
// was last heard is left out, because it is no longer known.
template <typename Response>
void OfService(const WriteAnswer& answer, google::protobuf::Any* to) {
  Response response;
  const auto id = placement::Uuid::Parse(answer.decision.asked.subject);
  if (id) FillService(*ServiceAfter(answer, *id), nullptr, response.mutable_service());
  Pack(answer, std::move(response), to);
}

// The same for the service of the tracker on the host that the request names.
void OfHost(const WriteAnswer& answer, google::protobuf::Any* to) {
  pb::UpdateHostResponse response;
  FillService(*TrackerAfter(answer, answer.decision.asked.subject), nullptr,
              response.mutable_service());
  Pack(answer, std::move(response), to);
}

// The same for a node.
template <typename Response>
void OfNode(const WriteAnswer& answer, google::protobuf::Any* to) {
  Response response;
  FillChangedNode(answer, answer.decision.asked.subject, response.mutable_node());
  Pack(answer, std::move(response), to);
}

std::map<std::string, Reply> RecordReplies() {
  return {
      {"AggregateService/DeleteAggregate", Bare<pb::DeleteAggregateResponse>},
      {"AggregateService/SetAggregate", By(FillSetAggregate)},
      {"InstanceService/CreateMigration", By(FillCreateMigration)},
      {"InstanceService/DeleteInstance", Bare<pb::DeleteInstanceResponse>},
      {"InstanceService/EndMove", By(FillEndMove)},
      {"InstanceService/SetInstance", By(FillSetInstance)},
      {"InstanceService/UpdateMigration", By(FillUpdateMigration)},
      {"ServerGroupService/DeleteServerGroup", Bare<pb::DeleteServerGroupResponse>},
      {"ServerGroupService/SetServerGroup", By(FillSetServerGroup)},
      {"ServerGroupService/UpdateServerGroupMembers", Bare<pb::UpdateServerGroupMembersResponse>},
  };
}

std::map<std::string, Reply> FleetReplies() {
  return {
      {"AuditService/ReleaseEvacuated", By(FillReleaseEvacuated)},
      {"AuditService/RepairAllocations", By(FillRepairAllocations)},
      {"FleetService/CreateNode", OfNode<pb::CreateNodeResponse>},
      {"FleetService/DeleteNode", By(FillDeleteNode)},
      {"FleetService/DeleteService", Bare<pb::DeleteServiceResponse>},
      {"FleetService/DisableService", OfService<pb::DisableServiceResponse>},
      {"FleetService/EnableService", OfService<pb::EnableServiceResponse>},
      {"FleetService/ForceServiceDown", OfService<pb::ForceServiceDownResponse>},
      {"FleetService/UpdateNode", OfNode<pb::UpdateNodeResponse>},
      {"HostService/UpdateHost", OfHost},
  };
}

std::map<std::string, Reply> MakeReplies() {
  std::map<std::string, Reply> replies = {
      {"AllocationService/AdjustAllocations", By(FillAdjustAllocations)},
      {"AllocationService/DeleteAllocations", Bare<pb::DeleteAllocationsResponse>},
      {"AllocationService/SetAllocations", By(FillSetAllocations)},
      {"AssociationService/ClearProviderTraits", By(FillClearTraits)},
      {"AssociationService/SetProviderAggregates", By(FillSetAggregates)},
      {"AssociationService/SetProviderTraits", By(FillSetTraits)},
      {"CandidateService/Claim", By(FillClaim)},
      {"CandidateService/ClaimMany", By(FillClaimMany)},
      {"CatalogService/CreateClass", Bare<pb::CreateClassResponse>},
      {"CatalogService/DeleteClass", Bare<pb::DeleteClassResponse>},
      {"CatalogService/DeleteTrait", Bare<pb::DeleteTraitResponse>},
      {"CatalogService/EnsureClass", By(FillEnsureClass)},
      {"CatalogService/EnsureTrait", By(FillEnsureTrait)},
      {"ConsumerService/ReleaseConsumers", By(FillReleaseConsumers)},
      {"ConsumerService/SetLease", By(FillSetLease)},
      {"InventoryService/CreateInventory", By(FillCreateInventory)},
      {"InventoryService/DeleteAllInventories", By(FillDeleteAllInventories)},
      {"InventoryService/DeleteInventory", By(FillDeleteInventory)},
      {"InventoryService/SetInventories", By(FillSetInventories)},
      {"InventoryService/UpdateInventory", By(FillUpdateInventory)},
      {"LedgerService/ImportLedger", By(FillImportLedger)},
      {"LedgerService/SetFormat", Bare<pb::SetFormatResponse>},
      {"ProviderService/CreateProvider", By(FillCreateProvider)},
      {"ProviderService/DeleteProvider", Bare<pb::DeleteProviderResponse>},
      {"ProviderService/UpdateProvider", By(FillUpdateProvider)},
      {"ReshapeService/ApplyTopology", By(FillApplyTopology)},
      {"ReshapeService/Reshape", By(FillReshape)},
  };
  replies.merge(RecordReplies());
  replies.merge(FleetReplies());
  return replies;
}

const std::map<std::string, Reply>& Replies() {
  static const auto* const replies = new std::map<std::string, Reply>(MakeReplies());
  return *replies;
}

constexpr char kPackage[] = "/berth.placement.v1.";

}  // namespace

placement::Asked AskedBy(const google::protobuf::Message& request, const std::string& method) {
  placement::Asked asked;
  asked.method = absl::StrCat("/", method);
  for (const char* name : {"resource_class", "service_uuid", "node_uuid", "host"}) {
    const auto* field = request.GetDescriptor()->FindFieldByName(name);
    if (field == nullptr) continue;
    asked.subject = request.GetReflection()->GetString(request, field);
    break;
  }
  return asked;
}

bool FillKeptReply(const WriteAnswer& answer, google::protobuf::Any* to) {
  absl::string_view method = answer.decision.asked.method;
  if (!absl::ConsumePrefix(&method, kPackage)) return false;
  const auto reply = Replies().find(std::string(method));
  if (reply == Replies().end()) return false;
  reply->second(answer, to);
  return true;
}

std::vector<std::string> KeptMethods() {
  std::vector<std::string> methods;
  for (const auto& [method, reply] : Replies()) methods.push_back(absl::StrCat(kPackage, method));
  return methods;
}

}  // namespace berth::services
