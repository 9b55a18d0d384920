"""What requests may say: ids, amounts, instants, and whole lists of changes, whose mistakes are all named at once."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Final, NamedTuple, ParamSpec, TypeGuard, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

import sortkey as sk
from sortkey_services.pricing.prices import (
    ALL_CHANNELS,
    ChangeInput,
    PriceAction,
    PriceKey,
    PriceKind,
    instant_of,
    micros_of,
)
from sortkey_services.slices import in_slices

MAX_CHANGES: Final = 10_000
MAX_ID_BYTES: Final = 128
MAX_CHANNEL_BYTES: Final = 32
MAX_REQUESTER_BYTES: Final = 256
MAX_DIGITS: Final = 9
"""Before the decimal point: such an amount is exact as a JSON number."""
FARTHEST: Final = timedelta(days=10 * 366)
"""How far in the future a change may be."""
EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""An instant before it is a mistake, such as seconds taken for milliseconds."""
NAMED_MISTAKES: Final = 1000
NO_CHARACTER: Final = "\U0010ffff"
"""Keys cannot have it: ranges of keys end with it."""

P = ParamSpec("P")
R = TypeVar("R")
E = TypeVar("E", bound=StrEnum)

_AMOUNT: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,2})?")
_CURRENCY: Final = re.compile(r"[A-Z]{3}")


ZoneOf = Callable[[str], str | None]
"""The time zone of a store; None if it has none."""
ReadZones = Callable[[Collection[str]], Awaitable[Mapping[str, str]]]
"""The time zones of those stores that have one."""


class Mistake(ValueError):
    """One part of a request that cannot be carried out."""


class CheckedChange(NamedTuple):
    key: PriceKey
    cents: int | None
    """None: the price is deleted."""
    at: int | None
    """In microseconds since 1970; None: now."""


def check_id(name: str, value: object, most: int = MAX_ID_BYTES) -> str:
    """Raises Mistake for an id that no key can hold, or that no path of a request can name."""
    if not isinstance(value, str):
        raise Mistake(f"{name}: must be a text, not {_shown(value)}")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise Mistake(f"{name}: must be a text of whole characters, not half of a surrogate pair") from None
    if not 1 <= size <= most:
        raise Mistake(f"{name}: must have 1 to {most} bytes, not {size}")
    if "/" in value or NO_CHARACTER in value:
        raise Mistake(f"{name}: must not contain / or U+10FFFF")
    return value


def check_product(given: object, kind: PriceKind | None) -> str:
    """Raises Mistake."""
    product = check_id("product", given)
    if kind is PriceKind.SWAP:
        combo, _, option = product.partition("#")
        if not combo or not option:
            raise Mistake(f"product: of a SWAP it must be COMBO#OPTION, not {_shown(product)}")
    elif "#" in product:
        raise Mistake(
            f"product: {_shown(product)} has a #, which stands between a combo and its option; for the price of an "
            "option, send kind SWAP and COMBO#OPTION, otherwise write the product's id with another sign"
        )
    return product


def check_channel(given: object) -> str:
    """Raises Mistake."""
    return check_id("channel", given, MAX_CHANNEL_BYTES)


def cents_of(given: object) -> int:
    """Of an amount: a number or a text with at most two decimals. Raises Mistake."""
    if isinstance(given, bool) or not isinstance(given, str | int | float | Decimal):
        raise _no_amount(given)
    if isinstance(given, Decimal) and given.is_finite() and given.adjusted() > MAX_DIGITS:
        # Written out, it could have a million digits.
        raise _no_amount(given)
    text = f"{given:f}" if isinstance(given, Decimal) else given if isinstance(given, str) else repr(given)
    if not _AMOUNT.fullmatch(text):
        raise _no_amount(given)
    return int(Decimal(text).scaleb(2))


def instant_from(name: str, given: object) -> datetime:
    """An instant in UTC, of a datetime or a text in ISO 8601. Raises Mistake."""
    instant = given
    if isinstance(given, str):
        try:
            instant = datetime.fromisoformat(given)
        except ValueError:
            instant = None
    if not isinstance(instant, datetime) or instant.utcoffset() is None:
        raise Mistake(
            f"{name}: must be an instant with an offset, such as 2026-08-24T12:30:00+02:00, not {_shown(given)}"
        )
    return _in_utc(name, instant)


