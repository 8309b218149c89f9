"""Ids in other forms: found in any text, one to one, and back without a record of them."""

import re
from random import Random

import pytest

from aliases.aliased import style, view
from provegym import servers
from provegym.aliases import ALIAS_STYLES
from provegym.aliases.ids import NUMBERS, Ids, mixer

FORMS = {
    "prefix": r"account_\d+",
    "code": r"ACC-20\d\d-\d{6}",
    "number": r"\d{10}",
    "uuid": r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "slug": r"account-[a-z]+-[a-z]+-\d+",
}


def ids_of(server: str, form: str, seed: int = 5) -> Ids:
    """The ids of a server in a form."""
    return view(server, style(seed, ids=form)).ids


@pytest.mark.parametrize("bits", [20, 27, 32])
def test_a_mixer_is_a_permutation(bits: int) -> None:
    for seed in range(20):
        mixed = mixer(f"key {seed}", bits)
        some = [Random(seed).randrange(1 << bits) for _ in range(200)]
        assert [mixed.unmix(mixed.mix(number)) for number in some] == some
        assert max(map(mixed.mix, some)) < 1 << bits


@pytest.mark.parametrize("form", ALIAS_STYLES["ids"])
def test_ids_of_every_table_come_back(form: str) -> None:
    for server in servers.names():
        for seed in range(3):
            ids = ids_of(server, form, seed)
            chance = Random(seed)
            plain = [
                f"{prefix}_{number}"
                for prefix in ids.prefixes
                for number in (0, 999, 90_001, NUMBERS - 1, *chance.sample(range(NUMBERS), 8))
            ]
            shown = [ids.show(each) for each in plain]
            assert [ids.read(each) for each in shown] == plain
            assert len(set(shown)) == len(plain)
            assert not set(shown) & set(plain)


@pytest.mark.parametrize("form", ALIAS_STYLES["ids"])
def test_an_id_looks_as_its_form_says_and_depends_on_the_seed(form: str) -> None:
    shown = ids_of("banking", form).show("acc_4711")
    assert re.fullmatch(FORMS[form], shown)
    assert ids_of("banking", form, 6).show("acc_4711") != shown


@pytest.mark.parametrize("form", ALIAS_STYLES["ids"])
def test_texts_with_anything_in_them_come_back(form: str) -> None:
    """Also texts that hold aliases, plain ids and marks of both, as a user might write them."""
    for server in ("banking", "payments", "calendar"):
        ids = ids_of(server, form)
        chance = Random(f"{server} {form}")
        parts = [f"{prefix}_{chance.randrange(90_000)}" for prefix in ids.prefixes]
        parts += [ids.show(part) for part in parts]
        parts += ["acc_007", "acc_99999999", "1234567890", "x", "~", "2026-04-01", "INV-2026-001"]
        parts += [f"~{part}" for part in parts]
        for _ in range(300):
            words = chance.choices(parts, k=chance.randint(1, 6))
            text = chance.choice((" ", ", ", "/", "\n", " - ", '"')).join(words)
            assert ids.read(ids.show(text)) == text
            assert ids.show(ids.read(text)) == text


def test_only_ids_of_these_servers_are_translated() -> None:
    ids = ids_of("banking", "uuid")
    assert ids.show("evt_4711 and dev_12") == "evt_4711 and dev_12"
    assert ids.show("xacc_4711, acc_4711x, my_acc_4711") == "xacc_4711, acc_4711x, my_acc_4711"


def test_a_plain_id_is_unknown_in_the_view() -> None:
    ids = ids_of("banking", "code")
    assert ids.read("acc_4711") == "~acc_4711"
    assert ids.show("~acc_4711") == "acc_4711"
