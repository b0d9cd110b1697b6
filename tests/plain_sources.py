"""A plugin of pytest (`-p tests.plain_sources`): nothing is compiled, as on a machine without a compiler.

Modules that have their types beside them are loaded from their sources, and of the codec there is only the twin.
"""

import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

COMPILED_ONLY = "goqueue.codec.record"


class PlainSources(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == COMPILED_ONLY:
            raise ModuleNotFoundError(f"{fullname} is compiled", name=fullname)
        for folder in path or ():
            source = Path(folder, fullname.rpartition(".")[2] + ".py")
            if source.with_suffix(".pxd").exists():
                return importlib.util.spec_from_file_location(fullname, source)
        return None


sys.meta_path.insert(0, PlainSources())
