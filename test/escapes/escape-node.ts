import { join } from 'node:path';
import { ProductNode } from '../product/product-node.ts';
import { BUSYBOX, TestPodman } from '../support/podman.ts';
import { waitUntil } from '../support/wait-until.ts';

export type Members = Readonly<Record<string, unknown>>;

interface EscapeNodeOptions {
  /** Of the scripted model. */
  readonly rules: readonly Members[];
  /** Below `spec`. */
  readonly spec: Members;
  /** With a Podman of its own. */
  readonly containers: boolean;
  readonly env: NodeJS.ProcessEnv;
}

/** A started node with a scripted model. */
export interface EscapeNode extends AsyncDisposable {
  readonly node: ProductNode;
  /** Where the node keeps everything. */
  readonly data: string;
  readonly podman: TestPodman | null;
  /** Waits for the end of an execution; answers its status and its events as a caller reads them. */
  ended(executionId: string): Promise<string>;
}

export async function startEscapeNode({ rules, spec, containers, env }: EscapeNodeOptions): Promise<EscapeNode> {
  await using opened = new AsyncDisposableStack();
  const podman = containers ? opened.use(await TestPodman.start()) : null;
  const boxes = { agent_image: BUSYBOX, pids_limit: 100 };
  const runtime = podman === null ? {} : { container_socket_path: podman.socketPath, containers: boxes };
  const node = opened.use(await ProductNode.start({ rules, spec: { runtime, ...spec }, env }));
  const running = opened.move();
  return {
    ...{ node, podman, data: join(node.directory, 'data') },
    ended: (id) =>
      waitUntil(
        `the end of ${id}`,
        async () => {
          const status = await node.statusOf(id);
          if (!['completed', 'failed', 'cancelled'].includes(String(status.status))) return null;
          return JSON.stringify(status) + (await node.call('GET', `/v1/executions/${id}/events?limit=200`)).text;
        },
        60_000,
      ),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
