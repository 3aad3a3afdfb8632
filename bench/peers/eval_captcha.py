"""`python eval_captcha.py MODEL.pt.gz TESTING_SET`: the test loop as people write it."""

import gzip
import sys

import torch
from captcha_model import CaptchaResNet
from torch.utils.data import DataLoader, TensorDataset

model = CaptchaResNet()
with gzip.open(sys.argv[1], "rb") as file:
    model.load_state_dict(torch.load(file, map_location="cpu"))
with gzip.open(sys.argv[2], "rb") as file:
    images, labels = torch.load(file)

model.eval()
correct = 0
with torch.no_grad():
    for inputs, targets in DataLoader(TensorDataset(images, labels), batch_size=64):
        predicted = model(inputs).view(-1, 4, 36).argmax(2)
        wanted = targets.view(-1, 4, 36).argmax(2)
        correct += (predicted == wanted).all(1).sum().item()
print(f"{correct} of {len(images)}")
