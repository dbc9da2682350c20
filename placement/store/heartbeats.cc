#include "placement/store/heartbeats.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "placement/store/database.h"
#include "placement/store/sql_call.h"
#include "placement/store/statement.h"

namespace berth::placement {

absl::StatusOr<std::shared_ptr<Database>> Heartbeats::Open() {
  {
    const MutexLock lock(&mutex_);
    if (database_ && !database_->broken()) return database_;
    database_.reset();
  }
  BERTH_ASSIGN_OR_RETURN(auto opened,
                         ConnectToPrimary(database_url_, "berth-placement heartbeats"));
  const MutexLock lock(&mutex_);
  database_ = std::move(opened);
  return database_;
}

void Heartbeats::ShutIfSlow(absl::Duration limit) {
  const MutexLock lock(&mutex_);
  if (database_) database_->ShutIfSlow(limit);
}

absl::Status Heartbeats::Write(const std::vector<std::pair<std::string, absl::Duration>>& heard) {
  SqlArray services;
  SqlArray ages;
  for (const auto& [service, age] : heard) {
    services.AddText(service);
    ages.AddText(absl::StrCat(absl::ToInt64Microseconds(age), " microseconds"));
  }
  Statement sql;
  sql.Append("INSERT INTO heartbeat (process, written_at, service, heard_at) VALUES (");
  sql.AppendValue(process_);
  sql.Append(", now(), ");
  services.AppendTo(&sql);
  sql.Append(", ARRAY(SELECT now() - age FROM unnest(");
  ages.AppendTo(&sql);
  sql.Append(
      "::interval[]) WITH ORDINALITY AS one (age, place) ORDER BY place)) ON CONFLICT (process) DO "
      "UPDATE SET written_at = excluded.written_at, "
      "service = excluded.service, heard_at = excluded.heard_at");
  const MutexLock calling(&calling_);
  BERTH_ASSIGN_OR_RETURN(const auto database, Open());
  return database->RunPrepared("", sql, nullptr);
}

absl::Duration Heartbeats::AgeOf(const std::string& process, int64_t written_at, BootTime now) {
  const auto [row, is_new] = rows_.try_emplace(process);
  if (is_new || row->second.written_at != written_at) row->second = {written_at, now};
  return now - row->second.seen_at;
}

absl::Status Heartbeats::Look(BootTime now) {
  Statement sql;
  sql.Append("SELECT process, micros_of(written_at) FROM heartbeat WHERE process <> ");
  sql.AppendValue(process_);
  const MutexLock calling(&calling_);
  BERTH_ASSIGN_OR_RETURN(const auto database, Open());
  QueryRows rows;
  BERTH_RETURN_IF_ERROR(database->RunPrepared("", sql, &rows));
  std::set<std::string> processes;
  for (int i = 0; i < rows.size(); ++i) {
    AgeOf(*processes.emplace(rows.Text(i, 0)).first, rows.Int(i, 1), now);
  }
  std::erase_if(rows_, [&](const auto& row) { return !processes.contains(row.first); });
  return absl::OkStatus();
}

absl::StatusOr<std::map<std::string, absl::Duration>> Heartbeats::HeardElsewhere(
    absl::Duration within, BootTime now) {
  Statement sql;
  sql.Append(
      "SELECT process, micros_of(written_at), beat.service, "
      "micros_of(written_at) - micros_of(beat.heard_at) FROM heartbeat, "
      "unnest(heartbeat.service, heartbeat.heard_at) AS beat (service, heard_at) "
      "WHERE heartbeat.process <> ");
  sql.AppendValue(process_);
  const MutexLock calling(&calling_);
  BERTH_ASSIGN_OR_RETURN(const auto database, Open());
  QueryRows rows;
  BERTH_RETURN_IF_ERROR(database->RunPrepared("", sql, &rows));
  std::map<std::string, absl::Duration> heard;
  for (int i = 0; i < rows.size(); ++i) {
    const absl::Duration age = absl::Microseconds(rows.Int(i, 3)) +
                               AgeOf(std::string(rows.Text(i, 0)), rows.Int(i, 1), now);
    if (absl::AbsDuration(age) > within) continue;
    const auto [least, is_new] = heard.try_emplace(std::string(rows.Text(i, 2)), age);
    if (!is_new) least->second = std::min(least->second, age);
  }
  return heard;
}

absl::Status Heartbeats::RemoveOwn() {
  Statement sql;
  sql.Append("DELETE FROM heartbeat WHERE written_at < now() - interval '1 day' OR process = ");
  sql.AppendValue(process_);
  const MutexLock calling(&calling_);
  BERTH_ASSIGN_OR_RETURN(const auto database, Open());
  return database->RunPrepared("", sql, nullptr);
}

}  // namespace berth::placement
