// Progress: a line on the terminal that shows how far a long command has come. If the output is no
// terminal, it shows nothing.
//
// The line is not part of the command's output, and is removed when the command ends. For one
// thread.
#ifndef BERTH_SERVICES_CLI_TEXT_PROGRESS_H_
#define BERTH_SERVICES_CLI_TEXT_PROGRESS_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "placement/ground/boot_clock.h"
#include "services/cli/text/screen.h"

namespace berth::cli {

// Formats a line with a bar, for example "sending  ██████░░░░  60 %  600 of 1000". Pure.
std::string ProgressLine(absl::string_view what, int64_t done, int64_t total);
// Formats a line without a bar, for example "waiting for the ledger  12 s". Pure.
std::string WaitingLine(absl::string_view what, absl::Duration since);

class Progress {
 public:
  // `to` must outlive the Progress.
  Progress(std::ostream* to, const Screen& screen) : to_(to), shown_(screen.progress) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { Clear(); }

  // Shows that `done` of `total` items are done. `total` 0: the total is unknown. The line is not
  // rewritten at every call, so that it does not flicker.
  void Tell(absl::string_view what, int64_t done, int64_t total);
  // Shows how long the command has been waiting. Shows nothing in the first second.
  void Wait(absl::string_view what);
  // Removes the line.
  void Clear();

 private:
  void Draw(const std::string& line, placement::BootTime now);

  std::ostream* const to_;
  const bool shown_;
  bool drawn_ = false;
  placement::BootTime drawn_at_ = -absl::InfiniteDuration();
  placement::BootTime waiting_since_ = absl::InfiniteDuration();
};

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_PROGRESS_H_
