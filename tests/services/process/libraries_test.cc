// What a process sets for the libraries that serve it, and what it leaves to the operator.
#include "services/process/libraries.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cstdlib>

namespace berth::services {
namespace {

constexpr char kExperiments[] = "GRPC_EXPERIMENTS";

TEST(LibrariesTest, ReadsFollowWhatAConnectionSends) {
  unsetenv(kExperiments);
  SetUpLibraries();
  EXPECT_STREQ(std::getenv(kExperiments), "-tcp_read_chunks");
}

TEST(LibrariesTest, AGoneSocketEndsNoProcess) {
  signal(SIGPIPE, SIG_DFL);
  SetUpLibraries();
  EXPECT_EQ(raise(SIGPIPE), 0);
}

TEST(LibrariesTest, TheOperatorsWordOnExperimentsStands) {
  setenv(kExperiments, "tcp_read_chunks", 1);
  SetUpLibraries();
  EXPECT_STREQ(std::getenv(kExperiments), "tcp_read_chunks");
}

}  // namespace
}  // namespace berth::services
