// SpiffeId: the identity that a certificate names, spiffe://DOMAIN/ROLE/NAME.
//
// A plain value and pure functions.
#ifndef BERTH_SERVICES_CLIENT_CPP_SPIFFE_ID_H_
#define BERTH_SERVICES_CLIENT_CPP_SPIFFE_ID_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace berth::client {

// The roles of Berth's own services. Clients have other roles.
inline constexpr char kPlacementRole[] = "placement";
inline constexpr char kTrackerRole[] = "tracker";

struct SpiffeId {
  std::string domain;  // the trust domain: lower-case letters, digits, '.', '-' and '_'
  std::string role;    // such as "placement", "tracker" or "scheduler"
  std::string name;    // such as the name of the host

  friend bool operator==(const SpiffeId& one, const SpiffeId& other) {
    return one.domain == other.domain && one.role == other.role && one.name == other.name;
  }
};

// The id as a URI.
std::string UriOf(const SpiffeId& id);

// Reads spiffe://DOMAIN/ROLE/NAME. There is one spelling of each id: no escapes, no upper-case
// letters in the scheme and the domain, no empty parts, nothing before or behind. kInvalidArgument
// for any other text.
absl::StatusOr<SpiffeId> ParseSpiffeId(absl::string_view uri);

// kInvalidArgument if `domain` cannot be the trust domain of an id.
absl::Status CheckTrustDomain(absl::string_view domain);

}  // namespace berth::client

#endif  // BERTH_SERVICES_CLIENT_CPP_SPIFFE_ID_H_
