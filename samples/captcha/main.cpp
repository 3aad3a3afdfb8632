// Trains a ResNet to read captchas of four characters: see README.md.
#include "arguments.h"
#include "commands.h"

int main(int argc, char** argv) {
  return training::run_command(
      argc, argv,
      {{"generate", captcha::generate},
       {"prepare", captcha::prepare},
       {"train", captcha::train},
       {"eval", captcha::eval},
       {"predict", captcha::predict}},
      "captcha generate FOLDER [--count 10000] [--seed 0]\n"
      "captcha prepare FOLDER [--out data/captcha] [--batch 1000] [--seed 0]\n"
      "captcha train [--data data/captcha] [--device auto|cpu|cuda|cuda:0,1|cuda:all] [--loss bce|ce]\n"
      "              [--epochs 9999] [--batch 100] [--seed 0] [--init FILE] [--out model.pt] [--curves curves.svg]\n"
      "              [--time]\n"
      "captcha eval MODEL [--data data/captcha] [--device auto]\n"
      "captcha predict MODEL FILE|FOLDER… [--device auto]\n");
}
