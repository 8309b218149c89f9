"""Mixed precision, sequence packing and torch.compile: how a model computes during training."""

from typing import Any

from provegym.models.optional import need
from provegym.train.packed import use_packing
from provegym.train.recipe import Optimiser, Recipe


def suit(model: Any, recipe: Recipe, settings: Optimiser) -> Any:
    """Prepare a model for training as a recipe says.

    Trained weights are kept in 32 bits. The frozen base under an adapter is kept in the type it
    computes in, and so are the activations between its layers.
    """
    narrow = recipe.model.is_narrow(model.device.type)
    is_adapter = isinstance(model, need("peft").PeftModel)
    if narrow and is_adapter:
        _narrow(model)
    else:
        model = model.float()
    base = model.get_base_model() if is_adapter else model
    if settings.packed:
        use_packing(base)
    if settings.compiled:
        # Without this, the first layer's input needs no gradient and torch compiles it separately.
        base.enable_input_require_grads()
        for layer in base.get_decoder().layers:
            layer.compile(dynamic=True)
    return model


def _narrow(model: Any) -> None:
    torch = need("torch")
    for weights in model.parameters():
        weights.data = weights.data.to(torch.float32 if weights.requires_grad else torch.bfloat16)
    for layer in model.modules():
        if isinstance(layer, need("peft.tuners.lora").LoraLayer):
            # Autocast casts the adapter's weights to 16 bits, so a cast of its input is useless.
            layer.cast_input_dtype_enabled = False


class Base:
    """A copy of the base weights under an adapter, to undo rounding errors.

    At every step TRL merges the adapter into the base, sends the sum to vLLM and subtracts the
    adapter again. In 16 bits this changes the base a little, so it is restored from the copy.
    """

    def __init__(self, model: Any) -> None:
        named = dict(model.named_parameters())
        self.kept = [
            (value, value.detach().clone()) for key, value in named.items() if ".base_layer." in key
        ]

    def put_back(self) -> None:
        """Restore the base weights."""
        for value, kept in self.kept:
            value.data.copy_(kept)
