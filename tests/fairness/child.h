// Child: this program once more, as another process in the same session, with a certificate of its own.
//
// The child has to end when its standard input ends. For the main thread.
#ifndef BERTH_TESTS_FAIRNESS_CHILD_H_
#define BERTH_TESTS_FAIRNESS_CHILD_H_

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace berth::fairness {

class Child {
 public:
  // Starts the program with `arguments`. Its environment names the certificate of `identity` as
  // tests/bench/credentials.h reads it.
  Child(const std::vector<std::string>& arguments, const std::string& identity);
  // Kills the child if it still runs.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // The next line of its standard output, without the end of the line; empty if there is none within
  // `limit`, or any more.
  std::string Line(absl::Duration limit);
  // Ends its standard input.
  void CloseInput();
  // Its exit code, 128 + n after signal n; -1 if it still runs after `limit`.
  int AwaitEnd(absl::Duration limit);

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
  std::string read_;  // of its output, and not yet returned
};

}  // namespace berth::fairness

#endif  // BERTH_TESTS_FAIRNESS_CHILD_H_
