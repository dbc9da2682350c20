// Which push is sent next, and when the answers to writes of records leave.
#include "services/report/push_queue.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace berth::services {
namespace {

using placement::ConsumerId;
using placement::InstanceId;
using placement::ProviderId;
using placement::Revision;
using placement::State;
using placement::Uuid;
using Numbers = std::set<uint64_t>;

const ProviderId kQueued{Uuid{1, 1}};
const ProviderId kQueuedToo{Uuid{1, 2}};

// A queue of the tracker on host h, whose nodes are kQueued and kQueuedToo.
class PushQueueTest : public ::testing::Test {
 protected:
  PushQueueTest() {
    for (const ProviderId node : {kQueued, kQueuedToo}) {
      auto config = std::make_shared<placement::ProviderConfig>();
      config->id = node;
      config->name = node.ToString();
      state_.Apply({placement::ProviderPut{std::move(config)}});
      nodes_.push_back({node, "n", "", {}});
    }
    SetNewest({2, 10});
  }
  void Prepare() {
    auto hello = std::make_shared<HelloFacts>();
    hello->service.host = "h";
    hello->nodes = nodes_;
    hello->identified = identified_;
    queue_.Prepare(std::move(hello));
  }
  void Welcome() {
    Prepare();
    queue_.Begin(nodes_, {});
  }
  void SetNewest(Revision revision) {
    placement::Position position = state_.position();
    position.revision = revision;
    state_.set_position(position);
  }
  // A consumer gives up what it held of `node`.
  void Note(uint64_t number, ProviderId node = kQueued) {
    const ConsumerId consumer{Uuid{7, number}};
    const auto changes =
        std::make_shared<const placement::Changes>(1, placement::ConsumerRemoved{consumer});
    auto scope = std::make_shared<placement::Scope>();
    scope->gave_up = {{consumer, {node}}};
    placement::FeedCommand command{.actor = "any",
                                   .request_id = "",
                                   .changes = changes,
                                   .scope = scope,
                                   .concerned = ConcernedBy(*changes, *scope)};
    queue_.Note(command, false);
  }
  // Takes the next push and returns the numbers of its consumers; nothing if there is none.
  Numbers Take(Revision dispatched = {2, 10}) {
    push_ = queue_.Take(state_, dispatched);
    Numbers numbers;
    if (!push_) return numbers;
    for (const ConsumerId& id : push_->rest.consumers) numbers.insert(id.uuid.low);
    return numbers;
  }
  // Answers to writes of instance 1, by their ids.
  Numbers Answers() {
    Numbers ids;
    for (const pb::SessionResponse& response : queue_.TakeAnswers(state_)) {
      ids.insert(static_cast<uint64_t>(response.record_answer().write_id()));
      generation_ = response.record_answer().instances(0).generation();
    }
    return ids;
  }
  void Hold(int64_t write_id) {
    pb::RecordWrite write;
    write.set_write_id(write_id);
    write.set_node_uuid(kQueued.ToString());
    write.mutable_instance()->set_uuid(Uuid{11, 1}.ToString());
    queue_.Hold(AnswerTo(write, {{}, nodes_, {}}));
  }
  void PutInstance(int64_t generation) {
    auto instance = std::make_shared<placement::InstanceRecord>();
    instance->id = InstanceId{Uuid{11, 1}};
    instance->generation = placement::Generation{generation};
    instance->host = "h";
    instance->node = kQueued;
    state_.Apply({placement::InstancePut{std::move(instance)}});
  }

