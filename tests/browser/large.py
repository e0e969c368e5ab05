"""Makes a run folder of 2,000 cells out of a small one, and measures how its report is made.

    large.py ARCBENCH RUN FOLDER

RUN is a finished run; its cells' tables are linked, 100 times each or more, so that every cell has
tables of the full size. FOLDER is made. It fails unless `arcbench report` takes less than 10 s and
300 MB.
"""

import json
import os
import pathlib
import resource
import subprocess
import sys
import time

PROFILES, SETTINGS, SEEDS = 20, 10, 10
SECONDS_MAX, BYTES_MAX = 10, 300e6


def main():
    program, run, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    models = sorted(path.parent for path in (run / "cells").glob("*/summary.json"))
    folder.mkdir(parents=True)
    lines = ['description = "Two thousand cells"', 'duration = "120 s"', f'seeds = "1..{SEEDS}"']
    lines.append(f"profiles = {json.dumps([f'link-{p}' for p in range(PROFILES)])}")
    lines += [f'[settings.s{s}]\ndeadline = {{ frame = "{s + 1} s" }}' for s in range(SETTINGS)]
    lines += [f'[profile.link-{p}]\nrtt = "{10 * p + 10} ms"\nrate = "10 Mbit/s"' for p in range(PROFILES)]
    (folder / "scenario.resolved.toml").write_text("\n".join(lines) + "\n")
    (folder / "manifest.json").write_bytes((run / "manifest.json").read_bytes())
    number = 0
    for p in range(PROFILES):
        for s in range(SETTINGS):
            for seed in range(1, SEEDS + 1):
                model = models[number % len(models)]
                number += 1
                summary = json.loads((model / "summary.json").read_text())
                name = f"link-{p}--s{s}--s{seed}--{number:08x}"
                summary.update(cell=name, profile=f"link-{p}", settings=f"s{s}", seed=str(seed))
                cell = folder / "cells" / name
                cell.mkdir(parents=True)
                for table in model.iterdir():
                    if table.name != "summary.json":
                        os.link(table, cell / table.name)
                (cell / "summary.json").write_text(json.dumps(summary))
    begun = time.monotonic()
    subprocess.run([program, "report", str(folder)], check=True, stdout=subprocess.DEVNULL)
    took = time.monotonic() - begun
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    memory = usage.ru_maxrss * 1024
    cpu = usage.ru_utime + usage.ru_stime
    size = (folder / "report.html").stat().st_size
    print(f"{number} cells: {took:.1f} s ({cpu:.1f} s of processor), {memory / 1e6:.0f} MB, page of {size / 1e6:.2f} MB")
    # Processor time: what else the machine does is no fault of the report's.
    return 0 if cpu < SECONDS_MAX and memory < BYTES_MAX else 1


if __name__ == "__main__":
    sys.exit(main())
