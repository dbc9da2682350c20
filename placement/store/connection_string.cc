#include "placement/store/connection_string.h"

#include <array>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace berth::placement {
namespace {

constexpr std::array<absl::string_view, 5> kConnectionDefaults = {
    "connect_timeout=2", "keepalives_idle=5", "keepalives_interval=2", "keepalives_count=3",
    "tcp_user_timeout=5000"};

bool IsUri(absl::string_view url) {
  return absl::StartsWith(url, "postgresql://") || absl::StartsWith(url, "postgres://");
}

// The password in `url`; empty if there is none.
absl::string_view PasswordIn(absl::string_view url) {
  size_t begin = url.find("password=");
  if (begin != absl::string_view::npos) {
    begin += sizeof("password=") - 1;
    return url.substr(begin, url.find_first_of(" &", begin) - begin);
  }
  const size_t at = url.find('@');
  const size_t user = url.find("://");
  if (at == absl::string_view::npos || user == absl::string_view::npos) return {};
  const size_t colon = url.find(':', user + 3);
  if (colon == absl::string_view::npos || colon > at) return {};
  return url.substr(colon + 1, at - colon - 1);
}

}  // namespace

std::string WithDefaults(const std::string& url) {
  if (!IsUri(url)) return absl::StrCat(absl::StrJoin(kConnectionDefaults, " "), " ", url);
  const std::string defaults = absl::StrJoin(kConnectionDefaults, "&");
  const size_t question = url.find('?');
  if (question == std::string::npos) return absl::StrCat(url, "?", defaults);
  return absl::StrCat(url.substr(0, question + 1), defaults, "&", url.substr(question + 1));
}

std::string WithoutPassword(absl::string_view text, absl::string_view url) {
  const absl::string_view password = PasswordIn(url);
  if (password.empty()) return std::string(absl::StripAsciiWhitespace(text));
  return absl::StrReplaceAll(absl::StripAsciiWhitespace(text), {{password, "..."}});
}

}  // namespace berth::placement
