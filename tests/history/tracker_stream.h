// TrackerStream: the tracker's end of one stream of ReportService.Session.
//
// A thread of its own reads the messages, so that the owner can wait for one for a limited time. One
// owner thread.
#ifndef BERTH_TESTS_HISTORY_TRACKER_STREAM_H_
#define BERTH_TESTS_HISTORY_TRACKER_STREAM_H_

#include <grpcpp/client_context.h>

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "berth/placement/v1/report.grpc.pb.h"
#include "placement/ground/mutex.h"

namespace berth::history {

class TrackerStream {
 public:
  explicit TrackerStream(const std::string& address);
  // Cancels the stream and waits for the thread.
  ~TrackerStream();

  // What cannot be sent is lost, and the stream ends.
  void Send(const placement::v1::SessionRequest& request) { (void)stream_->Write(request); }
  // The next message; nothing if none comes within `limit`, or if the stream has ended.
  std::optional<placement::v1::SessionResponse> Next(std::chrono::milliseconds limit);
  bool ended() const;

 private:
  void Read();

  grpc::ClientContext context_;
  std::unique_ptr<placement::v1::ReportService::Stub> stub_;
  std::unique_ptr<
      grpc::ClientReaderWriter<placement::v1::SessionRequest, placement::v1::SessionResponse>>
      stream_;
  mutable placement::Mutex mutex_;
  placement::CondVar changed_;
  std::deque<placement::v1::SessionResponse> received_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace berth::history

#endif  // BERTH_TESTS_HISTORY_TRACKER_STREAM_H_
