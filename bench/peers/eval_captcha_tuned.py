"""`python eval_captcha_tuned.py MODEL.pt.gz TESTING_SET`: no DataLoader, no autograd, channels last, files inflated at once."""

import gzip
import io
import sys

import torch
from captcha_model import CaptchaResNet


def load(path):
    with gzip.open(path, "rb") as file:
        return torch.load(io.BytesIO(file.read()), map_location="cpu", weights_only=True)


model = CaptchaResNet()
model.load_state_dict(load(sys.argv[1]))
images, labels = load(sys.argv[2])

model = model.eval().to(memory_format=torch.channels_last)
correct = torch.zeros((), dtype=torch.int64)
with torch.inference_mode():
    for inputs, targets in zip(images.split(64), labels.split(64), strict=True):
        logits = model(inputs.contiguous(memory_format=torch.channels_last))
        predicted = logits.view(-1, 4, 36).argmax(2)
        correct += (predicted == targets.view(-1, 4, 36).argmax(2)).all(1).sum()
print(f"{correct.item()} of {len(images)}")
