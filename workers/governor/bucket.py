"""A token bucket that holds its limit in every sliding window, reservations and corrections included."""

from __future__ import annotations

import copy
import math

from workers.governor.rules import Flow


class Bucket:
    """What may be taken at once (`level`), what is reserved by calls in flight (`held`), and the rate of refill.

    *Rule.* The stock `level + held` never rises above `top`, and refills at `(total − top) / window`. Taking moves a
    reservation from level to held; settling takes it from held and gives back to level what was not used, so the
    stock falls by exactly what was used. `top` is at least the highest stock of the last window. It begins at the
    declared burst; a call that does not fit beside those in flight raises it (`most` at the utmost), and the rate
    falls with that; it sinks back after a window in which the stock stayed lower.

    *Proof.* Take any window from s to s + W. The calls that were granted or settled in it, or both, used
    U = (used by those settled in it) + (used by those granted in it and in flight at its end). The first sum is the
    stock at s plus the refill minus the stock at the end; the second is at most what is held at the end. So
    U ≤ stock(s) + refill − level(end) ≤ stock(s) + refill, as no level is below 0. At every moment of the window
    top ≥ stock(s), so refill ≤ W × (total − stock(s)) / W, and U ≤ total: burst + rate × window ≤ limit. It holds
    wherever between a call's grant and its end the provider counts its tokens. A call that uses more than it reserved
    breaks the premise; its excess is taken at once, so the level falls below 0 and all wait for it.

    *Lost state.* A new bucket has an empty stock, so U after the loss ≤ refill, and the two parts of a window around
    the loss together are ≤ stock(s) + rate × W as before, if `top` does not fall with the loss: hence `top` may be
    handed to a new bucket. A permit that the bucket did not grant gets nothing back from it.

    `Flow.total` of requests is just below limit + 1: requests are whole, so they are at most limit. Not thread-safe.
    `lua/bucket.lua` is the same in Lua, operation for operation.
    """

    def __init__(self, flow: Flow, now: float) -> None:
        self.flow = flow
        self.level = 0.0
        self.held = 0.0
        self._lost = 0.0  # refill for which there was no room, since the burst rose last
        self._at = now
        self._was = flow.burst  # the highest stock of the period before, and of this; a period is a window or longer
        self._is = flow.burst
        self._since = now

    @property
    def top(self) -> float:
        """The most that the stock may be."""
        return min(max(self._was, self._is), self.flow.most)

    @property
    def rate(self) -> float:
        """Refill in a millisecond."""
        return max(0.0, self.flow.total - self.top) / self.flow.window_ms

    def refill(self, now: float) -> None:
        """Bring the bucket to the present. A clock that was set back refills nothing."""
        gained = self.rate * max(0.0, now - self._at)
        room = self.top - self.level - self.held
        self.level += min(gained, room)
        self._lost += max(0.0, gained - room)
        self._at = now
        self._is = max(self._is, self.level + self.held)
        if now < self._since:
            self._was = max(self._was, self._is)
            self._since = now
        elif now - self._since >= self.flow.window_ms:
            self._was = self._is
            self._is = max(self.flow.burst, self.level + self.held)
            self._since = now

    def wait_ms(self, amount: float, poll_ms: int, most_ms: int) -> int:
        """0 when `amount` can be taken; else milliseconds after which to ask again, at most `most_ms`."""
        if self.level >= amount:
            return 0
        self._grow(amount)
        if amount + self.held > self.top or self.rate <= 0:
            return poll_ms  # only the end of a call can make room
        return max(1, math.ceil(min((amount - self.level) / self.rate, most_ms)))

    def _grow(self, amount: float) -> None:
        """Let the burst rise for a call that could have been made, had there been room for what flowed in."""
        if amount > self.top or self._lost >= amount:
            self._is = max(self._is, min(self.flow.most, max(amount + self.held, self.top + amount)))
            self._lost = 0.0

    def take(self, amount: float, *, hold: bool) -> None:
        """Take what `wait_ms` said can be taken; `hold` when it will be settled."""
        self.level -= amount
        if hold:
            self.held += amount

    def settle(self, amount: float, used: float) -> None:
        """A call that held `amount` has used `used`."""
        self.held -= amount
        self.level += amount - used

    def debit(self, amount: float) -> None:
        """Take what was used beyond all reservations."""
        self.level -= amount

    def left(self, now: float) -> int:
        """What could be taken now. Changes nothing."""
        ahead = copy.copy(self)
        ahead.refill(now)
        return math.floor(ahead.level)
