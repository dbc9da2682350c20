// WaitingRoom: the readers who wait until the published state has reached a revision.
//
// Each owner has a share of the room, so that one caller who asks for revisions of the future
// cannot fill it. While much of the room is free, an owner may use more. A reader whose owner has used
// up its share waits in the yard. He gets his answer if it comes before his turn. When it is his turn,
// he comes into the room if his owner may have more there, and is refused if not. To refuse him at once
// would cost more than to let him wait, because many callers ask again at once. Not thread-safe.
#ifndef BERTH_PLACEMENT_PUBLISH_WAITING_ROOM_H_
#define BERTH_PLACEMENT_PUBLISH_WAITING_ROOM_H_

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "placement/ground/boot_clock.h"
#include "placement/state/state.h"
#include "placement/values/types.h"

namespace berth::placement {

// The call for which somebody reads.
struct ReadingCall {
  std::string owner;  // the identity of the caller: "ROLE/NAME"; empty: the process itself
  std::shared_ptr<std::atomic<bool>> cancelled;  // true: the call was cancelled; may be null
};

class WaitingRoom {
 public:
  using Answer = absl::StatusOr<StatePtr>;
  struct Waiter {
    Revision minimum;
    BootTime deadline;
    ReadingCall call;
    absl::AnyInvocable<void(Answer)> ready;
  };
  // Returns the answer that a waiter gets now; nothing if the waiter has to go on waiting.
  using AnswerFor = absl::FunctionRef<std::optional<Answer>(const Waiter&)>;
  using Call = absl::AnyInvocable<void()>;

  // At most `waiters_max` readers wait in the room, and as many in the yard. An owner may have as
  // many in the room as half of the free places, or its share if that is more: a tenth of all
  // places, but at least one.
  explicit WaitingRoom(int waiters_max);
  WaitingRoom(const WaitingRoom&) = delete;
  WaitingRoom& operator=(const WaitingRoom&) = delete;

  // Lets a reader wait, and takes it from `*waiter`. Refuses, and leaves `*waiter` as it is:
  //   kUnavailable  OVERLOADED: the share of its owner is used up, and the yard is full
  //   kUnavailable  TOO_MANY_WAIT: the room is full
  absl::Status Admit(Waiter* waiter);

  // Ask `answer_for` about waiters, take out those that get an answer, and return the calls that
  // give these answers. TakeUpTo asks about the waiters whose `minimum` is `revision` or earlier,
  // and does not look at the others; TakeAny asks about all; TakeSome asks about `count` of them,
  // and the next time about those after them, so that it comes to each.
  std::vector<Call> TakeUpTo(Revision revision, AnswerFor answer_for);
  std::vector<Call> TakeAny(AnswerFor answer_for);
  std::vector<Call> TakeSome(int count, AnswerFor answer_for);
  // Takes those who have waited in the yard for longest, `count` at most. They come into the room if
  // their owner may have more there now. Returns the calls that refuse the others: with OVERLOADED, or
  // with TOO_MANY_WAIT if only the room is full.
  std::vector<Call> ClearYard(int count);

 private:
  struct Place;
  using Waiters = std::multimap<Revision, Place>;
  using Yard = std::list<Waiters::iterator>;
  struct Place {
    Waiter waiter;
    std::optional<Yard::iterator> in_yard;  // none: in the room
  };

  size_t FreePlaces() const { return waiters_max_ - (waiters_.size() - yard_.size()); }
  // Whether the owner has as many in the room as it may.
  bool UsesItsShare(const std::string& owner) const;
  // Asks about the waiters before `end`.
  std::vector<Call> Take(Waiters::iterator end, AnswerFor answer_for);
  // Asks about one waiter. Adds to `calls` and takes it out if it gets an answer. Returns the next.
  Waiters::iterator Ask(Waiters::iterator at, AnswerFor answer_for, std::vector<Call>* calls);

  const size_t waiters_max_;
  const size_t share_;
  Waiters waiters_;                       // by `minimum`; those in the yard, too
  Waiters::iterator next_;                // for TakeSome
  Yard yard_;                             // the oldest first
  std::map<std::string, size_t> counts_;  // of those in the room, by owner
};

}  // namespace berth::placement

#endif  // BERTH_PLACEMENT_PUBLISH_WAITING_ROOM_H_
