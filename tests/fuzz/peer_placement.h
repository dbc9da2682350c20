// PeerPlacement: placement as the sessions of two trackers reach it, with its state in memory. It
// does with each message what ReportSession does.
//
// Begins with the registered trackers of an honest and a hostile host, their nodes, and the records
// of peer_names.h; the anchor is not claimed yet. Not thread-safe.
#ifndef BERTH_TESTS_FUZZ_PEER_PLACEMENT_H_
#define BERTH_TESTS_FUZZ_PEER_PLACEMENT_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "berth/placement/v1/instance.pb.h"
#include "berth/placement/v1/report.pb.h"
#include "services/report/messages.h"
#include "tests/worlds/world.h"

namespace berth::fuzz {

class PeerPlacement {
 public:
  PeerPlacement();

  // Handles a message of the tracker of `host`, whose certificate names this host. Returns the
  // answer, which is empty if there is none. Fails if the session ends.
  absl::StatusOr<placement::v1::SessionResponse> Take(const std::string& host,
                                                      const placement::v1::SessionRequest& request);
  // Everything that a push to the host about its node says now.
  placement::v1::Push PushFor(const std::string& host, const std::string& node) const;

  const placement::State& state() const { return world_.state(); }
  int64_t commands() const { return world_.commands(); }
  // The record as it is; without a uuid if there is none.
  placement::v1::Instance Instance(const std::string& uuid) const;
  placement::v1::Migration Migration(const std::string& uuid) const;
  // Replaces kPresent by the present generation or sequence, wherever it stands in `message`.
  void FillIn(google::protobuf::Message* message) const;

  int applied() const { return applied_; }
  int refused() const { return refused_; }

 private:
  using Response = placement::v1::SessionResponse;

  absl::StatusOr<Response> Hello(const std::string& host, const placement::v1::Hello& hello);
  absl::StatusOr<Response> Report(const std::string& host, const placement::v1::Report& report);
  absl::StatusOr<Response> WriteRecords(const std::string& host,
                                        const placement::v1::RecordWrite& write);
  void RecordReadiness(const std::string& host, const placement::v1::Readiness& readiness);
  absl::StatusOr<placement::Outcome> Decide(placement::CommandBody body);
  void Must(absl::StatusOr<placement::CommandBody> body);
  void Create(const char* uuid, const char* node, const char* host);
  int64_t PresentOf(const google::protobuf::Message& message, const std::string& field) const;

  placement::World world_;
  std::map<std::string, services::HelloFacts> hellos_;  // by host
  int applied_ = 0;
  int refused_ = 0;
};

}  // namespace berth::fuzz

#endif  // BERTH_TESTS_FUZZ_PEER_PLACEMENT_H_
