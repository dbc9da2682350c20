#include "tests/fuzz/peer_tracker.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "services/tracker/claim_messages.h"
#include "tests/fuzz/peer_names.h"
#include "tracker/account/account.h"
#include "tracker/audit/records.h"
#include "tracker/claims/claim.h"
#include "tracker/claims/ending.h"
#include "tracker/claims/refusal.h"
#include "tracker/ground/uuid.h"
#include "tracker/node/record_writes.h"
#include "tracker/uplink/push.h"
#include "tracker/uplink/record_form.h"
#include "tracker/uplink/record_messages.h"

namespace berth::fuzz {
namespace {

namespace pb = ::berth::placement::v1;
namespace tracker_pb = ::berth::tracker::v1;
using tracker::ClaimRefusalKind;

tracker::Uuid HonestNode() { return *tracker::Uuid::Parse(kHonestNode); }

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
  resources.units = {{HonestNode(), "CUSTOM_A", "unit-0"}, {HonestNode(), "CUSTOM_A", "unit-1"}};
  return resources;
}

// What the session of a tracker would do with what `write` became.
absl::Status StatusIn(const pb::RecordAnswer& answer) {
  return absl::Status(static_cast<absl::StatusCode>(answer.status().code()),
                      answer.status().message());
}

}  // namespace

class PeerTracker::Node {
 public:
  explicit Node(PlacementSession session) : session_(std::move(session)) {
    settings_.device_aliases = *tracker::ParseDeviceAliases(
        {R"({"name": "nic", "vendor_id": "8086", "product_id": "1533"})"});
  }

  void Hear();
  absl::Status Answer(const PeerStep& step);
  void ExpectSound() const;

 private:
  absl::Status ClaimInstance(const tracker_pb::ClaimInstanceRequest& request);
  absl::Status ClaimMove(const tracker_pb::ClaimMoveRequest& request);
  absl::Status AbortClaim(const tracker_pb::AbortClaimRequest& request);
  absl::Status DropMoveClaim(const tracker_pb::DropMoveClaimRequest& request);
  absl::Status UpdateUsage(const tracker_pb::UpdateUsageRequest& request) const;
  absl::Status Begin(const absl::StatusOr<tracker::OpenClaim>& claim);
  absl::Status Write(tracker::RecordWrites::Outgoing write);

  const PlacementSession session_;
  tracker::ClaimSettings settings_;
  tracker::NodeAccount account_{{kHonestHost, HonestNode()}, Resources()};
  tracker::Records records_;
  std::map<std::string, tracker::OpenClaim> written_;  // by id
  int64_t pushes_ = 0;
  int64_t writes_ = 0;
};

PeerTracker::PeerTracker(PlacementSession session, pb::Instance anchor)
    : node_(std::make_unique<Node>(std::move(session))) {
  Hear();
  pb::GuestCell* const cell = anchor.add_numa_cells();
  cell->add_pinned_cpus(0);
  cell->set_memory_mib(64);
  cell->set_cpu_policy("dedicated");
  PeerStep claim;
  claim.mutable_claim_instance()->set_node_uuid(kHonestNode);
  *claim.mutable_claim_instance()->mutable_instance() = std::move(anchor);
  EXPECT_TRUE(Call(claim));
}

PeerTracker::~PeerTracker() = default;

void PeerTracker::Hear() { node_->Hear(); }

bool PeerTracker::Call(const PeerStep& step) {
  const absl::Status status = node_->Answer(step);
  node_->ExpectSound();
  if (status.ok()) return true;
  EXPECT_NE(services::ReasonOf(status), "INTERNAL") << status;
  EXPECT_FALSE(services::ClaimStatus(status).ok());
  return false;
}

void PeerTracker::Node::ExpectSound() const {
  EXPECT_TRUE(account_ == account_.Rebuilt());
  // Each claim was written or refused, so the records say all.
  tracker::NodeAccount recorded(account_.self(), account_.resources());
  for (const auto& [uuid, instance] : account_.instances()) recorded.PutInstance(instance);
  for (const auto& [uuid, migration] : account_.migrations()) recorded.PutMigration(migration);
  EXPECT_TRUE(account_ == recorded);
  EXPECT_TRUE(account_.faults().empty()) << account_.faults()[0].text;
}

