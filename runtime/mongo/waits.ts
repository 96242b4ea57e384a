/** How long the driver may wait for each thing, in milliseconds, and what follows from it. */
export interface MongoWaits {
  /** For a server that can be asked; a connection and its handshake may take as long each. */
  readonly selectionMs: number;
  /** Between two looks at a server. */
  readonly heartbeatMs: number;
  /** For a free connection of the pool: a burst of writes is no outage. */
  readonly queueMs: number;
  /** For an answer on a socket. */
  readonly socketMs: number;
}

export const WAITS: MongoWaits = { selectionMs: 4_000, heartbeatMs: 5_000, queueMs: 15_000, socketMs: 30_000 };

/** What a find or count may take on the server; below the socket's limit, so the answer is an error and not a cut. */
export const QUERY_TIMEOUT_MS = 20_000;

/** For timers that fire late on a busy machine. */
const SLACK_MS = 2_000;

/**
 * The longest time in which the driver says nothing about a server it looks at: it connects and shakes hands, or waits
 * for the next look (a streamed look is answered within a pause and a connection's time).
 */
export const mostSilentMs = ({ selectionMs, heartbeatMs }: MongoWaits): number =>
  selectionMs + Math.max(selectionMs, heartbeatMs) + SLACK_MS;

/** The longest time one call of the driver may take by its own limits. */
export const longestCallMs = ({ selectionMs, queueMs, socketMs }: MongoWaits): number =>
  selectionMs + queueMs + socketMs + SLACK_MS;

/** Within this a client whose server is back serves again, whatever became of its looking at it. */
export const recoveredWithinMs = (waits: MongoWaits): number => mostSilentMs(waits) + 2 * waits.selectionMs;
