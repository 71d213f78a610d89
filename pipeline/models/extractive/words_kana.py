"""Closed classes of Japanese words."""

from __future__ import annotations

from pipeline.models.extractive.words import words

STOP_WORDS: frozenset[str] = words(
    """
    自分 今日 昨日 明日 一人 二人 三人 人間 大変 今度 一つ 二つ 何時 時分 毎日 一寸 御前 貴様 一体 人々 様子 場合 時間
    問題 方面 事実 必要 普通 結果 以上 以下 以前 以後 最初 最後 全体 一番 一度 二度 何人 何事 如何 此方 其方 此処 其処
    何処 彼等 我々 吾々 只今 先刻 今朝 今夜 昨夜 今年 去年
    """
)

# After a name: the honorific that makes it a person.
HONORIFICS: tuple[str, ...] = ("さん", "さま", "君", "様", "氏", "先生", "殿", "ちゃん", "くん")

PARTICLES_AFTER: frozenset[str] = frozenset("はがをにのともへでや、。」』")
