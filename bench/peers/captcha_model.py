"""The captcha ResNet as it is trained: what the evaluation peers load their checkpoint into."""

from torch import nn


def convolution(inputs, outputs, size, stride):
    layer = nn.Conv2d(inputs, outputs, size, stride=stride, padding=size // 2, bias=False)
    return nn.Sequential(layer, nn.BatchNorm2d(outputs))


class BasicBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = convolution(inputs, outputs, 3, stride)
        self.relu = nn.ReLU()
        self.conv2 = convolution(outputs, outputs, 3, 1)
        same = stride == 1 and inputs == outputs
        self.identity = nn.Sequential() if same else convolution(inputs, outputs, 1, stride)

    def forward(self, x):
        return self.relu(self.conv2(self.relu(self.conv1(x))) + self.identity(x))


class CaptchaResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = convolution(3, 64, 3, 1)
        self.relu = nn.ReLU()
        self.layer1 = nn.Sequential(BasicBlock(64, 64, 1), BasicBlock(64, 64, 1))
        self.layer2 = nn.Sequential(BasicBlock(64, 128, 2), BasicBlock(128, 128, 1))
        self.layer3 = nn.Sequential(BasicBlock(128, 256, 2), BasicBlock(256, 256, 1))
        self.layer4 = nn.Sequential(BasicBlock(256, 512, 2), BasicBlock(512, 512, 1))
        self.avg_pool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc_model = nn.Linear(512, 144)

    def forward(self, x):
        x = self.relu(self.conv1(x))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc_model(self.avg_pool(x).flatten(1))
