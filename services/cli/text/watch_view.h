// Formats changes as text for people, one line for each. Pure: takes messages, returns text.
#ifndef BERTH_SERVICES_CLI_TEXT_WATCH_VIEW_H_
#define BERTH_SERVICES_CLI_TEXT_WATCH_VIEW_H_

#include <string>

#include "berth/placement/v1/watch.pb.h"

namespace berth::cli {

// The texts that describe an entity: its kind, its key, and its most important values.
struct EntityText {
  std::string kind;
  std::string key;
  std::string details;
};
EntityText TextOf(const placement::v1::Entity& entity);
std::string KindWords(placement::v1::EntityKind kind);

// The column titles for the lines of WatchLines.
std::string WatchHeader();
// One line for each change of `response`. Empty if `response` has no changes.
std::string WatchLines(const placement::v1::WatchResponse& response);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_WATCH_VIEW_H_
