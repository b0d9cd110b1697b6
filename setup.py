"""Compiles the codec and the modules on the way of a record where there is a compiler.

A module with its types beside it (`.pxd`) is compiled as it is. Without a compiler, or with GOQUEUE_COMPILE=no, the
same sources are run, and the codec has a twin in Python.
"""

import os
import shutil
import sysconfig
from pathlib import Path

from setuptools import Extension, setup

SOURCES = Path("src")
CODEC = SOURCES / "goqueue/codec"
# Annotations are for mypy and stay words; a None where there must be an object is an error and no crash.
AS_THEY_ARE = {"annotation_typing": False, "auto_pickle": False, "binding": False, "nonecheck": True}
CORES = os.cpu_count() or 1


def can_compile() -> bool:
    if os.environ.get("GOQUEUE_COMPILE") == "no":
        return False
    compiler = os.environ.get("CC", sysconfig.get_config_var("CC") or "cc").split()[0]
    return shutil.which(compiler) is not None and Path(sysconfig.get_path("include"), "Python.h").exists()


def extensions() -> list[Extension]:
    if not (CODEC / "record.pyx").exists() or not can_compile():
        return []
    from Cython.Build import cythonize

    codec = Extension(
        "goqueue.codec.record",
        [str(CODEC / "record.pyx")],
        include_dirs=[str(CODEC)],
        depends=[str(CODEC / "crc32c.h")],
        extra_compile_args=["-O3"],
    )
    typed = sorted(types.with_suffix(".py") for types in SOURCES.rglob("*.pxd"))
    modules = [
        Extension(".".join(path.relative_to(SOURCES).with_suffix("").parts), [str(path)], extra_compile_args=["-O2"])
        for path in typed
    ]
    settings = {"build_dir": "build/cython", "language_level": 3, "nthreads": CORES}
    built: list[Extension] = cythonize([codec], **settings)
    built += cythonize(modules, compiler_directives=AS_THEY_ARE, **settings)
    for extension in built:
        extension.optional = True  # set here because cythonize drops it: a failed build means the sources as they are
        extension.extra_compile_args += ["-g0", "-w"]  # what the compiler says of generated code is of use to nobody
    return built


setup(ext_modules=extensions(), options={"build_ext": {"parallel": CORES}})
