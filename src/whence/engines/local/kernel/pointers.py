"""Typed pointers from addresses, and the few machine operations Numba has no spelling for."""

from numba import types
from numba.extending import intrinsic

WORDS = types.CPointer(types.int64)
HALVES = types.CPointer(types.int32)
OCTETS = types.CPointer(types.uint8)


def _pointer_to(pointer_type):
    @intrinsic
    def cast(typing_context, address):
        def generate(context, builder, signature, arguments):
            return builder.inttoptr(arguments[0], context.get_value_type(pointer_type))

        return pointer_type(types.int64), generate

    return cast


words = _pointer_to(WORDS)
halves = _pointer_to(HALVES)
octets = _pointer_to(OCTETS)


@intrinsic
def prefetch(typing_context, address):
    """Ask for the cache line at an address, to be read and written soon."""
    from llvmlite import ir

    def generate(context, builder, signature, arguments):
        byte_pointer = ir.PointerType(ir.IntType(8))
        number = ir.IntType(32)
        function_type = ir.FunctionType(ir.VoidType(), [byte_pointer, number, number, number])
        function = builder.module.globals.get("llvm.prefetch.p0")
        if function is None:
            function = ir.Function(builder.module, function_type, "llvm.prefetch.p0")
        pointer = builder.inttoptr(arguments[0], byte_pointer)
        builder.call(function, [pointer, number(1), number(3), number(1)])
        return context.get_dummy_value()

    return types.void(types.int64), generate


@intrinsic
def as_float(typing_context, bits):
    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.int64), generate


@intrinsic
def as_bits(typing_context, value):
    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], context.get_value_type(types.int64))

    return types.int64(types.float64), generate


def _unsigned(emit, result=types.int64):
    """A binary operation on int64 operands taken as unsigned."""

    @intrinsic
    def operation(typing_context, a, b):
        def generate(context, builder, signature, arguments):
            return emit(builder, *arguments)

        return result(types.int64, types.int64), generate

    return operation


less_unsigned = _unsigned(lambda builder, a, b: builder.icmp_unsigned("<", a, b), types.boolean)
divide_unsigned = _unsigned(lambda builder, a, b: builder.udiv(a, b))
remainder_unsigned = _unsigned(lambda builder, a, b: builder.urem(a, b))
# Division of signed numbers as the machine does it: toward zero, the remainder with the sign of the dividend.
divide = _unsigned(lambda builder, a, b: builder.sdiv(a, b))
remainder = _unsigned(lambda builder, a, b: builder.srem(a, b))
shift_right_unsigned = _unsigned(lambda builder, a, b: builder.lshr(a, b))


@intrinsic
def float_of_unsigned(typing_context, a):
    def generate(context, builder, signature, arguments):
        return builder.uitofp(arguments[0], context.get_value_type(types.float64))

    return types.float64(types.int64), generate


@intrinsic
def unsigned_of_float(typing_context, a):
    def generate(context, builder, signature, arguments):
        return builder.fptoui(arguments[0], context.get_value_type(types.int64))

    return types.int64(types.float64), generate
