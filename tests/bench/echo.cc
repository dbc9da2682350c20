#include "tests/bench/echo.h"

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <utility>

#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "tests/bench/echo.grpc.pb.h"

namespace berth::bench {
namespace {

class EchoServer final : public EchoService::CallbackService {
 public:
  explicit EchoServer(Payload answer) : answer_(std::move(answer)) {}

  grpc::ServerUnaryReactor* Echo(grpc::CallbackServerContext* context, const Payload*,
                                 Payload* response) override {
    *response = answer_;
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

 private:
  const Payload answer_;
};

Payload PayloadOf(size_t bytes) {
  Payload payload;
  payload.set_content(std::string(bytes, 'x'));
  // Tag and length come on top of the content.
  const size_t prefix = payload.ByteSizeLong() - bytes;
  payload.set_content(std::string(bytes > prefix ? bytes - prefix : 0, 'x'));
  return payload;
}

}  // namespace

std::string EchoPayload(size_t bytes) { return PayloadOf(bytes).SerializeAsString(); }

bool IsEchoPayload(absl::string_view reply) {
  Payload payload;
  return payload.ParseFromArray(reply.data(), static_cast<int>(reply.size()));
}

void ServeEcho(size_t answer_bytes) {
  EchoServer echo(PayloadOf(answer_bytes));
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&echo);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  std::printf("127.0.0.1:%d\n", port);
  std::fflush(stdout);
  char unused = 0;
  while (read(STDIN_FILENO, &unused, 1) > 0) {
  }
  server->Shutdown();
}

}  // namespace berth::bench
