"""Types of real packages as parameters and results: pydantic, attrs, annotated-types, numpy."""

import dataclasses
import datetime
import decimal
import enum
import json
from typing import Annotated, Generic, Literal, Optional, TypeVar, Union

import annotated_types
import attrs
import numpy
import pydantic
import pytest
import typing_extensions

import toolreg
from toolreg import (
    Tool,
    ToolArgumentError,
    ToolDefinitionError,
    ToolRegistry,
    check_schema,
    from_json,
    is_valid,
    iter_errors,
    schema_of,
    to_json,
)

T = TypeVar("T")


class Kind(enum.Enum):
    CAT = "cat"
    DOG = "dog"


class Street(pydantic.BaseModel):
    name: str
    number: int = pydantic.Field(ge=1, description="House number.")


class Person(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True)
    name: str = pydantic.Field(alias="fullName", min_length=1)
    born: datetime.date
    kind: Kind = Kind.CAT
    homes: list[Street] = []
    friends: "list[Person]" = []


class Cat(pydantic.BaseModel):
    type: Literal["cat"]
    lives: int


class Dog(pydantic.BaseModel):
    type: Literal["dog"]
    street: Street


class Owner(pydantic.BaseModel):
    pet: Annotated[Union[Cat, Dog], pydantic.Field(discriminator="type")]
    second: Optional[Cat] = None


class Pages(pydantic.BaseModel, Generic[T]):
    rows: list[T]


@pydantic.dataclasses.dataclass
class Checked:
    size: Annotated[int, pydantic.Field(gt=0)]


@attrs.define
class Slot:
    _row: int
    price: decimal.Decimal = decimal.Decimal("1.50")
    tags: list[str] = attrs.field(factory=list)
    below: "Optional[Slot]" = None
    total: int = attrs.field(default=0, init=False)


@attrs.frozen
class Place:
    x: int = attrs.field(validator=attrs.validators.ge(0))


VALUES = [
    (Person, Person(fullName="Bo", born=datetime.date(2000, 1, 2), homes=[Street(name="a", number=1)])),
    (Street, Street(name="a", number=3)),
    (Owner, Owner(pet=Dog(type="dog", street=Street(name="a", number=1)))),
    (Pages[int], Pages[int](rows=[1, 2])),
    (list[Pages[Street]], [Pages[Street](rows=[])]),
    (tuple[Street, Person], (Street(name="a", number=1), Person(fullName="Bo", born=datetime.date(2000, 1, 2)))),
    (Slot, Slot(row=1, below=Slot(row=2))),
    (set[Place], {Place(1), Place(2)}),
    (Checked, Checked(size=1)),
    (Union[Cat, Dog, None], Cat(type="cat", lives=9)),
]


@pytest.mark.parametrize("annotation, value", VALUES)
def test_a_value_is_written_as_its_schema_says_and_read_back(annotation, value):
    schema = schema_of(annotation)
    check_schema(schema)
    text = json.dumps(schema)
    assert "$defs" not in text or all(f'"{reference}"' for reference in schema.get("$defs", ()))
    wire = json.loads(json.dumps(to_json(value)))
    if not isinstance(value, Slot):  # what attrs keeps with init=False is written, and not read
        assert list(iter_errors(wire, schema)) == []
        assert from_json(annotation, wire) == value


def test_attrs_names_are_those_of_the_constructor():
    assert list(schema_of(Slot)["$defs"]["Slot"]["properties"]) == ["row", "price", "tags", "below"]
    assert from_json(Slot, {"row": 1.0, "below": {"row": 2, "price": "2"}}) == Slot(
        row=1, below=Slot(row=2, price=decimal.Decimal(2))
    )
    assert "default" not in schema_of(Slot)["$defs"]["Slot"]["properties"]["tags"]


