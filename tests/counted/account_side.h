// AccountSide: the account of a tracker's node, as placement's pushes make it. Not thread-safe.
#ifndef BERTH_TESTS_COUNTED_ACCOUNT_SIDE_H_
#define BERTH_TESTS_COUNTED_ACCOUNT_SIDE_H_

#include <memory>

#include "berth/placement/v1/report.pb.h"
#include "tests/counted/counted.h"

namespace berth::counted {

class AccountSide {
 public:
  explicit AccountSide(const Place& place);
  ~AccountSide();

  // Takes in a push. The test fails if the account is then another one than the one built anew.
  void Hear(const pb::Push& push);
  // The tracker ends, and another process of it takes in a complete push.
  void Restart(const pb::Push& complete);

  Counted Now() const;
  // What the account counts as used.
  Sizes Used() const;

 private:
  class Node;
  std::unique_ptr<Node> node_;
};

}  // namespace berth::counted

#endif  // BERTH_TESTS_COUNTED_ACCOUNT_SIDE_H_
