// WriteAnswer: what a reply to a write is made from: what its own command did. The state may hold
// what other commands did since; it is there for names of classes and traits, and for records that
// the command left as they were. A value for the time of one reply.
#ifndef BERTH_SERVICES_WIRE_WRITE_ANSWER_H_
#define BERTH_SERVICES_WIRE_WRITE_ANSWER_H_

#include "placement/commands/decision.h"
#include "placement/state/state.h"

namespace berth::services {

struct WriteAnswer {
  const placement::Decision& decision;  // its status is OK
  const placement::State& state;        // at the decision's revision, or newer
  const placement::Catalog& catalog;    // of the state
};

}  // namespace berth::services

#endif  // BERTH_SERVICES_WIRE_WRITE_ANSWER_H_
