// NodeState: what is known of a node. The parts of a Node share it.
//
// A plain value. Not thread-safe; the node's lock protects it.
#ifndef BERTH_TRACKER_NODE_NODE_STATE_H_
#define BERTH_TRACKER_NODE_NODE_STATE_H_

#include <memory>
#include <optional>
#include <string>

#include "tracker/account/account.h"
#include "tracker/audit/audit.h"
#include "tracker/audit/pass.h"
#include "tracker/audit/records.h"
#include "tracker/claims/terms.h"

namespace berth::tracker {

struct NodeState {
  std::string name;
  std::optional<NodeAccount> account;  // absent: the identity is not known yet
  std::optional<Records> records;      // absent: none have come (Node::records)
  PassOutcome last;                    // how the last pass ended
  std::shared_ptr<const Facts> facts;  // of the last good pass; null: no pass was good yet
  std::shared_ptr<const Audit> audit;  // the last one; null: no pass was good yet
  bool changes_wait = false;           // changes of what is known since the last audit wait for one
  ClaimSettings claim_settings;        // of the configuration with which the facts were observed
};

}  // namespace berth::tracker

#endif  // BERTH_TRACKER_NODE_NODE_STATE_H_
