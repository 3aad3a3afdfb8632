"""`python eval_fnn_tuned.py MODEL.pt.gz FOLDER`: no torchvision, no DataLoader, no autograd, large batches, the model inflated at once."""

import gzip
import io
import sys

import torch
from fnn_model import FNN, read_idx

with gzip.open(sys.argv[1], "rb") as file:
    state_dict = torch.load(io.BytesIO(file.read()), map_location="cpu", weights_only=True)
model = FNN().eval()
model.load_state_dict(state_dict)
images = read_idx(f"{sys.argv[2]}/MNIST/raw/t10k-images-idx3-ubyte")
labels = read_idx(f"{sys.argv[2]}/MNIST/raw/t10k-labels-idx1-ubyte")

correct = torch.zeros((), dtype=torch.int64)
with torch.inference_mode():
    for inputs, targets in zip(images.split(1000), labels.split(1000), strict=True):
        inputs = inputs.float().div_(255).sub_(0.1307).div_(0.3081)
        correct += (model(inputs).argmax(1) == targets).sum()
print(f"{correct.item()} of {len(images)}")
