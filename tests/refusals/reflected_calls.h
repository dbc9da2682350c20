// ReflectedCalls: all RPCs of a server as its own reflection describes them, and a call of each. So an
// RPC that is new is in a test by itself.
//
// For the thread that made it; Call is for every thread.
#ifndef BERTH_TESTS_REFUSALS_REFLECTED_CALLS_H_
#define BERTH_TESTS_REFUSALS_REFLECTED_CALLS_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor_database.h>
#include <google/protobuf/dynamic_message.h>
#include <grpcpp/channel.h>
#include <grpcpp/support/status.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace berth::refusals {

class ReflectedCalls {
 public:
  // Asks the server behind `channel`. The test fails if it does not describe all its services.
  explicit ReflectedCalls(const std::shared_ptr<grpc::Channel>& channel);

  // "package.Service/Method", sorted.
  std::vector<std::string> methods() const;

  // Calls `method`, unary or a stream, with one message that has `uuid` in each field for uuids and
  // nothing else. Returns OK as soon as the first answer comes, and then cancels the call; else its
  // status.
  grpc::Status Call(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                    const std::string& uuid) const;

 private:
  // The request of `method` with this uuid, as bytes.
  std::string RequestOf(const std::string& method, const std::string& uuid) const;

  google::protobuf::SimpleDescriptorDatabase files_;
  google::protobuf::DescriptorPool pool_{&files_};
  mutable google::protobuf::DynamicMessageFactory factory_{&pool_};  // thread-safe
  std::map<std::string, const google::protobuf::MethodDescriptor*> methods_;
};

}  // namespace berth::refusals

#endif  // BERTH_TESTS_REFUSALS_REFLECTED_CALLS_H_
