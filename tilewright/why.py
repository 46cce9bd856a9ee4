"""Says why a node is on the CPU, and what helps, from the reasons that the compiler gives."""

from __future__ import annotations

import re
from dataclasses import dataclass

from compiler.frontend.constraints.base import ALWAYS, CONSTRAINTS, refusal
from compiler.frontend.documented import BUILD_ROWS, CONFIGURATION, NEIGHBOURS, UNKNOWN, of_rows
from compiler.frontend.partition import READ_ON_CPU


@dataclass(frozen=True)
class Why:
    so: str
    """The reason, in half a sentence."""
    remedy: str = ""
    """The remedy; empty if there is none."""

    def __str__(self) -> str:
        return f"{self.so} ({self.remedy})" if self.remedy else self.so


MODEL_OUTPUT = "the model output"
_FIXED = "fix them in the model"
_QUANTISE = "quantise the model with our quantiser, or --quantise-rest"
SAYS: dict[str, Why] = {
    "at_most_four_dimensions": Why("a tensor of it has more than four dimensions", "join dimensions in the model"),
    "bias_constant": Why("its bias is computed, or of another shape than one number for each channel"),
    "bias_fits": Why("its bias over the scales does not fit 32 bits", "choose larger scales"),
    "broadcast_fits": Why(
        "its operands have neither one shape nor one number for each channel, each pixel or in all",
        "a constant may differ by channel alone",
    ),
    "constant_quantised": Why("its constant operand is float", _QUANTISE),
    "constant_slope": Why("its slope is neither one constant number nor one per channel"),
    "convolution_fits": Why(
        "its kernel, stride, dilation or pads are beyond what CONV takes",
        "`tilewright ops Conv` has the limits",
    ),
    "counted_inside": Why("with ceil_mode a window reaches beyond the padding that it counts", "pad before it"),
    "counts_fit": Why("its windows leave out padding and have more than 31 pixels", "count the padding in"),
    "dense_rank": Why("its first operand has more than four dimensions", "join dimensions in the model"),
    "eight_bits": Why("its numbers have other than eight bits", "quantise to int8 or uint8, or set act16 = true for 16 bits"),
    "exact_factors": Why("its scales have no whole-number factor that gives what float32 gives", "--inexact, or other scales"),
    "factors_constant": Why("its factors or offsets are computed, or differ by more than the last dimension", _FIXED),
    "few_pieces": Why("it takes or repeats rows too unevenly"),
    "finite_constants": Why("a constant of it is infinite or no number", "repair the model"),
    "forward": Why("it steps backwards"),
    "four_dimensions": Why("its tensor has other than four dimensions, channels second"),
    "indices_constant": Why("its indices, sizes or pads are computed", _FIXED),
    "input_or_sum": Why("its operand is float", _QUANTISE),
    "joined_axis": Why("it joins along the batch"),
    "joins_tensors": Why("a part that it joins is float", _QUANTISE),
    "kind_of_pair": Why("the machine has no such function of two tensors"),
    "last_axis": Why("it goes over other dimensions than the last", "put the channels last"),
    "layout_reachable": Why("it asks for a transposition in memory"),
    "linear_quantised_after": Why("its result is float, and not quantised next", _QUANTISE),
    "linear_regular": Why(
        "its factor is not whole, or its weights are finer than int8",
        "resize by a whole factor, or nearest",
    ),
    "made_on_machine": Why(
        "it quantises what is float on the CPU or comes from outside",
        "--input-type int8 takes quantised inputs",
    ),
    "matrix": Why("its weights are more than one matrix"),
    "long_bias": Why("its bias with what zero-points add to it does not fit 32 bits", "choose larger scales"),
    "long_built": Why("its maps of 16 bits are divided for another machine", "import the model again for this one"),
    "long_edges": Why("the CPU splits 16 bits into bytes for the machine, and joins them"),
    "long_counted": Why("it has 16 bits and leaves padding out of its averages", "count the padding in"),
    "long_group": Why("it has 16 bits and groups that divide into words of channels badly", "quantise it to 8 bits"),
    "long_moves": Why("it joins, cuts or views 16 bits otherwise than by whole words of channels", "quantise it to 8 bits"),
    "long_pair": Why("it adds to 16 bits what has other bits, another shape or many channels", "quantise both alike"),
    "long_ratio": Why("the scales of the 16 bits that it adds are not as two whole numbers", "choose one scale for both"),
    "long_sides": Why("it has 16 bits and other than two to four dimensions", "quantise it to 8 bits"),
    "long_sums": Why("its sums of 16-bit inputs may not fit 36 bits", "quantise it to 8 bits"),
    "no_bias": Why("something is added to its product of two activations", "quantise the product first"),
    "no_indices": Why("the places of the maxima are asked for"),
    "numbers_fit": Why("its scales, factors or epsilon are beyond ROW's numbers", "choose a larger output scale"),
    "one_or_two_sides": Why("its map has other than one or two spatial dimensions"),
    "one_result": Why("its mean or deviation is asked for"),
    "pad_representable": Why("its padding is none of the 256 quantised values"),
    "pads_space_or_channels": Why("it pads the batch"),
    "parameters_constant": Why("its parameters are computed", _FIXED),
    "plain_gemm": Why("it transposes its first operand, or alpha or beta is not 1", "fold the factors into its weights"),
    "products_built": Why("it multiplies two activations", "set build_products = true in the configuration"),
    "quantised_after": Why("something stands between its sum and where that is quantised", "quantise its result first"),
    "quantised_input": Why("its input is float, or made on the CPU", "what makes it decides; " + _QUANTISE),
    "quantised_per_tensor": Why("its activations have a scale per channel, or one that is computed", "quantise per tensor"),
    "quantised_result": Why("its result is float", "give it an output scale"),
    "reduces_space": Why("it reduces over other dimensions than all spatial ones, or all channels"),
    "reshape_regular": Why("it cuts dimensions where they do not divide"),
    "row_fits": Why("its rows have more than 4096 elements"),
    "scalar_operand": Why("its second operand is not one constant number"),
    "scale_fits": Why("its input scales are 2^24 times its output scale or more", "choose other scales"),
    "scales_known": Why("its sizes are computed, or it resizes otherwise than nearest or linear in height and width"),
    "shape_known": Why("a shape depends on the data", "--shape and --batch fix what the model leaves open"),
    "sides_apart": Why("what it takes of rows depends on columns"),
    "sides_fit": Why("a side is longer than 65535, or empty"),
    "sums_hold": Why("float32 rounds the sums of its mean by a step or more", "choose a larger output scale"),
    "transposed_fits": Why(
        "its kernel, stride, dilation or pads are beyond the limits",
        "`tilewright ops ConvTranspose` has them",
    ),
    "two_operands": Why("it has other than two operands", "write it as several of two"),
    "two_matrices": Why("one of its two activations has a single dimension"),
    "undilated": Why("it is dilated, and leaves padding out of its averages"),
    "weights_constant": Why(
        "no operand is a constant in int8 or uint8: it multiplies two activations, or its weights are float",
        _QUANTISE,
    ),
    "weights_fit": Why("its weights with their zero-point do not fit int8", "quantise weights symmetrically"),
    "window_fits": Why(
        "its kernel, stride, dilation or pads are beyond what POOL takes",
        "`tilewright ops MaxPool` has the limits",
    ),
}  # fmt: skip
"""The contrary of each constraint (``compiler/frontend/constraints``), and what helps."""


def why(reason: str) -> Why:
    """The text and the remedy for a reason of the compiler."""
    if of_rows(reason):
        return Why("no unit computes it", BUILD_ROWS)
    if reason.startswith(UNKNOWN):
        return Why("no unit computes it", "write it with operators of `tilewright ops`, or leave it so")
    if (constraint := _OF_REFUSAL.get(reason)) is not None:
        return SAYS[constraint]
    if reason == f"{READ_ON_CPU}, by {MODEL_OUTPUT}":
        return Why("it makes a float output of the model", "--output-type int8 leaves that quantised")
    remedies = ((pattern, remedy) for pattern, remedy in NEIGHBOURS.items() if reason.startswith(pattern))
    found = next(remedies, None) or next(
        ((pattern, remedy) for pattern, remedy in CONFIGURATION.items() if re.match(pattern, reason)), None
    )
    return Why(reason, found[1] if found else "")


_OF_REFUSAL = {refusal(each): each.__name__ for each in (*ALWAYS, *(one for found in CONSTRAINTS.values() for one in found))}
