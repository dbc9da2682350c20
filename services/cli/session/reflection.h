// Reflection: what a server offers, learnt from itself by grpc.reflection.v1alpha.
//
// Owns the pool of descriptors that it was told. Each file is asked for when it is first needed. One
// thread.
#ifndef BERTH_SERVICES_CLI_SESSION_REFLECTION_H_
#define BERTH_SERVICES_CLI_SESSION_REFLECTION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "google/protobuf/descriptor.h"
#include "services/cli/session/session.h"

namespace berth::cli {

class Reflection {
 public:
  // `session` must outlive it.
  explicit Reflection(Session& session);
  ~Reflection();

  // The full names of all services, sorted. Errors of the call; kUnimplemented where the server
  // tells nothing about itself.
  absl::StatusOr<std::vector<std::string>> Services();

  // Loads the files that define `symbol` (a full name). kNotFound where the server does not know it;
  // errors like Services.
  absl::Status Load(const std::string& symbol);

  // Null where the symbol is none, or was not loaded.
  const google::protobuf::ServiceDescriptor* Service(const std::string& name) const;
  const google::protobuf::Descriptor* Message(const std::string& name) const;
  const google::protobuf::EnumDescriptor* Enum(const std::string& name) const;
  const google::protobuf::MethodDescriptor* Method(const std::string& name) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_SESSION_REFLECTION_H_
