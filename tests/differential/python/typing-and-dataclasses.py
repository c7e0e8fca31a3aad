# differential: {}
import dataclasses
import enum
import typing


@dataclasses.dataclass(order=True, slots=True)
class Item:
    name: str
    count: "int" = 0
    tags: list["Item"] = dataclasses.field(default_factory=list)


class Color(enum.Enum):
    RED = enum.auto()


total: "Item | None" = None
print(typing.get_type_hints(Item), Item("a", 2), Item.__module__, repr(Color.RED), Color)
print(typing.get_type_hints(__import__("__main__")), __annotations__, typing.NamedTuple("N", [("a", int)]).__module__)
print(dataclasses.make_dataclass("Made", ["x"])(1), type("T", (), {}).__module__, enum.Enum("E", "A B").__module__)
