#include "placement/store/heartbeats.h"

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

absl::Status Heartbeats::Write(const std::vector<std::pair<std::string, absl::Time>>& heard) {
  SqlArray services;
  SqlArray times;
  for (const auto& [service, time] : heard) {
    services.AddText(service);
    times.AddText(absl::FormatTime(absl::RFC3339_full, time, absl::UTCTimeZone()));
  }
  Statement sql;
  sql.Append("INSERT INTO heartbeat (process, written_at, service, heard_at) VALUES (");
  sql.AppendValue(process_);
  sql.Append(", now(), ");
  services.AppendTo(&sql);
  sql.Append(", ");
  times.AppendTo(&sql);
  sql.Append(
      ") ON CONFLICT (process) DO UPDATE SET written_at = excluded.written_at, "
      "service = excluded.service, heard_at = excluded.heard_at");
  const MutexLock calling(&calling_);
  BERTH_ASSIGN_OR_RETURN(const auto database, Open());
  return database->RunPrepared("", sql, nullptr);
}

absl::StatusOr<std::map<std::string, absl::Time>> Heartbeats::HeardElsewhere(absl::Time since) {
  std::string sql =
      "SELECT beat.service, max(micros_of(beat.heard_at)) FROM heartbeat, "
      "unnest(heartbeat.service, "
      "heartbeat.heard_at) AS beat (service, heard_at) WHERE heartbeat.process <> ";
  AppendQuoted(process_, &sql);
  absl::StrAppend(&sql, " AND beat.heard_at > at_micros(", absl::ToUnixMicros(since),
                  ") GROUP BY beat.service");
  const MutexLock calling(&calling_);
  BERTH_ASSIGN_OR_RETURN(const auto database, Open());
  QueryRows rows;
  BERTH_RETURN_IF_ERROR(database->Run(sql, &rows));
  std::map<std::string, absl::Time> heard;
  for (int i = 0; i < rows.size(); ++i) {
    heard[std::string(rows.Text(i, 0))] = absl::FromUnixMicros(rows.Int(i, 1));
  }
  return heard;
}

absl::Status Heartbeats::RemoveOwn() {
  std::string sql =
      "DELETE FROM heartbeat WHERE written_at < now() - interval '1 day' OR process = ";
  AppendQuoted(process_, &sql);
  const MutexLock calling(&calling_);
  BERTH_ASSIGN_OR_RETURN(const auto database, Open());
  return database->Run(sql, nullptr);
}

}  // namespace berth::placement
