#include "torchscript/relocate.h"

#include <gtest/gtest.h>

#include "ckpt/error.h"
#include "formats/torch_files.h"

namespace ckpt::torchscript {
namespace {

/// MARK 'storage' FloatStorage KEY LOCATION 4 TUPLE BINPERSID, the location being pushed by `location`.
py::Code id(const py::Code& location) {
  return py::persistent(
      py::tuple({py::str("storage"), py::global("torch", "FloatStorage"), py::str("0"), location, py::integer(4)}));
}

/// The same, with TUPLE for every tuple, as libtorch pickles them.
std::string moved(const py::Code& code, const std::vector<std::optional<std::string>>& to) {
  const std::string pickle = py::pickle(code);
  return relocate(*torch_testing::source_of(io_testing::bytes_of(pickle)), [&](std::size_t i) { return to.at(i); });
}

TEST(Relocate, ReplacesTheLocation) {
  EXPECT_EQ(moved(id(py::str("cuda:0")), {"cpu"}), py::pickle(id(py::str("cpu"))));
}

TEST(Relocate, LeavesAnIdThatStays) {
  EXPECT_EQ(moved(id(py::str("cuda:0")), {std::nullopt}), py::pickle(id(py::str("cuda:0"))));
}

TEST(Relocate, FollowsTheMemo) {
  const auto twice = [](const std::string& location) {
    return py::list({id(py::put(py::str(location), 0)), id(py::get(0))});
  };
  EXPECT_EQ(moved(twice("cuda:0"), {"cpu", "cpu"}), py::pickle(twice("cpu")));
}

TEST(Relocate, AStringThatIsSharedStaysInItsOtherPlaces) {
  const py::Code before = py::list({py::put(py::str("cuda:0"), 0), id(py::get(0)), py::get(0)});
  EXPECT_EQ(moved(before, {"cpu"}),
            py::pickle(py::list({py::put(py::str("cuda:0"), 0), id(py::str("cpu")), py::get(0)})));
  const py::Code after = py::list({id(py::put(py::str("cuda:0"), 0)), py::get(0)});
  EXPECT_EQ(moved(after, {"cpu"}), py::pickle(py::list({id(py::put(py::str("cpu"), 0)), py::str("cuda:0")})));
}

TEST(Relocate, OneStorageMovesAndAnotherStays) {
  const py::Code both = py::list({id(py::put(py::str("cuda:0"), 0)), id(py::get(0))});
  EXPECT_EQ(moved(both, {"cpu", "cuda:0"}),
            py::pickle(py::list({id(py::put(py::str("cpu"), 0)), id(py::str("cuda:0"))})));
}

TEST(Relocate, RefusesIdsThatLibtorchDoesNotWrite) {
  const py::Code computed = py::call(py::global("builtins", "str"), {py::str("cuda:0")});
  for (const py::Code& code : {id(computed), py::persistent(py::str("x")), py::persistent(py::put(py::tuple({}), 0))})
    EXPECT_THROW(moved(code, {"cpu"}), Error);
}

}  // namespace
}  // namespace ckpt::torchscript
