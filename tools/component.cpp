#include "component.h"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "ckpt/error.h"

namespace ckpt::tools {

void run_component(const Component& component, const std::vector<std::string>& words) {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed)  // the name alone would be a program of the current folder's
    throw Error(ErrorCode::unavailable, "cannot be read, and names the folder of the programs: " + failed.message())
        .in("/proc/self/exe");
  const std::string program = (self.parent_path() / component.program).string();

  std::vector<std::string> all{program};
  if (!component.first_word.empty()) all.emplace_back(component.first_word);
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : all) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  ::execv(program.c_str(), arguments.data());
  if (errno != ENOENT) throw_system_error("running it", program, errno);
  throw Error(ErrorCode::unavailable, "ckpt " + std::string(component.name) + " needs the program " +
                                          std::string(component.program) + ", which is not beside ckpt")
      .expected("it at " + program)
      .hint(
          "where ckpt was built, ./dev build fetches libtorch (0.6 GB) and builds it; "
          "or cmake -DCKPT_LIBTORCH=FOLDER with the folder torch/ of an installed PyTorch " CKPT_TORCH_VERSION);
}

}  // namespace ckpt::tools
