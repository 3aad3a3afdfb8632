#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/eval_export.h"

/// Evaluation of a checkpoint on a test set: libckpt_eval, the part of ckpt that needs libtorch at run time. This
/// header needs none of it.
///
///     ckpt::eval::Options options;
///     options.model = "model.pt.gz";
///     options.data = "data/MNIST/raw";
///     const ckpt::eval::Result result = ckpt::eval::evaluate(options);
///     std::cout << result.counts.accuracy() << '\n';
///
/// Everything throws ckpt::Error: unavailable (no such device), out_of_memory, unsupported (a model that does not fit:
/// PyTorch's lines, or data that does not), invalid_argument (an option, a root that is not clear), and what reading
/// throws.
namespace ckpt::eval {

/// What goes into a model and what comes out: enough to read a data set for it.
struct Signature {
  /// Of one sample: {784}, {3, 56, 24}. Empty: whatever the data has (TorchScript).
  std::vector<std::int64_t> input;
  /// Bytes become (x / 255 - mean) / std; floats are taken as they are.
  double mean = 0, std = 1;
  /// The output of a sample is `positions` times `classes` numbers; in each position the greatest decides.
  std::int64_t positions = 1, classes = 0;
  /// One character a class, for captchas; empty: classes are numbers.
  std::string alphabet;

  /// How a class is written: "7", or "q".
  [[nodiscard]] CKPT_EVAL_API std::string class_name(std::int64_t index) const;
  /// `positions` classes as text: "7", "q66z".
  [[nodiscard]] CKPT_EVAL_API std::string text(const std::int32_t* classes_of_sample) const;
};

/// Integers that add up over batches, devices and machines.
struct Counts {
  std::uint64_t samples = 0;
  std::uint64_t correct = 0;     ///< samples of which every position is right
  std::uint64_t not_finite = 0;  ///< samples with NaN or infinity among their outputs: never correct
  /// [positions, classes, classes]: how often a label (the second index) was read as a class (the third). Samples that
  /// are not finite are not in it.
  std::vector<std::uint64_t> confusion;

  /// correct / samples; NaN where there are none.
  [[nodiscard]] CKPT_EVAL_API double accuracy() const;
  CKPT_EVAL_API Counts& operator+=(const Counts& other);
};

/// What was said of each sample, in the order of the data.
struct Predictions {
  std::uint64_t first = 0;              ///< index in the data set of the first
  std::vector<std::int32_t> labels;     ///< [samples, positions]; -1 where there is no label
  std::vector<std::int32_t> predicted;  ///< [samples, positions]; -1 where the outputs are not finite
  /// Of a sample: the product over positions of the softmax's greatest value, and of its value at the label. 0 where
  /// the outputs are not finite; the truth also where there is no label.
  std::vector<float> confidence, truth;
};

/// A sample as one looks at it.
struct Picture {
  std::uint64_t index = 0;                ///< in the data set
  std::vector<std::int32_t> label, read;  ///< [positions]; `read`: -1 where the outputs are not finite
  float truth = 0;                        ///< see Predictions
  std::uint32_t width = 0, height = 0;    ///< 0 where the samples are no pictures
  std::uint32_t channels = 0;             ///< 1 (grey) or 3 (red, green, blue)
  std::vector<std::uint8_t> pixels;       ///< [height, width, channels]
};

/// Part `index` of `count`, from 0: samples [n * index / count, n * (index + 1) / count).
struct Shard {
  std::uint64_t index = 0, count = 1;

  /// The first of its samples, and the first after them.
  [[nodiscard]] CKPT_EVAL_API std::uint64_t begin(std::uint64_t samples) const;
  [[nodiscard]] CKPT_EVAL_API std::uint64_t end(std::uint64_t samples) const;
};

/// The ranks of a run on several processes or machines, joined for as long as it lives.
class World;

/// Meets the other ranks where the environment speaks of any: torchrun's variables (RANK, WORLD_SIZE, MASTER_ADDR,
/// MASTER_PORT; also set by hand) or a Slurm step's; null where it does not. Throws Error: invalid_argument (variables
/// that contradict each other), unavailable (ranks that do not come).
[[nodiscard]] CKPT_EVAL_API std::shared_ptr<World> join_world();
/// This process's rank; 0 where there is no world.
[[nodiscard]] CKPT_EVAL_API std::uint64_t rank_in(const World* world);

struct Options {
  std::string model;                ///< a file or a folder of a checkpoint (of TorchScript a file)
  std::string arch = "auto";        ///< "fnn", "captcha-resnet", "mlp", "foonet", "net", "torchscript"
  std::optional<std::string> root;  ///< where the state dict lies; none: it is looked for (docs/eval.md)
  bool strict = false;              ///< as PyTorch loads: no remapped tags, no stripped prefix

