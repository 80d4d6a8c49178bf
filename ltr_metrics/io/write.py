"""Atomic writing: a complete file, flushed to the disk, replaces the target, or none does."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from ltr_metrics.errors import LtrValueError

LONGEST_PREFIX = 40  # characters of the target in the temporary name: the limit is 255 bytes
CANNOT_SYNC = (errno.EACCES, errno.EPERM, errno.EINVAL, errno.ENOTSUP)  # from folders


def write_whole(path: str | os.PathLike[str], content: str | bytes) -> None:
    r"""Write text or bytes to a file, so that a half-written file is never seen under its name.

    The content goes into a temporary file in the target's folder.
    That file is flushed to the disk and then renamed.
    If the path is a link, the file that it leads to is replaced, and the link stays.
    An existing file keeps its permissions, and its owner and group if the process may set them.
    A new file has the permissions that the process's umask leaves.
    Text is written as UTF-8. Characters that UTF-8 cannot encode are escaped.

    Parameters
    ----------
    path : path
        The file to write.
    content : str or bytes
        What it shall hold.

    Raises
    ------
    LtrValueError
        If the path is a loop of links, or names something that is not a regular file.
    OSError
        If the file cannot be written. The message names the file. An existing file is then left
        as it was.

    See Also
    --------
    ltr_metrics.Evaluation.save : Save an evaluation.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from ltr_metrics.io import write_whole
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "report.txt"
    >>> write_whole(path, "MRR is 0.75\n")
    >>> path.read_text()
    'MRR is 0.75\n'
    """
    target = find_target(path)
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    temporary = target.with_name(f".{target.name[:LONGEST_PREFIX]}.{uuid4().hex}")
    try:
        try:
            _write_to_disk(temporary, data, target.stat() if target.exists() else None)
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _flush_folder(target.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def find_target(path: str | os.PathLike[str]) -> Path:
    """Return the file that writing to a path replaces; refuse one that cannot be replaced."""
    target = Path(os.path.realpath(path))
    if target.is_symlink():  # realpath follows all links except those of a loop
        raise LtrValueError(f"{path} is a link that leads back to itself. Remove the link, or name another file.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {Path(path).parent} to write {Path(path).name} into.")
    if target.exists():
        if not target.is_file():
            raise LtrValueError(f"{path} is not a regular file, so it cannot be replaced. Name another file.")
        if not os.access(target, os.W_OK):
            raise PermissionError(f"{path} exists and is read-only. Name another file, or make it writable.")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"The folder {Path(path).parent} cannot be written to.")
    return target


def _write_to_disk(path: Path, data: bytes, replaced: os.stat_result | None) -> None:
    """Write a new file with the permissions of the one it replaces, and flush it to the disk."""
    mode = 0o666 if replaced is None else 0o600  # the kernel subtracts the umask
    with open(path, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        if replaced is not None:
            _copy_access(replaced, path)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _copy_access(replaced: os.stat_result, path: Path) -> None:
    """Give a file the permissions, group and owner of the file that it replaces."""
    mode, new = replaced.st_mode & 0o777, path.stat()
    if new.st_gid != replaced.st_gid:
        try:
            os.chown(path, -1, replaced.st_gid)
        except OSError:  # the file keeps another group, which gets no more access than everybody
            mode = mode & 0o707 | (mode & 0o007) << 3
    path.chmod(mode)
    if new.st_uid != replaced.st_uid:
        with suppress(OSError):  # only a privileged process may give files away
            os.chown(path, replaced.st_uid, -1)


def _flush_folder(folder: Path) -> None:
    """Flush a folder to the disk, so that a renamed file exists after a power failure."""
    try:
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        if error.errno not in CANNOT_SYNC:
            raise