@pytest.mark.parametrize(
    "annotation, wire, place",
    [
        (Person, {"fullName": "Bo", "born": "2000-13-01"}, "born"),
        (list[Person], [{"fullName": "Bo", "born": "x"}], "[0].born"),
        (list[Place], [{"x": 1}, {"x": -1}], "[1]"),
        (Checked, {"size": -1}, "size"),
    ],
)
def test_what_the_class_refuses_is_located(annotation, wire, place):
    with pytest.raises(ToolArgumentError) as caught:
        from_json(annotation, wire)
    assert [str(error).partition(":")[0] for error in caught.value.errors] == [place]


def test_a_models_definitions_go_where_all_definitions_go():
    def compare(one: Person, other: Person, street: Street, pages: Pages[Street]): ...

    parameters = Tool.from_function(compare).parameters
    check_schema(parameters)
    for reference in [part for part in json.dumps(parameters).split('"') if part.startswith("#/")]:
        assert reference.removeprefix("#/$defs/") in parameters["$defs"]
    person = {"fullName": "Bo", "born": "2000-01-02"}
    assert is_valid(
        {
            "one": person,
            "other": {**person, "friends": [person]},
            "street": {"name": "a", "number": 1},
            "pages": {"rows": []},
        },
        parameters,
    )
    assert not is_valid(
        {
            "one": person,
            "other": {**person, "friends": [{}]},
            "street": {"name": "a", "number": 1},
            "pages": {"rows": []},
        },
        parameters,
    )


def test_a_model_as_parameters_gives_its_fields():
    seen = []

    def meet(name, born, **rest):
        seen.append((name, born, rest))
        return "met"

    registry = ToolRegistry()
    registry.register(meet, parameters=Person)
    result = registry.invoke("meet", {"fullName": "Bo", "born": "2000-01-02", "homes": [{"name": "a", "number": "3"}]})
    assert result.content == "met" and seen == [
        ("Bo", datetime.date(2000, 1, 2), {"kind": Kind.CAT, "homes": [Street(name="a", number=3)], "friends": []})
    ]
    assert registry.invoke("meet", {"fullName": "", "born": "2000-01-02"}).is_error


@pytest.mark.parametrize(
    "note, says",
    [
        (annotated_types.Gt(1), {"exclusiveMinimum": 1}),
        (annotated_types.Interval(ge=1, lt=9), {"minimum": 1, "exclusiveMaximum": 9}),
        (annotated_types.MultipleOf(3), {"multipleOf": 3}),
        (pydantic.Field(ge=2, le=5, description="Some."), {"minimum": 2, "maximum": 5, "description": "Some."}),
        (typing_extensions.Doc("Some."), {"description": "Some."}),
    ],
)
def test_notes_on_a_number_are_said_in_the_schema(note, says):
    assert schema_of(Annotated[int, note]) == {"type": "integer", **says}


@pytest.mark.parametrize(
    "note, says",
    [
        (annotated_types.Len(1, 3), {"minLength": 1, "maxLength": 3}),
        (annotated_types.MaxLen(3), {"maxLength": 3}),
        (pydantic.Field(min_length=2, pattern="^a"), {"minLength": 2, "pattern": "^a"}),
        (pydantic.StringConstraints(max_length=4), {"maxLength": 4}),
    ],
)
def test_notes_on_a_text_are_said_in_the_schema(note, says):
    assert schema_of(Annotated[str, note]) == {"type": "string", **says}


def test_functions_in_notes_are_called_or_refused():
    lower = Annotated[str, annotated_types.Predicate(str.islower), pydantic.AfterValidator(str.upper)]
    assert from_json(lower, "abc") == "ABC" and from_json(annotated_types.LowerCase[str], "abc") == "abc"
    for unfit in (lambda: from_json(lower, "aBc"), lambda: from_json(annotated_types.IsFinite[float], float("inf"))):
        with pytest.raises(ToolArgumentError, match="is refused|is not a number"):
            unfit()
    for note in (pydantic.BeforeValidator(int), pydantic.AfterValidator(lambda value, info: value)):
        with pytest.raises(ToolDefinitionError, match=f"^schema_of: {type(note).__name__} has no JSON form"):
            schema_of(Annotated[int, note])


