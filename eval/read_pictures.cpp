#include <utility>

#include "ckpt/eval.h"
#include "datasets/append.h"
#include "datasets/pictures.h"
#include "setup.h"

namespace ckpt::eval {

/// Pictures wait for each other, since the devices take many at once as fast as one.
class PictureReader::State {
 public:
  State(const Options& options, const Observer& observer)
      : options_(options), observer_(observer), setup_(options_, observer) {
    for (const std::string& warning : setup_.loaded().warnings) warn(warning);
    for (const std::string& note : setup_.loaded().notes) setup_.note(note);
  }

  [[nodiscard]] const Signature& signature() { return setup_.model().signature(); }

  void add(const std::string& path) {
    const Samples sample = read_sample(path, signature());
    append(waiting_.inputs, sample.inputs);
    append(waiting_.labels, sample.labels);
    waiting_.count += sample.count;
  }

  std::vector<Reading> flush() {
    std::vector<Reading> out;
    if (waiting_.count == 0) return out;
    if (!engine_) engine_ = setup_.start(true, false);
    engine_->submit(std::exchange(waiting_, {}));
    const Outcome outcome = engine_->finish();
    for (const std::string& remark : outcome.notes) warn(remark);
    const Predictions& said = outcome.predictions;
    for (std::size_t at = 0; at < said.confidence.size(); ++at) {
      const auto first = at * static_cast<std::size_t>(signature().positions);
      out.push_back({signature().text(said.predicted.data() + first), said.confidence[at]});
    }
    return out;
  }

 private:
  void warn(const std::string& text) const {
    if (observer_.warning) observer_.warning(text);
  }

  const Options options_;
  const Observer observer_;
  Setup setup_;
  std::unique_ptr<Engine> engine_;  ///< from the first flush on
  Samples waiting_;
};

PictureReader::PictureReader(const Options& options, const Observer& observer)
    : state_(std::make_unique<State>(options, observer)) {}
PictureReader::~PictureReader() = default;
void PictureReader::add(const std::string& path) { state_->add(path); }
std::vector<Reading> PictureReader::flush() { return state_->flush(); }

}  // namespace ckpt::eval
