import { Redis } from 'ioredis';
import { KEYS, PAYLOAD } from '../counter.ts';
import { closedLoop, type LoadPlan } from '../load.ts';
import { roleOptions, serveRole } from '../role.ts';

const { url } = roleOptions<{ url: string }>();
const writer = new Redis(url, { enableAutoPipelining: true });
const reader = new Redis(url);
const waiting = new Map<string, () => void>();
let sent = 0;
let stopped = false;

async function listen(): Promise<void> {
  let from = '0-0';
  while (!stopped) {
    const found = await reader.xread('COUNT', 512, 'BLOCK', 1_000, 'STREAMS', 'raw:replies', from);
    for (const [id, fields] of found?.[0]?.[1] ?? []) {
      from = id;
      const number = fields[1] ?? '';
      waiting.get(number)?.();
      waiting.delete(number);
    }
  }
}
const running = listen();

serveRole(
  (plan: LoadPlan) =>
    closedLoop(plan, (index) => {
      const number = `${sent++}`;
      return new Promise<void>((resolve, reject) => {
        waiting.set(number, resolve);
        writer.xadd('raw:requests', '*', 'k', `${index % KEYS}`, 'n', number, 'p', PAYLOAD).catch(reject);
      });
    }),
  async () => {
    stopped = true;
    await running;
    reader.disconnect();
    writer.disconnect();
  },
);
