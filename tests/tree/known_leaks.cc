// What the leak check of the address sanitizer leaves out, as it is not ours: libpqxx 6.4 loses the result of a call in
// which its connection breaks, and who stops a ledger breaks what still waits. Linked into every test program; the
// sanitizer asks for it by this name.
extern "C" const char* __lsan_default_suppressions();  // NOLINT(bugprone-reserved-identifier)

const char* __lsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "leak:libpqxx\n";
}
