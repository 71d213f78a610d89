"""A process that makes calls as fast as the governor lets it, and writes down when: part of the load test."""

from __future__ import annotations

import json
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from workers.governor.port import OK, Limits, Wait
from workers.governor.redis import RedisGovernor
from workers.governor.rules import Tuning


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call: when it was permitted and ended (ms, Redis's clock and this machine's are one), tokens used."""

    at_ms: float
    ended_ms: float
    used: int


def work(url: str, limits: Limits, number: int, start: float, until: float) -> list[Call]:
    """Make calls from `start` to `until` (Unix seconds)."""
    chance = random.Random(number)
    governor = RedisGovernor(url, {"m": limits}, tuning=Tuning(poll_ms=20, waiting_s=0.2))
    calls: list[Call] = []
    while (now := time.time()) < until:
        if now < start:
            time.sleep(start - now)
        answer = governor.acquire("m", f"job-{number % 3}", chance.randint(50, 150), owner=str(number))
        if isinstance(answer, Wait):
            time.sleep(min(answer.ms, 100) / 1000)
            continue
        time.sleep(chance.uniform(0.002, 0.02))
        used = chance.randint(answer.tokens // 2, answer.tokens)
        calls.append(Call(at_ms=answer.at_ms, ended_ms=time.time() * 1000, used=used))
        governor.release(answer, tokens_used=used, ended=OK)
    governor.close()
    return calls


def main() -> None:
    """Arguments: a JSON object with what `work` takes, and the file for the calls."""
    given = json.loads(sys.argv[1])
    given["limits"] = Limits(**given["limits"])
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    given |= json.loads(sys.stdin.readline())
    calls = work(**given)
    Path(sys.argv[2]).write_text(json.dumps([[call.at_ms, call.ended_ms, call.used] for call in calls]))


if __name__ == "__main__":
    main()
