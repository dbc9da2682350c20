#include "tests/processes/restorable.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/processes/ledger_runner.h"
#include "tests/processes/private_cluster.h"

namespace berth::placement {
namespace {

void Run(Database& database, const std::string& sql) {
  EXPECT_EQ(database.Run(sql, nullptr), absl::OkStatus()) << sql;
}

}  // namespace

Restorable::Restorable() : url_(NewDatabase()) {
  const size_t begin = url_.find("///") + 3;
  name_ = url_.substr(begin, url_.find('?') - begin);
}

void Restorable::Save() {
  auto database = ConnectOrDie(PrivateCluster().Url("postgres"));
  CutOff(*database);
  Run(*database, absl::StrCat("CREATE DATABASE saved_", name_, " TEMPLATE ", name_));
  Run(*database, absl::StrCat("ALTER DATABASE ", name_, " ALLOW_CONNECTIONS true"));
}

void Restorable::Restore() {
  auto database = ConnectOrDie(PrivateCluster().Url("postgres"));
  CutOff(*database);
  Run(*database, absl::StrCat("DROP DATABASE ", name_));
  Run(*database, absl::StrCat("ALTER DATABASE saved_", name_, " RENAME TO ", name_));
}

void Restorable::CutOff(Database& database) {
  Run(database, absl::StrCat("ALTER DATABASE ", name_, " ALLOW_CONNECTIONS false"));
  const std::string others = absl::StrCat(
      "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE datname = '",
      name_, "'");
  EXPECT_TRUE(LedgerRunner::Eventually([&] { return QueryOne(database, others) == "0"; }));
}

}  // namespace berth::placement
