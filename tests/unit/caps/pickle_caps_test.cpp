#include <algorithm>
#include <cstring>

#include "caps/caps_testing.h"
#include "ckpt/limits.h"
#include "format.h"
#include "formats/torch_files.h"
#include "pickle/global_uses.h"
#include "pickle/literals.h"
#include "pickle/machine.h"
#include "pickle/machine_state.h"
#include "pickle/memo.h"

namespace ckpt {
namespace {

using caps_testing::expect_past;
using caps_testing::expect_within;

/// A pickle of `size` bytes that makes one value and puts it into the memo again and again, in lines of 1 MiB: nothing
/// but the bytes grows.
class LongPickle final : public ByteSource {
 public:
  explicit LongPickle(std::uint64_t size) : ByteSource("long.pkl"), size_(size) {}
  [[nodiscard]] std::uint64_t size() const override { return size_; }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset >= size_) return 0;
    out = out.first(std::min<std::uint64_t>(out.size(), size_ - offset));
    std::memset(out.data(), '0', out.size());
    const auto put = [&](std::uint64_t at, char c) {
      if (at >= offset && at < offset + out.size()) out[at - offset] = static_cast<std::byte>(c);
    };
    put(0, '\x80'), put(1, '\2'), put(2, 'N');
    for (std::uint64_t line = 3 + (offset < 3 ? 0 : (offset - 3) / line_size * line_size);
         line < std::min(offset + out.size(), size_ - 1); line += line_size) {
      put(line, 'p');
      put(std::min(line + line_size, size_ - 1) - 1, '\n');
    }
    put(size_ - 1, '.');
    return out.size();
  }

 private:
  static constexpr std::uint64_t line_size = limits::mib;
  std::uint64_t size_;
};

void scan(const ByteSource& source) {
  pickle::Scanner scanner(source, 0);
  while (scanner.next().code != pickle::STOP) continue;
}

void run(const std::string& code) {
  ValueGraph graph;
  static_cast<void>(pickle::run(*torch_testing::source_of(io_testing::bytes_of(code), "test.pkl"), 0, graph));
}

void run(const std::string& code, const pickle::MachineCaps& caps) {
  const auto source = torch_testing::source_of(io_testing::bytes_of(code), "test.pkl");
  ValueGraph graph;
  static_cast<void>(pickle::Machine(*source, 0, graph, limits::pickle_bytes, caps).run());
}

// 2 GiB are scanned, and neither held nor run.
TEST(Cap, pickle_bytes) {
  expect_within([] { scan(LongPickle(limits::pickle_bytes)); });
  expect_past([] { scan(LongPickle(limits::pickle_bytes + 1)); });
}

// 128 Mi values would take GiBs: the machine is given another cap.
TEST(Cap, pickle_values) {
  EXPECT_EQ(pickle::MachineCaps().values, limits::pickle_values);
  pickle::MachineCaps caps;
  caps.values = 3;
  expect_within([&] { run("]]].", caps); });
  expect_past([&] { run("]]]].", caps); });
}

/// What a pickle that may span so many bytes makes: lists, one a byte.
void make_values(std::uint64_t count, std::uint64_t bytes) {
  const auto source = torch_testing::source_of(io_testing::bytes_of(std::string(count, ']') + "."), "test.pkl");
  ValueGraph graph;
  static_cast<void>(pickle::run(*source, 0, graph, bytes));
}

TEST(Cap, pickle_bytes_a_value) {
  const std::uint64_t most = limits::pickle_floor + 2 * limits::pickle_floor / limits::pickle_bytes_a_value;
  EXPECT_EQ(limits::pickle_value_cap(2 * limits::pickle_floor), most);
  EXPECT_EQ(limits::pickle_value_cap(limits::pickle_bytes), limits::pickle_values);
  expect_within([&] { make_values(most, 2 * limits::pickle_floor); });
  expect_past([&] { make_values(most + 1, 2 * limits::pickle_floor); });
}

