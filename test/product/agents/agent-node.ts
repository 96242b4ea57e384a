import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { liveFiles } from '../../support/live-files.ts';
import { BUSYBOX, TestPodman } from '../../support/podman.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { agentYaml, ProductNode } from '../product-node.ts';

export type Members = Readonly<Record<string, unknown>>;

export const members = (value: unknown): Members => (typeof value === 'object' && value !== null ? { ...value } : {});
export const listOf = (value: unknown): readonly Members[] => (Array.isArray(value) ? value.map(members) : []);

interface AgentNodeOptions {
  readonly rules: readonly object[];
  /** Settings below `spec.runtime`, given the directory of the programs. */
  readonly runtime?: (directory: string) => Members;
  /** Settings below `spec`. */
  readonly spec?: Members;
  /** False: the node has no container engine. Else settings below `spec.runtime.containers`. */
  readonly containers?: Members | false;
  /**
   * Bootstraps that agents bring, by name: `advanced.bootstrap_path`, or `script` of `spec.runtime.bootstrap_script`.
   */
  readonly programs?: Readonly<Record<string, string>>;
  readonly env?: NodeJS.ProcessEnv;
}

const TENANT = 'svc-system';
const ENDED_WITHIN_MS = 60_000;

/** The node as a user starts it, with a scripted model and, on request, a Podman of its own. */
export class AgentNode implements AsyncDisposable {
  readonly node: ProductNode;
  readonly #podman: TestPodman | null;

  private constructor(node: ProductNode, podman: TestPodman | null) {
    this.node = node;
    this.#podman = podman;
  }

  static async start({
    rules,
    runtime = () => ({}),
    spec = {},
    containers = {},
    env,
    programs = {},
  }: AgentNodeOptions): Promise<AgentNode> {
    const podman = containers === false ? null : await TestPodman.start();
    const engine =
      podman === null
        ? {}
        : { container_socket_path: podman.socketPath, containers: { agent_image: BUSYBOX, ...containers } };
    const node = await ProductNode.start({
      ...{ rules, programs, spec },
      runtime: (directory) => ({ bootstrap_dir: directory, ...engine, ...runtime(directory) }),
      ...(env === undefined ? {} : { env }),
    });
    return new AgentNode(node, podman);
  }

  get podman(): TestPodman {
    if (this.#podman === null) throw new Error('this node has no container engine');
    return this.#podman;
  }

  get data(): string {
    return join(this.node.directory, 'data');
  }

  deploy(name: string, spec: Members): Promise<string> {
    return this.node.deploy(agentYaml(name, spec));
  }

  /** File that a program or bootstrap has written into the workspace of its execution, once it is there. */
  written(executionId: string, name: string): Promise<string> {
    const path = join(this.data, 'volumes', TENANT, executionId, name);
    const read = () => readFile(path, 'utf8').catch(() => null);
    return waitUntil(`${name} of ${executionId}`, read, ENDED_WITHIN_MS);
  }

  /** Waits for its end; returns the status as a caller reads it. */
  ended(executionId: string): Promise<Members> {
    return waitUntil(
      `the end of ${executionId}`,
      async () => {
        const status = await this.node.statusOf(executionId);
        return ['completed', 'failed', 'cancelled'].includes(String(status.status)) ? status : null;
      },
      ENDED_WITHIN_MS,
    );
  }

  /** The stream of an execution that has ended, from its first event, as a client reads it. */
  async events(executionId: string): Promise<readonly Members[]> {
    const { text } = await this.node.call('GET', `/v1/executions/${executionId}/stream`);
    const blocks = text.split('\n\n').map((block) => block.split('\n'));
    const data = blocks.map((lines) => lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5)));
    return data.filter((lines) => lines.length > 0).map((lines) => members(JSON.parse(lines.join('\n'))));
  }

  /** Everything that a running execution has streamed so far. */
  async said(executionId: string): Promise<string> {
    return (await this.node.call('GET', `/v1/executions/${executionId}/events?limit=200`)).text;
  }

  /** The records of the execution's own audit chain, once it is closed. */
  audit(executionId: string): Promise<readonly Members[]> {
    return waitUntil('the audit chain to close', async () => {
      const { body } = await this.node.call('GET', `/v1/seal/sessions/${executionId}/audit`);
      const records = listOf(body.records).map(({ body: record }) => members(record));
      return records.at(-1)?.kind === 'closed' ? records : null;
    });
  }

  /** Path and content of every file in the execution's workspace. */
  async workspace(executionId: string): Promise<Readonly<Record<string, string>>> {
    const root = join(this.data, 'volumes', TENANT, executionId);
    const files = new Map<string, string>();
    for await (const [path, content] of liveFiles(root)) files.set(path.slice(root.length), content.toString('latin1'));
    return Object.fromEntries([...files].toSorted(([one], [other]) => (one < other ? -1 : 1)));
  }

  /** Path and content of every file that the node has stored, except the volumes, whose content agents choose. */
  async kept(): Promise<readonly (readonly [path: string, content: string])[]> {
    const kept: (readonly [path: string, content: string])[] = [];
    for await (const [path, content] of liveFiles(this.data)) {
      const name = path.slice(this.data.length);
      if (!name.startsWith('/volumes')) kept.push([name, content.toString('latin1')]);
    }
    return kept;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.node[Symbol.asyncDispose]();
    await this.#podman?.[Symbol.asyncDispose]();
  }
}
