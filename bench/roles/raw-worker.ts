import { Redis } from 'ioredis';
import { roleOptions, serveRole } from '../role.ts';

/**
 * The upper limit: request and reply over two Redis Streams without ownership, fencing, deduplication or records. One read takes
 * up to 512 requests; states and replies go out as one pipeline each.
 */
const { url } = roleOptions<{ url: string }>();
const reader = new Redis(url);
const writer = new Redis(url);
const values = new Map<string, number>();
let stopped = false;

async function loop(): Promise<void> {
  let from = '0-0';
  while (!stopped) {
    const found = await reader.xread('COUNT', 512, 'BLOCK', 1_000, 'STREAMS', 'raw:requests', from);
    const entries = found?.[0]?.[1] ?? [];
    if (entries.length === 0) continue;
    const states = writer.pipeline();
    const replies = writer.pipeline();
    for (const [id, fields] of entries) {
      from = id;
      const key = fields[1] ?? '';
      const value = (values.get(key) ?? 0) + 1;
      values.set(key, value);
      states.set(`raw:state:${key}`, value);
      replies.xadd('raw:replies', 'MAXLEN', '~', 10_000, '*', 'n', fields[3] ?? '', 'v', value);
    }
    replies.xtrim('raw:requests', 'MINID', '~', from);
    // The answer follows the write of the state, as with every peer: three round trips for a single ask.
    await states.exec();
    await replies.exec();
  }
}
const running = loop();
serveRole(
  async () => ({}),
  async () => {
    stopped = true;
    await running;
    reader.disconnect();
    writer.disconnect();
  },
);
