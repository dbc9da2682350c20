// Who owns which service and which nodes, whatever the order in which streams open, say Hello and end.
#include "services/report/connections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::services {
namespace {

using placement::ProviderId;
using placement::Uuid;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class OpenStream : public TrackerStream {
 public:
  OpenStream(const std::string& host, uint64_t process, const std::string& binary)
      : key_(host, binary), process_{0, process} {}
  const Liveness::Key& key() const override { return key_; }
  Uuid incarnation() const override { return process_; }
  bool ended() const override { return is_ended; }
  int64_t Touch(const placement::FeedCommand&) override { return 0; }
  void TouchAll() override {}
  void Tick() override {}
  void OrderSnapshot(ProviderId) override {}
  void OrderAudit(const std::string&, ProviderId) override {}
  void End(const absl::Status&) override { is_ended = true; }

  bool is_ended = false;

 private:
  const Liveness::Key key_;
  const Uuid process_;
};

ProviderId NodeNumber(uint64_t number) { return ProviderId{Uuid{0, number}}; }

class ConnectionsTest : public ::testing::Test {
 protected:
  std::shared_ptr<OpenStream> Open(const std::string& host, uint64_t process,
                                   const std::string& binary = "b") {
    auto stream = std::make_shared<OpenStream>(host, process, binary);
    connections_.Open(stream);
    return stream;
  }
  Connections connections_;
};

TEST_F(ConnectionsTest, AHelloNamesAllNodesAnew) {
  const auto stream = Open("h", 1);
  EXPECT_TRUE(connections_.Attach(stream, {NodeNumber(1), NodeNumber(2)}).is_owner);
  const auto again = connections_.Attach(stream, {NodeNumber(2), NodeNumber(3)});
  EXPECT_TRUE(again.is_owner);
  EXPECT_EQ(again.replaced, nullptr);
  EXPECT_THAT(again.released, ElementsAre(NodeNumber(1)));
  EXPECT_EQ(connections_.OwnerOf(NodeNumber(1)), nullptr);
  EXPECT_EQ(connections_.OwnerOf(NodeNumber(3)), stream);
  connections_.Own(stream, NodeNumber(4));
  EXPECT_THAT(connections_.Close(stream), ElementsAre(NodeNumber(2), NodeNumber(3), NodeNumber(4)));
  EXPECT_EQ(connections_.OwnerOf(NodeNumber(3)), nullptr);
  EXPECT_THAT(connections_.owners(), IsEmpty());
}

TEST_F(ConnectionsTest, ACommandIsToldToTheOwnersOfWhatItConcerns) {
  const auto one = Open("h1", 1, "berth-tracker");
  const auto two = Open("h2", 2, "berth-tracker");
  connections_.Attach(one, {NodeNumber(1), NodeNumber(2)});
  connections_.Attach(two, {NodeNumber(3)});
  placement::Concerned concerned;
  EXPECT_THAT(connections_.OwnersOf(concerned), IsEmpty());
  concerned.nodes = {{NodeNumber(1), false, {0}}, {NodeNumber(2), false, {0}}};
  concerned.hosts = {{"h1", {1}}, {"h3", {1}}};
  EXPECT_THAT(connections_.OwnersOf(concerned), ElementsAre(one));  // once
  concerned.hosts = {{"h2", {1}}};
  EXPECT_THAT(connections_.OwnersOf(concerned), UnorderedElementsAre(one, two));
  concerned.nodes = {{NodeNumber(4), false, {0}}};
  concerned.hosts = {};
  EXPECT_THAT(connections_.OwnersOf(concerned), IsEmpty());
}

TEST_F(ConnectionsTest, WhatHasEndedOwnsNothing) {
  const auto ended = Open("h", 1);
  ended->End(absl::OkStatus());
  EXPECT_FALSE(connections_.Attach(ended, {NodeNumber(1)}).is_owner);
  const auto closed = Open("h", 1);
  connections_.Close(closed);
  EXPECT_FALSE(connections_.Attach(closed, {NodeNumber(1)}).is_owner);
  connections_.Own(closed, NodeNumber(1));
  const auto later = Open("h", 1);
  EXPECT_TRUE(connections_.Attach(later, {}).is_owner);
  later->End(absl::OkStatus());
  connections_.Own(later, NodeNumber(1));
  EXPECT_EQ(connections_.OwnerOf(NodeNumber(1)), nullptr);
}

TEST_F(ConnectionsTest, AReplacedStreamNeverOwnsAgain) {
  const auto older = Open("h", 1);
  const auto newer = Open("h", 1);
  EXPECT_TRUE(connections_.Attach(older, {NodeNumber(1), NodeNumber(2)}).is_owner);
  const auto attached = connections_.Attach(newer, {NodeNumber(1)});
  EXPECT_EQ(attached.replaced, older);
  EXPECT_THAT(attached.released, ElementsAre(NodeNumber(2)));
  EXPECT_FALSE(connections_.Attach(older, {NodeNumber(2)}).is_owner);
  connections_.Own(older, NodeNumber(2));
  EXPECT_EQ(connections_.OwnerOf(NodeNumber(1)), newer);
  EXPECT_EQ(connections_.OwnerOf(NodeNumber(2)), nullptr);
  EXPECT_THAT(connections_.Close(older), IsEmpty());
  EXPECT_EQ(connections_.OwnerOf(Liveness::Key("h", "b")), newer);
}

// The Hello of the stream that opened first may be answered last.
TEST_F(ConnectionsTest, TheStreamThatOpenedLastWins) {
  const auto older = Open("h", 1);
  const auto newer = Open("h", 1);
  EXPECT_TRUE(connections_.Attach(newer, {NodeNumber(1)}).is_owner);
  EXPECT_FALSE(connections_.Attach(older, {NodeNumber(1)}).is_owner);
  EXPECT_EQ(connections_.OwnerOf(NodeNumber(1)), newer);
}

TEST_F(ConnectionsTest, ANodeMovesToTheStreamThatReportsIt) {
  const auto one = Open("h1", 1);
  const auto two = Open("h2", 2);
  connections_.Attach(one, {NodeNumber(1)});
  connections_.Attach(two, {});
  connections_.Own(two, NodeNumber(1));
  EXPECT_EQ(connections_.OwnerOf(NodeNumber(1)), two);
  EXPECT_THAT(connections_.Close(one), IsEmpty());
  EXPECT_THAT(connections_.Close(two), ElementsAre(NodeNumber(1)));
}

}  // namespace
}  // namespace berth::services
