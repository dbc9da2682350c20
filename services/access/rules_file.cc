#include "services/access/rules_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <memory>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "placement/ground/status_macros.h"
#include "placement/values/faults.h"
#include "services/access/limits_file.h"
#include "services/access/table.h"
#include "services/access/toml_entries.h"
#include "toml.hpp"

namespace berth::services {
namespace {

constexpr int64_t kReasonMax = 255;
constexpr char kIsLink[] = "is a link, which is not followed; put the file itself there";
constexpr char kNotAllowed[] = "the user of this process may not read it; allow it";
constexpr char kIsLarge[] = "is larger than 128 KiB; is it the right file?";

// --- denied ---

absl::Status AddDenied(const toml::value& place, const std::string& identity, std::string reason,
                       AccessRules* rules) {
  BERTH_RETURN_IF_ERROR(At(place, CheckIdentity(identity)));
  if (!rules->denied.emplace(identity, std::move(reason)).second) {
    return At(place, absl::StrCat("'", identity, "' is denied twice; remove one of them"));
  }
  return absl::OkStatus();
}

// The reason goes into a status, a header of HTTP, and into lines of the log.
absl::Status CheckReason(absl::string_view reason) {
  const bool lines = std::any_of(reason.begin(), reason.end(), absl::ascii_iscntrl);
  if (!lines && placement::CodePoints(reason) <= kReasonMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a reason is one line of ", kReasonMax, " characters at most"));
}

absl::Status ReadDeniedTable(const toml::value& table, AccessRules* rules) {
  std::string identity;
  std::string reason;
  for (const Entry& entry : EntriesOf(table)) {
    if (entry.key != "identity" && entry.key != "reason") {
      return UnknownKey(entry, " in [[denied]]", "identity and reason");
    }
    std::string& text = entry.key == "identity" ? identity : reason;
    BERTH_ASSIGN_OR_RETURN(text, TextOf(*entry.value, entry.key));
  }
  if (identity.empty()) return At(table, "[[denied]] needs an identity");
  BERTH_RETURN_IF_ERROR(At(table, CheckReason(reason)));
  return AddDenied(table, identity, std::move(reason), rules);
}

absl::Status ReadDenied(const toml::value& value, AccessRules* rules) {
  if (!value.is_array()) return At(value, "denied must be a list of identities");
  for (const toml::value& element : value.as_array()) {
    if (element.is_table()) {
      BERTH_RETURN_IF_ERROR(ReadDeniedTable(element, rules));
      continue;
    }
    BERTH_ASSIGN_OR_RETURN(const std::string identity, TextOf(element, "an identity in denied"));
    BERTH_RETURN_IF_ERROR(AddDenied(element, identity, "", rules));
  }
  return absl::OkStatus();
}

// --- scheduler ---

absl::Status ReadProjects(const std::string& name, const toml::value& value, AccessRules* rules) {
  if (!value.is_array()) return At(value, "projects must be a list of texts");
  placement::ProjectSet projects;
  for (const toml::value& element : value.as_array()) {
    BERTH_ASSIGN_OR_RETURN(const std::string project, TextOf(element, "a project"));
    const int64_t length = placement::CodePoints(project);
    if (length < 1 || length > placement::kOwnerMax) {
      return At(element, absl::StrCat("a project has 1 to ", placement::kOwnerMax, " characters"));
    }
    if (!projects.insert(project).second) {
      return At(element, absl::StrCat("'", project, "' is named twice"));
    }
  }
  rules->projects[name] = std::make_shared<const placement::ProjectSet>(std::move(projects));
  return absl::OkStatus();
}

// What a scheduler's section may say: a key, and what reads its value for the scheduler `name`.
struct SchedulerKey {
  const char* key;
  absl::Status (*read)(const std::string& name, const toml::value& value, AccessRules* rules);
};
constexpr SchedulerKey kSchedulerKeys[] = {
    {"projects", ReadProjects},
};

absl::Status ReadScheduler(const std::string& name, const toml::value& section,
                           AccessRules* rules) {
  BERTH_RETURN_IF_ERROR(At(section, CheckIdentityName(name)));
  if (!section.is_table()) return At(section, "write a section [scheduler.NAME]");
  if (section.as_table().empty()) {
    return At(section, absl::StrCat("[scheduler.", name, "] says nothing"));
  }
  for (const Entry& entry : EntriesOf(section)) {
    BERTH_ASSIGN_OR_RETURN(const SchedulerKey* const known,
                           RowOf(kSchedulerKeys, entry, " of a scheduler"));
    BERTH_RETURN_IF_ERROR(known->read(name, *entry.value, rules));
  }
  return absl::OkStatus();
}

absl::Status ReadSchedulers(const toml::value& value, AccessRules* rules) {
  if (!value.is_table()) return At(value, "write sections [scheduler.NAME]");
  for (const Entry& entry : EntriesOf(value)) {
    BERTH_RETURN_IF_ERROR(ReadScheduler(entry.key, *entry.value, rules));
  }
  return absl::OkStatus();
}

// --- rates ---

absl::StatusOr<double> NumberOf(const Entry& entry, double min, double max) {
  const toml::value& value = *entry.value;
  double number = std::nan("");
  if (value.is_integer()) number = static_cast<double>(value.as_integer());
  if (value.is_floating()) number = value.as_floating();
  if (number >= min && number <= max) return number;
  return At(value, absl::StrCat(entry.key, " must be a number from ", min, " to ", max));
}

absl::StatusOr<CallRate> RateIn(const Entry& of) {
  const toml::value& value = *of.value;
  const std::string wanted = "write {calls_per_second = NUMBER, burst = NUMBER}";
  if (!value.is_table()) return At(value, wanted);
  CallRate rate;
  for (const Entry& entry : EntriesOf(value)) {
    if (entry.key == "calls_per_second") {
      BERTH_ASSIGN_OR_RETURN(rate.calls_per_second,
                             NumberOf(entry, kCallsPerSecondMin, kCallsPerSecondMax));
    } else if (entry.key == "burst" && entry.value->is_integer()) {
      BERTH_ASSIGN_OR_RETURN(const double burst, NumberOf(entry, 1, kBurstMax));
      rate.burst = static_cast<int64_t>(burst);
    } else if (entry.key == "burst") {
      return At(*entry.value, "burst must be a whole number");
    } else {
      return UnknownKey(entry, " of a rate", "calls_per_second and burst");
    }
  }
  if (rate.calls_per_second == 0 || rate.burst == 0) return At(value, wanted);
  return rate;
}

absl::Status ReadRates(const toml::value& value, AccessRules* rules) {
  if (!value.is_table()) return At(value, "write a section [rates]");
  for (const Entry& entry : EntriesOf(value)) {
    if (RoleOf(entry.key) == access::v1::ROLE_UNSPECIFIED) {
      BERTH_RETURN_IF_ERROR(At(*entry.value, CheckIdentity(entry.key)));
    }
    BERTH_ASSIGN_OR_RETURN(rules->rates[entry.key], RateIn(entry));
  }
  return absl::OkStatus();
}

// --- the file ---

struct Section {
  const char* key;
  absl::Status (*read)(const toml::value& value, AccessRules* rules);
};
constexpr Section kSections[] = {
    {"denied", ReadDenied},     {"scheduler", ReadSchedulers}, {"rates", ReadRates},
    {"withheld", ReadWithheld}, {"ceilings", ReadCeilings},    {"daily", ReadDaily},
};

absl::StatusOr<AccessRules> RulesIn(const toml::value& whole) {
  AccessRules rules;
  for (const Entry& entry : EntriesOf(whole)) {
    BERTH_ASSIGN_OR_RETURN(const Section* const known, RowOf(kSections, entry, ""));
    BERTH_RETURN_IF_ERROR(known->read(*entry.value, &rules));
  }
  return rules;
}

// Looks through a text of TOML for brackets and dots that are no part of a text or a comment.
class Shape {
 public:
  // A fault if brackets are nested deeper, or keys have more parts, than toml11 can take: it calls
  // itself for each. The message begins with the line.
  absl::Status Check(absl::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
      if (!quote_.empty()) {
        i = AfterQuoted(text, i);
        continue;
      }
      if (text[i] == '#') i = std::min(text.find('\n', i), text.size());
      if (i == text.size()) break;
      if (text[i] == '"' || text[i] == '\'') {
        const absl::string_view three = text.substr(i, 3);
        const bool is_long = three == "\"\"\"" || three == "\'\'\'";
        quote_ = three.substr(0, is_long ? 3 : 1);
        i += quote_.size() - 1;
      }
      BERTH_RETURN_IF_ERROR(Note(text[i]));
    }
    return absl::OkStatus();
  }

 private:
  static constexpr int kMost = 32;

  // The last character that was looked at: the end of the text in quotes, or `i`.
  size_t AfterQuoted(absl::string_view text, size_t i) {
    if (text[i] == '\\' && quote_.front() == '"') return i + 1;
    if (text[i] == '\n') ++line_;
    if (!absl::StartsWith(text.substr(i), quote_)) return i;
    const size_t end = i + quote_.size() - 1;
    quote_ = absl::string_view();
    return end;
  }

  absl::Status Note(char c) {
    if (c == '\n') {
      ++line_;
      dots_ = 0;
    }
    if (c == '[' || c == '{') ++depth_;
    if ((c == ']' || c == '}') && depth_ > 0) --depth_;
    if (c == '.') ++dots_;
    if (depth_ <= kMost && dots_ <= kMost) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        line_, depth_ > kMost ? ": brackets are nested too deeply" : ": too many dots in a line"));
  }

