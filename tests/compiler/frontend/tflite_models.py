"""TFLite models written with the format's own builder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import flatbuffers
import numpy as np
import tflite
from numpy.typing import NDArray

Array = NDArray[Any]
Operators = list[tuple[str, Sequence[int], Sequence[int], int, str]]


class Lite:
    """A graph, and those that it calls: tensors and operators are named by number and kind, scales and options as given."""

    def __init__(self) -> None:
        self.builder = flatbuffers.Builder(1024)
        self.tensors: list[int] = []
        self.buffers: list[bytes] = [b""]
        self.operators: Operators = []
        self.customs: dict[str, bytes] = {}
        self.called: list[tuple[list[int], Operators, Sequence[int], Sequence[int]]] = []

    def tensor(
        self, name: str, shape: Sequence[int], dtype: str = "int8", scale: float | Array | None = None, zero: int = 0,
        axis: int = 0, data: Array | None = None, places: tuple[Array, Array] | None = None, signature: Sequence[int] = (),
    ) -> int:  # fmt: skip
        """``places``: of a matrix whose zeros are left out, where each row begins, and the columns; ``signature``: the
        shape, with -1 where the size is free."""
        b = self.builder
        sparsity = None if places is None else self._sparsity(shape, places)
        buffer = 0
        if data is not None:
            self.buffers.append(np.ascontiguousarray(data, dtype).tobytes())
            buffer = len(self.buffers) - 1
        quantisation = None
        if scale is not None:
            scales = np.atleast_1d(np.array(scale, np.float32))
            scale_at = b.CreateNumpyVector(scales)
            zero_at = b.CreateNumpyVector(np.full(scales.shape, zero, np.int64))
            tflite.QuantizationParametersStart(b)
            tflite.QuantizationParametersAddScale(b, scale_at)
            tflite.QuantizationParametersAddZeroPoint(b, zero_at)
            tflite.QuantizationParametersAddQuantizedDimension(b, axis)
            quantisation = tflite.QuantizationParametersEnd(b)
        name_at, shape_at = b.CreateString(name), b.CreateNumpyVector(np.array(shape, np.int32))
        signature_at = b.CreateNumpyVector(np.array(signature, np.int32)) if signature else None
        tflite.TensorStart(b)
        tflite.TensorAddShape(b, shape_at)
        tflite.TensorAddType(b, getattr(tflite.TensorType, dtype.upper()))
        tflite.TensorAddBuffer(b, buffer)
        tflite.TensorAddName(b, name_at)
        if signature_at is not None:
            tflite.TensorAddShapeSignature(b, signature_at)
        if quantisation is not None:
            tflite.TensorAddQuantization(b, quantisation)
        if sparsity is not None:
            tflite.TensorAddSparsity(b, sparsity)
        self.tensors.append(tflite.TensorEnd(b))
        return len(self.tensors) - 1

    def _sparsity(self, shape: Sequence[int], places: tuple[Array, Array]) -> int:
        """Segments of 32 bits, indices of 8."""
        b = self.builder
        vectors = []
        for kind, values in zip((tflite.Int32Vector, tflite.Uint8Vector), places, strict=True):
            name = kind.__name__
            at = b.CreateNumpyVector(values.astype(np.int32 if name == "Int32Vector" else np.uint8))
            getattr(tflite, f"{name}Start")(b)
            getattr(tflite, f"{name}AddValues")(b, at)
            vectors.append(getattr(tflite, f"{name}End")(b))
        tflite.DimensionMetadataStart(b)
        tflite.DimensionMetadataAddDenseSize(b, shape[0])
        rows = tflite.DimensionMetadataEnd(b)
        tflite.DimensionMetadataStart(b)
        tflite.DimensionMetadataAddFormat(b, 1)
        tflite.DimensionMetadataAddArraySegmentsType(b, tflite.SparseIndexVector.Int32Vector)
        tflite.DimensionMetadataAddArraySegments(b, vectors[0])
        tflite.DimensionMetadataAddArrayIndicesType(b, tflite.SparseIndexVector.Uint8Vector)
        tflite.DimensionMetadataAddArrayIndices(b, vectors[1])
        levels = self._vector([rows, tflite.DimensionMetadataEnd(b)])
        order = b.CreateNumpyVector(np.arange(2, dtype=np.int32))
        tflite.SparsityParametersStart(b)
        tflite.SparsityParametersAddTraversalOrder(b, order)
        tflite.SparsityParametersAddDimMetadata(b, levels)
        found: int = tflite.SparsityParametersEnd(b)
        return found

    def op(self, kind: str, inputs: Sequence[int], outputs: Sequence[int], options: str = "", **fields: Any) -> None:
        b, at = self.builder, 0
        if options:
            vectors = {k: b.CreateNumpyVector(np.array(v, np.int32)) for k, v in fields.items() if isinstance(v, list)}
            getattr(tflite, f"{options}Start")(b)
            for name, value in fields.items():
                getattr(tflite, f"{options}Add{name}")(b, vectors.get(name, value))
            at = getattr(tflite, f"{options}End")(b)
        self.operators.append((kind, inputs, outputs, at, options))

    def custom(self, name: str, inputs: Sequence[int], outputs: Sequence[int], options: bytes) -> None:
        """An operator that is not the format's own."""
        self.customs[name] = options
        self.operators.append((name, inputs, outputs, 0, ""))

    def graph(self, inputs: Sequence[int], outputs: Sequence[int]) -> int:
        """What is written so far is a graph to be called, by the number that is returned; another one begins."""
        self.called.append((self.tensors, self.operators, inputs, outputs))
        self.tensors, self.operators = [], []
        return len(self.called)

    def _graph(
        self, kinds: list[str], tensors: list[int], operators: Operators, inputs: Sequence[int], outputs: Sequence[int]
    ) -> int:
        b = self.builder
        written = []
        for kind, reads, makes, at, options in operators:
            read, made = (b.CreateNumpyVector(np.array(numbers, np.int32)) for numbers in (reads, makes))
            own_at = b.CreateByteVector(self.customs[kind]) if self.customs.get(kind) else None
            tflite.OperatorStart(b)
            if own_at is not None:
                tflite.OperatorAddCustomOptions(b, own_at)
            tflite.OperatorAddOpcodeIndex(b, kinds.index(kind))
            tflite.OperatorAddInputs(b, read)
            tflite.OperatorAddOutputs(b, made)
            if options:
                tflite.OperatorAddBuiltinOptionsType(b, getattr(tflite.BuiltinOptions, options))
                tflite.OperatorAddBuiltinOptions(b, at)
            written.append(tflite.OperatorEnd(b))
        numbers = [b.CreateNumpyVector(np.array(each, np.int32)) for each in (inputs, outputs)]
        tensors_at, operators_at = self._vector(tensors), self._vector(written)
        tflite.SubGraphStart(b)
        tflite.SubGraphAddTensors(b, tensors_at)
        tflite.SubGraphAddInputs(b, numbers[0])
        tflite.SubGraphAddOutputs(b, numbers[1])
        tflite.SubGraphAddOperators(b, operators_at)
        found: int = tflite.SubGraphEnd(b)
        return found

    def model(self, inputs: Sequence[int], outputs: Sequence[int], more: int = 0) -> bytes:
        """``more``: graphs of nothing behind the first."""
        b = self.builder
        whole = [(self.tensors, self.operators, inputs, outputs), *self.called]
        kinds = [*dict.fromkeys(kind for _, operators, *_ in whole for kind, *_ in operators)]
        codes = []
        for kind in kinds:
            number = tflite.BuiltinOperator.CUSTOM if kind in self.customs else getattr(tflite.BuiltinOperator, kind)
            name_at = b.CreateString(kind)
            tflite.OperatorCodeStart(b)
            if kind in self.customs:
                tflite.OperatorCodeAddCustomCode(b, name_at)
            tflite.OperatorCodeAddDeprecatedBuiltinCode(b, min(number, 127))
            tflite.OperatorCodeAddBuiltinCode(b, number)
            tflite.OperatorCodeAddVersion(b, 1)
            codes.append(tflite.OperatorCodeEnd(b))
        graphs = [self._graph(kinds, *each) for each in whole]
        for _ in range(more):
            tflite.SubGraphStart(b)
            graphs.append(tflite.SubGraphEnd(b))
        graphs_at = self._vector(graphs)
        buffers = []
        for data in self.buffers:
            data_at = b.CreateByteVector(data) if data else None
            tflite.BufferStart(b)
            if data_at is not None:
                tflite.BufferAddData(b, data_at)
            buffers.append(tflite.BufferEnd(b))
        codes_at, buffers_at = self._vector(codes), self._vector(buffers)
        tflite.ModelStart(b)
        tflite.ModelAddVersion(b, 3)
        tflite.ModelAddOperatorCodes(b, codes_at)
        tflite.ModelAddSubgraphs(b, graphs_at)
        tflite.ModelAddBuffers(b, buffers_at)
        b.Finish(tflite.ModelEnd(b), b"TFL3")
        return bytes(b.Output())

    def _vector(self, offsets: Sequence[int]) -> int:
        self.builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self.builder.PrependUOffsetTRelative(offset)
        vector: int = self.builder.EndVector()
        return vector
