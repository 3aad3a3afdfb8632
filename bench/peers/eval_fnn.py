"""`python eval_fnn.py MODEL.pt.gz FOLDER`: the test loop as people write it, transforms a picture and all."""

import gzip
import sys

import torch
from fnn_model import FNN, read_idx
from torch.utils.data import DataLoader, Dataset


class MNIST(Dataset):
    def __init__(self, folder):
        self.images = read_idx(f"{folder}/t10k-images-idx3-ubyte.gz")
        self.labels = read_idx(f"{folder}/t10k-labels-idx1-ubyte.gz")

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image = self.images[index].unsqueeze(0).float() / 255
        return (image - 0.1307) / 0.3081, int(self.labels[index])


model = FNN()
with gzip.open(sys.argv[1], "rb") as file:
    model.load_state_dict(torch.load(file, map_location="cpu"))

model.eval()
correct = total = 0
with torch.no_grad():
    for images, labels in DataLoader(MNIST(sys.argv[2]), batch_size=64):
        correct += (model(images).argmax(1) == labels).sum().item()
        total += len(labels)
print(f"{correct} of {total}")