// 128 Mi entries would take GiBs: the machine is given another cap.
TEST(Cap, pickle_memo) {
  EXPECT_EQ(pickle::MachineCaps().memo, limits::pickle_memo);
  pickle::MachineCaps caps;
  caps.memo = 3;
  expect_within([&] { run("Np1\np2\np4000000000\np1\n.", caps); });
  expect_past([&] { run("Np1\np2\np4000000000\np3\n.", caps); });
}

/// A list of so many names, and of the first of them again.
std::string imports(std::size_t count) {
  std::string code = "](";
  for (std::size_t i = 0; i < count; ++i) code += "cm\nn" + std::to_string(i) + "\n";
  return code + "cm\nn0\ne.";
}

TEST(Cap, pickle_globals) {
  expect_within([] { run(imports(limits::pickle_globals)); });
  expect_past([] { run(imports(limits::pickle_globals + 1)); });
  std::vector<GlobalUse> globals;
  pickle::GlobalUses uses(globals);
  const auto add = [&](std::size_t number) { uses.add({"m", "n" + std::to_string(number), Verdict::unknown, 0}); };
  expect_within([&] {
    for (std::size_t i = 0; i < limits::pickle_globals; ++i) add(i);
  });
  expect_within([&] { add(0); });
  expect_past([&] { add(limits::pickle_globals); });
}

/// A call's result is given a location of 1,000 bytes that is fetched `times` times.
std::string sharing(int times) {
  std::string code = "X" + std::string("\xe8\3\0\0", 4) + std::string(1000, 'x') + "q\1" + "0cm\nf\nq\2" + "0](";
  for (int i = 0; i < times; ++i) code += "h\2h\1\x85R";
  return "\x80\2" + code + "e.";
}

TEST(Cap, pickle_shared) {
  EXPECT_EQ(pickle::MachineCaps().shared, limits::pickle_shared);
  pickle::MachineCaps caps;
  caps.shared = 10'000;
  caps.shared_ratio = 0;
  expect_past([&] { run(sharing(11), caps); });
  caps.shared = 12'000;
  caps.shared_ratio = 1;
  expect_within([&] { run(sharing(11), caps); });
}

TEST(Cap, pickle_shared_ratio) {
  EXPECT_EQ(pickle::MachineCaps().shared_ratio, limits::pickle_shared_ratio);
  pickle::MachineCaps caps;
  caps.shared = 0;
  expect_within([&] { run(sharing(static_cast<int>(limits::pickle_shared_ratio)), caps); });
  expect_past([&] { run(sharing(static_cast<int>(limits::pickle_shared_ratio) + 2), caps); });
}

