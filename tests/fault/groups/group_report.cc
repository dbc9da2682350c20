#include "tests/fault/groups/group_report.h"

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "placement/ground/check.h"

namespace berth::fault {
namespace {

using Json = nlohmann::json;

Json LineOf(const char* event, const GroupArrival& arrival) {
  return {{"event", event},
          {"instance", arrival.instance},
          {"group", arrival.group},
          {"host", arrival.host}};
}

// A text that is no UTF-8 has other characters in the file.
std::string TextOf(const Json& line) {
  return line.dump(-1, ' ', false, Json::error_handler_t::replace);
}

GroupArrival ArrivalOf(const Json& line) {
  return {line.at("instance"), line.at("group"), line.at("host")};
}

GroupRefusal RefusalOf(const Json& line) {
  GroupRefusal refusal{line.at("what"), line.at("reason"), line.at("instance"), line.at("group"),
                       std::nullopt,    line.at("from"),   line.at("to")};
  if (line.contains("host")) refusal.host = line.at("host").get<std::string>();
  return refusal;
}

// False, or an exception of nlohmann: no report has such a line.
bool AddEvent(const Json& line, GroupEvents* events) {
  const std::string event = line.at("event");
  if (event == "placed") {
    events->placed.push_back(ArrivalOf(line));
  } else if (event == "moved") {
    events->moved.push_back(ArrivalOf(line));
  } else if (event == "released") {
    events->released.push_back(line.at("instance"));
  } else if (event == "not_placed") {
    events->not_placed.push_back(line.at("instance"));
  } else if (event == "refused") {
    events->refusals.push_back(RefusalOf(line));
  } else if (event == "complaint") {
    events->complaints.push_back(line.at("text"));
  } else if (event == "left_open") {
    ++events->left_open;
  } else {
    return event == "end";
  }
  return true;
}

}  // namespace

GroupReport::GroupReport(const std::string& path) : file_(path) { BERTH_CHECK(file_.good()); }

void GroupReport::Placed(const GroupArrival& arrival) { Write(TextOf(LineOf("placed", arrival))); }

void GroupReport::Moved(const GroupArrival& arrival) { Write(TextOf(LineOf("moved", arrival))); }

void GroupReport::Released(const std::string& instance) {
  Write(TextOf({{"event", "released"}, {"instance", instance}}));
}

void GroupReport::NotPlaced(const std::string& instance) {
  Write(TextOf({{"event", "not_placed"}, {"instance", instance}}));
}

void GroupReport::Refused(const GroupRefusal& refusal) {
  Json line = {{"event", "refused"},       {"what", refusal.what},
               {"reason", refusal.reason}, {"instance", refusal.instance},
               {"group", refusal.group},   {"from", refusal.from},
               {"to", refusal.to}};
  if (refusal.host) line["host"] = *refusal.host;
  Write(TextOf(line));
}

void GroupReport::Complain(const std::string& text) {
  Write(TextOf({{"event", "complaint"}, {"text", text}}));
}

void GroupReport::LeftOpen() { Write(TextOf({{"event", "left_open"}})); }

void GroupReport::End() { Write(TextOf({{"event", "end"}})); }

void GroupReport::Write(const std::string& line) {
  const placement::MutexLock lock(&mutex_);
  file_ << line << std::endl;  // whatever happens to the process next
  BERTH_CHECK(file_.good());
}

absl::Status ReadReport(const std::string& path, GroupEvents* events) {
  std::ifstream file(path);
  if (!file.good()) return absl::NotFoundError(path);
  std::string text;
  bool has_ended = false;
  while (std::getline(file, text)) {
    bool is_known = false;
    try {
      const Json line = Json::parse(text);
      is_known = !has_ended && AddEvent(line, events);
      has_ended = line.at("event") == "end";
    } catch (const Json::exception&) {
      is_known = false;
    }
    if (!is_known) return absl::DataLossError(absl::StrCat(path, ": ", text));
  }
  return has_ended ? absl::OkStatus() : absl::DataLossError(absl::StrCat(path, " has no end"));
}

}  // namespace berth::fault
