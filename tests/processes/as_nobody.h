// AsNobody: this process has the rights of the user nobody while the object lives.
//
// It changes all threads of the process. Without effect if the process is not root's, because such a
// process has few rights already.
#ifndef BERTH_TESTS_PROCESSES_AS_NOBODY_H_
#define BERTH_TESTS_PROCESSES_AS_NOBODY_H_

#include <unistd.h>

#include <cstdlib>

namespace berth::testing {

class AsNobody {
 public:
  AsNobody() : is_root_(geteuid() == 0) {
    if (is_root_ && seteuid(kNobody) != 0) std::abort();
  }
  ~AsNobody() {
    if (is_root_ && seteuid(0) != 0) std::abort();
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
  const bool is_root_;
};

}  // namespace berth::testing

#endif  // BERTH_TESTS_PROCESSES_AS_NOBODY_H_
