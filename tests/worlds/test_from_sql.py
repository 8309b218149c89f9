"""Worlds from SQL: tables, keys, checks and triggers become entities, tools, guards and effects."""

import time

import pytest

from provegym.worlds import from_sql
from provegym.worlds.spec import SpecError
from worlds.schemas import converted, desk, field, server_of

POSTGRES = """
CREATE TYPE public.mood AS ENUM ('calm', 'wild');
CREATE TABLE public.owners (owner_id serial PRIMARY KEY, name character varying(80) NOT NULL);
CREATE TABLE public.pets (
    pet_id integer NOT NULL, name text NOT NULL, mood public.mood DEFAULT 'calm'::public.mood,
    owner_id integer, visits integer DEFAULT 0 NOT NULL, extras jsonb,
    status character varying(20) NOT NULL,
    CONSTRAINT known CHECK (((status)::text = ANY ((ARRAY['new'::character varying,
        'gone'::character varying])::text[])))
);
CREATE TABLE public.visits (
    id bigserial PRIMARY KEY, pet_id integer NOT NULL, cost numeric(8,2) NOT NULL
);
ALTER TABLE ONLY public.pets ADD CONSTRAINT pets_pkey PRIMARY KEY (pet_id);
ALTER TABLE ONLY public.pets
    ADD CONSTRAINT fk FOREIGN KEY (owner_id) REFERENCES public.owners(owner_id);
ALTER TABLE ONLY public.visits
    ADD CONSTRAINT fk2 FOREIGN KEY (pet_id) REFERENCES public.pets(pet_id) ON DELETE CASCADE;
CREATE FUNCTION public.count_visit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN UPDATE public.pets SET visits = visits + 1 WHERE pet_id = NEW.pet_id; RETURN NEW; END; $$;
CREATE TRIGGER counted AFTER INSERT ON public.visits
    FOR EACH ROW EXECUTE FUNCTION public.count_visit();
"""
MYSQL = """
# A comment.
CREATE TABLE `customer` (`id` INT UNSIGNED NOT NULL AUTO_INCREMENT,
  `first_name` VARCHAR(45) NOT NULL, `last_name` VARCHAR(45) NOT NULL,
  `rating` ENUM('G','PG') DEFAULT 'G', PRIMARY KEY (`id`)) ENGINE=InnoDB;
INSERT INTO customer VALUES (1, 'It\\'s; CREATE TABLE no (id int)', 'x', 'G');
CREATE TABLE `payment` (`id` INT NOT NULL AUTO_INCREMENT, `customer_id` INT UNSIGNED NOT NULL,
  `amount` DECIMAL(5,2) NOT NULL, `payment_date` DATETIME NOT NULL, PRIMARY KEY (`id`),
  CONSTRAINT `fk` FOREIGN KEY (`customer_id`) REFERENCES `customer` (`id`));
DELIMITER ;;
CREATE TRIGGER `odd` AFTER INSERT ON `payment` FOR EACH ROW BEGIN INSERT INTO log VALUES (1); END;;
DELIMITER ;
"""


def test_tables_become_entities_and_people_are_named_in_full() -> None:
    spec, notes = converted("chinook.sql")
    assert {"artist", "album", "track", "customer", "invoice", "playlist_track"} <= {
        entity.name for entity in spec.entities
    }
    assert field(spec.entity("customer"), "name").words == ("{person}",)
    assert field(spec.entity("album"), "artist_name").to == "artist_id.name"
    assert "changed: first_name and last_name of customer are one field, name" in notes
    assert any(note.startswith("left out: track.bytes") for note in notes)


def test_what_has_no_name_is_named_by_what_it_belongs_to() -> None:
    invoice = converted("chinook.sql")[0].entity("invoice")
    assert "the invoice of {customer_name} from {invoice_date:date}" in invoice.refer


