// Endpoints over TLS, from files: certificates that are renewed, and servers that are refused.
#include <gmock/gmock.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "berth/access/v1/access_service.grpc.pb.h"
#include "berth/placement/v1/allocation.grpc.pb.h"
#include "berth/placement/v1/watch.grpc.pb.h"
#include "services/client/cpp/call.h"
#include "services/client/cpp/endpoint.h"
#include "services/client/cpp/mirror.h"
#include "services/client/cpp/mutex.h"
#include "tests/fault/await.h"
#include "tests/processes/certificate_authority.h"
#include "tests/services/client/certificate_files.h"

namespace berth::client {
namespace {

using ::berth::testing::CertificateWords;
using ::berth::testing::IssuedCertificate;
using ::berth::testing::kClientUri;
using ::berth::testing::kServerUri;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr absl::Duration kWaitMax = absl::Seconds(60);  // bounds a failure alone

std::string CertificateOf(const grpc::ServerContext& context) {
  const auto pem = context.auth_context()->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  return pem.empty() ? "" : std::string(pem[0].data(), pem[0].size());
}

// An empty ledger, and the certificates with which it is watched.
class EmptyLedger final : public placement::v1::WatchService::Service {
 public:
  grpc::Status Watch(grpc::ServerContext* context, const placement::v1::WatchRequest* request,
                     grpc::ServerWriter<placement::v1::WatchResponse>* writer) override {
    {
      MutexLock lock(&mutex_);
      certificates_.push_back(CertificateOf(*context));
    }
    placement::v1::WatchResponse message;
    message.mutable_revision()->set_epoch(1);
    message.mutable_revision()->set_number(request->after_revision().number() + 1);
    message.set_snapshot(request->has_snapshot());
    message.set_complete(true);
    writer->Write(message);
    while (!context->IsCancelled()) absl::SleepFor(absl::Milliseconds(5));
    return grpc::Status::CANCELLED;
  }
  std::vector<std::string> certificates() {
    MutexLock lock(&mutex_);
    return certificates_;
  }

 private:
  Mutex mutex_;
  std::vector<std::string> certificates_ ABSL_GUARDED_BY(mutex_);
};

// A server over mutual TLS, which says with which certificate it is called.
class Echo final : public access::v1::AccessService::Service {
 public:
  Echo(const IssuedCertificate& issued, const std::string& ca) {
    grpc::SslServerCredentialsOptions options(
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_root_certs = ca;
    options.pem_key_cert_pairs = {{issued.key, issued.certificate}};
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(options), &port);
    builder.RegisterService(this);
    builder.RegisterService(&ledger_);
    server_ = builder.BuildAndStart();
    address_ = absl::StrCat("127.0.0.1:", port);
  }
  ~Echo() override { server_->Shutdown(std::chrono::system_clock::now()); }

  grpc::Status WhoAmI(grpc::ServerContext* context, const access::v1::WhoAmIRequest*,
                      access::v1::WhoAmIResponse* response) override {
    response->set_name(CertificateOf(*context));
    return grpc::Status::OK;
  }
  const std::string& address() const { return address_; }
  EmptyLedger* ledger() { return &ledger_; }

