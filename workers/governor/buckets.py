"""The request bucket and the token bucket of one set of limits."""

from __future__ import annotations

from workers.governor.bucket import Bucket
from workers.governor.port import Reason, Wait
from workers.governor.rules import Flow, Rules


class Buckets:
    """A profile's buckets, or those of one job in it. Either may be absent. Not thread-safe."""

    def __init__(self, rules: Rules, now: float) -> None:
        self._rules = rules
        self.requests = _follow(None, rules.requests, now)
        self.tokens = _follow(None, rules.tokens, now)
        self.used_at = now

    def follow(self, rules: Rules, now: float) -> None:
        """Go by other rules from now on."""
        self._rules = rules
        self.requests = _follow(self.requests, rules.requests, now)
        self.tokens = _follow(self.tokens, rules.tokens, now)

    def refill(self, now: float) -> None:
        """Bring both to the present. To be done before anything is settled: what falls out makes room only then."""
        self.used_at = now
        for bucket in (self.requests, self.tokens):
            if bucket:
                bucket.refill(now)

    def refuse(self, tokens: int) -> Wait | None:
        """Why one call of so many tokens can not be made now."""
        for bucket, amount, reason in ((self.requests, 1, Reason.REQUESTS), (self.tokens, tokens, Reason.TOKENS)):
            wait_ms = bucket.wait_ms(amount, self._rules.poll_ms, self._rules.ask_most_ms) if bucket else 0
            if wait_ms:
                return Wait(ms=wait_ms, reason=reason)
        return None

    def take(self, tokens: int) -> None:
        """A call of so many tokens is made."""
        if self.requests:
            self.requests.take(1, hold=False)
        if self.tokens:
            self.tokens.take(tokens, hold=True)

    def settle(self, reserved: int, used: int, *, charged: bool) -> None:
        """A call ended. One that these buckets were not charged for gives nothing back."""
        if self.tokens and charged:
            self.tokens.settle(reserved, used)
        elif self.tokens:
            self.tokens.debit(max(0, used - reserved))


def _follow(bucket: Bucket | None, flow: Flow | None, now: float) -> Bucket | None:
    if flow is None:
        return None
    if bucket is None:
        return Bucket(flow, now)
    bucket.flow = flow
    return bucket