  absl::string_view quote_;  // of the text that has begun; empty: none has
  int64_t line_ = 1;
  int depth_ = 0;
  int dots_ = 0;  // in this line
};

// The first line of what toml11 says, without its own marks.
std::string WordsOf(const std::exception& error) {
  absl::string_view words = error.what();
  words = words.substr(0, words.find('\n'));
  absl::ConsumePrefix(&words, "[error] ");
  return std::string(words);
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

absl::Status Unreadable(const std::string& file, absl::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat(file, ": ", why));
}

absl::Status CheckKind(const std::string& file, const struct stat& status) {
  if (S_ISDIR(status.st_mode)) return Unreadable(file, "is a directory; name the file in it");
  if (!S_ISREG(status.st_mode)) return Unreadable(file, "is no regular file");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AccessRules> ParseRules(absl::string_view text, absl::string_view file) {
  if (text.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        file, ":1: is empty: to limit nothing, remove the file or leave a comment in it"));
  }
  if (const absl::Status shape = Shape().Check(text); !shape.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(file, ":", shape.message()));
  }
  try {
    std::istringstream stream((std::string(text)));
    const toml::value whole = toml::parse(stream, std::string(file));
    absl::StatusOr<AccessRules> rules = RulesIn(whole);
    if (rules.ok()) return rules;
    return absl::InvalidArgumentError(absl::StrCat(file, ":", rules.status().message()));
  } catch (const toml::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(file, ":", error.location().line(), ": ",
                                                   WordsOf(error), "; is the file complete?"));
  } catch (const std::exception& error) {  // toml11 throws others for numbers
    return absl::InvalidArgumentError(absl::StrCat(file, ":1: ", WordsOf(error)));
  }
}

absl::StatusOr<std::optional<std::string>> ReadRulesText(const std::string& file) {
  // A link could lead to a file that others may write. A pipe must not hold the reader.
  const Descriptor open(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (open.get() < 0) {
    if (errno == ENOENT) return std::optional<std::string>();
    if (errno == ELOOP) return Unreadable(file, kIsLink);
    if (errno == EACCES) return Unreadable(file, kNotAllowed);
    return Unreadable(file, std::strerror(errno));
  }
  struct stat status = {};
  if (fstat(open.get(), &status) != 0) return Unreadable(file, std::strerror(errno));
  BERTH_RETURN_IF_ERROR(CheckKind(file, status));
  std::string text(kRulesFileBytesMax + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = read(open.get(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Unreadable(file, std::strerror(errno));
    if (count == 0) break;
    size += static_cast<size_t>(count);
  }
  if (size > kRulesFileBytesMax) return Unreadable(file, kIsLarge);
  text.resize(size);
  return std::optional<std::string>(std::move(text));
}

}  // namespace berth::services
