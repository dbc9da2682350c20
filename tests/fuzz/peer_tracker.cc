#include "tests/fuzz/peer_tracker.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "services/tracker/claim_messages.h"
#include "tests/fuzz/peer_names.h"
#include "tracker/account/migration_status.h"
#include "tracker/claims/ending.h"
#include "tracker/claims/refusal.h"
#include "tracker/ground/uuid.h"
#include "tracker/uplink/push.h"
#include "tracker/uplink/record_messages.h"

namespace berth::fuzz {
namespace {

namespace pb = ::berth::placement::v1;
namespace tracker_pb = ::berth::tracker::v1;
using tracker::ClaimRefusalKind;

// 8 dedicated CPUs, two network cards and two units of persistent memory.
tracker::NodeResources Resources() {
  tracker::NodeResources resources;
  resources.total = {8, 4096, 100 * tracker::kMibPerGib};
  tracker::NumaCell cell;
  cell.id = 0;
  cell.cpus = tracker::CpuSet::Range(0, 7);
  cell.dedicated_cpus = tracker::CpuSet::Range(0, 7);
  cell.memory_mib = 4096;
  cell.siblings = {{0, 1}, {2, 3}, {4, 5}, {6, 7}};
  cell.pages = {{4, 1048576, 0, 0}};
  resources.topology = tracker::NumaTopology{{cell}, {}};
  for (const char* address : {"0000:81:00.0", "0000:81:01.0"}) {
    tracker::PciDevice& device = resources.devices.emplace_back();
    device.address = address;
    device.vendor_id = "8086";
    device.product_id = "1533";
    device.dev_type = "type-PCI";
    device.numa_node = 0;
  }
  resources.device_specs = *tracker::DeviceSpecs::Parse({R"({"vendor_id": "8086"})"}, {});
  resources.units = {{kHonestNode, "CUSTOM_A", "unit-0"}, {kHonestNode, "CUSTOM_A", "unit-1"}};
  return resources;
}

// What the session of a tracker would do with what `write` became.
absl::Status StatusIn(const pb::RecordAnswer& answer) {
  return absl::Status(static_cast<absl::StatusCode>(answer.status().code()),
                      answer.status().message());
}

}  // namespace

PeerTracker::PeerTracker(PeerPlacement* placement)
    : placement_(placement), account_({kHonestHost, kHonestNode}, Resources()) {
  settings_.device_aliases = *tracker::ParseDeviceAliases(
      {R"({"name": "nic", "vendor_id": "8086", "product_id": "1533"})"});
  Hear();
  tracker_pb::ClaimInstanceRequest claim;
  claim.set_node_uuid(kHonestNode);
  *claim.mutable_instance() = placement_->Instance(kAnchor);
  pb::GuestCell* const cell = claim.mutable_instance()->add_numa_cells();
  cell->add_pinned_cpus(0);
  cell->set_memory_mib(64);
  cell->set_cpu_policy("dedicated");
  const absl::Status claimed = ClaimInstance(claim);
  EXPECT_TRUE(claimed.ok()) << claimed;
}

void PeerTracker::Hear() {
  const std::string bytes = placement_->PushFor(kHonestHost, kHonestNode).SerializeAsString();
  pb::Push push;
  ASSERT_TRUE(push.ParseFromString(bytes));
  pb::Revision revision;
  revision.set_epoch(1);
  revision.set_number(placement_->commands() + 1);
  tracker::ApplyPush(push, revision, &records_, &account_);
}

absl::Status PeerTracker::CheckNode(const std::string& node_uuid) const {
  if (node_uuid == kHonestNode) return absl::OkStatus();
  return tracker::RefuseClaim({ClaimRefusalKind::kNodeUnavailable, {"this host has no such node"}});
}

absl::Status PeerTracker::ClaimInstance(const tracker_pb::ClaimInstanceRequest& request) {
  const auto asked = services::ClaimOf(request);
  if (!asked.ok()) return asked.status();
  const absl::Status node = CheckNode(asked->node_uuid);
  if (!node.ok()) return node;
  return Begin(tracker::ClaimInstance(settings_, *asked, &account_));
}

absl::Status PeerTracker::ClaimMove(const tracker_pb::ClaimMoveRequest& request) {
  const auto asked = services::ClaimOf(request);
  if (!asked.ok()) return asked.status();
  const absl::Status node = CheckNode(asked->node_uuid);
  if (!node.ok()) return node;
  return Begin(tracker::ClaimMove(settings_, *asked, &account_));
}

// Every third claim is withdrawn first, as if the answer to it had been lost.
absl::Status PeerTracker::Begin(const absl::StatusOr<tracker::OpenClaim>& claim) {
  if (!claim.ok()) return claim.status();
  const std::string& uuid = claim->instance.uuid;
  if (account_.OpenClaimOf(uuid) == nullptr) return absl::OkStatus();  // a repeat
  if (!account_.CountsWhenRecorded(*claim)) {
    account_.Close(uuid, claim->id);
    return tracker::RefuseClaim(ClaimRefusalKind::kWrongState, "is neither built nor moved here");
  }
  tracker::RecordWrites::Outgoing write;
  write.instance = claim->instance;
  write.migration = claim->migration;
  write.withdraw = writes_ % 3 == 2;
  const absl::Status written = Write(std::move(write));
  tracker_pb::Claim filled;
  services::FillClaim(*claim, &filled);
  EXPECT_FALSE(filled.claim_id().empty());
  written_[filled.claim_id()] = *claim;
  // An open claim ends by itself when the records say the same.
  if (account_.OpenClaimOf(uuid) != nullptr) account_.Close(uuid, claim->id);
  return written;
}

absl::Status PeerTracker::Write(tracker::RecordWrites::Outgoing write) {
  write.id = ++writes_;
  pb::SessionRequest message;
  *message.mutable_record_write() = tracker::WireWrite(write, kHonestNode);
  pb::SessionRequest read;
  EXPECT_TRUE(read.ParseFromString(message.SerializeAsString()));
  const auto response = placement_->Take(kHonestHost, read);
  EXPECT_TRUE(response.ok()) << "a write ends the session: " << response.status();
  if (!response.ok()) return response.status();
  const pb::RecordAnswer& answer = response->record_answer();
  tracker::ApplyAnswer(answer, &account_);
  const absl::Status status = StatusIn(answer);
  EXPECT_TRUE(!absl::IsInvalidArgument(status) ||
              absl::StartsWith(status.message(), "migration.uuid must be a migration of"))
      << status;
  return status.ok() ? absl::OkStatus() : tracker::RefusalBy(status, write.ends_move);
}

absl::Status PeerTracker::AbortClaim(const tracker_pb::AbortClaimRequest& request) {
  const auto node = tracker::CanonicalUuid(request.node_uuid());
  if (!node || request.claim_id().empty()) {
    return absl::InvalidArgumentError(node ? "claim_id is required" : "node_uuid must be a uuid");
  }
  const auto found = written_.find(request.claim_id());
  const absl::Status gone = tracker::RefuseClaim(ClaimRefusalKind::kNoSuchClaim, "no such claim");
  if (found == written_.end() || !account_.HasClaim(found->second)) return gone;
  const tracker::OpenClaim& claim = found->second;
  const auto instance = account_.FindInstance(claim.instance.uuid);
  const tracker::Migration* const migration =
      claim.migration ? account_.FindMigration(claim.migration->uuid) : nullptr;
  if (!instance || (claim.migration && migration == nullptr)) return gone;
  const tracker::Ending ending =
      tracker::AbortClaim(claim, &*instance, migration, "failed", &account_);
  if (!ending.instance) return absl::OkStatus();
  tracker::RecordWrites::Outgoing write;
  write.instance = *ending.instance;
  write.migration = ending.migration;
  write.ends_move = ending.migration.has_value();
  return Write(std::move(write));
}

absl::Status PeerTracker::DropMoveClaim(const tracker_pb::DropMoveClaimRequest& request) {
  if (!tracker::CanonicalUuid(request.node_uuid())) {
    return absl::InvalidArgumentError("node_uuid must be a uuid");
  }
  const auto drop = services::DropOf(request);
  if (!drop.ok()) return drop.status();
  const auto instance = account_.FindInstance(drop->instance_uuid);
  const tracker::Migration* const migration = account_.FindMigration(drop->migration_uuid);
  if (!instance || migration == nullptr) return absl::OkStatus();
  const auto ending = drop->side == tracker::ClaimEnd::kConfirm
                          ? tracker::ConfirmMove(*instance, *migration)
                          : tracker::RevertMove(*instance, *migration);
  if (!ending.ok()) return ending.status();
  tracker::RecordWrites::Outgoing write;
  write.instance = *ending->instance;
  write.migration = ending->migration;
  write.ends_move = true;
  return Write(std::move(write));
}

absl::Status PeerTracker::UpdateUsage(const tracker_pb::UpdateUsageRequest& request) const {
  const absl::Status form = services::CheckInstance(request.instance());
  if (!form.ok()) return form;
  const tracker::Instance known = tracker::ReadInstance(request.instance());
  account_.HasInstance(known.uuid, known.generation);
  account_.IsTracked(known.uuid);
  return absl::OkStatus();
}

}  // namespace berth::fuzz
