// Session: one run of the command line: its settings, its server, and where its output goes.
//
// Commands are chosen while the arguments are read and run afterwards, once the settings are known.
// Owns the connection, which is made when it is first needed. One thread.
#ifndef BERTH_SERVICES_CLI_SESSION_SESSION_H_
#define BERTH_SERVICES_CLI_SESSION_SESSION_H_

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "services/cli/session/connection.h"
#include "services/cli/session/settings.h"
#include "services/cli/text/progress.h"
#include "services/cli/text/screen.h"
#include "services/cli/text/table.h"

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

  // The same for a call that takes many requests and answers once: the first one, a write, gets the
  // request id. `progress` shows how many are sent, then that the server takes its time. Without a
  // timeout of its own a call has ten minutes.
  template <typename Request>
  absl::Status Send(std::vector<Request>& requests, Progress* progress,
                    google::protobuf::Message* answer) {
    const std::string id = Stamp(&requests.front());
    std::vector<std::string> bytes;
    for (Request& request : requests) {
      bytes.push_back(request.SerializeAsString());
      request.Clear();  // both would be much to hold
    }
    return SendBytes(requests.front(), bytes, id, progress, answer);
  }

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
  // The id of the write that `request` is, given one if it has none; empty: it is no write.
  std::string Stamp(google::protobuf::Message* request) const;
  absl::Status SendBytes(const google::protobuf::Message& type,
                         const std::vector<std::string>& requests, const std::string& id,
                         Progress* progress, google::protobuf::Message* answer);

  std::ostream* data_;
  std::ostream* talk_;
  std::function<absl::Status()> action_;
  std::unique_ptr<Connection> connection_;
};

// A random uuid.
std::string RandomUuid();

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_SESSION_SESSION_H_
