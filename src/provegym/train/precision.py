"""How a model computes while it is trained: in which bits, in rows or padded, compiled or not."""

from typing import Any

from provegym.models.optional import need
from provegym.train.packed import use_packing
from provegym.train.recipe import Optimiser, Recipe


def suit(model: Any, recipe: Recipe, settings: Optimiser) -> Any:
    """Make a model ready to be trained as a recipe says.

    What is learnt is kept in 32 bits. A base under an adapter is not learnt: on a GPU it is kept in
    the bits it computes in, and so are the activations between its layers.
    """
    narrow = model.device.type == "cuda" and recipe.model.dtype == "bfloat16"
    is_adapter = isinstance(model, need("peft").PeftModel)
    if narrow and is_adapter:
        _narrow(model)
    else:
        model = model.float()
    base = model.get_base_model() if is_adapter else model
    if settings.packed:
        use_packing(base)
    if settings.compiled:
        # So that all layers are alike: the first would be compiled apart, for want of a history.
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
            # Autocast narrows the adapter's weights; widening its input first would be for nothing.
            layer.cast_input_dtype_enabled = False


class Base:
    """The base under an adapter as it was.

    vLLM is sent the adapter merged into the base, and the base has it subtracted again, at every
    step; in 16 bits that leaves a trace, so the base is put back.
    """

    def __init__(self, model: Any) -> None:
        named = dict(model.named_parameters())
        self.kept = [
            (value, value.detach().clone()) for key, value in named.items() if ".base_layer." in key
        ]

    def put_back(self) -> None:
        """Undo whatever was done to it."""
        for value, kept in self.kept:
            value.data.copy_(kept)
