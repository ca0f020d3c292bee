"""Functions of the C library as operations on addresses, and loads of words from any address."""

# mypy: ignore-errors
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_BYTE_POINTER = ir.PointerType(ir.IntType(8))
_NUMBER = ir.IntType(64)


def _c_function(name, result, arguments, count, variadic=False):
    """`arguments` are LLVM types; pointers come and go as int64. `count` says how many arguments are not variadic."""
    is_pointer = [isinstance(argument, ir.PointerType) for argument in arguments]
    given = [types.float64 if isinstance(a, ir.DoubleType) else types.int64 for a in arguments]

    def generate(context, builder, signature, values):
        function_type = ir.FunctionType(result, arguments[:count], var_arg=variadic)
        function = cgutils.get_or_insert_function(builder.module, function_type, name)
        values = [
            builder.inttoptr(value, _BYTE_POINTER) if pointer else value
            for value, pointer in zip(values, is_pointer, strict=True)
        ]
        answer = builder.call(function, values)
        if isinstance(result, ir.PointerType):
            return builder.ptrtoint(answer, _NUMBER)
        if isinstance(result, ir.IntType):
            return builder.sext(answer, _NUMBER) if result.width < 64 else answer
        return answer

    signature = (types.float64 if isinstance(result, ir.DoubleType) else types.int64)(*given)
    if len(arguments) == 2:

        @intrinsic
        def function(typing_context, a, b):
            return signature, generate
    elif len(arguments) == 3:

        @intrinsic
        def function(typing_context, a, b, c):
            return signature, generate
    else:

        @intrinsic
        def function(typing_context, a, b, c, d):
            return signature, generate

    return function


copy_bytes = _c_function("memcpy", _BYTE_POINTER, [_BYTE_POINTER, _BYTE_POINTER, _NUMBER], 3)
compare_bytes = _c_function("memcmp", ir.IntType(32), [_BYTE_POINTER, _BYTE_POINTER, _NUMBER], 3)
find_bytes = _c_function("memmem", _BYTE_POINTER, [_BYTE_POINTER, _NUMBER, _BYTE_POINTER, _NUMBER], 4)
float_from_text = _c_function("strtod", ir.DoubleType(), [_BYTE_POINTER, _BYTE_POINTER], 2)
print_float = _c_function(
    "snprintf", ir.IntType(32), [_BYTE_POINTER, _NUMBER, _BYTE_POINTER, ir.DoubleType()], 3, variadic=True
)


@intrinsic
def word_at(typing_context, address):
    """The eight bytes at an address, which need not be a multiple of eight."""

    def generate(context, builder, signature, arguments):
        pointer = builder.inttoptr(arguments[0], ir.PointerType(_NUMBER))
        return builder.load(pointer, align=1, typ=_NUMBER)

    return types.int64(types.int64), generate


@intrinsic
def reversed_bytes(typing_context, word):
    def generate(context, builder, signature, arguments):
        return builder.bswap(arguments[0])

    return types.int64(types.int64), generate
