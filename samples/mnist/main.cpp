// Trains a small network on handwritten digits: see README.md.
#include "arguments.h"
#include "commands.h"

int main(int argc, char** argv) {
  return training::run_command(
      argc, argv, {{"prepare", mnist::prepare}, {"train", mnist::train}, {"eval", mnist::eval}},
      "mnist prepare FOLDER | --digits FILE [--out data/MNIST/raw]\n"
      "mnist train [--data data/MNIST/raw] [--device auto|cpu|cuda|cuda:0,1|cuda:all] [--epochs 5]\n"
      "            [--batch 64] [--seed 0] [--report 300] [--init FILE] [--out fnn.pt]\n"
      "            [--curves curves.svg]\n"
      "mnist eval MODEL [--data data/MNIST/raw] [--device auto]\n");
}
