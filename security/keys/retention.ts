/** Life of a node token (spec 1, Limits). */
export const NODE_TOKEN_TTL_MS = 3_600_000;

/** How far the clocks of two nodes, or of a node and its key service, may be apart before a key goes too early. */
const CLOCK_MARGIN_MS = 600_000;

/** A key verifies this long after it last signed: then no token of it can be valid any more. */
export const KEY_RETENTION_MS = NODE_TOKEN_TTL_MS + CLOCK_MARGIN_MS;

export const DAY_MS = 86_400_000;
