// Changes as people read them, one line each. Pure: messages in, text out.
#ifndef BERTH_SERVICES_CLI_TEXT_WATCH_VIEW_H_
#define BERTH_SERVICES_CLI_TEXT_WATCH_VIEW_H_

#include <string>

#include "berth/placement/v1/watch.pb.h"

namespace berth::cli {

// An entity in words: what kind of thing, which one, and what it is like.
struct EntityText {
  std::string kind;
  std::string key;
  std::string details;
};
EntityText TextOf(const placement::v1::Entity& entity);
std::string KindWords(placement::v1::EntityKind kind);

// The header of the lines that follow.
std::string WatchHeader();
// A line for each change of `response`; empty where it has none.
std::string WatchLines(const placement::v1::WatchResponse& response);

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_WATCH_VIEW_H_
