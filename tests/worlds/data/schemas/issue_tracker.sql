-- Issues, sprints and releases of software projects, as the tracker's database has them.

CREATE TABLE projects (
    id          TEXT PRIMARY KEY,
    "key"       TEXT NOT NULL UNIQUE,
    name        TEXT NOT NULL UNIQUE,
    last_number INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE members (
    id         TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    name       TEXT NOT NULL,
    role       TEXT NOT NULL CHECK (role IN ('reporter', 'developer', 'reviewer', 'lead')),
    UNIQUE (project_id, name)
);

CREATE TABLE sprints (
    id         TEXT PRIMARY KEY,
    project_id TEXT NOT NULL REFERENCES projects (id),
    name       TEXT NOT NULL,
    number     INTEGER NOT NULL,
    capacity   INTEGER NOT NULL CHECK (capacity >= 0),
    load       INTEGER NOT NULL DEFAULT 0,
    status     TEXT NOT NULL DEFAULT 'planned' CHECK (status IN ('planned', 'active', 'closed')),
    ends_at    TIMESTAMP,
    CHECK (load <= capacity)
);

CREATE TABLE releases (
    id          TEXT PRIMARY KEY,
    project_id  TEXT NOT NULL REFERENCES projects (id),
    name        TEXT NOT NULL,
    due         DATE NOT NULL,
    released_at TIMESTAMP,
    UNIQUE (project_id, name)
);

CREATE TABLE issues (
    id              TEXT PRIMARY KEY,
    "key"           TEXT NOT NULL UNIQUE,
    project_id      TEXT NOT NULL REFERENCES projects (id),
    title           TEXT NOT NULL,
    kind            TEXT NOT NULL CHECK (kind IN ('bug', 'task', 'feature')),
    status          TEXT NOT NULL DEFAULT 'open'
                    CHECK (status IN ('open', 'in_progress', 'in_review', 'done', 'wont_do')),
    priority        TEXT NOT NULL DEFAULT 'medium'
                    CHECK (priority IN ('low', 'medium', 'high', 'critical')),
    reporter        TEXT NOT NULL,
    assignee        TEXT,
    component       TEXT,
    estimate        INTEGER NOT NULL DEFAULT 0 CHECK (estimate >= 0),
    created_at      TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    updated_at      TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    sprint_id       TEXT REFERENCES sprints (id),
    release_id      TEXT REFERENCES releases (id),
    parent_id       TEXT REFERENCES issues (id),
    duplicate_of_id TEXT REFERENCES issues (id)
);

CREATE TABLE history (
    id       TEXT PRIMARY KEY,
    issue_id TEXT NOT NULL REFERENCES issues (id),
    author   TEXT NOT NULL,
    at       TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    text     TEXT NOT NULL,
    moved_to TEXT CHECK (moved_to IN ('open', 'in_progress', 'in_review', 'done', 'wont_do'))
);