def test_join_tables_link_and_nullable_keys_are_assigned() -> None:
    spec, _ = converted("chinook.sql")
    assert spec.operation("add_track_to_playlist").kind == "link"
    assert spec.operation("assign_customer_support_rep").kind == "assign"
    assert "reports_to_id" not in {f.name for f in spec.entity("employee").fields}
    assert spec.operation("assign_employee_manager").kind == "assign"


def test_checks_become_bounds_values_and_guards() -> None:
    spec, notes = converted("shop.sql")
    add = spec.operation("add_order")
    quantity = next(each for each in add.arguments if each.name == "quantity")
    assert (quantity.low, quantity.high) == (1, 12)
    assert "status" not in {each.name for each in add.arguments}
    assert field(spec.entity("order"), "status").start == "new"
    assert {guard.rule for guard in add.guards} == {"window", "balance"}
    assert {guard.rule for guard in spec.operation("add_product").guards} == {"unique"}
    assert spec.operation("cancel_order").kind == "cancel"
    assert any("CHECK (LENGTH(status) < 20)" in note for note in notes)
    assert any("the trigger odd" in note for note in notes)


def test_a_trigger_takes_from_the_stock_and_gives_back() -> None:
    session = desk("shop.sql")
    product = session.call("list_products", {}).value["items"][0]
    customer = session.call("list_customers", {}).value["items"][0]
    given = {"customer_id": customer["id"], "product_id": product["id"], "quantity": 2}
    order = session.call("add_order", {**given, "due_on": "2027-01-01"}).value
    name = {"product_name": product["name"]}
    after = session.call("list_products", name).value["items"][0]
    assert after["stock"] == product["stock"] - 2
    assert after["order_count"] == product["order_count"] + 1
    session.call("remove_order", {"order_id": order["id"]})
    assert session.call("list_products", name).value["items"][0]["stock"] == product["stock"]


def test_rules_of_the_schema_refuse() -> None:
    session = desk("shop.sql")
    product = session.call("list_products", {}).value["items"][0]
    customer = session.call("list_customers", {}).value["items"][0]
    given = {"customer_id": customer["id"], "product_id": product["id"], "quantity": 2}
    early = session.call("add_order", {**given, "due_on": "2020-01-01"})
    assert early.error == "rejected"
    assert "due date must be on or after" in early.text
    twin = session.call("add_warehouse", {"warehouse_name": "North Star", "capacity": 5})
    again = session.call("add_warehouse", {"warehouse_name": "north star", "capacity": 5})
    assert twin.ok
    assert again.error == "rejected"
    warehouse = session.call("list_employees", {}).value["items"][0]["warehouse_id"]
    held = session.call("remove_warehouse", {"warehouse_id": warehouse})
    assert held.error == "rejected"
    assert "still has" in held.text


def test_a_transfer_moves_a_balance() -> None:
    session = desk("shop.sql")
    one, two = session.call("list_customers", {}).value["items"][:2]
    given = {"from_customer_id": one["id"], "to_customer_id": two["id"]}
    assert session.call("transfer_customer_balance", {**given, "amount": 5}).ok
    after = session.call("list_customers", {"customer_name": two["name"]}).value["items"][0]
    assert after["balance"] == two["balance"] + 5
    assert (
        session.call("transfer_customer_balance", {**given, "amount": 90_000}).error == "rejected"
    )


def test_postgres_is_read_with_types_alters_and_trigger_functions() -> None:
    spec, notes = from_sql.spec_of(POSTGRES, "clinic")
    pet = spec.entity("pet")
    assert spec.source == "SQL (postgres)"
    assert field(pet, "status").values == ("new", "gone")
    assert field(pet, "mood").values == ("calm", "wild")
    effect = spec.operation("add_visit").effects[1]
    assert effect.set == {"visits": "=$pet_id.visits + 1"}
    assert "left out: pet.extras, since a world has no values of its type" in notes
    assert any("ON DELETE CASCADE" in note for note in notes)


