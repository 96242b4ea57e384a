/**
 * node clients.ts URL COUNT MS heeds|ignores: COUNT clients, each with a connection of its own, start a workflow again and
 * again for MS milliseconds. After a refusal those that heed it wait for Retry-After, the others do not. Prints `ClientsSeen`.
 */
import { Agent, type IncomingMessage, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

export interface ClientsSeen {
  /** Milliseconds of starts that were taken, and of refusals. */
  readonly taken: readonly number[];
  readonly refused: readonly number[];
  /** Refusals without Retry-After. */
  readonly bare: number;
  /** Connections that broke. */
  readonly resets: number;
  /** Any other status. */
  readonly others: number;
}

interface Answer {
  readonly status: number;
  readonly retryAfterMs: number | null;
}

const [url = '', count = '1', lastsMs = '1000', manner = 'heeds'] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY });
const BODY = JSON.stringify({ input: {} });

function start(): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': BODY.length };
    const asked = request(
      `${url}/v1/workflows/pure/run`,
      { agent, method: 'POST', headers },
      (answer: IncomingMessage) => {
        const after = answer.headers['retry-after'];
        answer.on('error', reject);
        answer.on('end', () =>
          resolve({ status: answer.statusCode ?? 0, retryAfterMs: after === undefined ? null : Number(after) * 1_000 }),
        );
        answer.resume();
      },
    );
    asked.on('error', reject);
    asked.end(BODY);
  });
}

const taken: number[] = [];
const refused: number[] = [];
let bare = 0;
let resets = 0;
let others = 0;
const until = performance.now() + Number(lastsMs);

async function client(): Promise<void> {
  while (performance.now() < until) {
    const at = performance.now();
    try {
      const { status, retryAfterMs } = await start();
      const tookMs = performance.now() - at;
      if (status === 200) taken.push(tookMs);
      else if (status === 503 || status === 429) {
        refused.push(tookMs);
        if (retryAfterMs === null) bare += 1;
        if (manner === 'heeds') await pause(Math.min(retryAfterMs ?? 1_000, Math.max(0, until - performance.now())));
      } else others += 1;
    } catch {
      resets += 1;
    }
  }
}

await Promise.all(Array.from({ length: Number(count) }, client));
agent.destroy();
const seen: ClientsSeen = { taken, refused, bare, resets, others };
process.stdout.write(JSON.stringify(seen));
