// Screen: the width and abilities of the output. A Screen is made once at the start, and passed to
// everything that formats text.
//
// A plain value. Formatting is pure: the same data and the same Screen give the same text.
#ifndef BERTH_SERVICES_CLI_TEXT_SCREEN_H_
#define BERTH_SERVICES_CLI_TEXT_SCREEN_H_

namespace berth::cli {

struct Screen {
  int width = 0;  // in columns; 0: unlimited
  bool colour = false;
  bool bars = false;
  bool progress = false;  // a progress line may be shown and replaced
};

// Ends what a colour or bold letters have begun, on a terminal.
inline constexpr char kPlain[] = "\x1b[0m";

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_SCREEN_H_
