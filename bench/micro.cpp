// How fast the parts are that every conversion is made of, on data like a checkpoint's. Times on a shared machine vary
// up to twofold: compare rows of one run, and use --benchmark_repetitions=5 --benchmark_report_aggregates_only=true.
#include <benchmark/benchmark.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "ckpt/formats.h"
#include "ckpt/gzip.h"
#include "ckpt/ops.h"
#include "container/zip_writer.h"
#include "io/bytes.h"
#include "io/checksum.h"
#include "io/stream.h"
#include "ops/cast_elements.h"
#include "pickle/emitter.h"
#include "pickle/machine.h"
#include "pickle/opcodes.h"
#include "pickle/scanner.h"

namespace {

constexpr std::size_t weight_count = 8 << 20;  // 32 MiB of float32

/// Normally distributed floats, as trained weights are: nearly incompressible, which is what gzip meets in practice.
const std::vector<std::byte>& weights() {
  static const std::vector<std::byte> bytes = [] {
    std::mt19937 random(1);  // the same weights in each run
    std::normal_distribution<float> normal(0.0F, 0.05F);
    std::vector<float> floats(weight_count);
    for (float& value : floats) value = normal(random);
    std::vector<std::byte> result(floats.size() * sizeof(float));
    std::memcpy(result.data(), floats.data(), result.size());
    return result;
  }();
  return bytes;
}

class MemorySink final : public ckpt::ByteSink {
 public:
  MemorySink() : ByteSink("memory") {}
  void commit() override {}
  std::vector<std::byte> bytes;

 private:
  void append(std::span<const std::byte> more) override { bytes.insert(bytes.end(), more.begin(), more.end()); }
};

std::vector<std::byte> compressed(int level) {
  MemorySink target;
  const auto sink = ckpt::gzip_sink(target, {.level = level});
  sink->write(weights());
  sink->commit();
  return std::move(target.bytes);
}

/// The pickle of a state dict of `tensors` entries of `side` × `side` elements, in the shape torch gives it.
std::string state_dict_pickle(int tensors, std::int64_t side = 64) {
  ckpt::ValueGraph graph;
  const auto rebuild = graph.make_global("torch._utils", "_rebuild_tensor_v2");
  const auto storage_class = graph.make_global("torch", "FloatStorage");
  const auto ints = [&](std::initializer_list<std::int64_t> values) {
    std::vector<ckpt::ValueId> ids;
    for (const std::int64_t value : values) ids.push_back(graph.make_integer(value));
    return graph.make_tuple(ids);
  };
  std::vector<ckpt::ValueId> entries;
  for (int i = 0; i < tensors; ++i) {
    const ckpt::ValueId id_items[] = {graph.make_str("storage"), storage_class, graph.make_str(std::to_string(i)),
                                      graph.make_str("cuda:0"), graph.make_integer(side * side)};
    const ckpt::ValueId arguments[] = {graph.make_persistent(graph.make_tuple(id_items)), graph.make_integer(0),
                                       ints({side, side}), ints({side, 1}), graph.make_boolean(false)};
    const ckpt::ValueId call[] = {rebuild, graph.make_tuple(arguments)};
    entries.push_back(graph.make_str("module.layers." + std::to_string(i) + ".weight"));
    entries.push_back(graph.make_object(ckpt::CallKind::reduce, call));
  }
  const auto dict = graph.make_container(ckpt::ValueKind::dict);
  graph.add_effect(dict, ckpt::EffectKind::set_items, entries);
  return ckpt::pickle::emit(graph, dict);
}

ckpt::ByteSourcePtr pickle_source(int tensors) {
  const std::string text = state_dict_pickle(tensors);
  const auto bytes = ckpt::as_bytes(text);
  return ckpt::memory_source({bytes.begin(), bytes.end()}, "pickle");
}

void count_bytes(benchmark::State& state, std::uint64_t bytes_a_run) {
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes_a_run) * static_cast<std::int64_t>(state.iterations()));
}