absl::Status PeerTracker::Node::Answer(const PeerStep& step) {
  switch (step.message_case()) {
    case PeerStep::kClaimInstance:
      return ClaimInstance(step.claim_instance());
    case PeerStep::kClaimMove:
      return ClaimMove(step.claim_move());
    case PeerStep::kAbortClaim:
      return AbortClaim(step.abort_claim());
    case PeerStep::kDropMoveClaim:
      return DropMoveClaim(step.drop_move_claim());
    case PeerStep::kUpdateUsage:
      return UpdateUsage(step.update_usage());
    default:
      return absl::OkStatus();
  }
}

void PeerTracker::Node::Hear() {
  const std::string bytes = session_.push().SerializeAsString();
  pb::Push push;
  ASSERT_TRUE(push.ParseFromString(bytes));
  pb::Revision revision;
  revision.set_epoch(1);
  revision.set_number(++pushes_);
  tracker::ApplyPush(push, revision, &records_, &account_);
}

absl::Status PeerTracker::Node::ClaimInstance(const tracker_pb::ClaimInstanceRequest& request) {
  const auto asked = services::ClaimOf(request);
  if (!asked.ok()) return asked.status();
  return Begin(tracker::ClaimInstance(settings_, *asked, &account_));
}

absl::Status PeerTracker::Node::ClaimMove(const tracker_pb::ClaimMoveRequest& request) {
  const auto asked = services::ClaimOf(request);
  if (!asked.ok()) return asked.status();
  return Begin(tracker::ClaimMove(settings_, *asked, &account_));
}

// Every third claim is withdrawn first, as if the answer to it had been lost.
absl::Status PeerTracker::Node::Begin(const absl::StatusOr<tracker::OpenClaim>& claim) {
  if (!claim.ok()) return claim.status();
  const tracker::Uuid uuid = claim->instance.uuid;
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

absl::Status PeerTracker::Node::Write(tracker::RecordWrites::Outgoing write) {
  write.id = ++writes_;
  pb::SessionRequest message;
  *message.mutable_record_write() = tracker::WireWrite(write, HonestNode());
  // A write that placement would refuse for its form is not sent.
  const absl::Status form = tracker::CheckWriteForm(message.record_write());
  if (!form.ok()) return form;
  pb::SessionRequest read;
  EXPECT_TRUE(read.ParseFromString(message.SerializeAsString()));
  const auto response = session_.send(read);
  EXPECT_TRUE(response.ok()) << "a write ends the session: " << response.status();
  if (!response.ok()) return response.status();
  const pb::RecordAnswer& answer = response->record_answer();
  tracker::ApplyAnswer(answer, &account_);
  const absl::Status status = StatusIn(answer);
  EXPECT_TRUE(!absl::IsInvalidArgument(status) ||
              absl::StartsWith(status.message(), "migration.uuid must be a migration of"))
      << status;
  return status.ok() ? absl::OkStatus() : tracker::RefusalBy({status}, write.ends_move);
}

absl::Status PeerTracker::Node::AbortClaim(const tracker_pb::AbortClaimRequest& request) {
  const auto node = services::ReadUuid("node_uuid", request.node_uuid());
  if (!node.ok()) return node.status();
  const auto id = services::ClaimIdOf(request);
  if (!id.ok()) return id.status();
  const auto found = written_.find(*id);
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

absl::Status PeerTracker::Node::DropMoveClaim(const tracker_pb::DropMoveClaimRequest& request) {
  const auto node = services::ReadUuid("node_uuid", request.node_uuid());
  if (!node.ok()) return node.status();
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

absl::Status PeerTracker::Node::UpdateUsage(const tracker_pb::UpdateUsageRequest& request) const {
  const absl::Status form = services::CheckInstance(request.instance());
  if (!form.ok()) return form;
  const tracker::Instance known = services::KnownOf(request);
  account_.HasInstance(known.uuid, known.generation);
  account_.IsTracked(known.uuid);
  return absl::OkStatus();
}

}  // namespace berth::fuzz