class Numbers(pydantic.RootModel[list[int]]):
    pass


@pydantic.dataclasses.dataclass
class Order:
    item: str
    total: float = dataclasses.field(init=False, default=0.0)
    count: Annotated[int, pydantic.AfterValidator(lambda count: count + 1), pydantic.BeforeValidator(int)] = 1


@pydantic.validate_call
def counted(count: Annotated[int, pydantic.AfterValidator(lambda count: count + 1)]) -> int:
    return count


def test_what_pydantic_validates_itself_is_left_to_it():
    assert from_json(Numbers, [1, 2]).root == [1, 2] and from_json(Numbers, []).root == []
    order = from_json(Order, {"item": "x", "count": 7})
    assert (order.item, order.total, order.count) == ("x", 0.0, 8)
    assert ToolRegistry([counted]).invoke("counted", {"count": 1}).value == 2


class Draft(typing_extensions.TypedDict, total=False):
    title: typing_extensions.Required[str]
    pages: typing_extensions.ReadOnly[int]


def test_the_forms_of_typing_extensions_are_known_by_name():
    assert schema_of(Draft)["required"] == ["title"] and schema_of(typing_extensions.LiteralString) == {
        "type": "string"
    }
    alias = typing_extensions.TypeAliasType("Ids", list[int])
    assert schema_of(alias) == {"type": "array", "items": {"type": "integer"}}


@pytest.mark.parametrize(
    "value, form",
    [
        (numpy.int64(3), 3),
        (numpy.float32(0.5), 0.5),
        (numpy.bool_(True), True),
        (numpy.float64("nan"), "NaN"),
        (numpy.str_("a"), "a"),
        (numpy.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (numpy.datetime64("2024-05-01"), "2024-05-01"),
        ({"a": numpy.arange(2)}, {"a": [0, 1]}),
    ],
)
def test_numpy_values_have_a_json_form(value, form):
    assert json.dumps(to_json(value)) == json.dumps(form)


class Priced(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    price: float = pydantic.Field(validation_alias="cost", serialization_alias="preis")
    pet: Union[Cat, Dog] = pydantic.Field(discriminator="type")
    secret: str = pydantic.Field("x", exclude=True)

    @pydantic.computed_field
    @property
    def double(self) -> float:
        return 2 * self.price

    @pydantic.field_serializer("pet")
    def pet_as_text(self, pet) -> str:
        return pet.type


class MorePriced(Priced):
    more: int = 1


@attrs.define
class Counted:
    count: int
    twice: int = attrs.field(init=False)

    def __attrs_post_init__(self):
        self.twice = 2 * self.count


@pytest.mark.parametrize("returns, value, written", [
    (Priced, Priced(cost=2, pet={"type": "cat", "lives": 9}), {"preis": 2.0, "pet": "cat", "double": 4.0}),
    (Priced, MorePriced(cost="nan", pet={"type": "cat", "lives": 9}),
     {"preis": "NaN", "pet": "cat", "more": 1, "double": "NaN"}),
    (Counted, Counted(2), {"count": 2, "twice": 4}), (Street, Street(name="a", number=1), {"name": "a", "number": 1}),
])
def test_what_is_written_fits_the_schema_that_mcp_clients_are_told(returns, value, written):
    def quote():
        return value
    quote.__annotations__["return"] = returns
    registry = ToolRegistry([quote])
    desk = toolreg._Desk(registry)
    schema = desk.list_tools({}, "2025-06-18")["tools"][0]["outputSchema"]
    answer = desk.call_tool({"name": "quote"}, "2025-06-18")
    assert (answer["isError"], answer.get("structuredContent")) == (False, written)
    assert is_valid(written, schema) and schema["properties"].keys() <= written.keys()