/// The floor for everything that touches each byte once.
void copy_memory(benchmark::State& state) {
  std::vector<std::byte> to(weights().size());
  while (state.KeepRunning()) {
    std::memcpy(to.data(), weights().data(), to.size());
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
  }
  count_bytes(state, to.size());
}
BENCHMARK(copy_memory)->Unit(benchmark::kMillisecond);

void crc32(benchmark::State& state) {
  while (state.KeepRunning()) benchmark::DoNotOptimize(ckpt::crc32(0, weights()));
  count_bytes(state, weights().size());
}
BENCHMARK(crc32)->Unit(benchmark::kMillisecond);

void sha256(benchmark::State& state) {
  while (state.KeepRunning()) {
    ckpt::Sha256 sha;
    sha.update(weights());
    benchmark::DoNotOptimize(sha.hex());
  }
  count_bytes(state, weights().size());
}
BENCHMARK(sha256)->Unit(benchmark::kMillisecond);

/// Throughput counts bytes read. `vectors`: with the instructions that this machine has, or in plain C++.
void cast_elements(benchmark::State& state, ckpt::DType to) {
  const bool vectors = state.range(0) != 0;
  if (vectors && ckpt::avx2_casts() == nullptr) return state.SkipWithError("no AVX2 here");
  const ckpt::CastKernels& kernels = vectors ? *ckpt::avx2_casts() : ckpt::portable_casts;
  std::vector<std::byte> out(weight_count * ckpt::dtype_size(to));
  while (state.KeepRunning()) {
    ckpt::cast_elements(ckpt::DType::float32, to, weights(), out, kernels);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  count_bytes(state, weights().size());
}
BENCHMARK_CAPTURE(cast_elements, float16, ckpt::DType::float16)
    ->ArgName("vectors")
    ->DenseRange(0, 1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(cast_elements, bfloat16, ckpt::DType::bfloat16)
    ->ArgName("vectors")
    ->DenseRange(0, 1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(cast_elements, float8_e4m3fn, ckpt::DType::float8_e4m3fn)
    ->ArgName("vectors")
    ->DenseRange(0, 1)
    ->Unit(benchmark::kMillisecond);

/// Throughput counts uncompressed bytes. `size` is compressed to uncompressed.
void gzip_sink(benchmark::State& state) {
  std::size_t size = 0;
  while (state.KeepRunning()) size = compressed(static_cast<int>(state.range(0))).size();
  count_bytes(state, weights().size());
  state.counters["size"] = static_cast<double>(size) / static_cast<double>(weights().size());
}
BENCHMARK(gzip_sink)->ArgName("level")->Arg(1)->Arg(3)->Arg(6)->Arg(9)->Unit(benchmark::kMillisecond);

/// Throughput counts uncompressed bytes. Reads forward once, checksum included, from level 1's output.
void gunzip(benchmark::State& state) {
  const auto source = ckpt::memory_source(compressed(1), "weights.gz");
  while (state.KeepRunning()) {
    const auto inflated = ckpt::gunzip(source);
    std::uint64_t bytes = 0;
    ckpt::stream_all(*inflated, [&](std::span<const std::byte> piece) { bytes += piece.size(); });
    if (bytes != weights().size()) return state.SkipWithError("wrong length");
  }
  count_bytes(state, weights().size());
}
BENCHMARK(gunzip)->Unit(benchmark::kMillisecond);

void pickle_scan(benchmark::State& state) {
  const auto source = pickle_source(static_cast<int>(state.range(0)));
  std::int64_t ops = 0;
  while (state.KeepRunning()) {
    ckpt::pickle::Scanner scanner(*source, 0);
    for (++ops; scanner.next().code != ckpt::pickle::STOP;) ++ops;
  }
  count_bytes(state, source->size());
  state.SetItemsProcessed(ops);
}
BENCHMARK(pickle_scan)->ArgName("tensors")->Arg(100)->Arg(20000)->Unit(benchmark::kMicrosecond);

void pickle_run(benchmark::State& state) {
  const auto source = pickle_source(static_cast<int>(state.range(0)));
  while (state.KeepRunning()) {
    ckpt::ValueGraph graph;
    benchmark::DoNotOptimize(ckpt::pickle::run(*source, 0, graph).root);
  }
  count_bytes(state, source->size());
  state.SetItemsProcessed(state.range(0) * static_cast<std::int64_t>(state.iterations()));
}
BENCHMARK(pickle_run)->ArgName("tensors")->Arg(100)->Arg(20000)->Unit(benchmark::kMicrosecond);

void pickle_emit(benchmark::State& state) {
  const auto source = pickle_source(static_cast<int>(state.range(0)));
  ckpt::ValueGraph graph;
  const auto program = ckpt::pickle::run(*source, 0, graph);
  while (state.KeepRunning()) benchmark::DoNotOptimize(ckpt::pickle::emit(graph, program.root).size());
  count_bytes(state, source->size());
  state.SetItemsProcessed(state.range(0) * static_cast<std::int64_t>(state.iterations()));
}
BENCHMARK(pickle_emit)->ArgName("tensors")->Arg(100)->Arg(20000)->Unit(benchmark::kMicrosecond);

/// A torch zip of small tensors, in memory.
ckpt::ByteSourcePtr zip_source(int tensors) {
  MemorySink target;
  ckpt::ZipWriter zip(target);
  zip.add("archive/data.pkl", ckpt::as_bytes(state_dict_pickle(tensors, 4)));
  for (int i = 0; i < tensors; ++i) zip.add("archive/data/" + std::to_string(i), std::span(weights()).first(64));
  zip.add("archive/version", ckpt::as_bytes("3\n"));
  zip.finish();
  return ckpt::memory_source(std::move(target.bytes), "many.pt");
}

/// What costs time by the tensor, not by the byte: reading, naming, writing.
void checkpoint_read(benchmark::State& state) {
  const auto source = zip_source(static_cast<int>(state.range(0)));
  while (state.KeepRunning()) benchmark::DoNotOptimize(ckpt::read(source).tensors.size());
  state.SetItemsProcessed(state.range(0) * static_cast<std::int64_t>(state.iterations()));
}
BENCHMARK(checkpoint_read)->ArgName("tensors")->Arg(100)->Arg(20000)->Unit(benchmark::kMicrosecond);

void tensor_names(benchmark::State& state) {
  const ckpt::Checkpoint checkpoint = ckpt::read(zip_source(static_cast<int>(state.range(0))));
  while (state.KeepRunning()) benchmark::DoNotOptimize(ckpt::tensor_names(checkpoint).size());
  state.SetItemsProcessed(state.range(0) * static_cast<std::int64_t>(state.iterations()));
}
BENCHMARK(tensor_names)->ArgName("tensors")->Arg(100)->Arg(20000)->Unit(benchmark::kMicrosecond);

void strip_prefix(benchmark::State& state) {
  const ckpt::Checkpoint checkpoint = ckpt::read(zip_source(static_cast<int>(state.range(0))));
  while (state.KeepRunning()) benchmark::DoNotOptimize(ckpt::strip_prefix(checkpoint).second.changed);
  state.SetItemsProcessed(state.range(0) * static_cast<std::int64_t>(state.iterations()));
}
BENCHMARK(strip_prefix)->ArgName("tensors")->Arg(100)->Arg(20000)->Unit(benchmark::kMicrosecond);

void checkpoint_write(benchmark::State& state) {
  const ckpt::Checkpoint checkpoint = ckpt::read(zip_source(static_cast<int>(state.range(0))));
  const ckpt::Checkpoint on_cpu = ckpt::remap(checkpoint, ckpt::DeviceMap::all_to("cpu"));
  while (state.KeepRunning()) {
    MemorySink target;
    ckpt::write(on_cpu, target);
    benchmark::DoNotOptimize(target.bytes.data());
  }
  state.SetItemsProcessed(state.range(0) * static_cast<std::int64_t>(state.iterations()));
}
BENCHMARK(checkpoint_write)->ArgName("tensors")->Arg(100)->Arg(20000)->Unit(benchmark::kMicrosecond);

}  // namespace
