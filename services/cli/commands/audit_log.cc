// `berth audit follow` and `berth audit show`: files that say who changed what, and what they say.
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "berth/placement/v1/ledger.pb.h"
#include "berth/placement/v1/watch.pb.h"
#include "placement/ground/boot_clock.h"
#include "services/cli/commands/command.h"
#include "services/cli/session/audit_files.h"
#include "services/cli/session/audit_lines.h"
#include "services/cli/session/failure.h"
#include "services/cli/text/time_text.h"
#include "services/cli/text/watch_view.h"

namespace berth::cli {
namespace {

namespace pb = ::berth::placement::v1;

constexpr char kWatch[] = "/berth.placement.v1.WatchService/Watch";
// A stream ends after this time and is opened again, so that a connection that died is noticed.
constexpr absl::Duration kStreamFor = absl::Minutes(10);
constexpr absl::Duration kRetryAfter = absl::Seconds(1);
// What was appended is on the disk after this time at the latest, while changes come.
constexpr absl::Duration kSyncAfter = absl::Milliseconds(200);
constexpr absl::Duration kPositionAfter = absl::Minutes(1);

struct FollowArguments {
  std::string to;
};

struct ShowArguments {
  std::vector<std::string> paths;
  std::string actor, consumer, provider, since;
};

std::string Colon(const pb::Revision& revision) {
  return absl::StrCat(revision.epoch(), ":", revision.number());
}

absl::Time CommitTime(const pb::WatchResponse& response) {
  if (!response.has_committed_at()) return absl::InfinitePast();
  return absl::FromUnixSeconds(response.committed_at().seconds()) +
         absl::Nanoseconds(response.committed_at().nanos());
}

// Appends what a stream tells to the files.
class Scribe {
 public:
  Scribe(Session& session, AuditFiles* files) : session_(session), files_(files) {}

  absl::Status Take(const std::string& bytes) {
    pb::WatchResponse response;
    if (!response.ParseFromString(bytes)) {
      return absl::InternalError(
          "the server's answer cannot be read: does it run another release?");
    }
    told_ = true;
    const auto& position = files_->position();
    const pb::Revision& revision = response.revision();
    if (position && revision.epoch() < position->epoch()) return absl::OkStatus();
    if (skipping_ && revision.epoch() == position->epoch()) return absl::OkStatus();
    skipping_ = false;
    if (position && revision.epoch() > position->epoch()) {
      BERTH_RETURN_IF_ERROR(NewEpoch(response));
    }
    if (response.changes().empty()) return TakeBeat(response);
    BERTH_RETURN_IF_ERROR(
        files_->Append(AuditLines(response), revision, CommitTime(response), response.complete()));
    return placement::BootNow() - synced_at_ >= kSyncAfter ? Sync() : absl::OkStatus();
  }

  // Writes a mark and says it.
  absl::Status Mark(AuditMark mark, const pb::Revision& revision, absl::Time time) {
    const auto& position = files_->position();
    const absl::Time at = std::max({time, files_->time(), absl::UnixEpoch()});
    const std::string line = MarkLine(mark, revision, position, at);
    BERTH_RETURN_IF_ERROR(files_->Append(line, revision, at, true));
    return Sync();
  }

  // From now on leaves out what is of the epoch of the position: the files have it already.
  void SkipOldEpoch() { skipping_ = true; }
  // Whether any message has arrived since the last call of this function.
  bool TakeTold() { return std::exchange(told_, false); }

 private:
  // The changes of the new epoch follow. The old epoch may have ended before the position.
  absl::Status NewEpoch(const pb::WatchResponse& response) {
    pb::Revision before = response.revision();
    if (!response.changes().empty()) before.set_number(before.number() - 1);
    before.clear_batch();
    session_.Say(absl::StrCat("the ledger is in epoch ", before.epoch(),
                              " now: changes of the old epoch may be lost; the last one here is ",
                              Colon(*files_->position())));
    return Mark(AuditMark::kRestored, before, CommitTime(response));
  }

