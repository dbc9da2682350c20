#include "services/client/cpp/spiffe_id.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "services/client/cpp/holder.h"

namespace berth::client {
namespace {

constexpr char kScheme[] = "spiffe://";
constexpr size_t kUriBytesMax = 2048;
constexpr size_t kDomainBytesMax = 255;

bool IsDomainCharacter(char c) {
  return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '.' || c == '-' || c == '_';
}

// Whether `part` may stand between two slashes of an id.
bool IsPart(absl::string_view part) {
  if (part.empty() || part == "." || part == "..") return false;
  for (const char c : part) {
    if (!IsDomainCharacter(c) && !absl::ascii_isupper(c)) return false;
  }
  return true;
}

}  // namespace

std::string UriOf(const SpiffeId& id) {
  return absl::StrCat(kScheme, id.domain, "/", id.role, "/", id.name);
}

absl::Status CheckTrustDomain(absl::string_view domain) {
  bool good = !domain.empty() && domain.size() <= kDomainBytesMax;
  for (const char c : domain) good = good && IsDomainCharacter(c);
  if (good) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", Shown(domain),
                   "' is no trust domain: write a name of lower-case letters, digits, '.', '-' and "
                   "'_', such as berth.example.org"));
}

absl::StatusOr<SpiffeId> ParseSpiffeId(absl::string_view uri) {
  absl::string_view rest = uri;
  const bool scheme = absl::ConsumePrefix(&rest, kScheme);
  const std::vector<absl::string_view> parts = absl::StrSplit(rest, '/');
  if (!scheme || uri.size() > kUriBytesMax || parts.size() != 3 ||
      !CheckTrustDomain(parts[0]).ok() || !IsPart(parts[1]) || !IsPart(parts[2])) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", Shown(uri), "' is not of the form spiffe://DOMAIN/ROLE/NAME"));
  }
  return SpiffeId{std::string(parts[0]), std::string(parts[1]), std::string(parts[2])};
}

}  // namespace berth::client
