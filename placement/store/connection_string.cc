#include "placement/store/connection_string.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace berth::placement {
namespace {

constexpr std::array<absl::string_view, 5> kConnectionDefaults = {
    "connect_timeout=2", "keepalives_idle=5", "keepalives_interval=2", "keepalives_count=3",
    "tcp_user_timeout=5000"};

bool IsUri(absl::string_view url) {
  return absl::StartsWith(url, "postgresql://") || absl::StartsWith(url, "postgres://");
}

// A part of a password that is shorter than this is no secret, and may stand in any message.
constexpr size_t kPartMin = 4;

// What follows the name of the user in `url`, up to the last '@'. libpq ends a password at the first
// '@' or '/', so one in which these are not escaped goes on behind them.
absl::string_view AfterUser(absl::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme == absl::string_view::npos) return {};
  const size_t colon = url.find(':', scheme + 3);
  const size_t at = url.find('@', scheme + 3);
  if (colon == absl::string_view::npos || at == absl::string_view::npos || at < colon) return {};
  return url.substr(colon + 1, url.rfind('@') - colon - 1);
}

// Adds `secret`, as it stands in a URL and as libpq decodes it.
void AddSecret(absl::string_view secret, std::vector<std::string>* secrets) {
  std::string decoded;
  for (size_t i = 0; i < secret.size(); ++i) {
    const absl::string_view digits = secret.substr(i + 1, 2);
    const bool escaped = secret[i] == '%' && digits.size() == 2 &&
                         absl::ascii_isxdigit(digits[0]) && absl::ascii_isxdigit(digits[1]);
    decoded += escaped ? absl::HexStringToBytes(digits) : std::string(1, secret[i]);
    if (escaped) i += 2;
  }
  for (std::string text : {std::string(secret), std::move(decoded)}) {
    if (!text.empty()) secrets->push_back(std::move(text));
  }
}

// All texts that a message about `url` may not have, the longest first.
std::vector<std::string> SecretsIn(absl::string_view url) {
  std::vector<std::string> secrets;
  const absl::string_view password = AfterUser(url);
  AddSecret(password, &secrets);
  AddSecret(password.substr(0, password.find('@')), &secrets);
  // libpq takes parts of a password that is not escaped for a host, a port or a setting.
  for (const absl::string_view part : absl::StrSplit(password, absl::ByAnyChar("/?#@:[]&=,"))) {
    if (part.size() >= kPartMin) AddSecret(part, &secrets);
  }
  constexpr absl::string_view kKey = "password=";  // the end of "sslpassword=", too
  for (size_t at = url.find(kKey); at != absl::string_view::npos; at = url.find(kKey, at)) {
    at += kKey.size();
    AddSecret(url.substr(at, url.find_first_of(" &", at) - at), &secrets);
  }
  std::stable_sort(secrets.begin(), secrets.end(),
                   [](const auto& one, const auto& other) { return one.size() > other.size(); });
  return secrets;
}

// Whether `text` is what libpq says of a connection string that it cannot read. If a character of a
// password had to be escaped and is not, what follows it is a setting to libpq, which names it here.
bool TellsOfSettings(absl::string_view text) {
  return absl::StrContains(text, "connection info string") ||
         absl::StrContains(text, "URI query parameter") ||
         absl::StrContains(text, "invalid connection option");
}

constexpr char kNotReadable[] =
    "the connection string cannot be read: it has a setting without a value, one that libpq does "
    "not "
    "know, or a character in a value that is not escaped";

}  // namespace

std::string WithDefaults(const std::string& url) {
  if (!IsUri(url)) return absl::StrCat(absl::StrJoin(kConnectionDefaults, " "), " ", url);
  const std::string defaults = absl::StrJoin(kConnectionDefaults, "&");
  const size_t question = url.find('?');
  if (question == std::string::npos) return absl::StrCat(url, "?", defaults);
  return absl::StrCat(url.substr(0, question + 1), defaults, "&", url.substr(question + 1));
}

std::string WithoutPassword(absl::string_view text, absl::string_view url) {
  if (TellsOfSettings(text)) return kNotReadable;
  std::string shown(absl::StripAsciiWhitespace(text));
  for (const std::string& secret : SecretsIn(url)) {
    shown = absl::StrReplaceAll(shown, {{secret, "..."}});
  }
  return shown;
}

}  // namespace berth::placement
