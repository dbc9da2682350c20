// The `berth` command line.
#include <iostream>

#include "services/cli/grammar.h"
#include "services/cli/session/connection.h"
#include "services/cli/session/session.h"

int main(int argc, char** argv) {
  berth::cli::CatchInterrupts();
  berth::cli::Session session(&std::cout, &std::cerr);
  return berth::cli::RunCommandLine(argc, argv, session);
}
