// Pushes that come in several messages, and messages of many bytes.
#include "tests/processes/short_uuid.h"
#include "tests/tracker/uplink/fixture.h"

namespace berth::tracker {
namespace {

namespace v1 = placement::v1;

constexpr char kGone[] = "11111111-1111-4111-8111-111111111111";
constexpr char kStays[] = "22222222-2222-4222-8222-222222222222";
constexpr char kComes[] = "33333333-3333-4333-8333-333333333333";

class SlicesTest : public UplinkTest {
 protected:
  SlicesTest() {
    placement_.recorded.emplace_back();
    placement_.recorded[0].set_node_uuid(uuid_);
    placement_.recorded[0].set_node_name("n1");
    placement_.recorded[0].set_host("h");
    uplink_ = Connect(placement_);
    EXPECT_TRUE(
        Eventually([this] { return uplink_->status().state == Uplink::State::kConnected; }));
  }

  // A complete push that has the node's provider.
  FakePlacement::Response Push(int64_t revision) {
    KnownProvider known;
    known.uuid = ShortUuid(uuid_);
    known.name = "n1";
    known.generation = 5;
    FakePlacement::Response push = PushWithProvider(known);
    push.mutable_revision()->set_epoch(3);
    push.mutable_revision()->set_number(revision);
    return push;
  }
  void AddClaim(FakePlacement::Response* push, const char* uuid, int64_t amount) {
    v1::Consumer* const consumer = push->mutable_push()->add_consumers();
    consumer->set_uuid(uuid);
    consumer->add_allocations()->set_provider_uuid(uuid_);
    (*consumer->mutable_allocations(0)->mutable_resources())["VCPU"] = amount;
  }
  // Whether the tracker has processed everything that placement has said.
  bool HasHeardAll(const std::string& order) {
    FakePlacement::Response response;
    response.mutable_audit_order()->set_order_id(order);
    placement_.Say(response);
    return Eventually([&] { return last_order() == order; });
  }
  int64_t Allocated() { return node_->view().audit->report.accounting.allocated.vcpus; }

  FakePlacement placement_;
  std::unique_ptr<Uplink> uplink_;
};

TEST_F(SlicesTest, ACompletePushIsUsedWhenItsLastSliceHasCome) {
  FakePlacement::Response first = Push(40);
  AddClaim(&first, kGone, 1);
  first.mutable_push()->set_more(true);
  placement_.Say(first);
  ASSERT_TRUE(HasHeardAll("first"));
  EXPECT_FALSE(node_->view().has_records);  // no audit, no report on a part of the records
  EXPECT_TRUE(placement_.reports().empty());
  FakePlacement::Response last;
  last.mutable_push()->set_node_uuid(uuid_);
  last.mutable_push()->set_complete(true);
  *last.mutable_revision() = first.revision();
  AddClaim(&last, kStays, 2);
  placement_.Say(last);
  ASSERT_TRUE(Eventually([this] { return Allocated() == 3; }));
  EXPECT_EQ(node_->view().told_up_to, (LedgerRevision{3, 40}));

  first = Push(50);
  first.mutable_push()->set_more(true);
  AddClaim(&first, kComes, 4);
  placement_.Say(first);
  ASSERT_TRUE(HasHeardAll("second"));
  EXPECT_EQ(Allocated(), 3);
  EXPECT_EQ(node_->view().told_up_to, (LedgerRevision{3, 40}));
  *last.mutable_revision() = first.revision();
  placement_.Say(last);
  ASSERT_TRUE(Eventually([this] { return Allocated() == 6; }));
  EXPECT_EQ(node_->view().told_up_to, (LedgerRevision{3, 50}));
}

TEST_F(SlicesTest, AMessageMayHaveMoreThanGrpcAcceptsByDefault) {
  FakePlacement::Response push = Push(40);
  push.mutable_push()->add_removed_consumer_uuids(std::string(6 << 20, 'x'));
  AddClaim(&push, kStays, 2);
  placement_.Say(push);
  ASSERT_TRUE(Eventually([this] { return node_->view().told_up_to == LedgerRevision{3, 40}; }));
  EXPECT_EQ(Allocated(), 2);
  EXPECT_EQ(uplink_->status().sessions, 1);
}

}  // namespace
}  // namespace berth::tracker