  std::optional<std::string> data;  ///< file or folder; none: it is looked for
  std::string split = "testing";    ///< of batches and MNIST: "training", "validating"
  /// Of mlp: "relu", "tanh", "sigmoid", "gelu", "none". Where none is given: what a whole module says, else "relu".
  std::optional<std::string> activation;
  std::optional<std::pair<double, double>> normalize;  ///< of mlp and torchscript: mean and standard deviation
  /// `activation` and `normalize` are those of a model that is compared with this one: what a whole module says goes
  /// before them, and where they are taken, a warning says so.
  bool is_baseline = false;

  /// "auto", "cpu", "cuda", "cuda:1", "cuda:0,2", "cuda:all", "mps". libtorch keeps its first answer to whether there
  /// is CUDA: a program that evaluates on both begins with a GPU or "auto" (else: unavailable, with that reason).
  std::string device = "auto";
  std::optional<std::uint64_t> batch_size;  ///< none: what suits the device
  bool tf32 = false, bf16 = false;          ///< on GPUs
  std::optional<Shard> shard;
  /// Among whose ranks the data is divided; null: this process runs it all, or `shard`. Only rank 0 gets the whole
  /// result; the others get their parts. A rank that fails fails all.
  std::shared_ptr<World> world;

  bool predictions = false;  ///< fill Result::predictions
  bool outputs = false;      ///< fill Result::outputs
  std::uint64_t worst = 0;   ///< fill Result::worst with so many
};

/// What evaluate() says while it runs. All may be empty. Called from one thread.
struct Observer {
  std::function<void(const std::string&)> note;     ///< a sentence for the user, without a full stop
  std::function<void(const std::string&)> warning;  ///< likewise
  std::function<void(std::uint64_t done, std::uint64_t all)> progress;
  /// The paths of all files that are read, the model's and the test set's: once, before anything runs. What it throws
  /// ends the run.
  std::function<void(const std::vector<std::string>&)> files;
};

struct Seconds {
  double start = 0;   ///< the process's start until the model's first byte was read
  double read = 0;    ///< model and data, as far as nothing else ran meanwhile
  double upload = 0;  ///< until a device was ready (its libraries, the weights, warming up), and for copying to it
  double run = 0;     ///< from the first batch begun until all were counted
};

struct Result {
  std::string model;        ///< as the user named it
  std::string digest;       ///< of its weights: the total of `ckpt digest --root`; of arch torchscript, the file's
  std::string data;         ///< the path that was read
  std::string data_digest;  ///< docs/eval.md: the same whatever container holds the samples
  std::string version;      ///< of ckpt
  std::string arch;
  std::string activation;           ///< between its Linear layers, as in Options; empty for other models
  std::vector<std::string> layers;  ///< of mlp: the names of its Linear layers, in the order in which they run
  std::string device;               ///< "cpu", "cuda:0", "cuda:0,2"
  std::string precision;            ///< "float32", "tf32", "bf16": how it was computed
  std::string machine;              ///< for people: its processor, and the GPUs that ran
  std::uint64_t ranks = 1;
  std::optional<Shard> shard;
  std::uint64_t data_samples = 0;  ///< of the whole data set, of which counts.samples are this part
  /// Of a part: a digest of the whole data set's first sample and of all labels in its first file, which parts of one
  /// data set share.
  std::string data_fingerprint;
  Signature signature;
  Counts counts;
  Seconds seconds;
  std::uint64_t host_peak = 0;  ///< bytes of memory, at most
  std::uint64_t gpu_peak = 0;   ///< likewise, of the GPU that held most
  std::vector<std::string> warnings;
  Predictions predictions;     ///< where asked for
  std::vector<float> outputs;  ///< [samples, positions * classes], where asked for
  std::vector<Picture> worst;  ///< the samples of the lowest truth, lowest first, where asked for
};

/// Loads the model, runs the test set, counts.
CKPT_EVAL_API Result evaluate(const Options& options, const Observer& observer = {});

/// What a model reads in a picture.
struct Reading {
  std::string text;  ///< "q66z", "7"; "?" for a position whose outputs are not finite
  float confidence = 0;
};

/// Reads pictures of any size: captchas and digits. From the first flush() on a CPU until the reader goes, libtorch
/// computes with one thread in the threads that the program starts, too: at::set_num_threads(1), undone by the
/// destructor.
///
///     PictureReader reader(options);
///     reader.add("a.png");
///     std::cout << reader.flush().front().text << '\n';
class CKPT_EVAL_API PictureReader {
 public:
  /// Loads the model. Throws as evaluate() does.
  explicit PictureReader(const Options& options, const Observer& observer = {});
  ~PictureReader();
  PictureReader(const PictureReader&) = delete;
  PictureReader& operator=(const PictureReader&) = delete;

  /// Opens a picture. Throws Error: unsupported (no picture, or a model that reads none), corrupt, truncated, io; the
  /// reader can be used on.
  void add(const std::string& path);
  /// What is in those added since the last call, in their order. Throws as evaluate() does while it runs.
  [[nodiscard]] std::vector<Reading> flush();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace ckpt::eval
