// Makes a CPU checkpoint of one that was saved on a GPU under DataParallel: to_cpu IN OUT
#include <ckpt/error.h>
#include <ckpt/formats.h>
#include <ckpt/ops.h>

#include <exception>
#include <iostream>

int main(int argc, char** argv) try {
  if (argc != 3) {
    std::cerr << "usage: to_cpu IN OUT\n";
    return 2;
  }
  ckpt::Checkpoint checkpoint = ckpt::load(argv[1]);
  checkpoint = ckpt::remap(std::move(checkpoint), ckpt::DeviceMap::all_to("cpu"));
  auto [stripped, report] = ckpt::strip_prefix(std::move(checkpoint));
  const ckpt::SaveReport saved = ckpt::save(stripped, argv[2]);
  for (const std::string& what : saved.left_out) std::cerr << "left out: " << what << '\n';
  for (const std::string& what : saved.warnings) std::cerr << "warning: " << what << '\n';
  std::cout << stripped.tensors.size() << " tensors, " << report.changed << " names changed\n";
} catch (const ckpt::Error& error) {
  std::cerr << error.what() << '\n';
  if (!error.hint().empty()) std::cerr << "hint: " << error.hint() << '\n';
  return 1;
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
