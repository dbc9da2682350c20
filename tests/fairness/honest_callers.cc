#include "tests/fairness/honest_callers.h"

#include <grpcpp/client_context.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/fairness/requests.h"

namespace berth::fairness {

namespace pb = berth::placement::v1;

namespace {

constexpr absl::Duration kCallMax = absl::Seconds(10);

void Limit(grpc::ClientContext* context) {
  context->set_deadline(absl::ToChronoTime(absl::Now() + kCallMax));
}

}  // namespace

HealthCheck::HealthCheck(const std::shared_ptr<grpc::Channel>& channel)
    : stub_(grpc::health::v1::Health::NewStub(channel)) {}

grpc::Status HealthCheck::Run() {
  grpc::ClientContext context;
  Limit(&context);
  grpc::health::v1::HealthCheckResponse response;
  const grpc::Status status = stub_->Check(&context, {}, &response);
  if (!status.ok() || response.status() == grpc::health::v1::HealthCheckResponse::SERVING) {
    return status;
  }
  return {grpc::StatusCode::INTERNAL, "does not serve"};
}

ReadOfTheNext::ReadOfTheNext(const std::shared_ptr<grpc::Channel>& channel,
                             std::function<pb::Revision()> newest)
    : stub_(pb::LedgerService::NewStub(channel)), newest_(std::move(newest)) {}

grpc::Status ReadOfTheNext::Run() {
  grpc::ClientContext context;
  Limit(&context);
  pb::GetRevisionRequest request;
  *request.mutable_minimum_revision() = newest_();
  request.mutable_minimum_revision()->set_number(request.minimum_revision().number() + 1);
  pb::GetRevisionResponse response;
  return stub_->GetRevision(&context, request, &response);
}

ExportsFirst::ExportsFirst(const std::shared_ptr<grpc::Channel>& channel)
    : stub_(pb::LedgerService::NewStub(channel)) {}

grpc::Status ExportsFirst::Run() {
  grpc::ClientContext context;
  Limit(&context);
  const auto reader = stub_->ExportLedger(&context, {});
  pb::ExportLedgerResponse response;
  const bool read = reader->Read(&response);
  if (read) context.TryCancel();
  const grpc::Status status = reader->Finish();
  return read ? grpc::Status::OK : status;
}

LogIn::LogIn(const std::shared_ptr<grpc::Channel>& channel, const std::string& host, int tracker)
    : stub_(pb::ReportService::NewStub(channel)), host_(host), tracker_(tracker) {}

grpc::Status LogIn::Run() {
  grpc::ClientContext context;
  Limit(&context);
  const auto stream = stub_->Session(&context);
  const std::string wrong = Talk(stream.get());
  stream->WritesDone();
  pb::SessionResponse rest;
  while (stream->Read(&rest)) continue;
  const grpc::Status status = stream->Finish();
  if (!status.ok() || wrong.empty()) return status;
  return {grpc::StatusCode::INTERNAL, wrong};
}

bool LogIn::Await(Stream* stream, pb::SessionResponse::MessageCase wanted,
                  pb::SessionResponse* answer) {
  while (stream->Read(answer)) {
    const auto kind = answer->message_case();
    if (kind == wanted) return true;
    if (kind == pb::SessionResponse::kReject) return false;
  }
  return false;
}

std::string LogIn::Talk(Stream* stream) {
  pb::SessionResponse answer;
  if (!stream->Write(HelloOf(host_, incarnation_, tracker_, 0, 1)) ||
      !Await(stream, pb::SessionResponse::kWelcome, &answer)) {
    return "no welcome";
  }
  const pb::NodeWelcome welcome = answer.welcome().nodes(0);
  if (welcome.standing() == pb::NODE_STANDING_WAIT &&
      !Await(stream, pb::SessionResponse::kSnapshotOrder, &answer)) {
    return "no order for a snapshot";
  }
  pb::SessionRequest snapshot = SnapshotOf(tracker_, 0, 1, ++sequence_);
  snapshot.mutable_report()->set_sequence(welcome.last_sequence() + 1);
  for (pb::WantedProvider& provider : *snapshot.mutable_report()->mutable_providers()) {
    const auto known = generations_.find(provider.uuid());
    if (known != generations_.end()) provider.set_base_generation(known->second);
  }
  if (!stream->Write(snapshot) || !Await(stream, pb::SessionResponse::kAck, &answer)) {
    return absl::StrCat("no acknowledgement: ", answer.reject().status().message());
  }
  for (const auto& one : answer.ack().generations()) {
    generations_[one.provider_uuid()] = one.generation();
  }
  return "";
}

}  // namespace berth::fairness