  // A message without changes: up to its revision nothing else has changed.
  absl::Status TakeBeat(const pb::WatchResponse& response) {
    const auto& position = files_->position();
    if (!position) return Mark(AuditMark::kBegin, response.revision(), absl::Now());
    const bool later = response.revision().number() > position->number();
    if (later && placement::BootNow() - marked_at_ >= kPositionAfter) {
      marked_at_ = placement::BootNow();
      return Mark(AuditMark::kPosition, response.revision(), CommitTime(response));
    }
    return Sync();
  }

  absl::Status Sync() {
    synced_at_ = placement::BootNow();
    return files_->Sync();
  }

  Session& session_;
  AuditFiles* const files_;
  bool told_ = false, skipping_ = false;
  placement::BootTime synced_at_ = -absl::InfiniteDuration();
  placement::BootTime marked_at_ = placement::BootNow();
};

// The ledger has deleted the changes after the position: tells the gap, and goes on after the
// oldest revision from which the ledger can still tell everything.
absl::Status SkipTrimmed(Session& session, AuditFiles& files, Scribe& scribe) {
  pb::GetRevisionRequest request;
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::GetRevisionResponse>(request));
  const pb::Revision& oldest = answer.oldest_watchable_revision();
  const pb::Revision& position = *files.position();
  if (!answer.has_oldest_watchable_revision() || oldest.number() <= position.number()) {
    return absl::UnavailableError("the server does not know yet which changes it still has");
  }
  session.Say(absl::StrCat("the ledger no longer has the changes after ", Colon(position),
                           " up to ", Colon(oldest), ": the files have a gap"));
  return scribe.Mark(AuditMark::kTrimmed, oldest, absl::Now());
}

// The position was lost in a restore: reads from the oldest revision that the ledger has, and
// leaves out the old epoch.
absl::StatusOr<pb::Revision> AfterRestore(Session& session, Scribe& scribe) {
  pb::GetRevisionRequest request;
  BERTH_ASSIGN_OR_RETURN(const auto answer, session.Call<pb::GetRevisionResponse>(request));
  if (!answer.has_oldest_watchable_revision()) {
    return absl::UnavailableError("the server does not know yet which changes it still has");
  }
  scribe.SkipOldEpoch();
  return answer.oldest_watchable_revision();
}

// Whether the command waits and tries again after `status`.
bool IsPassing(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         ReasonOf(status) == "WATCHER_TOO_SLOW";
}

// One stream from `position` to its end. Returns the position of the next stream.
absl::Status FollowOnce(Session& session, AuditFiles& files, Scribe& scribe,
                        std::optional<pb::Revision>* after) {
  pb::WatchRequest request;
  if (*after) *request.mutable_after_revision() = **after;
  const absl::Duration limit = session.settings.timeout.value_or(kStreamFor);
  absl::Status status =
      session.Server().Stream(kWatch, {request.SerializeAsString()}, limit,
                              [&scribe](const std::string& bytes) { return scribe.Take(bytes); });
  const std::string reason = ReasonOf(status);
  BERTH_RETURN_IF_ERROR(files.Sync());
  BERTH_RETURN_IF_ERROR(files.CutBack());
  *after = files.position();
  if (reason == "REVISION_COMPACTED" && files.position()) {
    status = SkipTrimmed(session, files, scribe);
    *after = files.position();
  } else if (reason == "REVISION_LOST") {
    const auto oldest = AfterRestore(session, scribe);
    status = oldest.status();
    if (oldest.ok()) *after = *oldest;
  }
  return status;
}

absl::Status Follow(Session& session, const FollowArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const auto files, AuditFiles::Open(arguments.to));
  Scribe scribe(session, files.get());
  std::optional<pb::Revision> after = files->position();
  session.Say(after ? absl::StrCat("following after revision ", Colon(*after))
                    : std::string("following from now on"));
  bool away = false;
  while (true) {  // ends with an error or an interrupt
    const absl::Status status = FollowOnce(session, *files, scribe, &after);
    if (ReasonOf(status) == kInterrupted) return absl::OkStatus();
    // The certificate of the connection has ended. Goes on if there is a newer one.
    if (absl::IsUnauthenticated(status) && session.Server().TakeRenewal()) continue;
    if (!status.ok() && !IsPassing(status)) return status;
    if (scribe.TakeTold()) away = false;
    if (absl::IsDeadlineExceeded(status) || status.ok()) continue;
    if (!away) session.Say(absl::StrCat("waiting for the server: ", status.message()));
    away = true;
    absl::SleepFor(kRetryAfter);
  }
}

