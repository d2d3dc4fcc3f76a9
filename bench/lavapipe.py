"""Times the eight kernels on Mesa's lavapipe (or any Vulkan driver), as a peer.

Usage: lavapipe.py SPIRV_FOLDER RESULT.json

SPIRV_FOLDER holds one NAME.spv per kernel as Wavefence's own front end makes it
(`cargo run --release -p wavefence-bench -- --emit-spirv SPIRV_FOLDER`); its
binding shifts are the ones compushady expects. One thing is changed before the
driver sees a module: GroupNonUniformPartitionedNV, which DXC declares and does
not use, is dropped (lavapipe refuses it).

Needs: mesa-vulkan-drivers (Debian), compushady-lrtu and numpy (PyPI).
Every result is checked; a wrong one ends the run.
"""
import json
import sys
import time

import compushady
import numpy as np
from compushady import HEAP_DEFAULT, HEAP_READBACK, HEAP_UPLOAD, Buffer, Compute

OP_EXTENSION, OP_CAPABILITY = 10, 17
CAPABILITY_PARTITIONED = 5297


def for_vulkan(path):
    words = np.fromfile(path, dtype=np.uint32)
    out, at = list(words[:5]), 5
    while at < len(words):
        count, op = int(words[at]) >> 16, int(words[at]) & 0xFFFF
        inst = list(words[at : at + count])
        at += count
        if op == OP_CAPABILITY and inst[1] == CAPABILITY_PARTITIONED:
            continue
        if op == OP_EXTENSION and b"partitioned" in np.array(inst[1:], np.uint32).tobytes():
            continue
        out += inst
    return np.array(out, np.uint32).tobytes()


def upload(array):
    array = np.ascontiguousarray(array)
    staging = Buffer(array.nbytes, HEAP_UPLOAD)
    staging.upload(array.tobytes())
    buffer = Buffer(array.nbytes, HEAP_DEFAULT)
    staging.copy_to(buffer)
    return buffer


def download(buffer, dtype):
    back = Buffer(buffer.size, HEAP_READBACK)
    buffer.copy_to(back)
    return np.frombuffer(back.readback(), dtype=dtype)


def mandel_reference():
    axis = np.arange(1024, dtype=np.float32) / np.float32(1024) * np.float32(3)
    cx, cy = np.meshgrid(axis - np.float32(2), axis - np.float32(1.5))
    zx, zy = np.zeros_like(cx), np.zeros_like(cy)
    count = np.zeros(cx.shape, np.uint32)
    for _ in range(256):
        inside = (zx * zx + zy * zy) < 4
        if not inside.any():
            break
        count[inside] += 1
        nx, ny = zx * zx - zy * zy + cx, 2 * zx * zy + cy
        zx, zy = np.where(inside, nx, zx), np.where(inside, ny, zy)
    return count.ravel()


def cases(rng):
    """name -> (uav arrays, index of the result, its type, grid, check, resets)"""
    n = 1 << 20
    out = lambda words: np.zeros(words, np.uint32)
    reference = mandel_reference()
    yield "mandel", [out(n)], 0, np.uint32, (128, 128, 1), lambda r: (r != reference).mean() < 2e-3

    bodies = rng.standard_normal((4096, 4)).astype(np.float32)
    bodies[:, 3] = abs(bodies[:, 3])
    p = bodies.astype(np.float64)
    acc = np.zeros((4096, 3))
    for i in range(0, 4096, 512):
        d = p[None, :, :3] - p[i : i + 512, None, :3]
        r2 = (d * d).sum(-1) + 0.01
        acc[i : i + 512] = (d * (p[None, :, 3] * r2**-1.5)[..., None]).sum(1)
    close = lambda r: np.abs(r.reshape(-1, 4)[:, :3] - acc).max() / np.abs(acc).max() < 1e-4
    yield "nbody", [bodies, out(4096 * 4)], 1, np.float32, (16, 1, 1), close

    image = rng.random((1024, 1024, 4), dtype=np.float32)
    w = np.array([0.0625, 0.25, 0.375, 0.25, 0.0625])
    pad = np.pad(image.astype(np.float64), ((2, 2), (2, 2), (0, 0)), "edge")
    blurred = sum(
        w[x] * w[y] * pad[y : y + 1024, x : x + 1024] for x in range(5) for y in range(5)
    )
    check = lambda r: np.abs(r.reshape(blurred.shape) - blurred).max() < 1e-5
    yield "blur", [image, out(4 * n)], 1, np.float32, (64, 64, 1), check

    values = rng.integers(0, 2**32, 16 * n, dtype=np.uint32)
    bins = np.bincount(values & 255, minlength=256)
    yield "hist", [values, out(256)], 1, np.uint32, (1024, 1, 1), lambda r: (r == bins).all()

    a, b = rng.random((512, 512), dtype=np.float32), rng.random((512, 512), dtype=np.float32)
    product = a.astype(np.float64) @ b
    check = lambda r: np.abs(r.reshape(512, 512) - product).max() / product.max() < 1e-5
    yield "matmul", [a, b, out(512 * 512)], 2, np.float32, (32, 32, 1), check

    keys = rng.integers(0, 2**32, n, dtype=np.uint32)
    ordered = np.sort(keys.reshape(-1, 512), axis=1).ravel()
    yield "bitonic", [keys, out(n)], 1, np.uint32, (2048, 1, 1), lambda r: (r == ordered).all()

    small = rng.integers(0, 1000, 4 * n, dtype=np.uint32)
    sums = np.cumsum(small.reshape(-1, 256), axis=1, dtype=np.uint32).ravel()
    check = lambda r: (r == sums).all()
    yield "scan", [small, out(4 * n), out(4 * n // 256)], 1, np.uint32, (16384, 1, 1), check

    x, y = rng.random(16 * n, dtype=np.float32), rng.random(16 * n, dtype=np.float32)
    expected = 2.5 * x.astype(np.float64) + y
    check = lambda r: np.abs(r - expected).max() < 1e-5
    yield "saxpy", [x, y], 1, np.float32, (65536, 1, 1), check


def main():
    folder, result_path = sys.argv[1:3]
    result = {"device": compushady.get_current_device().name, "ms": {}}
    for name, arrays, result_at, dtype, grid, check in cases(np.random.default_rng(1)):
        uavs = [upload(array) for array in arrays]
        compute = Compute(for_vulkan(f"{folder}/{name}.spv"), uav=uavs)
        compute.dispatch(*grid)
        if not check(download(uavs[result_at], dtype)):
            sys.exit(f"{name}: wrong result")
        compute.dispatch(*grid)
        times = []
        for _ in range(7):
            start = time.perf_counter()
            compute.dispatch(*grid)
            times.append((time.perf_counter() - start) * 1e3)
        result["ms"][name] = float(np.median(times))
        print(f"{name:9} {result['ms'][name]:9.2f} ms", flush=True)
    with open(result_path, "w") as file:
        json.dump(result, file, indent=1)


main()
