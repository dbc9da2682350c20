// berth-bench: the load of tests/bench/run, one measurement per call, told as one line of JSON. With
// certificates if the environment has them (credentials.h).
#include <string>

#include "CLI/CLI.hpp"
#include "tests/bench/echo.h"
#include "tests/bench/loading.h"
#include "tests/bench/workloads.h"

namespace berth::bench {
namespace {

using Run = int (*)(const Settings&);

int Main(int argc, char** argv) {
  Settings settings;
  Run chosen = nullptr;
  CLI::App app(
      "The load of tests/bench/run. Calls over mutual TLS if BERTH_TLS_CERTIFICATE, BERTH_TLS_KEY, "
      "BERTH_TLS_CA and BERTH_TRUST_DOMAIN are set.");
  app.require_subcommand(1);
  const auto add = [&](const char* name, const char* what, Run run) {
    CLI::App* command = app.add_subcommand(name, what);
    command->callback([&chosen, run] { chosen = run; });
    command->add_option("--address", settings.address);
    command->add_option("--hosts", settings.hosts);
    command->add_option("--in-flight", settings.in_flight);
    command->add_option("--connections", settings.connections);
    command->add_option("--seconds", settings.seconds);
    command->add_option("--rate", settings.rate);
    command->add_option("--limit", settings.limit);
    command->add_option("--groups", settings.groups);
    command->add_option("--consumers", settings.consumers);
    command->add_option("--count", settings.count);
    command->add_option("--first", settings.first);
    command->add_flag("--hot", settings.hot);
    command->add_flag("--spread", settings.spread);
    command->add_flag("--nested", settings.nested);
    command->add_flag("--marked", settings.marked);
    command->add_flag("--none", settings.none);
    command->add_flag("--table", settings.table);
    command->add_flag("--in-one-call", settings.in_one_call);
    command->add_flag("--request-ids", settings.request_ids);
    command->add_option("--request-bytes", settings.request_bytes);
    command->add_option("--answer-bytes", settings.answer_bytes);
  };
  add("load-hosts", "Creates the hosts", LoadHosts);
  add("load-trees", "Creates trees of seven providers", LoadTrees);
  add("load-devices", "Creates the host with devices", LoadDevices);
  add("load-busy-hosts", "Creates small hosts and takes more than half of them", LoadBusyHosts);
  add("register", "Registers new hosts", Register);
  add("claim", "Claims on random hosts, the hot one, or trees", Claim);
  add("claim-release", "Claims and releases at once", ClaimAndRelease);
  add("claim-search", "Claims wherever placement finds room", ClaimSearch);
  add("schedule", "Finds places and claims one of them", Schedule);
  add("candidates", "Searches candidates", FindCandidates);
  add("gate-steps", "Repeats what OpenStack's gate does", GateSteps);
  add("devices", "Searches ways to take several devices of one host", FindDevices);
  add("self-check", "Has placement compare log, tables and memory", SelfCheck);
  add("echo", "Calls the bare RPC", Echo);
  add("serve-echo", "Serves the bare RPC", [](const Settings& given) {
    ServeEcho(given.answer_bytes);
    return 0;
  });
  CLI11_PARSE(app, argc, argv);
  return chosen(settings);
}

}  // namespace
}  // namespace berth::bench

int main(int argc, char** argv) { return berth::bench::Main(argc, argv); }
