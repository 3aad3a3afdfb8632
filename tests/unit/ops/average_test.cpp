#include "ckpt/average.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "ckpt/assemble.h"
#include "ckpt/error.h"
#include "ckpt/tensor_reader.h"
#include "formats/torch_files.h"

namespace ckpt {
namespace {

template <class T>
TensorSource source(const std::string& name, DType dtype, const std::vector<T>& numbers) {
  const auto bytes = std::as_bytes(std::span(numbers));
  return {.name = name,
          .dtype = dtype,
          .shape = {static_cast<std::int64_t>(numbers.size())},
          .bytes = memory_source({bytes.begin(), bytes.end()}, name)};
}

Checkpoint of(std::vector<float> numbers) { return assemble_state_dict({source("w", DType::float32, numbers)}); }

template <class T>
std::vector<T> values(const Checkpoint& checkpoint, const std::string& name) {
  for (const NamedTensor& named : tensor_names(checkpoint)) {
    if (named.name != name) continue;
    const TensorReader reader(checkpoint, named);
    std::vector<T> out(reader.rows() * reader.row_bytes() / sizeof(T));
    reader.read(0, reader.rows(), std::as_writable_bytes(std::span(out)));
    return out;
  }
  return {};
}

using Floats = std::vector<float>;

TEST(Average, IsTheMean) {
  const auto [result, report] = average({of({1, 2}), of({2, 4}), of({6, 0})});
  EXPECT_EQ(values<float>(result, "w"), (Floats{3, 2}));
  EXPECT_EQ(report.tensors, 1U);
}

// Each view of a storage ends before its storage does, and the checksum is the storage's.
TEST(Average, ReadsAStorageOfManyViewsOnce) {
  constexpr std::int64_t views = 50, elements = 1000;
  std::vector<std::pair<py::Code, py::Code>> flat, apart;
  std::vector<torch_testing::Member> data;
  for (std::int64_t i = 0; i < views; ++i) {
    const py::Code name = py::str("w" + std::to_string(i));
    const auto number = static_cast<float>(i);
    flat.emplace_back(name, torch_testing::tensor(torch_testing::storage({.elements = views * elements}), {elements},
                                                  {1}, i * elements));
    const std::string key = std::to_string(i);
    apart.emplace_back(
        name, torch_testing::tensor(torch_testing::storage({.key = key, .elements = elements}), {elements}, {1}));
    data.push_back({"data/" + key, torch_testing::floats(Floats(elements, number))});
  }
  const torch_testing::Member zeros{"data/0", torch_testing::floats(Floats(views * elements))};
  const auto counting = std::make_shared<io_testing::CountingSource>(
      bytes_of(torch_testing::ZipFile{.object = py::dict(flat), .data = {zeros}}));
  const Checkpoint other =
      torch_testing::read_bytes(bytes_of(torch_testing::ZipFile{.object = py::dict(apart), .data = data}));
  const auto [result, report] = average({read(counting), other});
  const Checkpoint written = torch_testing::read_bytes(torch_testing::written(result));
  EXPECT_EQ(values<float>(written, "w7"), Floats(elements, 3.5F));
  EXPECT_LT(counting->read, 4 * counting->size());
}

TEST(Average, WeighsByTheShareOfTheSum) {
  EXPECT_EQ(values<float>(average({of({4}), of({8})}, {{1, 3}, {}}).first, "w"), (Floats{7}));
}

TEST(Average, WithADecayBeginsWithTheFirst) {
  EXPECT_EQ(values<float>(average({of({8}), of({4}), of({2})}, {{}, 0.5}).first, "w"), (Floats{4}));
}

TEST(Average, SumsInDoubles) {
  EXPECT_EQ(values<float>(average({of({1e8F}), of({1}), of({-1e8F}), of({1})}).first, "w"), (Floats{0.5}));
}

TEST(Average, TakesIntegersFromTheLast) {
  const auto with = [](float weight, std::int64_t steps) {
    return assemble_state_dict(
        {source<float>("w", DType::float32, {weight}), source<std::int64_t>("steps", DType::int64, {steps})});
  };
  const auto [result, report] = average({with(1, 10), with(3, 20)});
  EXPECT_EQ(values<std::int64_t>(result, "steps"), (std::vector<std::int64_t>{20}));
  EXPECT_EQ(report.kept, (std::vector<std::string>{"steps"}));
}

TEST(Average, HasTheDtypeOfTheLast) {
  const Checkpoint doubles = assemble_state_dict({source<double>("w", DType::float64, {2})});
  const auto [result, report] = average({of({1}), doubles});
  EXPECT_EQ(values<double>(result, "w"), (std::vector<double>{1.5}));
  EXPECT_EQ(report.dtypes, (std::vector<std::string>{"w"}));
}

TEST(Average, KeepsTensorsTied) {
  const auto tied = [](float number) {
    TensorSource a = source<float>("a", DType::float32, {number}), b = a;
    b.name = "b";
    return assemble_state_dict({a, b});
  };
  const Checkpoint result = average({tied(1), tied(3)}).first;
  EXPECT_EQ(result.storages.size(), 1U);
  EXPECT_EQ(values<float>(result, "b"), (Floats{2}));
}

TEST(Average, ReadsWhereverOneBegins) {
  Floats numbers(20'000);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  const Checkpoint result = average({of(numbers), of(numbers)}).first;
  const Storage& storage = result.storages.at(0);
  for (const std::size_t at : {40'001U, 3U, 79'996U, 32'766U}) {
    std::vector<std::byte> some(std::min<std::size_t>(9, storage.nbytes - at));
    storage.bytes->read_exactly(at, some);
    EXPECT_EQ(std::memcmp(some.data(), reinterpret_cast<const std::byte*>(numbers.data()) + at, some.size()), 0) << at;
  }
}

/// A state dict of one number.
py::Code numbered(const std::string& key, const py::Pairs& more = {}) {
  py::Pairs pairs{
      {py::str("fc.weight"), torch_testing::tensor(torch_testing::storage({.key = key, .elements = 1}), {1}, {1})}};
  pairs.insert(pairs.end(), more.begin(), more.end());
  return py::dict(pairs);
}

/// `numbers`: by their storages' keys.
Checkpoint file_of(const py::Pairs& entries, const std::map<std::string, float>& numbers) {
  torch_testing::ZipFile file{.object = py::dict(entries), .data = {}};
  for (const auto& [key, number] : numbers) file.data.push_back({"data/" + key, torch_testing::floats({number})});
  return torch_testing::read_bytes(bytes_of(file));
}

TEST(Average, OfOneStateDictUnderTwoPathsIsOfBoth) {
  const Checkpoint apart =
      file_of({{py::str("model"), numbered("0")}, {py::str("best"), numbered("1")}}, {{"0", 1}, {"1", 5}});
  const Checkpoint shared =
      file_of({{py::str("model"), py::put(numbered("0"), 9)}, {py::str("best"), py::get(9)}}, {{"0", 3}});
  EXPECT_THROW(average({apart, shared}), Error);
  const Checkpoint into = average({shared, apart}).first;
  EXPECT_EQ(values<float>(into, "model.fc.weight"), (Floats{2}));
  EXPECT_EQ(values<float>(into, "best.fc.weight"), (Floats{4}));
  const Checkpoint alone = file_of({{py::str("model"), numbered("0")}}, {{"0", 1}});
  EXPECT_EQ(values<float>(average({alone, shared}).first, "best.fc.weight"), (Floats{2}));
}

TEST(Average, TakesTheSamePathWhereThereIsOne) {
  const Checkpoint both =
      file_of({{py::str("model"), numbered("0")}, {py::str("ema"), numbered("1")}}, {{"0", 0}, {"1", 100}});
  const Checkpoint ema = file_of({{py::str("ema"), numbered("0")}}, {{"0", 50}});
  const auto [result, report] = average({both, ema});
  EXPECT_EQ(values<float>(result, "ema.fc.weight"), (Floats{75}));
  EXPECT_TRUE(report.elsewhere.empty());
}

TEST(Average, TellsOfAStateDictAtAnotherPath) {
  const Checkpoint model = file_of({{py::str("model"), numbered("0")}}, {{"0", 0}});
  const Checkpoint ema = file_of({{py::str("ema"), numbered("0")}}, {{"0", 50}});
  const auto report = average({model, ema}).second;
  ASSERT_EQ(report.elsewhere.size(), 1U);
  EXPECT_EQ(report.elsewhere[0].path, "model");
  EXPECT_EQ(report.elsewhere[0].last_path, "ema");
}

TEST(Average, RefusesAModelAmongOtherValues) {
  const auto with_tau = [](const std::string& path) {
    return file_of({{py::str(path), numbered("0", {{py::str("fc.tau"), py::integer(1)}})},
                    {py::str("ema"), numbered("1")},
                    {py::str("disc"), numbered("2")}},
                   {{"0", 1}, {"1", 1}, {"2", 1}});
  };
  EXPECT_THROW(average({with_tau("model"), with_tau("model")}), Error);
  EXPECT_EQ(average({with_tau("gen"), with_tau("gen")}).second.kept, (std::vector<std::string>{"gen.fc.weight"}));
}

std::vector<std::string> misfits(std::vector<Checkpoint> checkpoints) {
  try {
    average(std::move(checkpoints));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    return error.details();
  }
  return {};
}

TEST(Average, NamesEveryMisfit) {
  Checkpoint other = assemble_state_dict({source<float>("v", DType::float32, {1})});
  EXPECT_EQ(misfits({of({1}), of({1, 2})}).size(), 1U);
  EXPECT_EQ(misfits({of({1}), std::move(other)}).size(), 2U);
}

/// Any state dict beside it may be another's.
TEST(Average, RefusesWholeModules) {
  const auto weights = py::ordered_dict({{py::str("w"), torch_testing::weight()}});
  const auto module =
      py::build(py::call(py::global("m", "Net"), {}), py::dict({{py::str("_parameters"), weights},
                                                                {py::str("_buffers"), py::ordered_dict({})},
                                                                {py::str("_modules"), py::ordered_dict({})}}));
  const auto file = [&] {
    return torch_testing::checkpoint_of(py::dict({{py::str("model"), module}, {py::str("ema"), weights}}));
  };
  const auto error = io_testing::error_of([&] { average({file(), file()}); });
  ASSERT_TRUE(error);
  EXPECT_TRUE(io_testing::has(error->what(), "the file holds a whole module")) << error->what();
}

TEST(Average, LeavesExtraStates) {
  const auto of = [](const Floats& state) {
    return assemble_state_dict(
        {source<float>("w", DType::float32, {1}), source("fc._extra_state", DType::float32, state)});
  };
  const auto [result, report] = average({of({1, 2, 3}), of({4, 5})});
  EXPECT_EQ(values<float>(result, "fc._extra_state"), (Floats{4, 5}));
  EXPECT_EQ(report.kept, std::vector<std::string>{"fc._extra_state"});
}

TEST(Average, RefusesRealAndComplex) {
  EXPECT_EQ(misfits({of({1}), assemble_state_dict({{.name = "w",
                                                    .dtype = DType::complex64,
                                                    .shape = {1},
                                                    .bytes = memory_source(std::vector<std::byte>(8), "w")}})})
                .size(),
            1U);
}

TEST(Average, RefusesWeightsThatAreNone) {
  EXPECT_THROW(average({of({1}), of({2})}, {{1}, {}}), Error);
  EXPECT_THROW(average({of({1}), of({2})}, {{1, -1}, {}}), Error);
  EXPECT_THROW(average({of({1}), of({2})}, {{}, 1.5}), Error);
  EXPECT_THROW(average({of({1}), of({2})}, {{1, 1}, 0.5}), Error);
  EXPECT_THROW(average({}), Error);
}

}  // namespace
}  // namespace ckpt
