// AccessTable: which role may call which RPC.
//
// The table is made once from the option (berth.access.v1.access) of the protos. A look-up reads
// it, and a check compares bits. Rules are pure; the table never changes; thread-safe.
#ifndef BERTH_SERVICES_ACCESS_TABLE_H_
#define BERTH_SERVICES_ACCESS_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "berth/access/v1/access.pb.h"

namespace google::protobuf {
class Message;
}  // namespace google::protobuf

namespace berth::services {

// A set of roles, as bits.
class RoleSet {
 public:
  void Add(access::v1::Role role) { bits_ |= 1U << static_cast<unsigned>(role); }
  bool Has(access::v1::Role role) const { return (bits_ >> static_cast<unsigned>(role) & 1U) != 0; }
  // The names of the roles, in the order of the protos: "reader, scheduler".
  std::string ToString() const;

 private:
  uint32_t bits_ = 0;
};

// Returns the role with the name `role`, as certificates spell it: "reader". Returns
// ROLE_UNSPECIFIED, which may call nothing, for any other text.
access::v1::Role RoleOf(absl::string_view role);

// The name of a role, as certificates spell it.
std::string NameOf(access::v1::Role role);
// The names of all roles: "tracker, reader, ...".
std::string NamesOfRoles();

// Who may call one RPC.
struct MethodAccess {
  std::string method;  // "berth.placement.v1.ProviderService/GetProvider"
  RoleSet roles;
  std::vector<std::string> admin_fields;  // only admins may set these fields of the request

  // Fails with PERMISSION_DENIED / ROLE_NOT_PERMITTED, unless `role` may call the RPC.
  absl::Status Permit(access::v1::Role role) const;
  // Fails with PERMISSION_DENIED / ROLE_NOT_PERMITTED if `request` sets a field that `role` may not
  // set, and with PERMISSION_DENIED / POLICY_DENIED if a tracker does not call in the name of its
  // own host, which is the `name` in its certificate.
  absl::Status PermitRequest(access::v1::Role role, absl::string_view name,
                             const google::protobuf::Message& request) const;
};

class AccessTable {
 public:
  // The table of all RPCs of placement, of trackers, and of the services that gRPC brings.
  static const AccessTable& Get();

  // Finds an RPC by its path, "/berth.placement.v1.ProviderService/GetProvider". Null: there is no
  // such RPC, and nobody may call it.
  const MethodAccess* Find(absl::string_view path) const;
  // Finds an RPC by its full path, or by its last parts: "ProviderService/GetProvider",
  // "ProviderService.GetProvider" or "GetProvider". Returns all RPCs that fit, sorted.
  std::vector<const MethodAccess*> FindByName(absl::string_view name) const;
  // All RPCs, sorted by name.
  std::vector<const MethodAccess*> All() const;

 private:
  AccessTable();

  absl::node_hash_map<std::string, MethodAccess> methods_;  // by path
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_ACCESS_TABLE_H_
