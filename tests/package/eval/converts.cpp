// converts IN OUT: a state dict through libtorch's tensors.
#include <ckpt/formats.h>
#include <ckpt/torch.h>

#include <iostream>

int main(int, char** words) {
  const auto tensors = ckpt::eval::to_torch(ckpt::load(words[1]));
  ckpt::save(ckpt::eval::from_torch(tensors), words[2]);
  std::cout << tensors.size() << " tensors\n";
}
