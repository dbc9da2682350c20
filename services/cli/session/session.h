// Session: one run of the command line, with its settings, its server connection and its output.
//
// A command is chosen while the arguments are parsed, and run afterwards, when the settings are
// known. Owns the connection, which is opened when it is first needed. For one thread.
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
#include "placement/ground/status_macros.h"
#include "services/cli/session/connection.h"
#include "services/cli/session/settings.h"
#include "services/cli/text/progress.h"
#include "services/cli/text/screen.h"
#include "services/cli/text/table.h"

namespace berth::cli {

class Session {
 public:
  // The command's output goes to `data`, everything else to `talk`. Both must outlive the session.
  Session(std::ostream* data, std::ostream* talk) : data_(data), talk_(talk) {}

  Settings settings;
  Screen screen;
  // The settings file of the server that the command calls as that server; empty: it calls as the
  // user. See SaidByServer.
  std::string server_settings;

  // Chooses the command that Run runs. If several are chosen, Run runs the last one.
  void Choose(std::function<absl::Status()> action) { action_ = std::move(action); }
  bool chosen() const { return action_ != nullptr; }
  absl::Status Run() { return action_(); }

  Connection& Server();
  absl::Duration Timeout() const;

  // Makes the call whose request type is the type of `request`. A write without a request id gets
  // the session's request id, or a random one. The error of a write holds the request id, and says
  // if nobody knows whether the write was done. Fails like Connection::Call.
  absl::Status Call(google::protobuf::Message& request, google::protobuf::Message* answer);
  template <typename Answer>
  absl::StatusOr<Answer> Call(google::protobuf::Message& request) {
    Answer answer;
    BERTH_RETURN_IF_ERROR(Call(request, &answer));
    return answer;
  }

  // Like Call, for a call that takes many requests and answers once. The first request, which is a
  // write, gets the request id. `progress` shows how many requests are sent, then how long the
  // server takes. Without a timeout setting the call has ten minutes.
  template <typename Request>
  absl::Status Send(std::vector<Request>& requests, Progress* progress,
                    google::protobuf::Message* answer) {
    const std::string id = Stamp(&requests.front());
    std::vector<std::string> bytes;
    for (Request& request : requests) {
      bytes.push_back(request.SerializeAsString());
      request.Clear();  // saves memory: the request is serialized already
    }
    return SendBytes(requests.front(), bytes, id, progress, answer);
  }

  // Prints one answer in the wanted format: `answer` as JSON, `table` or `text` for people, or
  // `names`, one on each line. kInvalidArgument if --columns or --sort name a column that the table
  // does not have.
  absl::Status Print(const google::protobuf::Message& answer, Table table,
                     const std::vector<std::string>& names);
  absl::Status Print(const google::protobuf::Message& answer, absl::string_view text,
                     const std::vector<std::string>& names);

  // Like Print, for output that is not a message. `json` is the whole JSON text.
  absl::Status PrintJson(absl::string_view json, absl::string_view text,
                         const std::vector<std::string>& names);

  // Prints one line for people that is not part of the output. Does nothing unless the output
  // format is table.
  void Say(absl::string_view line);

  std::ostream& data() { return *data_; }
  std::ostream& talk() { return *talk_; }

 private:
  // Returns the request id of `request`. If `request` is a write without a request id, gives it one
  // first. Empty: `request` is not a write.
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
