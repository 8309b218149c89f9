-- The accounts of one bank customer, as the bank's database has them.

CREATE TABLE accounts (
    id          TEXT PRIMARY KEY,
    name        TEXT NOT NULL UNIQUE,
    kind        TEXT NOT NULL CHECK (kind IN ('checking', 'savings', 'fixed_term')),
    currency    TEXT NOT NULL DEFAULT 'EUR' CHECK (currency IN ('EUR', 'USD', 'GBP')),
    iban        TEXT NOT NULL UNIQUE,
    balance     DECIMAL(12, 2) NOT NULL DEFAULT 0,
    overdraft   DECIMAL(12, 2) NOT NULL DEFAULT 0 CHECK (overdraft >= 0),
    daily_limit DECIMAL(12, 2) NOT NULL DEFAULT 1000 CHECK (daily_limit >= 0),
    access      TEXT NOT NULL DEFAULT 'owner' CHECK (access IN ('owner', 'viewer')),
    status      TEXT NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'frozen', 'closed')),
    matures     DATE
);

CREATE TABLE payees (
    id    TEXT PRIMARY KEY,
    name  TEXT NOT NULL,
    iban  TEXT NOT NULL UNIQUE,
    added TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP
);

CREATE TABLE cards (
    id          TEXT PRIMARY KEY,
    account_id  TEXT NOT NULL REFERENCES accounts (id),
    last_digits TEXT NOT NULL,
    kind        TEXT NOT NULL CHECK (kind IN ('debit', 'credit')),
    status      TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'frozen', 'cancelled'))
);

CREATE TABLE standing_orders (
    id         TEXT PRIMARY KEY,
    account_id TEXT NOT NULL REFERENCES accounts (id),
    payee_id   TEXT NOT NULL REFERENCES payees (id),
    amount     DECIMAL(12, 2) NOT NULL CHECK (amount > 0),
    interval   TEXT NOT NULL CHECK (interval IN ('weekly', 'monthly')),
    first_date DATE NOT NULL,
    next_date  DATE NOT NULL,
    status     TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'cancelled')),
    missed     INTEGER NOT NULL DEFAULT 0,
    CHECK (next_date >= first_date)
);

CREATE TABLE transactions (
    id           TEXT PRIMARY KEY,
    account_id   TEXT NOT NULL REFERENCES accounts (id),
    at           TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    amount       DECIMAL(12, 2) NOT NULL,
    balance      DECIMAL(12, 2) NOT NULL,
    kind         TEXT NOT NULL CHECK (kind IN ('card', 'transfer', 'payment', 'standing_order', 'income')),
    counterparty TEXT NOT NULL,
    reference    TEXT,
    card_id      TEXT REFERENCES cards (id),
    payee_iban   TEXT,
    disputed     TEXT
);

CREATE TRIGGER book_transaction AFTER INSERT ON transactions
BEGIN
    UPDATE accounts SET balance = balance + NEW.amount WHERE id = NEW.account_id;
END;
