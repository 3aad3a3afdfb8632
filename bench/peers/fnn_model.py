"""The FNN as it is trained, and MNIST's files: what the evaluation peers need."""

import gzip

import numpy as np
import torch
from torch import nn


class FNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer_1 = nn.Linear(784, 512)
        self.layer_2 = nn.Linear(512, 256)
        self.layer_3 = nn.Linear(256, 128)
        self.layer_4 = nn.Linear(128, 64)
        self.layer_5 = nn.Linear(64, 10)

    def forward(self, x):
        x = x.view(-1, 784)
        for layer in (self.layer_1, self.layer_2, self.layer_3, self.layer_4):
            x = torch.relu(layer(x))
        return self.layer_5(x)


def read_idx(path):
    with (gzip.open if str(path).endswith(".gz") else open)(path, "rb") as file:
        data = file.read()
    dimensions = data[3]
    shape = np.frombuffer(data, ">i4", dimensions, 4)
    return torch.from_numpy(np.frombuffer(data, np.uint8, offset=4 + 4 * dimensions).reshape(shape).copy())
