"""The reference models as they are written in Python, with random weights."""

import torch
from torch import nn


class FNN(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        sizes = [784, 512, 256, 128, 64, classes]
        for i in range(5):
            setattr(self, f"layer_{i + 1}", nn.Linear(sizes[i], sizes[i + 1]))

    def forward(self, x):
        x = x.view(-1, 784)
        for i in range(1, 5):
            x = torch.relu(getattr(self, f"layer_{i}")(x))
        return self.layer_5(x)


def convolution(inputs, outputs, size, stride):
    layer = nn.Conv2d(inputs, outputs, size, stride=stride, padding=size // 2, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(outputs))


class BasicBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = convolution(inputs, outputs, 3, stride)
        self.conv2 = convolution(outputs, outputs, 3, 1)
        same = stride == 1 and inputs == outputs
        self.identity = nn.Sequential() if same else convolution(inputs, outputs, 1, stride)

    def forward(self, x):
        return torch.relu(self.conv2(torch.relu(self.conv1(x))) + self.identity(x))


class CaptchaResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = convolution(3, 64, 3, 1)
        inputs = 64
        for layer, (outputs, stride) in enumerate([(64, 1), (128, 2), (256, 2), (512, 2)], 1):
            blocks = nn.Sequential(BasicBlock(inputs, outputs, stride), BasicBlock(outputs, outputs, 1))
            setattr(self, f"layer{layer}", blocks)
            inputs = outputs
        self.fc_model = nn.Linear(512, 144)

    def forward(self, x):
        x = torch.relu(self.conv1(x))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc_model(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


class FooNet(nn.Module):
    def __init__(self, sizes=(5, 7, 4)):
        super().__init__()
        pairs = zip(sizes[:-1], sizes[1:], strict=True)
        self.linears = nn.ModuleList(nn.Linear(a, b, bias=False) for a, b in pairs)

    def forward(self, x):
        for linear in self.linears:
            x = torch.relu(linear(x))
        return x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(3, 2), nn.Linear(2, 1)

    def forward(self, x):
        return self.fc2(self.fc1(x))


class MLP(nn.Module):
    """Layers by name, in the order in which they run; `act` between them."""

    def __init__(self, layers, act=torch.relu):
        super().__init__()
        self.names, self.act = list(layers), act
        for name, layer in layers.items():
            self.add_module(name, layer)

    def forward(self, x):
        for name in self.names[:-1]:
            x = self.act(getattr(self, name)(x))
        return getattr(self, self.names[-1])(x)


def randomised(model, seed=3):
    """Norms with statistics of their own, so that folding them matters."""
    generator = torch.Generator().manual_seed(seed)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            for tensor, low, high in [
                (module.weight, 0.5, 1.5),
                (module.bias, -0.5, 0.5),
                (module.running_mean, -0.5, 0.5),
                (module.running_var, 0.5, 2),
            ]:
                tensor.data.uniform_(low, high, generator=generator)
    return model.eval()
