-- Stores of a chain, their stock, shipments and reservations, as the chain's database has them.

CREATE TABLE stores (
    id          TEXT PRIMARY KEY,
    name        TEXT NOT NULL UNIQUE,
    city        TEXT NOT NULL,
    manager     TEXT NOT NULL,
    clerk       TEXT NOT NULL,
    lorry_hours INTEGER NOT NULL DEFAULT 0 CHECK (lorry_hours >= 0),
    own         BOOLEAN NOT NULL DEFAULT FALSE
);

CREATE TABLE stocks (
    id               TEXT PRIMARY KEY,
    store_id         TEXT NOT NULL REFERENCES stores (id),
    product_name     TEXT NOT NULL,
    price            DECIMAL(10, 2) NOT NULL CHECK (price > 0),
    supplier         TEXT NOT NULL,
    pack_size        INTEGER NOT NULL CHECK (pack_size >= 1),
    on_hand          INTEGER NOT NULL DEFAULT 0 CHECK (on_hand >= 0),
    available        INTEGER NOT NULL DEFAULT 0 CHECK (available >= 0),
    reserved         INTEGER NOT NULL DEFAULT 0 CHECK (reserved >= 0),
    reorder_point    INTEGER NOT NULL DEFAULT 0 CHECK (reorder_point >= 0),
    last_correction  TEXT CHECK (last_correction IN ('recount', 'damaged', 'stolen', 'spoiled', 'found')),
    corrected_on     DATE,
    discontinued     BOOLEAN NOT NULL DEFAULT FALSE,
    UNIQUE (store_id, product_name),
    CHECK (available <= on_hand)
);

CREATE TABLE shipments (
    id              TEXT PRIMARY KEY,
    kind            TEXT NOT NULL CHECK (kind IN ('incoming_transfer', 'outgoing_transfer', 'purchase')),
    source_stock_id TEXT REFERENCES stocks (id),
    target_stock_id TEXT NOT NULL REFERENCES stocks (id),
    quantity        INTEGER NOT NULL CHECK (quantity >= 1),
    counted         INTEGER NOT NULL DEFAULT 0 CHECK (counted >= 0),
    status          TEXT NOT NULL DEFAULT 'requested'
                    CHECK (status IN ('requested', 'in_transit', 'arrived', 'received', 'declined')),
    created_at      TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    due_at          TIMESTAMP
);

CREATE TABLE reservations (
    id         TEXT PRIMARY KEY,
    stock_id   TEXT NOT NULL REFERENCES stocks (id),
    customer   TEXT NOT NULL,
    quantity   INTEGER NOT NULL CHECK (quantity >= 1),
    expires_at TIMESTAMP NOT NULL,
    status     TEXT NOT NULL DEFAULT 'active'
               CHECK (status IN ('active', 'collected', 'released', 'expired'))
);

CREATE TRIGGER hold_reserved AFTER INSERT ON reservations
BEGIN
    UPDATE stocks SET reserved = reserved + NEW.quantity WHERE id = NEW.stock_id;
    UPDATE stocks SET available = available - NEW.quantity WHERE id = NEW.stock_id;
END;
