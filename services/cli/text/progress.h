// Progress: a line on the terminal that says how far a long command is, and nothing elsewhere.
//
// Goes to the person, never into the data; gone when it ends. One thread.
#ifndef BERTH_SERVICES_CLI_TEXT_PROGRESS_H_
#define BERTH_SERVICES_CLI_TEXT_PROGRESS_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "services/cli/text/screen.h"

namespace berth::cli {

// "sending  ██████░░░░  60 %  600 of 1000". Pure.
std::string ProgressLine(absl::string_view what, int64_t done, int64_t total);
// "the ledger decides  12 s". Pure.
std::string WaitingLine(absl::string_view what, absl::Duration since);

class Progress {
 public:
  // `to` must outlive it.
  Progress(std::ostream* to, const Screen& screen) : to_(to), shown_(screen.progress) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { Clear(); }

  // `what` is `done` of `total`; 0: nobody knows of how many. Seldom enough not to flicker.
  void Tell(absl::string_view what, int64_t done, int64_t total);
  // Nothing is known but that it takes time: told from the first second on.
  void Wait(absl::string_view what);
  // Takes the line away.
  void Clear();

 private:
  void Draw(const std::string& line, absl::Time now);

  std::ostream* const to_;
  const bool shown_;
  bool drawn_ = false;
  absl::Time drawn_at_ = absl::InfinitePast();
  absl::Time waiting_since_ = absl::InfiniteFuture();
};

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_PROGRESS_H_
