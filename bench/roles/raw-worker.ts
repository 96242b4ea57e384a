import { Redis } from 'ioredis';
import { roleOptions, serveRole } from '../role.ts';

/**
 * The limit: request and reply over two Redis Streams, nothing owned, fenced, deduplicated or recorded. One read takes
 * up to 512 requests; states and replies go out as one pipeline.
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
    const pipeline = writer.pipeline();
    for (const [id, fields] of entries) {
      from = id;
      const key = fields[1] ?? '';
      const value = (values.get(key) ?? 0) + 1;
      values.set(key, value);
      pipeline.set(`raw:state:${key}`, value);
      pipeline.xadd('raw:replies', 'MAXLEN', '~', 10_000, '*', 'n', fields[3] ?? '', 'v', value);
    }
    pipeline.xtrim('raw:requests', 'MINID', '~', from);
    await pipeline.exec();
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