def test_mysql_is_read_with_enums_escapes_and_delimiters() -> None:
    spec, notes = from_sql.spec_of(MYSQL, "shop_two")
    assert [entity.name for entity in spec.entities] == ["customer", "payment"]
    assert field(spec.entity("customer"), "rating").kind == "enum"
    assert "$now" in str(spec.operation("add_payment").effects[0].set["payment_date"])
    assert any("the trigger odd" in note for note in notes)


def test_a_large_schema_is_cut_to_a_connected_core() -> None:
    words = ("order", "item", "box", "shop", "road", "tree", "lamp", "desk", "song", "game", "team")
    words += ("hall", "room", "tool", "cup", "bag", "hat", "pen", "map", "bed")
    tables = [f"CREATE TABLE {w} (id int PRIMARY KEY, name text NOT NULL" for w in words]
    linked = [
        f"{table}, {words[at // 2]}_id int NOT NULL REFERENCES {words[at // 2]}(id));"
        if at
        else f"{table});"
        for at, table in enumerate(tables)
    ]
    spec, notes = from_sql.spec_of("\n".join(linked), "large")
    known = {entity.name for entity in spec.entities}
    assert len(known) == 12
    assert all(f.to in known for e in spec.entities for f in e.fields if f.kind == "reference")
    assert any(note.startswith("left out: 8 of 20 kinds of records") for note in notes)


def test_circles_are_cut_and_said() -> None:
    text = """CREATE TABLE store (id int PRIMARY KEY, name text,
        manager_id int NOT NULL REFERENCES staff(id));
    CREATE TABLE staff (id int PRIMARY KEY, first_name text, last_name text,
        store_id int NOT NULL REFERENCES store(id));"""
    spec, notes = from_sql.spec_of(text, "circle")
    assert len(spec.entities) == 2
    assert any(note.endswith("since references form a circle") for note in notes)


HOSTILE = {
    "empty": "",
    "no table": "SELECT 1;",
    "many tables": "CREATE TABLE a (id int);" * 10_000,
    "huge": "x" * 7_000_000,
    "deep": f"CREATE TABLE a (x int CHECK ({'(' * 5_000}x > 0{')' * 5_000}))",
    "comments": "/* " * 300_000,
    "dollars": "".join(f"$t{at}$ " for at in range(100_000)),
    "quotes": "CREATE TABLE a (id int, 'x" * 20_000,
    "minus": f"CREATE TABLE a (id int, x int DEFAULT {'- ' * 20_000}1)",
    "columns": f"CREATE TABLE a ({','.join(f'c{at} int' for at in range(300))})",
    "nameless": "CREATE TABLE notes (id int PRIMARY KEY, n int)",
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_scripts_end_soon_in_a_sentence(case: str) -> None:
    start = time.process_time()
    with pytest.raises(SpecError) as told:
        from_sql.spec_of(HOSTILE[case], "hostile")
    assert "\n" not in str(told.value)
    assert time.process_time() - start < 1.5


def test_dialects_are_named() -> None:
    with pytest.raises(SpecError, match="there is no dialect 'oracle'"):
        from_sql.spec_of("CREATE TABLE a (id int)", "a", "oracle")


def test_equal_schemas_give_equal_specs() -> None:
    text = "CREATE TABLE pets (id int PRIMARY KEY, name text NOT NULL, price numeric(8,2) NOT NULL)"
    assert from_sql.spec_of(text, "pets")[0].hash() == from_sql.spec_of(text, "pets")[0].hash()


def test_lists_have_at_least_four_ways_and_writes_leave_arguments_out() -> None:
    spec, _ = converted("chinook.sql")
    for operation in spec.operations:
        assert len(operation.asks) >= 5, operation.tool
        if operation.kind not in ("search", "get", "report"):
            assert operation.short, operation.tool
    assert server_of("chinook.sql").tools
