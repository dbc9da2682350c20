// Files that an operator gets wrong, with the real programs: --check-config and the start refuse each
// with the file, the line and what to do; SIGHUP changes nothing and says so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "berth/access/v1/access_service.grpc.pb.h"
#include "placement/store/child_process.h"
#include "tests/processes/certificate_authority.h"
#include "tests/processes/client_credentials.h"
#include "tests/processes/placement_server.h"
#include "tests/processes/private_cluster.h"

namespace berth::refusals {
namespace {

using e2e::PlacementServer;
using e2e::StartOrDie;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kBadFilesDomain[] = "d.example";
constexpr char kOwnUri[] = "spiffe://d.example/placement/one";
constexpr absl::Duration kBadFilesWait = absl::Seconds(40);  // bounds a failure alone
constexpr uid_t kNobody = 65534;

class BadFiles : public ::testing::Test {
 protected:
  BadFiles() {
    // Another user than root runs a program in it.
    std::filesystem::permissions(scratch_.path(), std::filesystem::perms(0755));
    WriteGood("running");
    Write("denied = [\"reader/gone\"]\n");
  }

  std::string access() const { return scratch_.path() + "/access.toml"; }
  void Write(const std::string& text) const {
    std::filesystem::remove_all(access());
    std::ofstream(access()) << text;
  }
  testing::CertificatePaths WriteGood(const std::string& name) const {
    return testing::WriteCertificates(scratch_.path(), name, good_, ca_.pem());
  }

  // The arguments of a placement with the certificates NAME and the access file.
  std::vector<std::string> Arguments(const std::string& name) const {
    const std::string base = absl::StrCat(scratch_.path(), "/", name);
    std::vector<std::string> arguments =
        testing::TlsArguments({base + ".crt", base + ".key", base + "-ca.crt"}, kBadFilesDomain);
    arguments.push_back("--access-file=" + access());
    return arguments;
  }
  void Start() { placement_ = StartOrDie(running_.path(), Arguments("running")); }

  // What a placement with the certificates NAME says that does not start; with --check-config too.
  std::vector<std::string> Refusals(const std::string& name) const {
    std::vector<std::string> said;
    // No database is asked: it would not be there.
    for (const char* more : {"--check-config", "--database=postgresql://127.0.0.1:1/none"}) {
      placement::ScratchDirectory own;
      std::vector<std::string> arguments = Arguments(name);
      arguments.emplace_back(more);
      PlacementServer server(own.path(), std::move(arguments));
      EXPECT_EQ(server.AwaitEnd(kBadFilesWait), 1) << more;
      said.push_back(server.Log());
    }
    return said;
  }

  // Sends SIGHUP until one more line of the log has both.
  void ExpectToldAtReload(const std::string& first, const std::string& second) const {
    const absl::Time until = absl::Now() + kBadFilesWait;
    while (true) {
      placement_->Signal(SIGHUP);
      absl::SleepFor(absl::Milliseconds(30));
      std::istringstream log(placement_->Log().substr(std::min(read_, placement_->Log().size())));
      for (std::string line; std::getline(log, line);) {
        if (absl::StrContains(line, first) && absl::StrContains(line, second)) return;
      }
      ASSERT_LT(absl::Now(), until) << first << ", " << second << "\n" << placement_->Log();
    }
  }
  void SkipLog() { read_ = placement_->Log().size(); }

