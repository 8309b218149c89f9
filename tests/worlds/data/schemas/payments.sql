-- Invoices, card payments and webhooks of a merchant, as the payment service's database has them.

CREATE TABLE customers (
    id           TEXT PRIMARY KEY,
    name         TEXT NOT NULL UNIQUE,
    credit_limit DECIMAL(12, 2) NOT NULL CHECK (credit_limit >= 0),
    card         TEXT NOT NULL
);

CREATE TABLE invoices (
    id          TEXT PRIMARY KEY,
    customer_id TEXT NOT NULL REFERENCES customers (id),
    description TEXT NOT NULL,
    amount      DECIMAL(12, 2) NOT NULL CHECK (amount > 0),
    status      TEXT NOT NULL DEFAULT 'draft' CHECK (status IN ('draft', 'open', 'paid', 'void')),
    paid        DECIMAL(12, 2) NOT NULL DEFAULT 0 CHECK (paid >= 0),
    refunded    DECIMAL(12, 2) NOT NULL DEFAULT 0 CHECK (refunded >= 0),
    CHECK (paid <= amount),
    CHECK (refunded <= paid)
);

CREATE TABLE payments (
    id         TEXT PRIMARY KEY,
    invoice_id TEXT NOT NULL REFERENCES invoices (id),
    authorised DECIMAL(12, 2) NOT NULL CHECK (authorised > 0),
    expires_at TIMESTAMP NOT NULL,
    captured   DECIMAL(12, 2) NOT NULL DEFAULT 0 CHECK (captured >= 0),
    refunded   DECIMAL(12, 2) NOT NULL DEFAULT 0 CHECK (refunded >= 0),
    status     TEXT NOT NULL DEFAULT 'authorised'
               CHECK (status IN ('authorised', 'captured', 'expired', 'voided')),
    CHECK (captured <= authorised),
    CHECK (refunded <= captured)
);

CREATE TABLE settlements (
    id              TEXT PRIMARY KEY,
    payment_id      TEXT NOT NULL REFERENCES payments (id),
    kind            TEXT NOT NULL CHECK (kind IN ('capture', 'refund')),
    amount          DECIMAL(12, 2) NOT NULL CHECK (amount > 0),
    at              TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    idempotency_key TEXT UNIQUE,
    reason          TEXT CHECK (reason IN ('requested_by_customer', 'duplicate', 'damaged_goods', 'late_delivery'))
);

CREATE TRIGGER book_capture AFTER INSERT ON settlements WHEN NEW.kind = 'capture'
BEGIN
    UPDATE payments SET captured = captured + NEW.amount WHERE id = NEW.payment_id;
END;

CREATE TRIGGER book_refund AFTER INSERT ON settlements WHEN NEW.kind = 'refund'
BEGIN
    UPDATE payments SET refunded = refunded + NEW.amount WHERE id = NEW.payment_id;
END;

CREATE TABLE webhooks (
    id           TEXT PRIMARY KEY,
    name         TEXT NOT NULL UNIQUE,
    url          TEXT NOT NULL,
    status       TEXT NOT NULL DEFAULT 'enabled' CHECK (status IN ('enabled', 'disabled')),
    failures     INTEGER NOT NULL DEFAULT 0 CHECK (failures >= 0),
    outage_until TIMESTAMP
);

CREATE TABLE webhook_deliveries (
    id         TEXT PRIMARY KEY,
    webhook_id TEXT NOT NULL REFERENCES webhooks (id),
    event      TEXT NOT NULL CHECK (event IN ('invoice.paid', 'invoice.voided', 'payment.refunded')),
    subject_id TEXT NOT NULL,
    due_at     TIMESTAMP NOT NULL,
    attempts   INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    status     TEXT NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed'))
);
