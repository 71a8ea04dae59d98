"""What checkpoints of other code bases hold beside weights."""

import sys
from types import ModuleType

RESNETS = ("torchvision_resnet50", "noisymix_resnet50", "puzzlemix_resnet50")


def prefixed(weights, prefix="module."):
    return {f"{prefix}{name}": tensor for name, tensor in weights.items()}


def foreign_class(monkeypatch, module_name, name, base=object):
    """A class of a code base that is installed while a file is written, and not when it is read."""
    created = type(name, (base,), {"__module__": module_name})
    module = sys.modules.get(module_name) or ModuleType(module_name)
    setattr(module, name, created)
    monkeypatch.setitem(sys.modules, module_name, module)
    return created
