import { setTimeout as pause } from 'node:timers/promises';
import { ProductNode } from '../product-node.ts';
import { deployAgents, type Send } from './run-case.ts';
import { OTHERWISE, RULES } from './script.ts';

const MOST_REPEATS = 5;

interface RandomNodeOptions {
  /** Socket of the container engine; without it the node has none. */
  readonly engineSocket?: string;
  /** `spec.stores`; empty: embedded. */
  readonly stores?: { readonly redis?: string; readonly mongodb?: string };
}

/** A node with the agents of random workflows. */
export async function startRandomNode({
  engineSocket: container_socket_path,
  stores = {},
}: RandomNodeOptions): Promise<AsyncDisposable & { readonly send: Send }> {
  const rules = [...RULES, { reply: OTHERWISE }];
  const node = await ProductNode.start({ rules, spec: { runtime: { container_socket_path }, stores } });
  const send = sendTo(node);
  await deployAgents(send);
  return { send, [Symbol.asyncDispose]: () => node[Symbol.asyncDispose]() };
}

export const sendTo =
  (node: Pick<ProductNode, 'call' | 'json'>): Send =>
  async (method, path, body) => {
    const headers = { 'content-type': 'application/yaml' };
    const once = () =>
      typeof body === 'string' ? node.call(method, path, { body, headers }) : node.json(method, path, body);
    let answer = await once();
    // On a loaded machine a store may be slow for a moment; a read and a forced deploy may be repeated, as clients do.
    const isRepeatable = method === 'GET' || path.endsWith('?force=true');
    for (let repeat = 0; answer.status === 503 && isRepeatable && repeat < MOST_REPEATS; repeat += 1) {
      await pause(Number(answer.headers.get('retry-after') ?? 1) * 1_000);
      answer = await once();
    }
    if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  };
