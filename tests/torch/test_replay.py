"""PyTorch takes the library as an allocator; without CUDA it has none for devices: a stub records it."""

import ctypes
from types import SimpleNamespace
from typing import Any

import pytest

import memstow.torch

TABLE = b"memstow-replay 1 512 1024 4\n+ 512 0\n+ 512 512\n- 0\n- 1\n"


def test_the_functions_that_pytorch_gets_allocate_by_the_plan(
    torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: dict[str, Any] = {}

    def custom_allocator(allocate: int, free: int) -> object:
        taken.update(allocate=allocate, free=free)
        return SimpleNamespace(set_record_stream_fn=lambda function: taken.update(record_stream=function))

    monkeypatch.setattr(torch._C, "_cuda_customAllocator", custom_allocator, raising=False)
    monkeypatch.setattr(torch.cuda.memory, "change_current_allocator", lambda one: taken.update(current=one))
    monkeypatch.setattr(torch.cuda, "current_stream", lambda _device: SimpleNamespace(cuda_stream=3))
    with memstow.torch.Replay(TABLE, on_processor=True) as replay:
        replay.install()
        assert isinstance(taken["current"], torch.cuda.memory.CUDAPluggableAllocator)
        pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
        allocate = ctypes.CFUNCTYPE(pointer, size, number, pointer)(taken["allocate"])
        free = ctypes.CFUNCTYPE(None, pointer, size, number, pointer)(taken["free"])
        record_stream = ctypes.CFUNCTYPE(None, pointer, pointer)(taken["record_stream"])
        with replay.step():
            first, second = allocate(512, 0, 3), allocate(500, 0, 3)
            assert first is not None
            assert second == first + 512
            record_stream(first, 4)
            free(first, 512, 0, 3)
            free(second, 500, 0, 3)
        assert replay.statistics().high_water == 1012
        # The first may still be in use on the other stream, until the next step.
        assert replay.statistics().live == 0
        with replay.step():
            assert allocate(512, 0, 3) == first
            free(first, 512, 0, 3)


def test_a_pytorch_without_cuda_is_refused(torch: Any) -> None:
    if hasattr(torch._C, "_cuda_customAllocator"):
        pytest.skip("this PyTorch has CUDA")
    refused = pytest.raises(memstow.torch.ReplayError, match="built without CUDA")
    with memstow.torch.Replay(TABLE, on_processor=True) as replay, refused:
        replay.install()
