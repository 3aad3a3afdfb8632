#include "place.h"

#include <charconv>
#include <cstdlib>

#include "ckpt/error.h"

namespace ckpt::eval {
namespace {

constexpr std::uint64_t most_ranks = 65536;

Error unclear(const std::string& what) {
  return Error(ErrorCode::invalid_argument, what)
      .hint(
          "torchrun --nproc-per-node 2 --no-python ckpt eval MODEL sets all of RANK, WORLD_SIZE, MASTER_ADDR and "
          "MASTER_PORT; without ranks: env -u RANK -u WORLD_SIZE ckpt eval MODEL");
}

/// The variables of a run, read with their names at hand for messages.
class Variables {
 public:
  explicit Variables(const Environment& environment) : environment_(environment) {}

  [[nodiscard]] std::string text(const std::string& name) const {
    const auto value = environment_(name);
    if (!value || value->empty()) throw unclear(name + " is not set, though others of a run with several ranks are");
    return *value;
  }

  [[nodiscard]] std::uint64_t number(const std::string& name, std::uint64_t most) const {
    return parsed(name, text(name), most);
  }

  [[nodiscard]] std::optional<std::uint64_t> optional_number(const std::string& name, std::uint64_t most) const {
    const auto value = environment_(name);
    if (!value || value->empty()) return std::nullopt;
    return parsed(name, *value, most);
  }

 private:
  static std::uint64_t parsed(const std::string& name, const std::string& value, std::uint64_t most) {
    std::uint64_t number = 0;
    const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (failed != std::errc() || end != value.data() + value.size() || number > most)
      throw unclear(name + " is '" + value + "', no number from 0 to " + std::to_string(most));
    return number;
  }

  const Environment& environment_;
};

Place checked(Place place, const std::string& rank_name, const std::string& size_name) {
  if (place.rank >= place.size)
    throw unclear(rank_name + " is " + std::to_string(place.rank) + ", and " + size_name + " " +
                  std::to_string(place.size) + ": ranks count from 0");
  return place;
}

Place torchrun_place(const Environment& environment) {
  const Variables variables(environment);
  Place place;
  place.rank = variables.number("RANK", most_ranks);
  place.size = variables.number("WORLD_SIZE", most_ranks);
  place.local_rank = variables.optional_number("LOCAL_RANK", most_ranks);
  if (place.size > 1) {
    place.host = variables.text("MASTER_ADDR");
    place.port = static_cast<std::uint16_t>(variables.number("MASTER_PORT", UINT16_MAX));
  }
  place.store_runs = environment("TORCHELASTIC_USE_AGENT_STORE") == "True";
  place.attempt = environment("TORCHELASTIC_RESTART_COUNT").value_or("0");
  return checked(place, "RANK", "WORLD_SIZE");
}

Place slurm_place(const Environment& environment) {
  const Variables variables(environment);
  Place place;
  place.rank = variables.number("SLURM_PROCID", most_ranks);
  place.size = variables.number("SLURM_STEP_NUM_TASKS", most_ranks);
  // With --gpus-per-task each task sees its own GPU alone, as cuda:0.
  const std::string visible = environment("CUDA_VISIBLE_DEVICES").value_or(",");
  if (visible.find(',') != std::string::npos) place.local_rank = variables.optional_number("SLURM_LOCALID", most_ranks);
  if (place.size > 1) {
    place.host = environment("MASTER_ADDR").value_or("");
    if (place.host.empty()) place.host = first_host(variables.text("SLURM_STEP_NODELIST"));
    // Steps of one job follow each other; those of other jobs on the same node take other ports.
    const std::uint64_t chosen = 20000 + variables.number("SLURM_JOB_ID", UINT64_MAX) % 20000;
    place.port = static_cast<std::uint16_t>(variables.optional_number("MASTER_PORT", UINT16_MAX).value_or(chosen));
  }
  place.attempt = environment("SLURM_STEP_ID").value_or("0");
  return checked(place, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS");
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

std::optional<Place> find_place(const Environment& environment) {
  if (environment("RANK") || environment("WORLD_SIZE")) return torchrun_place(environment);
  // Only inside a step: a batch script has SLURM_PROCID too, and runs alone.
  if (environment("SLURM_PROCID") && environment("SLURM_STEP_NUM_TASKS")) return slurm_place(environment);
  return std::nullopt;
}

std::string first_host(const std::string& nodes) {
  std::string name = nodes.substr(0, nodes.find(','));
  const std::size_t bracket = name.find('[');
  if (bracket == std::string::npos) return name;
  const std::size_t end = name.find_first_of("-]", bracket);
  return name.substr(0, bracket) + name.substr(bracket + 1, end == std::string::npos ? end : end - bracket - 1);
}

}  // namespace ckpt::eval