 private:
  EmptyLedger ledger_;
  std::unique_ptr<grpc::Server> server_;
  std::string address_;
};

class EndpointsOverTlsTest : public testing::CertificateFilesTest {
 protected:
  std::shared_ptr<Endpoints> OpenOwn(const std::string& address, const IssuedCertificate& issued) {
    return Endpoints::Open({address}, Settings("own", issued, ca_.pem()), told_.Teller()).value();
  }
  // Its renewal is put off for two seconds at most, and not for a minute.
  IssuedCertificate EndingSoon() const {
    CertificateWords words;
    words.uris = {kClientUri};
    words.not_after = absl::Now() + absl::Seconds(4);
    return ca_.Issue(words);
  }
  // The certificate that the server sees in a call.
  static std::string Seen(const std::shared_ptr<grpc::Channel>& channel) {
    access::v1::WhoAmIResponse response;
    grpc::ClientContext context;
    const grpc::Status status =
        access::v1::AccessService::Stub(channel).WhoAmI(&context, {}, &response);
    return status.ok() ? response.name() : status.error_message();
  }
  // Meets a server with this certificate: a call, a write and a mirror all fail with these words.
  void ExpectRefused(const IssuedCertificate& issued, const std::string& words) {
    const Echo echo(issued, ca_.pem());
    const auto endpoints = OpenOwn(echo.address(), ca_.Issue(kClientUri));
    EXPECT_THAT(Seen(endpoints->Channel()), HasSubstr(words));
    CallOptions options;
    options.timeout = absl::Milliseconds(300);
    placement::v1::SetAllocationsResponse response;
    const Failure failure =
        Write(endpoints.get(), &placement::v1::AllocationService::Stub::SetAllocations, {},
              &response, options);
    EXPECT_EQ(failure.code, absl::StatusCode::kUnavailable);
    EXPECT_EQ(failure.reason, "UNREACHABLE");
    EXPECT_THAT(failure.message, HasSubstr(words));
    const Mirror mirror(endpoints);
    EXPECT_TRUE(fault::AwaitWithin(kWaitMax, [&] { return !mirror.status().failure.ok(); }));
    EXPECT_THAT(InWords(mirror.status().failure),
                AllOf(HasSubstr("UNAVAILABLE"), HasSubstr(words)));
  }

