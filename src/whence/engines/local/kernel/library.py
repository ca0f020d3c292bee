"""The compiled kernel as callable functions, compiled once for a machine and loaded from disk after that.

Numba compiles, but importing it and its cached functions costs half a second in every process. So the object code is
kept in one file, with a digest, and later processes load it through llvmlite alone, in some hundredths of a second.
Whatever is wrong with that file, it is compiled again.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

# Each kernel: the module that holds it and the number of its arguments, all of them int64.
KERNELS = {
    "insert": ("rows", 8),
    "note": ("rows", 8),
    "locate": ("rows", 4),
    "grow_slots": ("rows", 4),
    "extend_index": ("rows", 3),
    "first_waiting": ("revising", 1),
    "take_events": ("revising", 4),
    "weigh_events": ("revising", 8),
    "mark_rows": ("revising", 5),
    "show_rows": ("revising", 5),
    "change_rows": ("revising", 5),
    "unmark_rows": ("revising", 3),
    "evaluate": ("pipeline", 8),
    "propagate": ("propagating", 1),
    "consolidate": ("weighted", 6),
    "accumulate": ("weighted", 4),
    "gather_weights": ("weighted", 7),
    "match_rows": ("weighted", 1),
    "cross_threshold": ("weighted", 3),
    "compute_column": ("operations", 6),
    "compare_columns": ("operations", 5),
    "intern_spans": ("symbols", 7),
    "find_symbol": ("symbols", 3),
    "compare_symbols": ("symbol_order", 5),
    "sort_symbols": ("symbol_order", 4),
    "measure_symbols": ("strings", 4),
    "join_symbols": ("strings", 6),
    "cut_symbols": ("strings", 8),
    "search_symbols": ("strings", 5),
    "parse_symbols": ("numerals", 7),
    "print_symbols": ("numerals", 7),
    "read_rows": ("lines", 1),
    "write_rows": ("lines", 1),
}

# What LLVM may call for a loop or an intrinsic without declaring it.
LOWERED = ["memcpy", "memmove", "memset", "memcmp", "bcmp", "pow"]

_loaded: SimpleNamespace | None = None
_engine: Any = None  # owns the machine code


def load(announce: Callable[[str], None] | None = None) -> SimpleNamespace:
    """The kernels, as attributes. `announce` is told when compiling starts, which takes a while."""
    global _loaded
    if _loaded is None:
        path = cache_folder() / f"kernel-{_fingerprint()}.bin"
        addresses = _from_file(path)
        if addresses is None:
            if announce:
                announce("compiling the kernel, once for this machine …")
            addresses = _compile(path)
        _loaded = SimpleNamespace(
            **{
                name: ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * count)(addresses[name])
                for name, (_, count) in KERNELS.items()
            }
        )
    return _loaded


def cache_folder() -> Path:
    """`WHENCE_CACHE`, else the user's cache folder."""
    given = os.environ.get("WHENCE_CACHE")
    if given:
        return Path(given)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "whence"


def _fingerprint() -> str:
    """Of all that the object code depends on: the sources, the compiler, the machine."""
    import llvmlite
    import llvmlite.binding as llvm

    digest = hashlib.sha256()
    numba = find_spec("numba")  # found, not imported
    for part in (
        llvmlite.__version__,
        Path(numba.origin or "").with_name("_version.py").read_text() if numba else "",
        sys.version,
        llvm.get_process_triple(),
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
    ):
        digest.update(part.encode())
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:24]


def _from_file(path: Path) -> dict[str, int] | None:
    """Addresses of the kernels in a file written by `_compile`; None if there is none or it is damaged."""
    try:
        head, _, code = path.read_bytes().partition(b"\n")
        header = json.loads(head)
        if hashlib.sha256(code).hexdigest() != header["digest"]:
            return None
        return _link(code, header["symbols"], header["externals"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError):
        return None


def _link(code: bytes, symbols: dict[str, str], externals: list[str]) -> dict[str, int]:
    import llvmlite.binding as llvm

    global _engine
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    process = ctypes.CDLL(None)
    never = ctypes.cast(process["abort"], ctypes.c_void_p).value
    for name in externals:
        # Numba's own runtime is named for raising errors only, and the kernels raise none.
        own = name.startswith(("numba_", "NRT_"))
        llvm.add_symbol(name, never if own else ctypes.cast(process[name], ctypes.c_void_p).value)
    machine = llvm.Target.from_default_triple().create_target_machine()
    _engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    _engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    _engine.finalize_object()
    addresses = {name: _engine.get_function_address(symbol) for name, symbol in symbols.items()}
    if not all(addresses.values()):
        raise RuntimeError("a kernel is missing from the object file")
    return addresses


def _compile(path: Path) -> dict[str, int]:
    """Compile every kernel, keep the object code at `path` if that can be written, and return the addresses."""
    from importlib import import_module

    import llvmlite.binding as llvm
    from numba import cfunc, types

    callbacks = {}
    module: Any = None
    for name, (source, count) in KERNELS.items():
        function = getattr(import_module(f"{__package__}.{source}"), name).py_func
        callbacks[name] = cfunc(types.int64(*[types.int64] * count), error_model="numpy")(function)
        compiled = llvm.parse_assembly(str(callbacks[name]._library._final_module))
        if module is None:
            module = compiled
        else:
            module.link_in(compiled)
    code = next(iter(callbacks.values()))._library.codegen._tm.emit_object(module)
    symbols = {name: callback.native_name for name, callback in callbacks.items()}
    declared = [f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")]
    externals = [*declared, *LOWERED]
    header = {"digest": hashlib.sha256(code).hexdigest(), "symbols": symbols, "externals": externals}
    _write(path, json.dumps(header).encode() + b"\n" + code)
    return _link(code, symbols, externals)


def _write(path: Path, content: bytes) -> None:
    """Replace the file at once; a folder that cannot be written only means compiling again next time."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(name, path)
    except OSError:
        return
