"""What of a model's window is left for evidence."""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.errors import UsageError


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """window − system − question and history − output reserve − format and safety, all in tokens of one tokenizer."""

    window: int
    fixed: int  # the request without evidence: system, question, history, and what the chat template adds
    reserve: int  # of the answer
    safety: int  # where the count is not the model's own

    @property
    def evidence(self) -> int:
        """What is left. Raises UsageError when nothing is."""
        left = self.window - self.fixed - self.reserve - self.safety
        if left < 1:
            raise UsageError(
                f"The model's window of {self.window} tokens has no room for evidence",
                cause=f"the question takes {self.fixed}, the answer {self.reserve}, safety {self.safety}",
                hint="ask a shorter question, or lower output_reserve of the profile",
            )
        return left

    def as_json(self) -> dict[str, int]:
        """For traces and tables."""
        return {"window": self.window, "fixed": self.fixed, "reserve": self.reserve, "safety": self.safety}