// Decides which entries are wanted. Learns the names of providers from the entries.
class Wanted {
 public:
  Wanted(const ShowArguments& arguments, absl::Time since) : arguments_(arguments), since_(since) {}

  bool Wants(const AuditEntry& entry) {
    Learn(entry);
    if (entry.time < since_) return false;
    const bool filtered =
        !arguments_.actor.empty() || !arguments_.consumer.empty() || !arguments_.provider.empty();
    if (!entry.mark.empty())
      return entry.mark != "position" && (!filtered || entry.mark != "begin");
    if (!arguments_.actor.empty() && entry.change.actor() != arguments_.actor) return false;
    if (!arguments_.consumer.empty() &&
        (entry.kind != "consumer" || entry.key != arguments_.consumer)) {
      return false;
    }
    return arguments_.provider.empty() || ConcernsProvider(entry);
  }

 private:
  void Learn(const AuditEntry& entry) {
    if (!entry.change.present().has_provider()) return;
    if (entry.change.present().provider().name() == arguments_.provider) uuids_.insert(entry.key);
  }

  bool IsProvider(const std::string& uuid) const {
    return uuid == arguments_.provider || uuids_.contains(uuid);
  }

  bool ConcernsProvider(const AuditEntry& entry) const {
    if (entry.kind == "provider" || entry.kind == "usage") return IsProvider(entry.key);
    const auto& held = entry.change.present().consumer().allocations();
    return std::any_of(held.begin(), held.end(),
                       [this](const auto& one) { return IsProvider(one.provider_uuid()); });
  }

  const ShowArguments& arguments_;
  const absl::Time since_;
  std::set<std::string> uuids_;  // of the providers with the wanted name
};

// The name of the call without its package, for example AllocationService/SetAllocations.
std::string ShortMethod(const std::string& method) {
  const size_t slash = method.rfind('/');
  const size_t dot = slash == std::string::npos ? std::string::npos : method.rfind('.', slash);
  return dot == std::string::npos ? method : method.substr(dot + 1);
}

std::vector<std::string> Cells(const AuditEntry& entry) {
  const std::string time = absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", entry.time, absl::UTCTimeZone());
  std::vector<std::string> cells = {time, Colon(entry.revision)};
  if (!entry.mark.empty()) {
    const std::string gap = entry.mark == "trimmed" ? "GAP: the ledger had deleted what followed "
                            : entry.mark == "restored"
                                ? "GAP: a new epoch began; the old one ends at "
                                : "";
    const std::string words = gap.empty() ? "" : absl::StrCat(gap, entry.after);
    cells.insert(cells.end(), {"", "", entry.mark, "", "", words});
    return cells;
  }
  const bool present = entry.change.has_present();
  std::string details = present ? TextOf(entry.change.present()).details : "";
  if (!entry.change.reason().empty()) {
    absl::StrAppend(&details, details.empty() ? "" : "; ", "reason: ", entry.change.reason());
  }
  cells.insert(cells.end(), {entry.change.actor(), ShortMethod(entry.change.method()),
                             present ? "is" : "removed", entry.kind, entry.key, details});
  return cells;
}

