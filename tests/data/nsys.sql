-- An export of Nsight Systems by hand, in the layout of `nsys export --type sqlite`, with the columns that `rules init` reads.
-- Made into nsys.sqlite by: sqlite3 nsys.sqlite < nsys.sql
PRAGMA page_size = 1024;
CREATE TABLE StringIds (
    -- Consolidation of repetitive string values.
    id INTEGER NOT NULL PRIMARY KEY, -- ID reference value.
    value TEXT NOT NULL -- String value.
);
INSERT INTO StringIds VALUES
    (1, 'pack'), (2, 'inner<float, 32>'), (3, 'outer'), (4, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL'), (5, 'other'),
    (6, 'MPI_Isend'), (7, 'MPI_Irecv'), (8, 'MPI_Waitall'), (9, 'step'), (10, 'cudaLaunchKernel');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (
    start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
    streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL,
    shortName INTEGER NOT NULL
);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (
    start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
    streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL
);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (
    start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL
);
CREATE TABLE MPI_P2P_EVENTS (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER NOT NULL, textId INTEGER NOT NULL);
CREATE TABLE MPI_START_WAIT_EVENTS (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER NOT NULL, textId INTEGER NOT NULL);
CREATE TABLE NVTX_EVENTS (
    start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER
);
-- Three steps of 100 µs, of process 7 (16777216 * 7); a kernel of process 8; a kernel before the steps.
WITH step(n) AS (VALUES (1), (2), (3)), kernel(at, start, duration, stream, id, text) AS (VALUES
    (0, 2, 10, 13, 1, 1), (8, 12, 40, 7, 2, 2), (50, 55, 20, 13, 3, 3), (60, 76, 8, 13, 4, 4))
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL
    SELECT (100 * n + start) * 1000, (100 * n + start + duration) * 1000, 0, 1, stream, 10 * n + id, 7 << 24, text, text
    FROM step, kernel ORDER BY n, start;
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5000, 9000, 0, 1, 7, 1, 7 << 24, 5, 5), (301000, 302000, 0, 1, 7, 31, 8 << 24, 5, 5);
WITH step(n) AS (VALUES (1), (2), (3)), call(at, id) AS (VALUES (0, 1), (8, 2), (50, 3), (60, 4), (64, 5))
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME
    SELECT (100 * n + at) * 1000, (100 * n + at + 3) * 1000, (7 << 24) + 7, 10 * n + id, 10 FROM step, call;
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000, 2000, (7 << 24) + 7, 1, 10);
WITH step(n) AS (VALUES (1), (2), (3))
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY
    SELECT (100 * n + 85) * 1000, (100 * n + 86) * 1000, 0, 1, 13, 10 * n + 5, 7 << 24, 4, 2 FROM step;
WITH step(n) AS (VALUES (1), (2), (3)), call(at, duration, text) AS (VALUES (5, 1, 7), (15, 2, 6))
INSERT INTO MPI_P2P_EVENTS SELECT (100 * n + at) * 1000, (100 * n + at + duration) * 1000, (7 << 24) + 7, text FROM step, call;
WITH step(n) AS (VALUES (1), (2), (3))
INSERT INTO MPI_START_WAIT_EVENTS SELECT (100 * n + 20) * 1000, (100 * n + 48) * 1000, (7 << 24) + 7, 8 FROM step;
WITH step(n) AS (VALUES (1), (2), (3)), range(at, duration, text, textId) AS (VALUES (0, 90, NULL, 9), (59, 5, 'ncclAllReduce', NULL))
INSERT INTO NVTX_EVENTS
    SELECT (100 * n + at) * 1000, (100 * n + at + duration) * 1000 - 500, 59, text, (7 << 24) + 7, NULL, textId FROM step, range;
INSERT INTO NVTX_EVENTS VALUES (500, NULL, 34, 'a mark', (7 << 24) + 7, NULL, NULL);
