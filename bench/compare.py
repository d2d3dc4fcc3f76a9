"""Wavefence's fast run against lavapipe, side by side in one run.

Usage: python3 bench/compare.py [PASSES]

Builds the benchmark, makes the SPIR-V, then takes turns: lavapipe, Wavefence,
lavapipe, Wavefence, ... (3 passes unless said otherwise; each pass is the median
of 7 dispatches). Prints the median of the passes per kernel, the ratio, and the
geometric mean of the ratios. Both get the machine's processors to themselves.

Needs what bench/lavapipe.py needs. VK_ICD_FILENAMES picks another driver.
"""
import json
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "target" / "bench"
LAVAPIPE = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"


def run(*command, **more):
    subprocess.run([str(c) for c in command], cwd=ROOT, check=True, **more)


def main():
    passes = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    OUT.mkdir(parents=True, exist_ok=True)
    run("cargo", "build", "--release", "-p", "wavefence-bench")
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    ours = target / "release" / "wavefence-bench"
    run(ours, "--emit-spirv", OUT)
    peer_env = dict(os.environ)
    peer_env.setdefault("VK_ICD_FILENAMES", LAVAPIPE)
    threads = os.cpu_count()
    peer, mine = [], {"wave64": [], "wave32": []}
    for _ in range(passes):
        run(sys.executable, "bench/lavapipe.py", OUT, OUT / "peer.json", env=peer_env)
        peer.append(json.loads((OUT / "peer.json").read_text()))
        for wave, extra in (("wave64", []), ("wave32", ["--wave32"])):
            run(ours, "--threads", threads, "--json", OUT / "ours.json", *extra)
            mine[wave].append(json.loads((OUT / "ours.json").read_text()))
    middle = lambda runs, name: statistics.median(r["ms"][name] for r in runs)
    print(f"\n{peer[0]['device']}, {threads} threads, {passes} passes; milliseconds per dispatch")
    print("| kernel | peer | wave64 | wave32 | peer / wave64 | peer / wave32 |")
    print("|---|---|---|---|---|---|")
    ratios = {"wave64": [], "wave32": []}
    for name in peer[0]["ms"]:
        row = {wave: middle(runs, name) for wave, runs in mine.items()}
        base = middle(peer, name)
        for wave, ms in row.items():
            ratios[wave].append(base / ms)
        print(
            f"| {name} | {base:.2f} | {row['wave64']:.2f} | {row['wave32']:.2f} "
            f"| {ratios['wave64'][-1]:.2f} | {ratios['wave32'][-1]:.2f} |"
        )
    mean = lambda values: math.exp(statistics.fmean(map(math.log, values)))
    print(f"| geometric mean | | | | {mean(ratios['wave64']):.2f} | {mean(ratios['wave32']):.2f} |")


main()
