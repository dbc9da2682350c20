#include "services/heartbeats.h"

#include "absl/strings/str_cat.h"
#include "placement/database.h"

namespace berth::services {

using placement::Database;

absl::StatusOr<std::map<std::string, absl::Time>> Heartbeats::HeardElsewhere(
    absl::Time since) const {
  const auto database = Database::Connect(database_url_, "berth-placement heartbeats");
  if (!database.ok()) return database.status();
  std::string sql =
      "SELECT beat.service, max(micros_of(beat.heard_at)) FROM heartbeat, "
      "unnest(heartbeat.service, "
      "heartbeat.heard_at) AS beat (service, heard_at) WHERE heartbeat.process <> ";
  placement::AppendQuoted(process_, &sql);
  absl::StrAppend(&sql, " AND beat.heard_at > at_micros(", absl::ToUnixMicros(since),
                  ") GROUP BY beat.service");
  placement::QueryRows rows;
  if (absl::Status status = (*database)->Run(sql, &rows); !status.ok()) return status;
  std::map<std::string, absl::Time> heard;
  for (int i = 0; i < rows.size(); ++i) {
    heard[std::string(rows.Text(i, 0))] = absl::FromUnixMicros(rows.Int(i, 1));
  }
  return heard;
}

absl::Status Heartbeats::RemoveOwn() const {
  const auto database = Database::Connect(database_url_, "berth-placement heartbeats");
  if (!database.ok()) return database.status();
  std::string sql =
      "DELETE FROM heartbeat WHERE written_at < now() - interval '1 day' OR process = ";
  placement::AppendQuoted(process_, &sql);
  return (*database)->Run(sql, nullptr);
}

}  // namespace berth::services