/// A dict of `times` tuples, each around the same 10,000 bytes, which are shown with escapes where they are keys.
std::string sharing_keys(int times) {
  std::string code = "B" + std::string("\x10\x27\0\0", 4) + std::string(10'000, '\xff') + "q\1" + "0}(";
  for (int i = 0; i < times; ++i) code += "h\1\x85N";
  return "\x80\3" + code + "u.";
}

TEST(Sharing, BytesOfKeysThatAreNoTextCountTheirEscapes) {
  expect_within([] { run(sharing_keys(1600)); });
  expect_past([] { run(sharing_keys(1700)); });
}

TEST(Cap, pickle_line) {
  expect_within([] { run("V" + std::string(limits::pickle_line, 'x') + "\n."); });
  expect_past([] { run("V" + std::string(limits::pickle_line + 1, 'x') + "\n."); });
}

TEST(Cap, integer_digits) {
  expect_within([] { run("L" + std::string(limits::integer_digits, '9') + "L\n."); });
  expect_past([] { run("L" + std::string(limits::integer_digits + 1, '9') + "L\n."); });
  expect_within([] { static_cast<void>(pickle::bytes_to_decimal(std::string(1785, '\1'))); });
  expect_past([] { static_cast<void>(pickle::bytes_to_decimal(std::string(1787, '\1'))); });
}

// The cap that a file's size sets is a function of it, and readers keep to what they are given.
TEST(Cap, pickle_floor) {
  EXPECT_EQ(limits::pickle_cap(0), limits::pickle_floor);
  const torch_testing::ZipFile file{.object = py::str(std::string(1000, 'x'))};  // longer than the archive's directory
  const std::uint64_t size = py::pickle(file.object, 2).size();
  const auto read = [&](std::uint64_t cap) {
    static_cast<void>(find_format("torch")->read(torch_testing::source_of(bytes_of(file)), {.pickle_cap = cap}));
  };
  expect_within([&] { read(size); });
  expect_past([&] { read(size - 1); });
}

TEST(Cap, pickle_ratio) {
  EXPECT_EQ(limits::pickle_cap(1), limits::pickle_floor + limits::pickle_ratio);
  EXPECT_EQ(limits::pickle_cap(1000), limits::pickle_floor + 1000 * limits::pickle_ratio);
  EXPECT_EQ(limits::pickle_cap((limits::pickle_bytes - limits::pickle_floor) / limits::pickle_ratio),
            limits::pickle_bytes);
  EXPECT_EQ(limits::pickle_cap(UINT64_MAX), limits::pickle_bytes);
  const torch_testing::LegacyFile file{.object = torch_testing::tensor(torch_testing::legacy_storage(), {4}, {1})};
  const std::uint64_t size = py::pickle(file.object, 2).size();  // the longest of the file's pickles
  const auto read = [&](std::uint64_t cap) {
    static_cast<void>(find_format("torch-legacy")->read(torch_testing::source_of(bytes_of(file)), {.pickle_cap = cap}));
  };
  expect_within([&] { read(size); });
  expect_past([&] { read(size - 1); });
}

// No cap, but where a text begins to stay in its file.
TEST(Cap, pickle_far_text) {
  for (const std::uint64_t less : {0, 1}) {
    const std::string pickle = py::pickle(py::bytes(std::string(limits::pickle_far_text - less, 'x')));
    const auto checkpoint = torch_testing::read_bytes(io_testing::bytes_of(pickle));
    EXPECT_EQ(checkpoint.values.far_text(checkpoint.root) == nullptr, less == 1);
  }
}

// No cap on a file, but on what is looked at for a warning.
TEST(Cap, pickles_behind) {
  std::string file = py::pickle(py::list({}));
  const auto judged = [&] {
    const auto globals = torch_testing::read_bytes(io_testing::bytes_of(file)).globals;
    return globals.size() == 1 && globals[0].name == "last";
  };
  for (std::uint64_t i = 1; i < limits::pickles_behind; ++i) file += py::pickle(py::list({}));
  const std::string last = py::pickle(py::global("zoo", "last"));
  file += last;
  EXPECT_TRUE(judged());
  file = py::pickle(py::list({})) + file;
  EXPECT_FALSE(judged());
}

TEST(Cap, nesting) {
  const auto open = [](int depth) {
    const auto source = torch_testing::source_of(bytes_of(torch_testing::ZipFile{.object = py::none()}));
    static_cast<void>(ReadContext{.depth = depth}.open(source, "a part"));
  };
  expect_within([&] { open(limits::nesting - 1); });
  expect_past([&] { open(limits::nesting); });
}

TEST(Cap, nested_pickle_floor) {
  EXPECT_EQ(limits::nested_pickle_cap(0), limits::nested_pickle_floor);
  EXPECT_EQ(limits::nested_pickle_cap(10), limits::nested_pickle_floor + 10 * limits::pickle_ratio);
  EXPECT_EQ(limits::nested_pickle_cap(UINT64_MAX), limits::pickle_bytes);
  const torch_testing::LegacyFile file{.object = torch_testing::tensor(torch_testing::legacy_storage(), {4}, {1})};
  const std::uint64_t size = py::pickle(file.object, 2).size();
  const auto open = [&](std::uint64_t cap) {
    static_cast<void>(ReadContext{.pickle_cap = cap}.open(torch_testing::source_of(bytes_of(file)), "a part"));
  };
  expect_within([&] { open(size); });
  expect_past([&] { open(size - 1); });
}

}  // namespace
}  // namespace ckpt
