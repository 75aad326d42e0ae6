"""XXH3 of 128 bits (seed 0), by which some frameworks make the ids of their tasks.

After the specification of xxHash 0.8 (XXH3_128bits), for inputs of a few hundred bytes: it is exact for
any length and not meant to be fast.
"""

_M64 = 0xFFFFFFFFFFFFFFFF
_M32 = 0xFFFFFFFF
_P32_1, _P32_2, _P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
_P64_1, _P64_2, _P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P64_4, _P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_MX1, _MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25
_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_STRIPE, _STRIPES = 64, (len(_SECRET) - 64) // 8


def _u64(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


def _u32(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little")


def _swap(value: int, size: int) -> int:
    return int.from_bytes(value.to_bytes(size, "little"), "big")


def _avalanche(value: int) -> int:
    value ^= value >> 37
    value = value * _MX1 & _M64
    return value ^ value >> 32


def _avalanche64(value: int) -> int:
    value ^= value >> 33
    value = value * _P64_2 & _M64
    value ^= value >> 29
    value = value * _P64_3 & _M64
    return value ^ value >> 32


def _fold(left: int, right: int) -> int:
    product = left * right
    return product & _M64 ^ product >> 64


def _mix16(data: bytes, at: int, secret: int) -> int:
    return _fold(_u64(data, at) ^ _u64(_SECRET, secret), _u64(data, at + 8) ^ _u64(_SECRET, secret + 8))


def digest(data: bytes) -> str:
    """The hash as 32 hexadecimal digits, high half first."""
    length = len(data)
    if length <= 16:
        low, high = _short(data, length)
    elif length <= 128:
        low, high = _middle(data, length)
    elif length <= 240:
        low, high = _longer(data, length)
    else:
        low, high = _long(data, length)
    return f"{high:016x}{low:016x}"


def _short(data: bytes, length: int) -> tuple[int, int]:
    if length > 8:
        flip_low = _u64(_SECRET, 32) ^ _u64(_SECRET, 40)
        flip_high = _u64(_SECRET, 48) ^ _u64(_SECRET, 56)
        tail = _u64(data, length - 8)
        product = (_u64(data, 0) ^ tail ^ flip_low) * _P64_1
        low, high = product & _M64, product >> 64
        low = (low + ((length - 1) << 54)) & _M64
        tail ^= flip_high
        high = (high + tail + (tail & _M32) * (_P32_2 - 1)) & _M64
        low ^= _swap(high, 8)
        product = low * _P64_2
        low, high = product & _M64, (product >> 64) + high * _P64_2 & _M64
        return _avalanche(low), _avalanche(high)
    if length > 3:
        flip = _u64(_SECRET, 16) ^ _u64(_SECRET, 24)
        keyed = (_u32(data, 0) + (_u32(data, length - 4) << 32)) ^ flip
        product = keyed * (_P64_1 + (length << 2))
        low, high = product & _M64, product >> 64
        high = (high + (low << 1)) & _M64
        low ^= high >> 3
        low ^= low >> 35
        low = low * _MX2 & _M64
        low ^= low >> 28
        return low, _avalanche(high)
    if length > 0:
        low32 = data[0] << 16 | data[length >> 1] << 24 | data[length - 1] | length << 8
        swapped = _swap(low32, 4)
        high32 = (swapped << 13 | swapped >> 19) & _M32
        flip_low = _u32(_SECRET, 0) ^ _u32(_SECRET, 4)
        flip_high = _u32(_SECRET, 8) ^ _u32(_SECRET, 12)
        return _avalanche64(low32 ^ flip_low), _avalanche64(high32 ^ flip_high)
    return (
        _avalanche64(_u64(_SECRET, 64) ^ _u64(_SECRET, 72)),
        _avalanche64(_u64(_SECRET, 80) ^ _u64(_SECRET, 88)),
    )


def _mix32(low: int, high: int, data: bytes, first: int, second: int, secret: int) -> tuple[int, int]:
    low = (low + _mix16(data, first, secret) & _M64) ^ (_u64(data, second) + _u64(data, second + 8) & _M64)
    high = (high + _mix16(data, second, secret + 16) & _M64) ^ (_u64(data, first) + _u64(data, first + 8) & _M64)
    return low, high


def _finish(low: int, high: int, length: int) -> tuple[int, int]:
    first = low + high & _M64
    second = (low * _P64_1 + high * _P64_4 + length * _P64_2) & _M64
    return _avalanche(first), -_avalanche(second) & _M64


def _middle(data: bytes, length: int) -> tuple[int, int]:
    low, high = length * _P64_1 & _M64, 0
    for at in range((length - 1) // 32, -1, -1):
        low, high = _mix32(low, high, data, at * 16, length - (at + 1) * 16, at * 32)
    return _finish(low, high, length)


def _longer(data: bytes, length: int) -> tuple[int, int]:
    low, high = length * _P64_1 & _M64, 0
    for at in range(32, 160, 32):
        low, high = _mix32(low, high, data, at - 32, at - 16, at - 32)
    low, high = _avalanche(low), _avalanche(high)
    for at in range(160, length + 1, 32):
        low, high = _mix32(low, high, data, at - 32, at - 16, 3 + at - 160)
    low, high = _mix32(low, high, data, length - 16, length - 32, 136 - 17 - 16)
    return _finish(low, high, length)


def _stripe(lanes: list[int], data: bytes, at: int, secret: int) -> None:
    for lane in range(8):
        value = _u64(data, at + lane * 8)
        keyed = value ^ _u64(_SECRET, secret + lane * 8)
        lanes[lane ^ 1] = lanes[lane ^ 1] + value & _M64
        lanes[lane] = lanes[lane] + (keyed & _M32) * (keyed >> 32) & _M64


def _merge(lanes: list[int], secret: int, start: int) -> int:
    for lane in range(0, 8, 2):
        start += _fold(
            lanes[lane] ^ _u64(_SECRET, secret + lane * 8), lanes[lane + 1] ^ _u64(_SECRET, secret + lane * 8 + 8)
        )
    return _avalanche(start & _M64)


def _long(data: bytes, length: int) -> tuple[int, int]:
    lanes = [_P32_3, _P64_1, _P64_2, _P64_3, _P64_4, _P32_2, _P64_5, _P32_1]
    block = _STRIPE * _STRIPES
    blocks = (length - 1) // block
    for number in range(blocks):
        for stripe in range(_STRIPES):
            _stripe(lanes, data, number * block + stripe * _STRIPE, stripe * 8)
        for lane in range(8):
            value = lanes[lane]
            value ^= value >> 47
            value ^= _u64(_SECRET, len(_SECRET) - 64 + lane * 8)
            lanes[lane] = value * _P32_1 & _M64
    for stripe in range((length - 1 - block * blocks) // _STRIPE):
        _stripe(lanes, data, blocks * block + stripe * _STRIPE, stripe * 8)
    _stripe(lanes, data, length - _STRIPE, len(_SECRET) - _STRIPE - 7)
    low = _merge(lanes, 11, length * _P64_1 & _M64)
    high = _merge(lanes, len(_SECRET) - 64 - 11, ~(length * _P64_2) & _M64)
    return low, high
