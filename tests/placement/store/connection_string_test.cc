#include "placement/store/connection_string.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"

namespace berth::placement {
namespace {

constexpr char kUnreadable[] =
    "the connection string cannot be read: it has a setting without a value, one that libpq does "
    "not "
    "know, or a character in a value that is not escaped";

struct ShownCase {
  const char* url;
  const char* text;
  const char* shown;
};

TEST(ConnectionString, PasswordsAreNotShown) {
  const ShownCase cases[] = {
      {"postgresql://u:topsecret@h/d", "no topsecret here\n", "no ... here"},
      {"postgresql://u:top%2Fsecret@h/d", "top%2Fsecret is top/secret", "... is ..."},
      {"host=h password=topsecret port=1", "topsecret", "..."},
      {"postgresql://h/d?password=topsecret&port=1", "topsecret", "..."},
      // Several passwords: each.
      {"postgresql://u:topsecret@[h/d?sslpassword=other", "topsecret, other", "..., ..."},
      {"postgresql://h/d?sslpassword=other&password=topsecret", "topsecret, other", "..., ..."},
      // Characters that had to be escaped: libpq takes what follows them for a host or a port.
      {"postgresql://u:tops@ecret@h/d", "host \"ecret@h\"", "host \"...@h\""},
      {"postgresql://u:tops/ecret@h/d", "port \"tops\"", "port \"...\""},
      {"postgresql://u:tops?ecret@h/d", "port \"tops\", \"ecret@h/d\"",
       "port \"...\", \"...@h/d\""},
      {"postgresql://u:to#psecret@h/d", "port \"to#psecret\"", "port \"...\""},
      // Nothing is secret.
      {"postgresql://u@h1:5432,h2:5432/d", "port 5432 of h1", "port 5432 of h1"},
      {"postgresql://u:@h:5432/d", "user u at h:5432", "user u at h:5432"},
      {"postgresql:///d?host=/run", " no such file ", "no such file"},
      {"postgresql://u:a/b@h/d", "a port", "a port"},
      // libpq takes what follows a character that had to be escaped for a setting, and names it.
      {"host=h password=correct horsebattery dbname=d",
       "missing \"=\" after \"horsebattery\" in connection info string\n", kUnreadable},
      {"host=h password=correct horse=battery", "invalid connection option \"horse\"\n",
       kUnreadable},
      {"postgresql://u@h/d?password=abcd&secretrest",
       "missing key/value separator \"=\" in URI query parameter: \"secretrest\"\n", kUnreadable},
      {"postgresql://u@h/d?password=abcd&secret=rest", "invalid URI query parameter: \"secret\"\n",
       kUnreadable},
  };
  for (const ShownCase& c : cases) EXPECT_EQ(WithoutPassword(c.text, c.url), c.shown) << c.url;
}

TEST(ConnectionString, SettingsOfTheOperatorComeLast) {
  EXPECT_TRUE(
      absl::StrContains(WithDefaults("postgresql://h/d?connect_timeout=9"), "?connect_timeout=2&"));
  EXPECT_TRUE(
      absl::EndsWith(WithDefaults("postgresql://h/d?connect_timeout=9"), "&connect_timeout=9"));
  EXPECT_TRUE(absl::EndsWith(WithDefaults("host=h connect_timeout=9"), " connect_timeout=9"));
}

}  // namespace
}  // namespace berth::placement
