#include "curves.h"

#include <ckpt/file_sink.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <span>

namespace training {
namespace {

constexpr int width = 420, height = 300, left = 48, top = 44, gap = 60;

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string words(double x, double y, const std::string& text, const std::string& more = "") {
  return "<text x='" + number(x) + "' y='" + number(y) + "'" + more + ">" + text + "</text>\n";
}

/// One pair of axes with two curves.
class Panel {
 public:
  Panel(double x, double most, std::size_t epochs) : x_(x), most_(most), epochs_(epochs) {}

  [[nodiscard]] std::string axes(const std::string& title) const {
    std::string out = words(x_ + width / 2.0, top - 12, title, " text-anchor='middle' font-weight='bold'");
    for (int step = 0; step <= 5; ++step) {
      const double value = most_ * step / 5;
      out += "<path class='grid' d='M" + number(x_) + " " + number(y(value)) + "h" + number(width) + "'/>\n" +
             words(x_ - 6, y(value) + 4, number(value), " text-anchor='end'");
    }
    const std::size_t every = (epochs_ + 9) / 10;
    for (std::size_t epoch = 1; epoch <= epochs_; epoch += std::max<std::size_t>(every, 1))
      out += words(x(epoch), top + height + 18, std::to_string(epoch), " text-anchor='middle'");
    return out + words(x_ + width / 2.0, top + height + 36, "epoch", " text-anchor='middle'");
  }

  [[nodiscard]] std::string curve(const std::vector<Epoch>& epochs, double Epoch::*what,
                                  const std::string& kind) const {
    std::string path, dots;
    bool down = false;
    for (std::size_t i = 0; i < epochs.size(); ++i) {
      const double value = epochs[i].*what;
      if (std::isfinite(value)) {
        const std::string at = number(x(i + 1)) + " " + number(y(value));
        path += (down ? "L" : "M") + at;
        dots += "<circle class='" + kind + " dot' cx='" + number(x(i + 1)) + "' cy='" + number(y(value)) +
                "' r='3'><title>epoch " + std::to_string(i + 1) + ", " + kind + ": " + number(value) +
                "</title></circle>\n";
      }
      down = std::isfinite(value);
    }
    return "<path class='" + kind + "' d='" + path + "'/>\n" + dots;
  }

 private:
  [[nodiscard]] double x(std::size_t epoch) const {
    if (epochs_ < 2) return x_ + width / 2.0;
    return x_ + width * static_cast<double>(epoch - 1) / static_cast<double>(epochs_ - 1);
  }
  [[nodiscard]] double y(double value) const { return top + height * (1 - value / most_); }

  double x_, most_;
  std::size_t epochs_;
};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

}  // namespace

std::string curves_svg(const std::string& title, const std::vector<Epoch>& epochs) {
  double greatest = 1;
  for (const Epoch& epoch : epochs)
    for (const double loss : {epoch.training_loss, epoch.validation_loss})
      if (std::isfinite(loss)) greatest = std::max(greatest, loss);
  const Panel loss(left, std::ceil(greatest), epochs.size()), accuracy(left + width + gap, 1, epochs.size());
  const std::string size = std::to_string(left + 2 * width + gap + 20) + " " + std::to_string(top + height + 70);
  const int keys = top + height + 56;
  return "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 " + size +
         "' font-family='sans-serif' font-size='12'>\n" + "<title>" + escaped(title) +
         "</title>\n<style>path{fill:none;stroke-width:2}.grid{stroke:#ddd;stroke-width:1}" +
         ".training{stroke:#1f6fb4}.validation{stroke:#d1495b}.dot.training{fill:#1f6fb4}.dot.validation{fill:#"
         "d1495b}" +
         "</style>\n<rect width='100%' height='100%' fill='white'/>\n" + loss.axes("loss") +
         loss.curve(epochs, &Epoch::training_loss, "training") +
         loss.curve(epochs, &Epoch::validation_loss, "validation") + accuracy.axes("accuracy") +
         accuracy.curve(epochs, &Epoch::training_accuracy, "training") +
         accuracy.curve(epochs, &Epoch::validation_accuracy, "validation") +
         words(left, keys, "training", " fill='#1f6fb4'") + words(left + 70, keys, "validation", " fill='#d1495b'") +
         "</svg>\n";
}

void save_curves(const std::string& path, const std::string& title, const std::vector<Epoch>& epochs) {
  const std::string text = curves_svg(title, epochs);
  ckpt::FileSink sink(path);
  sink.write(std::as_bytes(std::span(text)));
  sink.commit();
}

}  // namespace training