  State state_;
  std::vector<HelloNode> nodes_;
  bool identified_ = false;
  PushQueue queue_;
  std::optional<OpenPush> push_;
  int64_t generation_ = 0;
};

TEST_F(PushQueueTest, APushIsFinishedBeforeTheNextBegins) {
  Welcome();
  EXPECT_FALSE(queue_.GetJob());
  Note(1);
  Note(2);
  EXPECT_TRUE(queue_.GetJob());
  EXPECT_FALSE(queue_.GetJob());  // another worker has it
  EXPECT_EQ(Take(), (Numbers{1, 2}));
  EXPECT_TRUE(queue_.IsOpen(kQueued));
  EXPECT_FALSE(queue_.IsOpen(kQueuedToo));
  Note(3);
  push_->rest.consumers.erase(ConsumerId{Uuid{7, 1}});
  queue_.Return(*std::move(push_), true);
  EXPECT_TRUE(queue_.GetJob());
  EXPECT_EQ(Take(), Numbers{2});  // the second slice
  queue_.Return(*std::move(push_), false);
  EXPECT_FALSE(queue_.IsOpen(kQueued));
  EXPECT_TRUE(queue_.GetJob());
  EXPECT_EQ(Take(), Numbers{3});
}

TEST_F(PushQueueTest, AWorkerThatLeavesTakesNothingAlong) {
  Welcome();
  Note(1);
  EXPECT_TRUE(queue_.GetJob());
  queue_.Leave();
  EXPECT_TRUE(queue_.GetJob());
  EXPECT_EQ(Take(), Numbers{1});
}

TEST_F(PushQueueTest, NothingIsPushedWhileAHelloIsAnswered) {
  Welcome();
  Note(1);
  nodes_ = {{kQueued, "n", "", {}}};
  Prepare();
  Note(2);
  EXPECT_FALSE(queue_.GetJob());
  EXPECT_EQ(Take(), Numbers());
  PushScopes missed;
  missed[kQueued].consumers.insert(ConsumerId{Uuid{7, 3}});
  queue_.Begin(nodes_, std::move(missed));
  Note(4, kQueuedToo);  // the Hello does not name it any more
  EXPECT_TRUE(queue_.GetJob());
  EXPECT_EQ(Take(), (Numbers{1, 2, 3}));
  queue_.Return(*std::move(push_), false);
  EXPECT_FALSE(queue_.GetJob());
}

// A push of changes may lack those that were not noted yet; one that is complete lacks none.
TEST_F(PushQueueTest, APushSaysUpToWhereItHasEverything) {
  Welcome();
  SetNewest({2, 15});
  Note(1);
  Take({2, 12});
  EXPECT_EQ(push_->revision, (Revision{2, 12}));
  EXPECT_FALSE(push_->names_all);
  queue_.Return(*std::move(push_), false);
  queue_.NoteAll(kQueued);
  Take({2, 12});
  EXPECT_EQ(push_->revision, (Revision{2, 15}));
  EXPECT_TRUE(push_->names_all);
}

TEST_F(PushQueueTest, ATrackerIsNotToldOfANodeThatAnotherHostHas) {
  auto service = std::make_shared<placement::ServiceRecord>();
  service->host = "h2";
  service->binary = std::string(placement::kTrackerBinary);
  service->up = true;
  auto node = std::make_shared<placement::NodeRecord>();
  node->id = kQueued;
  node->host = "h2";
  state_.Apply({placement::ServicePut{std::move(service)}, placement::NodePut{std::move(node)}});
  Welcome();
  queue_.NoteAll();
  // The service may have changed, too; it is the tracker's own, whoever has the node.
  Take();
  ASSERT_TRUE(push_);
  EXPECT_EQ(push_->node, kQueued);
  EXPECT_TRUE(push_->rest.service);
  EXPECT_FALSE(push_->names_all);
  queue_.Return(*std::move(push_), false);
  Take();
  ASSERT_TRUE(push_);
  EXPECT_EQ(push_->node, kQueuedToo);
  EXPECT_TRUE(push_->rest.service);
  EXPECT_TRUE(push_->names_all);
  queue_.Return(*std::move(push_), false);
  Take();
  EXPECT_FALSE(push_);
}

// A tracker with a certificate is told of the nodes that are recorded for its host.
TEST_F(PushQueueTest, ATrackerWithACertificateIsToldOfItsNodesAlone) {
  identified_ = true;
  const auto put = [this](ProviderId id, const std::string& host) {
    auto node = std::make_shared<placement::NodeRecord>();
    node->id = id;
    node->host = host;
    state_.Apply({placement::NodePut{std::move(node)}});
  };
  put(kQueued, "down");  // which has no tracker
  Welcome();
  queue_.NoteAll();
  for (const ProviderId node : {kQueued, kQueuedToo}) {
    Take();
    ASSERT_TRUE(push_);
    EXPECT_EQ(push_->node, node);
    EXPECT_FALSE(push_->names_all);  // T-22, T-387
    queue_.Return(*std::move(push_), false);
  }
  put(kQueued, "h");
  put(kQueuedToo, "h");
  queue_.NoteAll();
  for (const ProviderId node : {kQueued, kQueuedToo}) {
    Take();
    ASSERT_TRUE(push_);
    EXPECT_EQ(push_->node, node);
    EXPECT_TRUE(push_->names_all);
    queue_.Return(*std::move(push_), false);
  }
}

TEST_F(PushQueueTest, AnAnswerWaitsForTheLastSliceAndHasTheNewestValues) {
  Welcome();
  PutInstance(1);
  Hold(1);
  EXPECT_EQ(Answers(), Numbers{1});
  EXPECT_EQ(Answers(), Numbers());
  Note(1);
  Take();
  Hold(2);
  EXPECT_EQ(Answers(), Numbers());
  queue_.Return(*std::move(push_), true);
  Hold(3);
  EXPECT_EQ(Answers(), Numbers());
  PutInstance(2);
  Take();
  queue_.Return(*std::move(push_), false);
  EXPECT_EQ(Answers(), (Numbers{2, 3}));
  EXPECT_EQ(generation_, 2);
}

}  // namespace
}  // namespace berth::services
