import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { removeTree } from '../../effects/volumes/tree.ts';
import { LOCAL_TOKEN_FILE } from '../../security/local-token.ts';
import { builtProgram } from '../support/built-programs.ts';
import { writeNodeConfig, writeScriptedModel } from '../support/node-config.ts';
import { COMPILED } from '../support/program-options.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const Held = z.object({ longestMs: z.number(), totalMs: z.number(), rssBytes: z.number() });

type Addresses = Readonly<Record<'url' | 'grpc' | 'internal' | 'internalGrpc' | 'cluster', string>>;

interface AttackedOptions {
  readonly guarded?: boolean;
  readonly stores?: { readonly redis: string; readonly mongodb: string };
}

/** A node in its own process, embedded and open to this machine unless a token guards it, whose event loop is measured. */
export class AttackedNode implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #directory: string;
  readonly #said: string[] = [];
  readonly url: string;
  readonly grpcAddress: string;
  readonly internalUrl: string;
  readonly internalGrpcAddress: string;
  /** Empty when it has no such port. */
  readonly clusterAddress: string;
  /** Token of the operator; empty: none is needed. */
  readonly token: string;

  private constructor(child: ChildProcess, directory: string, at: Addresses, token: string) {
    this.#child = child;
    this.#directory = directory;
    this.url = at.url;
    this.grpcAddress = at.grpc;
    this.internalUrl = at.internal;
    this.internalGrpcAddress = at.internalGrpc;
    this.clusterAddress = at.cluster;
    this.token = token;
    child.stderr?.on('data', (chunk: Buffer) => this.#said.push(chunk.toString()));
  }

  /** `stores`: those of a fleet; absent: its own. */
  static async start({ guarded = false, stores }: AttackedOptions = {}): Promise<AttackedNode> {
    const directory = await mkdtemp(join(tmpdir(), 'svc-attacks-'));
    const model = await writeScriptedModel(directory, [{ reply: 'done' }]);
    const guard = guarded ? { iam: { local: 'token' }, cluster: { enabled: true, cluster_grpc_port: 0 } } : {};
    const shared = stores === undefined ? {} : { stores, kernel: { partitions: 16 } };
    const spec = { llm_providers: [model], observability: { logging: { level: 'warn' } }, ...guard, ...shared };
    const config = await writeNodeConfig(directory, spec);
    const flags = ['--config', config, '--data', join(directory, 'data'), '--http-port', '0', '--grpc-port', '0'];
    const args = [
      '--expose-gc',
      '--import',
      join(import.meta.dirname, 'probe.ts'),
      builtProgram(join(ROOT, 'main.ts')),
      ...flags,
    ];
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...COMPILED, SVC_WEBHOOK_SECRET_MAIL: 'secret' };
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
    process.once('exit', () => child.kill('SIGKILL'));
    const at = await announced(child, guarded);
    const token = guarded ? (await readFile(join(directory, 'data', LOCAL_TOKEN_FILE), 'utf8')).trim() : '';
    return new AttackedNode(child, directory, at, token);
  }

  /** Cost of `work` on the thread that serves requests. */
  async watch(work: () => Promise<unknown>): Promise<z.output<typeof Held>> {
    await this.#ask('begin');
    await work();
    return Held.parse(await this.#ask('end'));
  }

  /** Bytes of the heap after a collection of garbage. */
  async heapBytes(): Promise<number> {
    return z.object({ heapBytes: z.number() }).parse(await this.#ask('heap')).heapBytes;
  }

  get dataDirectory(): string {
    return join(this.#directory, 'data');
  }

  /** Whether its process runs. */
  get isUp(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Lines of the log that report a lost lease. */
  get leasesLost(): number {
    return this.#said
      .join('')
      .split('\n')
      .filter((line) => /lease/i.test(line)).length;
  }

  get log(): string {
    return this.#said.join('');
  }

  async #ask(what: 'begin' | 'end' | 'heap'): Promise<unknown> {
    const answer = once(this.#child, 'message');
    this.#child.send(what);
    const [said]: unknown[] = await answer;
    return said;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await gone;
    await removeTree(this.#directory);
  }
}

async function announced({ stdout }: ChildProcess, hasCluster: boolean): Promise<Addresses> {
  if (stdout === null) throw new Error('the node has no output');
  const found = { url: '', grpc: '', internal: '', internalGrpc: '', cluster: '' };
  for await (const line of createInterface(stdout)) {
    found.url ||= /^REST\s+(\S+)/.exec(line)?.[1] ?? '';
    found.grpc ||= /^SvcRuntime\s+(\S+)/.exec(line)?.[1] ?? '';
    const [, internal = '', internalGrpc = ''] = /^internal\s+(\S+)\s+(\S+)/.exec(line) ?? [];
    found.internal ||= internal;
    found.internalGrpc ||= internalGrpc;
    found.cluster ||= /^NodeCluster\s+(\S+)/.exec(line)?.[1] ?? '';
    if (found.internal !== '' && (found.cluster !== '' || !hasCluster)) break;
  }
  if (found.internal === '') throw new Error('the node did not start');
  return found;
}
