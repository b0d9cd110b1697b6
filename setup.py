"""Builds the compiled codec when there is a compiler; without one the package falls back to its Python twin."""

from pathlib import Path

from setuptools import Extension, setup

CODEC = Path("src/goqueue/codec")


def extensions() -> list[Extension]:
    if not (CODEC / "record.pyx").exists():
        return []
    from Cython.Build import cythonize

    record = Extension(
        "goqueue.codec.record",
        [str(CODEC / "record.pyx")],
        include_dirs=[str(CODEC)],
        depends=[str(CODEC / "crc32c.h")],
        extra_compile_args=["-O3"],
    )
    built: list[Extension] = cythonize([record], build_dir="build/cython", language_level=3)
    for extension in built:
        extension.optional = True  # set here because cythonize drops it: a failed build means the Python twin
    return built


setup(ext_modules=extensions())
