import { createServer } from 'node:net';

/**
 * Below the ports that systems give to connections, and to servers that name none: no one gets one of these by chance
 * while a server is between two lives.
 */
const FIRST = 20_000;
const COUNT = 12_000;
/** So many stay to choose from, however far above the other ports are. */
const LEAST = 2_000;
const ATTEMPTS = 50;

/** A loopback port that no one listens on now, for a server that must be told one or comes back to it; those so much above it are free too. */
export async function freePort(...above: readonly number[]): Promise<number> {
  const count = Math.max(LEAST, COUNT - Math.max(0, ...above));
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = FIRST + Math.floor(Math.random() * count);
    const free = await Promise.all([0, ...above].map((distance) => isFree(port + distance)));
    if (free.every(Boolean)) return port;
  }
  throw new Error(`no free port was found in ${ATTEMPTS} attempts`);
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
