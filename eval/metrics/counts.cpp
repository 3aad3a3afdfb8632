#include "ckpt/error.h"
#include "ckpt/eval.h"
#include "metrics/tally.h"

namespace ckpt::eval {

double Counts::accuracy() const { return Tally{correct, samples}.accuracy(); }

Counts& Counts::operator+=(const Counts& other) {
  samples += other.samples;
  correct += other.correct;
  not_finite += other.not_finite;
  if (confusion.size() < other.confusion.size()) confusion.resize(other.confusion.size());
  for (std::size_t at = 0; at < other.confusion.size(); ++at) confusion[at] += other.confusion[at];
  return *this;
}

std::uint64_t Shard::begin(std::uint64_t samples) const {
  if (count == 0) throw Error(ErrorCode::invalid_argument, "a shard of none").expected("shards of one or more");
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>(Wide{samples} * index / count);
}

std::uint64_t Shard::end(std::uint64_t samples) const { return Shard{index + 1, count}.begin(samples); }

std::string Signature::class_name(std::int64_t index) const {
  if (index < 0) return "?";
  const auto at = static_cast<std::size_t>(index);
  return at < alphabet.size() ? std::string(1, alphabet[at]) : std::to_string(index);
}

std::string Signature::text(const std::int32_t* classes_of_sample) const {
  std::string out;
  for (std::int64_t position = 0; position < positions; ++position) {
    if (position > 0 && alphabet.empty()) out += ' ';
    out += class_name(classes_of_sample[position]);
  }
  return out;
}

}  // namespace ckpt::eval