  std::shared_ptr<grpc::Channel> Connect(const std::string& identity) const {
    const auto own = ca_.Issue(absl::StrCat("spiffe://", kBadFilesDomain, "/", identity));
    return testing::OwnChannel(placement_->address(), testing::ClientCredentials(own, ca_.pem()));
  }
  // What is in force, over a new connection.
  access::v1::GetAccessRulesResponse InForce() const {
    grpc::ClientContext context;
    context.set_deadline(absl::ToChronoTime(absl::Now() + kBadFilesWait));
    access::v1::GetAccessRulesResponse response;
    const grpc::Status status = access::v1::AccessService::NewStub(Connect("admin/ann"))
                                    ->GetAccessRules(&context, {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  const testing::CertificateAuthority ca_{"one"};
  const testing::IssuedCertificate good_ = ca_.Issue(kOwnUri);
  const placement::ScratchDirectory scratch_;
  const placement::ScratchDirectory running_;
  std::unique_ptr<PlacementServer> placement_;
  size_t read_ = 0;  // how much of the log was there before
};

TEST_F(BadFiles, OfAccessAreRefusedAndChangeNothing) {
  Start();
  const std::string digest = InForce().digest();
  const std::string half = "denied = [\"reader/a\",\n";
  struct Case {
    std::function<void()> make;
    std::string said;
    const char* advice;
  };
  const Case cases[] = {
      {[&] { std::filesystem::remove(access()); }, ": there is no such file", "create it"},
      {[&] { Write(""); }, ":1: is empty", "leave a comment in it"},
      {[&] { Write(half); }, ":2: ", "is the file complete?"},
      {[&] {
         std::filesystem::remove(access());
         std::ofstream(scratch_.path() + "/true.toml") << "denied = []\n";
         std::filesystem::create_symlink(scratch_.path() + "/true.toml", access());
       },
       ": is a link", "put the file itself there"},
      {[&] {
         std::filesystem::remove(access());
         std::filesystem::create_directory(access());
       },
       ": is a directory", "name the file in it"},
      {[&] { Write(std::string(200 << 10, '#')); }, ": is larger than 128 KiB", "the right file?"},
      {[&] { Write("denied = [\n\"reader/a\",\n\"reader/a\"]\n"); },
       ":3: 'reader/a' is denied twice", "remove one of them"},
      {[&] { Write("\ndenied = [\"admin/*\"]\n"); }, ":2: '*' is a pattern", "name each identity"},
  };
  for (const Case& c : cases) {
    c.make();
    for (const std::string& said : Refusals("running")) {
      EXPECT_THAT(said, AllOf(HasSubstr(access() + c.said), HasSubstr(c.advice)));
    }
    SkipLog();
    ExpectToldAtReload("the access file is refused, and the rules stay as they are",
                       access() + c.said);
    const auto in_force = InForce();
    EXPECT_EQ(in_force.digest(), digest) << c.said;
    EXPECT_THAT(in_force.fault(), HasSubstr(access() + c.said));
    ASSERT_EQ(in_force.denied_size(), 1) << c.said;
  }
  Write("denied = [\"reader/gone\"]\n");
  SkipLog();
  ExpectToldAtReload("the access file has not changed", digest);
  EXPECT_EQ(InForce().fault(), "");
}

// No file knows all admins, so one that denies those that it names is in force, with a warning.
TEST_F(BadFiles, AdminsThatAreDeniedAreWarnedOf) {
  Start();
  Write("denied = [\"admin/eve\"]\n");
  ExpectToldAtReload("the access file denies admins", "\"admins\":\"admin/eve\"");
  EXPECT_EQ(InForce().denied(0).identity(), "admin/eve");
}

TEST_F(BadFiles, OfCertificatesAreRefusedAndChangeNothing) {
  Start();
  const testing::CertificateAuthority other("two");
  const auto issue = [this](const std::function<void(testing::CertificateWords*)>& change) {
    testing::CertificateWords words;
    words.uris = {kOwnUri};
    change(&words);
    return ca_.Issue(words);
  };
  const auto two = issue([](auto* words) { words->uris.push_back("spiffe://d.example/admin/a"); });
  const auto dns = issue([](auto* words) { words->dns.swap(words->uris); });
  const auto later =
      issue([](auto* words) { words->not_before = absl::Now() + absl::Minutes(30); });
  const auto expired =
      issue([](auto* words) { words->not_after = absl::Now() - absl::Minutes(1); });
  const auto no_signer = issue([](auto* words) {
    words->basic_constraints = "critical,CA:TRUE";
    words->key_usage = "digitalSignature";
  });
  const auto lines = std::count(ca_.pem().begin(), ca_.pem().end(), '\n');
  struct Case {
    testing::IssuedCertificate issued;
    std::string ca;
    std::string said;
    const char* advice;
  };
  const std::string behind = absl::StrCat("-ca.crt:", lines + 1, ": ");
  const Case cases[] = {
      {ca_.Issue("spiffe://other.example/placement/one"), ca_.pem(),
       ".crt: is that of spiffe://other.example/placement/one", "issue one for this program"},
      {two, ca_.pem(), ".crt: has 2 URIs", "must have exactly one"},
      {dns, ca_.pem(), ".crt: has 0 URIs", "an id that stands as a DNS name does not count"},
      {later, ca_.pem(), ".crt: is valid only from", "is the clock right?"},
      {expired, ca_.pem(), ".crt: has expired at", "issue a new one"},
      {good_, ca_.pem() + "garbage\n", behind + "this text is no part of a certificate",
       "remove the line"},
      {good_, ca_.pem() + no_signer.certificate, behind + "the certificate that begins here is not",
       "it lacks keyCertSign in its key usage; give the certificates of CAs alone"},
      {good_, other.pem(), ".crt: does not pass as the certificate of a server",
       "give the CA that issued it"},
  };
  for (const Case& c : cases) {
    testing::WriteCertificates(scratch_.path(), "bad", c.issued, c.ca);
    for (const std::string& said : Refusals("bad")) {
      EXPECT_THAT(said, AllOf(HasSubstr(scratch_.path() + "/bad" + c.said), HasSubstr(c.advice)));
    }
    testing::WriteCertificates(scratch_.path(), "running", c.issued, c.ca);
    SkipLog();
    ExpectToldAtReload("new certificates are not used, the old ones stay in use",
                       scratch_.path() + "/running" + c.said);
    EXPECT_EQ(InForce().denied_size(), 1) << c.said;  // over a new connection, with the old CA
    WriteGood("running");
    SkipLog();
    ExpectToldAtReload("the access file has not changed", "");  // it has looked
  }
}

// A program that another user than root runs; this one does not have to be root.
class AnotherUser : public BadFiles {
 protected:
  // Its output; its exit code must be 1.
  std::string RefusalOf(std::vector<std::string> command) const {
    placement::ChildOptions options;
    options.arguments = std::move(command);
    options.account = {getuid(), getgid()};
    if (getuid() == 0) options.account = {kNobody, kNobody};
    options.output_path = running_.path() + "/output";
    options.death_signal = SIGKILL;
    std::filesystem::remove(options.output_path);
    const auto pid = placement::Spawn(options);
    EXPECT_TRUE(pid.ok()) << pid.status();
    const auto code = placement::WaitForChild(*pid, kBadFilesWait);
    EXPECT_EQ(code.value_or(-1), 1);
    std::ifstream file(options.output_path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  static void Permit(const std::string& path, unsigned permissions) {
    std::filesystem::permissions(path, std::filesystem::perms(permissions));
  }
};

TEST_F(AnotherUser, MayNotReadAKeyOrTheAccessFile) {
  std::vector<std::string> command = {BERTH_PLACEMENT_PROGRAM, "--listen=127.0.0.1:0",
                                      "--check-config"};
  for (const std::string& argument : Arguments("running")) command.push_back(argument);
  Permit(scratch_.path() + "/running.key", 0);
  EXPECT_THAT(RefusalOf(command),
              AllOf(HasSubstr(scratch_.path() + "/running.key: cannot be read: Permission denied"),
                    HasSubstr("the user of this process must be allowed to read it")));
  Permit(scratch_.path() + "/running.key", 0644);
  Permit(access(), 0);
  EXPECT_THAT(RefusalOf(command),
              HasSubstr(access() + ": the user of this process may not read it; allow it"));
}

TEST_F(AnotherUser, MayNotListenOnALowPort) {
  int first_free = 0;
  std::ifstream("/proc/sys/net/ipv4/ip_unprivileged_port_start") >> first_free;
  if (first_free <= 1) return;  // everybody has the right
  const std::string state = running_.path() + "/state";
  std::filesystem::create_directory(state);
  Permit(running_.path(), 0755);
  Permit(state, 0777);
  EXPECT_THAT(RefusalOf({BERTH_TRACKER_PROGRAM, "--listen=127.0.0.1:1",
                         "--metrics-listen=", "--state-dir=" + state, "--placement=127.0.0.1:1",
                         "--host=h1", "--hypervisor=test:///default"}),
              AllOf(HasSubstr("this user has no right to listen on port 1"),
                    HasSubstr("choose a port from 1024 up, or give the process the capability "
                              "CAP_NET_BIND_SERVICE")));
}

}  // namespace
}  // namespace berth::refusals
