// Session: one run of the command line: its settings, its server, and where its output goes.
//
// Commands are chosen while the arguments are read and run afterwards, once the settings are known.
// Owns the connection, which is made when it is first needed. One thread.
#ifndef BERTH_SERVICES_CLI_SESSION_H_
#define BERTH_SERVICES_CLI_SESSION_H_

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "services/cli/connection.h"
#include "services/cli/screen.h"
#include "services/cli/settings.h"
#include "services/cli/table.h"

namespace berth::cli {

class Session {
 public:
  // Data goes to `data`, everything else to `talk`; both must outlive the session.
  Session(std::ostream* data, std::ostream* talk) : data_(data), talk_(talk) {}

  Settings settings;
  Screen screen;

  // What Run does; the last one chosen counts.
  void Choose(std::function<absl::Status()> action) { action_ = std::move(action); }
  bool chosen() const { return action_ != nullptr; }
  absl::Status Run() { return action_(); }

  Connection& Server();
  absl::Duration Timeout() const;

  // Makes the call whose request this is; request and answer types name it. A write gets the
  // session's request id, or a random one, unless it has one. Errors of a write carry its id; where
  // the outcome is open they say so. Fails like Connection::Call.
  absl::Status Call(google::protobuf::Message& request, google::protobuf::Message* answer);

  // One answer in the format that was asked for: `answer` as JSON, `table` or `text` for people,
  // `names` one a line. kInvalidArgument where --columns or --sort name what the table has not.
  absl::Status Print(const google::protobuf::Message& answer, Table table,
                     const std::vector<std::string>& names);
  absl::Status Print(const google::protobuf::Message& answer, absl::string_view text,
                     const std::vector<std::string>& names);

  // The same where there is no message: `json` is the whole text.
  absl::Status PrintJson(absl::string_view json, absl::string_view text,
                         const std::vector<std::string>& names);

  // One line to the person in front of it, not part of the data. Silent unless tables are asked for.
  void Say(absl::string_view line);

  std::ostream& data() { return *data_; }
  std::ostream& talk() { return *talk_; }

 private:
  std::ostream* data_;
  std::ostream* talk_;
  std::function<absl::Status()> action_;
  std::unique_ptr<Connection> connection_;
};

// A random uuid.
std::string RandomUuid();

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_SESSION_H_
