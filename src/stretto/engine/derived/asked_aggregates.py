"""What aggregate streams over the same events ask of one window: keys, inputs, and a level for each stream."""

from collections.abc import Sequence

from stretto.engine.derived.levels import Function, InputAggregate, Level
from stretto.engine.derived.window_aggregates import WindowAggregates
from stretto.pattern.derived.streams import WindowAggregate, WindowedValue
from stretto.pattern.predicates import Expr
from stretto.records import dataclass
from stretto.values.evaluate import Events, kind_of, value
from stretto.values.rows import I64
from stretto.values.vector import Vector


@dataclass(frozen=True, slots=True)
class AskedAggregates:
    """`names`: of the columns that each level gives."""

    keys: tuple[Expr, ...]
    inputs: tuple[Expr, ...]
    levels: tuple[Level, ...]
    names: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, streams: Sequence[WindowAggregate]) -> "AskedAggregates":
        windowed = [[one for one in each.columns if isinstance(one, WindowedValue)] for each in streams]
        keys, inputs = _Numbered(), _Numbered()
        levels = tuple(
            Level(
                tuple(map(keys.number, stream.groups)),
                stream.window_us,
                tuple(
                    InputAggregate(
                        Function(one.function), None if one.value is None else inputs.number(one.value)
                    )
                    for one in each
                ),
            )
            for stream, each in zip(streams, windowed, strict=True)
        )
        names = tuple(tuple(one.name for one in each) for each in windowed)
        return cls(tuple(keys), tuple(inputs), levels, names)

    def window(self, *, copied: bool = False) -> WindowAggregates:
        """A window for them; `copied`: all levels are divided by the numbers of copies, too."""
        further = (len(self.keys),) if copied else ()
        levels = [Level((*level.keys, *further), level.window_us, level.aggregates) for level in self.levels]
        kinds, inputs = [kind_of(key) for key in self.keys], [kind_of(one) for one in self.inputs]
        return WindowAggregates(kinds, inputs, levels, copied=copied)

    def read(self, events: Events, places: I64) -> tuple[list[Vector], list[Vector]]:
        """The keys and the inputs of the events at some places."""
        n = len(places)
        keys = [value(key, (places,), n, events).over(n) for key in self.keys]
        return keys, [value(one, (places,), n, events).over(n) for one in self.inputs]


class _Numbered(dict[Expr, int]):
    """Expressions with their numbers, each once."""

    def number(self, expr: Expr) -> int:
        return self.setdefault(expr, len(self))
