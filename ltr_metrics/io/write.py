"""Files are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write text or bytes to a file under another name first, so that no half-written file is ever seen.

    Text is written as UTF-8; what has no place in it, as names of files may, is spelled out.

    Raises
    ------
    OSError
        If the folder does not exist or cannot be written to; an existing file is then left as it was.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {target.parent} to write {target.name} into.")
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content)
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)  # mkstemp makes files that only their owner can read
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
