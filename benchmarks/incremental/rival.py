"""One run of a rival in a process of its own: `rival.py NAME PIECES.json FOLDER LOG PROMPT`.

It does the op to each piece that it does not think fresh, keeps its state in FOLDER, and prints the seconds it took.
Each call of the op appends one byte to LOG, so that calls are counted also of a process that is killed. Only the
rivals' own packages and the standard library are needed here.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

IN_FLIGHT = 32
CALL_S = 0.02

Op = Callable[[str], str]


def op_for(log: Path, prompt: str) -> Op:
    """The op: waits as a model does, and notes that it was called."""
    out = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def op(text: str) -> str:
        os.write(out, b".")
        time.sleep(CALL_S)
        return hashlib.sha256((prompt + text).encode()).hexdigest()

    return op


def llama_index(pieces: Sequence[str], folder: Path, op: Op, prompt: str) -> None:
    """IngestionPipeline with document store and cache, both persisted, as its guide has it."""
    from llama_index.core import Document
    from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
    from llama_index.core.schema import BaseNode, TransformComponent
    from llama_index.core.storage.docstore import SimpleDocumentStore

    class Marked(TransformComponent):
        prompt: str

        def __call__(self, nodes: Sequence[BaseNode], **_: Any) -> Sequence[BaseNode]:
            with ThreadPoolExecutor(IN_FLIGHT) as pool:
                marks = list(pool.map(op, [node.get_content() for node in nodes]))
            # Copies: the document store has these very nodes, and knows them again by a hash of their metadata too.
            made = [node.model_copy(deep=True) for node in nodes]
            for node, mark in zip(made, marks, strict=True):
                node.metadata["mark"] = mark
            return made

    pipeline = IngestionPipeline(
        transformations=[Marked(prompt=prompt)],
        docstore=SimpleDocumentStore(),
        docstore_strategy=DocstoreStrategy.DUPLICATES_ONLY,
    )
    store = folder / "pipeline"
    if store.exists():
        pipeline.load(str(store))
    documents = [Document(text=text, id_=hashlib.sha256(text.encode()).hexdigest()) for text in pieces]
    pipeline.run(documents=documents)
    pipeline.persist(str(store))


def langchain(pieces: Sequence[str], folder: Path, op: Op, prompt: str) -> None:
    """`index()` with the SQL record manager and full clean-up; the op is done where a text would be embedded."""
    from langchain_classic.indexes import SQLRecordManager
    from langchain_core.documents import Document
    from langchain_core.indexing import index
    from langchain_core.vectorstores import VectorStore

    class Store(VectorStore):
        def __init__(self) -> None:
            self._rows = sqlite3.connect(folder / "store.db")
            self._rows.execute("CREATE TABLE IF NOT EXISTS marks (id TEXT PRIMARY KEY, mark TEXT)")

        def add_documents(self, documents: list[Document], **more: Any) -> list[str]:
            ids = [str(found) for found in more["ids"]]
            with ThreadPoolExecutor(IN_FLIGHT) as pool:
                marks = list(pool.map(op, [document.page_content for document in documents]))
            with self._rows:
                self._rows.executemany("INSERT OR REPLACE INTO marks VALUES (?, ?)", zip(ids, marks, strict=True))
            return ids

        def delete(self, ids: list[str] | None = None, **_: Any) -> bool:
            with self._rows:
                self._rows.executemany("DELETE FROM marks WHERE id = ?", [(one,) for one in ids or ()])
            return True

        def similarity_search(self, *_: Any, **__: Any) -> list[Document]:
            return []

        @classmethod
        def from_texts(cls, *_: Any, **__: Any) -> VectorStore:
            return cls()

    manager = SQLRecordManager("bench", db_url=f"sqlite:///{folder / 'records.db'}")
    manager.create_schema()
    documents = [Document(page_content=text, metadata={"prompt": prompt, "source": "book"}) for text in pieces]
    index(documents, manager, Store(), cleanup="full", key_encoder="sha256", batch_size=128)


def cocoindex(pieces: Sequence[str], folder: Path, op: Op, prompt: str) -> None:
    """A memoized function in a component for each piece, named by its text: by components it keeps what is done."""
    import asyncio

    import cocoindex as coco

    pool = ThreadPoolExecutor(IN_FLIGHT)

    @coco.fn(memo=True, logic_tracking=None)
    async def marked(text: str, prompt: str) -> str:
        return prompt + await asyncio.get_running_loop().run_in_executor(pool, op, text)

    @coco.fn
    async def whole(texts: Iterable[str], prompt: str) -> None:
        keyed = {hashlib.sha256(text.encode()).hexdigest(): text for text in texts}
        await coco.mount_each(marked, keyed.items(), prompt)

    @coco.lifespan
    def settled(builder: coco.EnvironmentBuilder) -> Any:
        builder.settings.db_path = folder / "coco.db"
        yield

    app = coco.App("bench", whole, list(pieces), prompt)
    app.update_blocking()


RIVALS: dict[str, Callable[[Sequence[str], Path, Op, str], None]] = {
    "llama-index": llama_index,
    "langchain": langchain,
    "cocoindex": cocoindex,
}
IMPORTS = {
    "llama-index": ("llama_index.core", "llama_index.core.ingestion"),
    "langchain": ("langchain_classic.indexes", "langchain_core.indexing", "langchain_core.vectorstores"),
    "cocoindex": ("cocoindex",),
}


def main() -> None:
    """Run one rival; its seconds leave its start-up and imports of the process aside."""
    name, pieces, folder, log, prompt = sys.argv[1:]
    texts = json.loads(Path(pieces).read_text())
    op = op_for(Path(log), prompt)
    for module in IMPORTS[name]:
        importlib.import_module(module)
    began = time.perf_counter()
    RIVALS[name](texts, Path(folder), op, prompt)
    print(json.dumps({"seconds": time.perf_counter() - began}), flush=True)


if __name__ == "__main__":
    main()
