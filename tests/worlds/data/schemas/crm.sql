-- Leads, deals and activities of a sales team, as its database has them.

CREATE TABLE sales_reps (
    id        TEXT PRIMARY KEY,
    name      TEXT NOT NULL UNIQUE,
    territory TEXT NOT NULL CHECK (territory IN ('north', 'south', 'east', 'west')),
    away      BOOLEAN NOT NULL DEFAULT FALSE
);

CREATE TABLE companies (
    id        TEXT PRIMARY KEY,
    name      TEXT NOT NULL UNIQUE,
    territory TEXT NOT NULL CHECK (territory IN ('north', 'south', 'east', 'west'))
);

CREATE TABLE contacts (
    id         TEXT PRIMARY KEY,
    name       TEXT NOT NULL,
    email      TEXT NOT NULL UNIQUE,
    company_id TEXT NOT NULL REFERENCES companies (id),
    owner      TEXT NOT NULL
);

CREATE TABLE deals (
    id           TEXT PRIMARY KEY,
    name         TEXT NOT NULL,
    company_id   TEXT NOT NULL REFERENCES companies (id),
    contact_id   TEXT NOT NULL REFERENCES contacts (id),
    owner        TEXT NOT NULL,
    stage        TEXT NOT NULL DEFAULT 'discovery'
                 CHECK (stage IN ('discovery', 'proposal', 'negotiation', 'won', 'lost')),
    amount       DECIMAL(12, 2) CHECK (amount > 0),
    closes       DATE,
    closed_at    TIMESTAMP,
    close_reason TEXT
);

CREATE TABLE leads (
    id           TEXT PRIMARY KEY,
    name         TEXT NOT NULL,
    email        TEXT NOT NULL UNIQUE,
    company_name TEXT NOT NULL,
    territory    TEXT NOT NULL CHECK (territory IN ('north', 'south', 'east', 'west')),
    owner        TEXT,
    status       TEXT NOT NULL DEFAULT 'new'
                 CHECK (status IN ('new', 'working', 'qualified', 'disqualified', 'converted')),
    budget       DECIMAL(12, 2) CHECK (budget > 0),
    contact_id   TEXT REFERENCES contacts (id),
    deal_id      TEXT REFERENCES deals (id)
);

CREATE TABLE quotes (
    id               TEXT PRIMARY KEY,
    deal_id          TEXT NOT NULL REFERENCES deals (id),
    list_amount      DECIMAL(12, 2) NOT NULL CHECK (list_amount > 0),
    discount_percent INTEGER NOT NULL CHECK (discount_percent BETWEEN 0 AND 100),
    total            DECIMAL(12, 2) NOT NULL CHECK (total >= 0),
    status           TEXT NOT NULL DEFAULT 'pending'
                     CHECK (status IN ('pending', 'approved', 'declined', 'withdrawn', 'expired', 'accepted')),
    changes_at       TIMESTAMP,
    CHECK (total <= list_amount)
);

CREATE TABLE activities (
    id         TEXT PRIMARY KEY,
    kind       TEXT NOT NULL CHECK (kind IN ('call', 'meeting', 'task', 'note')),
    subject    TEXT NOT NULL,
    contact_id TEXT NOT NULL REFERENCES contacts (id),
    deal_id    TEXT REFERENCES deals (id),
    status     TEXT NOT NULL DEFAULT 'planned'
               CHECK (status IN ('planned', 'overdue', 'done', 'cancelled')),
    due_on     DATE,
    done_at    TIMESTAMP,
    outcome    TEXT
);