def _in_utc(name: str, instant: datetime) -> datetime:
    try:
        return instant.astimezone(UTC)
    except OverflowError:
        raise Mistake(f"{name}: out of range") from None


def local_time(given: object) -> datetime | None:
    """Of a datetime or a text in ISO 8601 without an offset; None for anything else. A day is its midnight."""
    if isinstance(given, str):
        try:
            given = datetime.fromisoformat(given)
        except ValueError:
            return None
    return given if isinstance(given, datetime) and given.tzinfo is None else None


def check_time_zone(given: object) -> str:
    """A name that the time zone database has. Raises Mistake."""
    if isinstance(given, str):
        try:
            return ZoneInfo(given).key
        except (ZoneInfoNotFoundError, ValueError, OSError):
            pass
    raise Mistake(f"{_shown(given)} is not a time zone such as Europe/Berlin")


def check_requester(given: object) -> str | None:
    """Raises Mistake."""
    if given is None:
        return None
    if not isinstance(given, str) or not 1 <= len(given.encode(errors="replace")) <= MAX_REQUESTER_BYTES:
        raise Mistake(f"requestedBy: must be a text of 1 to {MAX_REQUESTER_BYTES} bytes, not {_shown(given)}")
    return given


def no_zone(_: str) -> None:
    """No store has a time zone."""


class ChangeChecks:
    """Checks the changes of requests to a service with one currency."""

    def __init__(self, currency: str) -> None:
        self._currency = currency

    async def checked(
        self, given: Sequence[ChangeInput | Mapping[str, object]], now: int, read_zones: ReadZones | None = None
    ) -> list[CheckedChange]:
        """Raises BadRequest, which names every mistake by the index of its change."""
        if not 1 <= len(given) <= MAX_CHANGES:
            raise sk.services.BadRequest(f"changes: a request has 1 to {MAX_CHANGES:,}, not {len(given):,}")
        zone_of = no_zone if read_zones is None else await _zones_for(given, read_zones)
        checked: list[CheckedChange] = []
        mistakes: list[str] = []
        async for some in in_slices(enumerate(given)):
            for index, each in some:
                change = self.change(each, now, zone_of)
                if isinstance(change, CheckedChange):
                    checked.append(change)
                else:
                    mistakes += [f"[{index}].{mistake}" for mistake in change]
        if mistakes:
            shown = mistakes[:NAMED_MISTAKES]
            if len(mistakes) > len(shown):
                shown.append(f"and {len(mistakes) - len(shown):,} more")
            count = "1 mistake" if len(mistakes) == 1 else f"{len(mistakes):,} mistakes"
            raise sk.services.BadRequest(
                f"{count}, so none of the changes was accepted; the first is {mistakes[0]}", shown
            )
        return checked

    def change(
        self, given: ChangeInput | Mapping[str, object], now: int, zone_of: ZoneOf = no_zone
    ) -> CheckedChange | Sequence[str]:
        """The change, or all of its mistakes."""
        mistakes = _Mistakes()
        fields = mistakes.of(_fields, given)
        if fields is None:
            return mistakes
        kind = mistakes.of(_one_of, "kind", PriceKind, fields.get("kind", PriceKind.BASE))
        action = mistakes.of(_one_of, "action", PriceAction, fields.get("action", PriceAction.SET))
        store = mistakes.of(check_id, "store", fields.get("store"))
        product = mistakes.of(check_product, fields.get("product"), kind)
        channel = mistakes.of(check_channel, fields.get("channel", ALL_CHANNELS))
        cents = None if action is None else mistakes.of(_cents, action, fields.get("amount"))
        mistakes.of(self._check_currency, fields.get("currency"))
        asked = fields.get("effectiveAt")
        # What a local time is without a store, nobody knows: the mistake is the store's.
        known = asked is not None and (store is not None or local_time(asked) is None)
        at = mistakes.of(effective_at, asked, now, store or "", zone_of) if known else None
        if mistakes or store is None or channel is None or kind is None or product is None or action is None:
            return mistakes
        return CheckedChange(PriceKey(store, channel, kind, product), cents, at)

    def _check_currency(self, given: object) -> None:
        if given is not None and given != self._currency:
            raise Mistake(f"currency: must be {self._currency}, not {_shown(given)}")