  testing::Told told_;
};

TEST_F(EndpointsOverTlsTest, AServerOfAnotherRoleDomainOrCaIsRefusedInWords) {
  ExpectRefused(ca_.Issue("spiffe://d.example/tracker/host-1"),
                "the certificate of the other side is that of spiffe://d.example/tracker/host-1, "
                "but must be that of spiffe://d.example/placement/NAME");
  EXPECT_THAT(told_.text(), HasSubstr("wrong: refused a TLS connection"));
  ExpectRefused(ca_.Issue("spiffe://e.example/placement/one"),
                "is that of spiffe://e.example/placement/one, but must be that of spiffe://d.ex");
  ExpectRefused(ca_.Issue(CertificateWords()), "has 0 URIs, but must have exactly one");
  ExpectRefused(other_.Issue(kServerUri), "certificate verify failed");
}

TEST_F(EndpointsOverTlsTest, ARenewedCertificateIsThatOfANewChannel) {
  const Echo echo(ca_.Issue(kServerUri), ca_.pem());
  const IssuedCertificate later = ca_.Issue(kClientUri);
  const IssuedCertificate now = EndingSoon();
  const auto endpoints = OpenOwn(echo.address(), now);
  const auto first = endpoints->Channel();
  EXPECT_EQ(Seen(first), now.certificate);
  EXPECT_EQ(endpoints->Channel(), first);
  EXPECT_EQ(endpoints->renewals(), 0);
  testing::WriteCertificates(directory_, "own", later, ca_.pem());
  EXPECT_TRUE(fault::AwaitWithin(kWaitMax, [&] { return endpoints->Channel() != first; }));
  EXPECT_EQ(Seen(endpoints->Channel()), later.certificate);
  EXPECT_EQ(Seen(first), now.certificate);
  EXPECT_EQ(endpoints->renewals(), 1);
  EXPECT_THAT(told_.text(), StartsWith("new certificates are in use; the own one ends at "));
}

TEST_F(EndpointsOverTlsTest, WhoOnlyAsksForRenewalsSeesThem) {
  const auto endpoints = OpenOwn("unix:/nowhere/at/all", EndingSoon());
  Settings("own", ca_.Issue(kClientUri), ca_.pem());
  EXPECT_TRUE(fault::AwaitWithin(kWaitMax, [&] { return endpoints->renewals() == 1; }));
}

TEST_F(EndpointsOverTlsTest, AMirrorGoesOnWithARenewedCertificate) {
  Echo echo(ca_.Issue(kServerUri), ca_.pem());
  const IssuedCertificate now = EndingSoon();
  const IssuedCertificate later = ca_.Issue(kClientUri);
  placement::v1::Revision second;
  second.set_epoch(1);
  second.set_number(2);
  MirrorListener listener;
  listener.begins_anew =
      listener.interrupted = [](const Failure& failure) { ADD_FAILURE() << InWords(failure); };
  const Mirror mirror(OpenOwn(echo.address(), now), {}, listener);
  EXPECT_TRUE(fault::AwaitWithin(kWaitMax, [&] { return mirror.view() != nullptr; }));
  testing::WriteCertificates(directory_, "own", later, ca_.pem());
  EXPECT_NE(mirror.Await(second, kWaitMax), nullptr);
  EXPECT_EQ(echo.ledger()->certificates(),
            (std::vector<std::string>{now.certificate, later.certificate}));
  EXPECT_TRUE(mirror.status().failure.ok());
}

// Channels live on, and so does what they would tell.
TEST_F(EndpointsOverTlsTest, NothingIsToldAfterTheEnd) {
  const Echo echo(ca_.Issue("spiffe://d.example/tracker/host-1"), ca_.pem());
  auto endpoints = OpenOwn(echo.address(), ca_.Issue(kClientUri));
  const auto channel = endpoints->Channel();
  endpoints.reset();
  EXPECT_THAT(Seen(channel), HasSubstr("must be that of spiffe://d.example/placement/NAME"));
  EXPECT_EQ(told_.text(), "");
}

// A call of `tell` that runs at the end is waited for, and may call the Endpoints until then.
TEST_F(EndpointsOverTlsTest, TheEndWaitsForWhoIsTold) {
  const Echo echo(ca_.Issue("spiffe://d.example/tracker/host-1"), ca_.pem());
  absl::Notification begun;
  absl::Notification may_end;
  Endpoints* called = nullptr;
  std::atomic<bool> ended = false;
  const auto tell = [&](bool, const std::string&) {
    if (begun.HasBeenNotified()) return;
    called->Channel();
    begun.Notify();
    may_end.WaitForNotification();
    ended = true;
  };
  auto endpoints =
      Endpoints::Open({echo.address()}, Settings("own", ca_.Issue(kClientUri), ca_.pem()), tell)
          .value();
  called = endpoints.get();
  std::thread caller([channel = endpoints->Channel()] { Seen(channel); });
  begun.WaitForNotification();
  absl::Notification gone;
  std::thread ender([&] {
    endpoints.reset();
    EXPECT_TRUE(ended);
    gone.Notify();
  });
  EXPECT_FALSE(gone.WaitForNotificationWithTimeout(absl::Milliseconds(200)));
  may_end.Notify();
  ender.join();
  caller.join();
}

// Threads call everything at once while the files are written, one after the other. The newest
// certificate is used in the end, and no file between two sets ever was.
TEST_F(EndpointsOverTlsTest, ManyThreadsShareOneRenewalAfterTheOther) {
  constexpr int kRenewals = 3;
  const Echo echo(ca_.Issue(kServerUri), ca_.pem());
  IssuedCertificate newest = ca_.Issue(kClientUri);
  std::set<std::string> certificates = {newest.certificate};
  const auto endpoints = OpenOwn(echo.address(), newest);
  std::atomic<bool> stopping = false;
  Mutex mutex;
  std::set<std::string> seen;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      while (!stopping) {
        const auto channel = endpoints->Channel();
        const std::string with = Seen(channel);
        if (i == 0) endpoints->Failed(channel);  // puts renewals to use at once
        endpoints->renewals();
        MutexLock lock(&mutex);
        seen.insert(with);
      }
    });
  }
  for (int renewal = 1; renewal <= kRenewals; ++renewal) {
    newest = ca_.Issue(kClientUri);
    certificates.insert(newest.certificate);
    testing::WriteCertificates(directory_, "own", newest, ca_.pem());
    EXPECT_TRUE(fault::AwaitWithin(kWaitMax, [&] { return endpoints->renewals() == renewal; }));
  }
  EXPECT_EQ(Seen(endpoints->Channel()), newest.certificate);
  stopping = true;
  for (std::thread& thread : threads) thread.join();
  seen.insert(newest.certificate);
  EXPECT_EQ(seen, certificates);
  EXPECT_EQ(endpoints->renewals(), kRenewals);
}

TEST_F(EndpointsOverTlsTest, AllFourSettingsAreGivenOrNone) {
  EXPECT_TRUE(Endpoints::Open({"unix:/a"}, {}).ok());
  TlsSettings settings = Settings("own", ca_.Issue(kClientUri), ca_.pem());
  EXPECT_TRUE(Endpoints::Open({"unix:/a"}, settings).ok());
  settings.files.key.clear();
  EXPECT_EQ(Endpoints::Open({"unix:/a"}, settings).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace berth::client
