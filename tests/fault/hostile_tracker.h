// HostileTracker: the tracker of a host of its own, which sends placement half-valid messages of a
// session. One thread at a time.
#ifndef BERTH_TESTS_FAULT_HOSTILE_TRACKER_H_
#define BERTH_TESTS_FAULT_HOSTILE_TRACKER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "berth/placement/v1/report.grpc.pb.h"
#include "tests/fault/hostile_plan.h"
#include "tests/fuzz/message_mutator.h"

namespace berth::fault {

class HostileTracker {
 public:
  // The host is called hostile-`number`.
  HostileTracker(const HostilePlan& plan, int number, uint64_t seed);

  // Registers the host, and reports its node. An instance then holds something there.
  void Appear();
  // Opens one session after the other until the pace is stopped.
  void Run();

 private:
  using Request = placement::v1::SessionRequest;
  using Response = placement::v1::SessionResponse;

  void Open();
  void Session();
  // Sends the message, and waits for the answer if there will be one. Returns false if the stream has
  // ended.
  bool Exchange(const Request& request);
  bool AwaitAnswer(const Request& request, std::string* answer);
  std::string Finish();
  void Learn(const Response& response);

  bool Spoiled() { return random_() % 8 > 0; }
  Request MakeHello();
  Request MakeReport();
  Request MakeRecordWrite();
  Request MakeOther();
  placement::v1::WantedProvider MakeProvider(const std::string& uuid);

  const HostilePlan plan_;
  const std::string host_;
  const std::string node_;
  const std::string child_;  // a provider below the node
  std::string incarnation_;  // that placement has welcomed
  std::mt19937 random_;
  fuzz::Words words_;
  fuzz::MessageMutator mutator_{&words_, &random_};
  const std::unique_ptr<placement::v1::ReportService::Stub> service_;

  // The open session. Null: there is none.
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReaderWriter<Request, Response>> stream_;

  // What placement has told.
  std::map<std::string, int64_t> generations_;  // of providers
  std::string consumer_;                        // holds something on the node
  int64_t consumer_generation_ = 0;
  int64_t sequence_ = 0;
};

}  // namespace berth::fault

#endif  // BERTH_TESTS_FAULT_HOSTILE_TRACKER_H_
