// Reflection: the services and messages of a server, as the server describes them by
// grpc.reflection.v1alpha.
//
// Owns a pool with the descriptors received so far. Asks the server for each file when the file is
// first needed. For one thread.
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
  // `session` must outlive the Reflection.
  explicit Reflection(Session& session);
  ~Reflection();

  // Returns the full names of all services, sorted. Fails like Session::Call; kUnimplemented if the
  // server does not offer reflection.
  absl::StatusOr<std::vector<std::string>> Services();

  // Loads the files that define `symbol`, a full name. kNotFound if the server does not know it;
  // otherwise fails like Services.
  absl::Status Load(const std::string& symbol);

  // Return the descriptor of `name`, or null if nothing of this kind and name has been loaded.
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
