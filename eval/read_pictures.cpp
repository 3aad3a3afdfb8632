#include <utility>

#include "ckpt/eval.h"
#include "datasets/pictures.h"
#include "setup.h"

namespace ckpt::eval {

/// Pictures wait for each other, since the devices take many at once as fast as one.
class PictureReader::State {
 public:
  State(const Options& options, const Observer& observer) : options_(options), setup_(options_, observer) {
    for (const std::string& warning : setup_.loaded().warnings)
      if (observer.warning) observer.warning(warning);
    for (const std::string& note : setup_.loaded().notes) setup_.note(note);
  }

  [[nodiscard]] const Signature& signature() { return setup_.model().signature(); }

  void add(const std::string& path) {
    waiting_.push_back(read_sample(path, signature()));
    waiting_.back().first = waiting_.size() - 1;
  }

  std::vector<Reading> flush() {
    std::vector<Reading> out;
    if (waiting_.empty()) return out;
    const auto engine = setup_.start(true, false);
    for (Samples& sample : waiting_) engine->submit(std::move(sample));
    waiting_.clear();
    const Predictions said = engine->finish().predictions;
    for (std::size_t at = 0; at < said.confidence.size(); ++at) {
      const auto first = at * static_cast<std::size_t>(signature().positions);
      out.push_back({signature().text(said.predicted.data() + first), said.confidence[at]});
    }
    return out;
  }

 private:
  const Options options_;
  Setup setup_;
  std::vector<Samples> waiting_;
};

PictureReader::PictureReader(const Options& options, const Observer& observer)
    : state_(std::make_unique<State>(options, observer)) {}
PictureReader::~PictureReader() = default;
void PictureReader::add(const std::string& path) { state_->add(path); }
std::vector<Reading> PictureReader::flush() { return state_->flush(); }

}  // namespace ckpt::eval