class _Mistakes(list[str]):
    """The mistakes of one change."""

    def of(self, check: Callable[P, R], *given: P.args, **named: P.kwargs) -> R | None:
        """What the check returns; None if it has found a mistake."""
        try:
            return check(*given, **named)
        except Mistake as error:
            self.append(str(error))
            return None


async def _zones_for(given: Sequence[ChangeInput | Mapping[str, object]], read_zones: ReadZones) -> ZoneOf:
    """Reads the time zones of stores with a local time; most requests have none."""
    stores: set[str] = set()
    async for some in in_slices(given):
        for each in some:
            store, at = _place(each)
            if at is not None and local_time(at) is not None and _is_id(store):
                stores.add(store)
    zones = await read_zones(stores) if stores else {}
    return zones.get


def _place(given: object) -> tuple[object, object]:
    """The store and the instant of what may be a change."""
    if isinstance(given, ChangeInput):
        return given.store, given.effective_at
    return (given.get("store"), given.get("effectiveAt")) if isinstance(given, Mapping) else (None, None)


def _is_id(store: object) -> TypeGuard[str]:
    try:
        check_id("store", store)
    except Mistake:
        return False
    return True


def effective_at(given: object, now: int, store: str, zone_of: ZoneOf) -> int:
    """Without an offset, it is local to the store. A local time that comes twice is the first one, and one that the
    clocks skip is as much later as they skip. Raises Mistake."""
    local = local_time(given)
    if local is None:
        instant = instant_from("effectiveAt", given)
    elif (zone := zone_of(store)) is not None:
        try:
            known = ZoneInfo(check_time_zone(zone))
        except Mistake as error:
            raise Mistake(f"effectiveAt: the time zone of store {_shown(store)} cannot be used: {error}") from None
        instant = _in_utc("effectiveAt", local.replace(tzinfo=known, fold=0))
    else:
        raise Mistake(
            f"effectiveAt: must be an instant with an offset, such as 2026-08-24T12:30:00+02:00, not {_shown(given)}, "
            f"unless the store has a time zone: set it by PUT /pricing/stores/{store}, or time_zone under [pricing]"
        )
    latest = instant_of(now) + FARTHEST
    if not EARLIEST <= instant <= latest:
        span = f"from {EARLIEST.year} to {latest:%Y-%m-%d}"
        raise Mistake(f"effectiveAt: must be {span}, not {_shown(given)}")
    return micros_of(instant)


def is_currency(text: str) -> bool:
    return _CURRENCY.fullmatch(text) is not None


_FIELDS: Final = {field.encode_name: field.name for field in msgspec.structs.fields(ChangeInput)}


def _fields(given: object) -> Mapping[str, object]:
    """By the names that JSON has."""
    if isinstance(given, ChangeInput):
        return {name: getattr(given, field) for name, field in _FIELDS.items()}
    if not isinstance(given, Mapping):
        raise Mistake(f"store: a change must be an object with store, product and amount, not {_shown(given)}")
    unknown = [str(name) for name in given if name not in _FIELDS]
    if unknown:
        raise Mistake(f"{unknown[0][:40]}: is not a field of a change, which has {', '.join(_FIELDS)}")
    return {name: value for name, value in given.items() if value is not None}


def _one_of(name: str, choices: type[E], given: object) -> E:
    for each in choices:
        if each == given:
            return each
    raise Mistake(f"{name}: must be {' or '.join(choices)}, not {_shown(given)}")


def _cents(action: PriceAction, amount: object) -> int | None:
    if action is PriceAction.SET:
        return cents_of(amount)
    if amount is not None:
        raise Mistake("amount: must be left out of a DELETE")
    return None


def _no_amount(given: object) -> Mistake:
    if given is None:
        return Mistake("amount: is missing")
    return Mistake(f"amount: must be from 0 to 999999999.99, with at most two decimals, not {_shown(given)}")


def _shown(given: object) -> str:
    text = repr(given)
    return text if len(text) <= 60 else f"{text[:57]}…"
