"""The work of `headwater run view.lorel --engine spark`: documents of files, or of files that arrive in folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from headwater.cli.documents.sources import pairs
from headwater.cli.run_spark import SparkRunning
from headwater.core.errors import FileError
from headwater.core.progress import ProgressLine
from headwater.files.read import bytes_of
from headwater.semistructured.reading.loading import paths_of

_LINES = (".jsonl", ".ndjson")


class DocumentsOnSpark(SparkRunning):
    """One run of views over documents on Spark."""

    def run_with(self, keys: list[str]) -> None:
        """Run with these keys, each NAME=MEMBER; documents of other names are known by `id`."""
        self._keys = dict(pairs(keys, "--key"))
        self._inputs = pairs(self._feed.inputs, "--input")
        self._folders = pairs(self._streams, "--stream")
        self.run()

    def _compile_and_start(self, progress: ProgressLine) -> None:
        from headwater.spark import documents, maintain_documents
        from headwater.spark.inputs.arriving import arriving_documents
        from headwater.spark.session.session import local_session

        text = bytes_of(Path(self._file)).decode("utf-8", "replace")
        paths = [(name, paths_of(given)) for name, given in self._inputs]
        progress.step("starting Spark")
        spark = local_session(f"headwater run {self._file}", {"spark.log.level": "OFF"})
        frames: dict[str, list[Any]] = {}
        for name, files in paths:
            frames.setdefault(name, []).extend(_read(spark, files))
        if not self._folders:
            progress.step("deriving")
            whole = {name: _together(given) for name, given in frames.items()}
            options: dict[str, Any] = {"optional": self._optional, "shards": self._shards, "guard": self._guard}
            views = documents(text, whole, key=self._key_of(whole), **options)
            self._give({name: frame.toArrow() for name, frame in views.items()})
            return
        keys = self._key_of([*frames, *(name for name, _ in self._folders)])
        for name, folder in self._folders:
            frames.setdefault(name, []).append(arriving_documents(spark, Path(folder).absolute(), keys[name]))
        query = maintain_documents(text, frames, key=keys, **self._query_options(progress))
        self._follow(query, progress)

    def _key_of(self, names: Any) -> dict[str, str]:
        return {name: self._keys.get(name, "id") for name in names}


def _read(spark: Any, files: list[Path]) -> list[Any]:
    """The documents of files: one per line, per row of a table, or per file."""
    found = []
    for path in files:
        place, suffix = str(path.absolute()), path.suffix.lower()
        if not path.is_file():
            raise FileError(f"{path} is no file")
        if suffix == ".parquet":
            found.append(spark.read.parquet(place))
        elif suffix in _LINES:
            found.append(spark.read.text(place).where("trim(value) != ''"))
        elif suffix == ".json":
            found.append(spark.read.text(place, wholetext=True))
        else:
            raise FileError(
                f"{path}: its name does not say what it holds; it must end in .json, .jsonl, .ndjson, .parquet"
            )
    return found


def _together(frames: list[Any]) -> Any:
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.unionByName(frame)
    return whole
