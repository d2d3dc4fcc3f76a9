"""Wavefence's model run with every rule against Oclgrind with --data-races.

Usage: python3 bench/oclgrind.py [PASSES]

The same three small pieces of work on both, in turns (3 passes unless said
otherwise): a mandelbrot of 256 x 256 points and 64 iterations, a product of 128 x
128 matrices, a histogram of 65536 values. Oclgrind's time is that of its whole
command less that of the same command on a kernel that does nothing; Wavefence's is
the median of seven dispatches from submit to idle on one thread. Prints the median
of the passes and the ratio.

Needs Oclgrind (Debian: apt-get install oclgrind).
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "bench" / "oclgrind"
NAMES = ["mandel", "matmul", "hist"]


def peer(folder, name):
    start = time.perf_counter()
    command = ["oclgrind-kernel", "--data-races", f"{name}.sim"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    if done.stderr.strip():
        sys.exit(f"oclgrind on {name}: {done.stderr}")
    return (time.perf_counter() - start) * 1e3


def main():
    passes = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    subprocess.run(["cargo", "build", "--release", "-p", "wavefence-bench"], cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    ours = target / "release" / "wavefence-bench"
    theirs, mine = {n: [] for n in NAMES}, {n: [] for n in NAMES}
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        (scratch / "empty.cl").write_text("kernel void empty(global uint *out) { out[0] = 1; }\n")
        (scratch / "empty.sim").write_text("empty.cl\nempty\n1 1 1\n1 1 1\n<size=64 uint fill=0>\n")
        for _ in range(passes):
            start_up = peer(scratch, "empty")
            for name in NAMES:
                theirs[name].append(peer(FOLDER, name) - start_up)
            out = scratch / "ours.json"
            names = [f"small-{n}" for n in NAMES]
            subprocess.run([ours, "--check", "--json", out, *names], check=True)
            for name, ms in json.loads(out.read_text())["ms"].items():
                mine[name.removeprefix("small-")].append(ms)
    print("| work | Oclgrind ms | Wavefence ms | ratio |")
    print("|---|---|---|---|")
    for name in NAMES:
        a, b = statistics.median(theirs[name]), statistics.median(mine[name])
        print(f"| {name} | {a:.1f} | {b:.2f} | {a / b:.0f} |")


if __name__ == "__main__":
    main()
