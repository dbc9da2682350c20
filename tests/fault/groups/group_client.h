// GroupClient: a scheduler that places members of server groups, whatever fails, moves some of them
// and releases others, and reports what it is told.
//
// Each write has a request id, and is sent again until its outcome is known. One thread.
#ifndef BERTH_TESTS_FAULT_GROUPS_GROUP_CLIENT_H_
#define BERTH_TESTS_FAULT_GROUPS_GROUP_CLIENT_H_

#include <google/protobuf/message.h>
#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "absl/time/time.h"
#include "berth/placement/v1/record.pb.h"
#include "tests/fault/groups/group_history.h"
#include "tests/fault/groups/group_plan.h"
#include "tests/fault/groups/group_report.h"

namespace berth::fault {

// What the clients of one process share. Thread-safe.
struct GroupWork {
  const GroupPlan plan;
  const std::shared_ptr<grpc::ChannelCredentials> credentials;
  GroupProgress progress;
  GroupReport report;
};

class GroupClient {
 public:
  GroupClient(uint64_t seed, GroupWork* work) : random_(seed), work_(work) {}

  // Takes one member after the other, until all are taken or the clients have to stop.
  void Run();

 private:
  enum class Outcome { kDone, kRefused, kOpen };
  // The member that the client has in hand.
  struct Member {
    std::string group, instance, host;
    int64_t generation = 0;  // of the record
    int64_t consumer_generation = 0;
  };

  bool HasToStop() const { return work_->progress->stop; }
  // Waits until a scheduler may begin with this member. False if schedulers end first.
  bool AwaitTurn(int64_t number) const;
  bool Chance(int percent) { return static_cast<int>(random_() % 100) < percent; }
  void Place(Member* member);
  void Move(Member* member);
  // Gives the move its destination, and the member its allocations there. Keeps `move` up to date.
  bool Carry(const Member& member, const std::string& host, berth::placement::v1::Migration* move);
  void PutOn(const std::string& host, berth::placement::v1::Instance* instance) const;
  void Release(const Member& member);
  // A host that the group allows as the client reads it: none if it finds no such host.
  std::optional<std::string> Choose(const Member& member);
  // Writes; `refusal` says what stands in the way if it is refused for the sake of the group, or for
  // lack of a place. False if it was refused, or the client has to stop.
  bool Write(const std::string& method, google::protobuf::Message* request,
             google::protobuf::Message* response, GroupRefusal refusal);
  // Reports a refusal, or complains about it.
  void Note(const std::string& method, GroupRefusal refusal);
  Outcome Send(const std::string& method, const google::protobuf::Message& request,
               google::protobuf::Message* response);
  // Looks the write up; kOpen if it was not done. With `cancels` it cannot be done afterwards either.
  Outcome Ask(const std::string& id, bool cancels, google::protobuf::Message* response);
  // Both ask until a process answers. False: the client has to stop, or has complained that none does.
  bool Read(const std::string& method, const google::protobuf::Message& request,
            google::protobuf::Message* response);
  void Connect();

  std::mt19937_64 random_;
  GroupWork* const work_;
  std::string address_;
  std::shared_ptr<grpc::Channel> channel_;
  std::string reason_, message_;  // of the last refusal
  int64_t revision_ = 0;          // at which it was decided; 0: it does not say
};

}  // namespace berth::fault

#endif  // BERTH_TESTS_FAULT_GROUPS_GROUP_CLIENT_H_