// What `berth audit show` prints.
struct Shown {
  Table table{{{"TIME", Column::Kind::kExact},
               {"REVISION", Column::Kind::kExact},
               {"ACTOR"},
               {"METHOD"},
               {"WHAT", Column::Kind::kExact},
               {"KIND", Column::Kind::kExact},
               {"KEY", Column::Kind::kExact},
               {"DETAILS"}}};
  std::vector<std::string> lines, keys;
};

// Reads one file. A last line that is not complete yet is left out.
absl::Status ReadFile(const std::string& path, Wanted* wanted, Shown* shown) {
  std::ifstream file(path);
  if (!file) return absl::FailedPreconditionError(absl::StrCat("cannot read ", path));
  std::string line;
  for (int64_t number = 1; std::getline(file, line) && !file.eof(); ++number) {
    const auto entry = ReadAuditLine(line);
    if (!entry.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ", line ", number, ": ", entry.status().message()));
    }
    if (!wanted->Wants(*entry)) continue;
    shown->table.Add(Cells(*entry));
    shown->lines.push_back(line);
    shown->keys.push_back(entry->key);
  }
  return absl::OkStatus();
}

absl::StatusOr<absl::Time> SinceOf(const std::string& text) {
  if (text.empty()) return absl::InfinitePast();
  absl::Duration age;
  if (absl::ParseDuration(text, &age) && age >= absl::ZeroDuration()) return absl::Now() - age;
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is no time; write for example 36h or 90m"));
}

absl::Status Show(Session& session, const ShowArguments& arguments) {
  BERTH_ASSIGN_OR_RETURN(const absl::Time since, SinceOf(arguments.since));
  Wanted wanted(arguments, since);
  Shown shown;
  for (const std::string& path : arguments.paths) {
    BERTH_ASSIGN_OR_RETURN(const auto files, AuditFilesIn(path));
    for (const std::string& file : files) {
      // Without a provider's name nothing has to be learnt from older files.
      if (EndOfAuditFile(file) <= since && arguments.provider.empty()) continue;
      BERTH_RETURN_IF_ERROR(ReadFile(file, &wanted, &shown));
    }
  }
  if (session.settings.format == Format::kTable) {
    BERTH_RETURN_IF_ERROR(shown.table.Select(session.settings.columns));
    BERTH_RETURN_IF_ERROR(shown.table.SortBy(session.settings.sort));
  }
  const std::string json =
      absl::StrCat("{\"entries\":[\n", absl::StrJoin(shown.lines, ",\n"), "\n]}\n");
  return session.PrintJson(json, shown.table.Render(session.screen), shown.keys);
}

}  // namespace

void AddAuditLogVerbs(CLI::App* audit, Session& session) {
  CLI::App* follow =
      AddVerb(*audit, "follow",
              "Write who changed what into a file per day, each change once, until interrupted",
              "berth audit follow --to /var/log/berth-audit");
  follow
      ->add_option("--to", Does(follow, session, Follow).to,
                   "Directory of the files; goes on where they end")
      ->required();
  CLI::App* show = AddVerb(*audit, "show", "Show what `berth audit follow` has written",
                           "berth audit show /var/log/berth-audit --actor alice --since 24h\n"
                           "berth audit show /var/log/berth-audit --provider dc1-h07 -o json");
  ShowArguments& showing = Does(show, session, Show);
  show->add_option("path", showing.paths, "The directory, or some of its files")->required();
  show->add_option("--actor", showing.actor, "Only changes that this caller asked for");
  show->add_option("--consumer", showing.consumer, "Only changes of this consumer: uuid");
  show->add_option("--provider", showing.provider,
                   "Only changes of this provider and of who holds something there: name or uuid");
  show->add_option("--since", showing.since, "Only changes of the last time, such as 36h [all]");
}

}  // namespace berth::cli
