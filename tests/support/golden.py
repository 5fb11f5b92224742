"""Golden files: what a text was when somebody last read it. `pytest --bless` writes them anew."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Golden:
    """Compares with files, or writes them where `bless` is set."""

    bless: bool

    def check(self, file: Path, text: str) -> None:
        """Fails unless the file holds this text."""
        if self.bless:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        assert file.exists(), f"{file} is not there; `pytest --bless` writes it"
        assert text == file.read_text(encoding="utf-8")
