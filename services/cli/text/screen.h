// Screen: what the output can show, decided once at start and handed to everything that renders.
//
// Plain value. Rendering is pure: the same data and the same Screen give the same text.
#ifndef BERTH_SERVICES_CLI_TEXT_SCREEN_H_
#define BERTH_SERVICES_CLI_TEXT_SCREEN_H_

namespace berth::cli {

struct Screen {
  int width = 0;  // columns; 0: as many as it takes
  bool colour = false;
  bool bars = false;
  bool progress = false;  // the person in front of it sees lines that change
};

}  // namespace berth::cli

#endif  // BERTH_SERVICES_CLI_TEXT_SCREEN_H_
