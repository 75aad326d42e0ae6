"""Sequences whose items are made when they are looked at."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import TypeVar, overload

T_co = TypeVar("T_co", covariant=True)


class Lazy(Sequence[T_co]):
    """A sequence that makes its items: a subclass supplies `item` and `__len__`."""

    @abstractmethod
    def item(self, at: int) -> T_co:
        """The item at a place, which is from 0 and within the length."""

    @overload
    def __getitem__(self, index: int) -> T_co: ...
    @overload
    def __getitem__(self, index: slice) -> list[T_co]: ...
    def __getitem__(self, index: int | slice) -> T_co | list[T_co]:
        places = range(len(self))[index]
        return self.item(places) if isinstance(places, int) else [self.item(at) for at in places]
