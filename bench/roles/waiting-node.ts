import { startNode } from '../../main.ts';
import { roleOptions, serveRole } from '../role.ts';

/** The product's own process, which can also say how much heap it uses after a collection. */
export interface WaitingNodeAnswer {
  readonly url: string;
  readonly heapUsed: number;
  readonly rss: number;
}

const { flags } = roleOptions<{ flags: Readonly<Record<string, string>> }>();
const node = await startNode({ flags, env: {} });

serveRole(
  async (): Promise<WaitingNodeAnswer> => {
    if (globalThis.gc === undefined) throw new Error('run with --expose-gc');
    globalThis.gc();
    globalThis.gc();
    const { heapUsed, rss } = process.memoryUsage();
    return { url: node.restUrl, heapUsed, rss };
  },
  () => node.stop(),
);
