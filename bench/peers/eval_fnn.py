"""`python eval_fnn.py MODEL.pt.gz FOLDER`: the test loop as people write it, with torchvision's MNIST and transforms."""

import gzip
import sys

import torch
from fnn_model import FNN
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

model = FNN()
with gzip.open(sys.argv[1], "rb") as file:
    model.load_state_dict(torch.load(file, map_location="cpu"))

transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])
test_set = datasets.MNIST(sys.argv[2], train=False, transform=transform)

model.eval()
correct = total = 0
with torch.no_grad():
    for images, labels in DataLoader(test_set, batch_size=64):
        correct += (model(images).argmax(1) == labels).sum().item()
        total += len(labels)
print(f"{correct} of {total}")
