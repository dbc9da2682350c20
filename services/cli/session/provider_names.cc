#include "services/cli/session/provider_names.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "berth/placement/v1/provider.pb.h"
#include "services/cli/session/failure.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

constexpr size_t kLookUpsMax = 100;

}  // namespace

bool IsUuid(absl::string_view text) {
  int digits = 0;
  for (const char c : text) {
    if (absl::ascii_isxdigit(c)) {
      ++digits;
    } else if (c != '-') {
      return false;
    }
  }
  return digits == 32 && (text.size() == 32 || text.size() == 36);
}

absl::StatusOr<std::string> ProviderUuid(Session& session, const std::string& text) {
  if (IsUuid(text)) return text;
  pb::ListProvidersRequest request;
  request.set_name(text);
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::ListProvidersResponse>(request));
  if (answer.providers().empty()) {
    return Refused(absl::StatusCode::kNotFound, "PROVIDER_NOT_FOUND",
                   absl::StrCat("there is no provider named '", text, "'"), {{{"name", text}}});
  }
  return answer.providers(0).uuid();
}

absl::StatusOr<std::map<std::string, std::string>> ProviderNames(
    Session& session, const std::set<std::string>& uuids) {
  std::map<std::string, std::string> names;
  if (session.settings.format != Format::kTable) return names;
  size_t looked_up = 0;
  for (const std::string& uuid : uuids) {
    names[uuid] = uuid;
    if (++looked_up > kLookUpsMax) continue;
    pb::ListProvidersRequest request;
    request.set_uuid(uuid);
    BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::ListProvidersResponse>(request));
    if (!answer.providers().empty()) names[uuid] = answer.providers(0).name();
  }
  return names;
}

}  // namespace berth::cli
