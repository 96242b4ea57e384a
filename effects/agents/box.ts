import { createHash } from 'node:crypto';
import { chmod, chown, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../runtime/clock.ts';
import type { EffectContext } from '../../runtime/effect.ts';
import { SvcError } from '../../runtime/errors.ts';
import type { ContainerExtras, ContainerOwner, EngineParts } from '../containers/settings.ts';
import { type ContainerState, killContainer } from '../containers/state.ts';
import { CapturedOutput, ProgressFlow } from '../programs/captured-output.ts';
import type { GatewayHandler } from './bootstrap/api.ts';
import { prepareMailbox, startMailbox } from './mailbox.ts';

/** Longer than any container may run. */
const FORGOTTEN_AFTER_MS = 25 * 3_600_000;

/** Where the node's files are in an agent's container, read-only. */
const NODE_PATH = '/svc';

const MAILBOX_PATH = '/run/svc';

const FILES = 'bin';

export const BOOTSTRAP = `${NODE_PATH}/bootstrap.sh`;

export const PROMPT_FILE = `${NODE_PATH}/prompt`;

/** The directory of one effect below `root`: its mailbox, and the node's files for its container. */
export const boxOf = (root: string, effectId: string): string =>
  join(root, createHash('sha256').update(effectId).digest('hex').slice(0, 32));

interface BoxContent {
  /** Instead of the node's own bootstrap. */
  readonly script: Buffer | null;
  /** Where the prompt is no argument. */
  readonly prompt: string | null;
}

/** Makes a box and answers where its parts go. Repeating it is harmless. */
export async function makeBox(box: string, { script, prompt }: BoxContent): Promise<ContainerExtras['binds']> {
  const mounts = await prepareMailbox(box, MAILBOX_PATH);
  if (script !== null) await place(box, 'bootstrap.sh', script, 0o555);
  if (prompt !== null) await place(box, 'prompt', Buffer.from(prompt), 0o444);
  return mounts.map(({ source, target, readOnly }) => ({
    directory: source,
    path: target === `${MAILBOX_PATH}/${FILES}` ? NODE_PATH : target,
    readOnly,
  }));
}

async function place(box: string, name: string, content: Buffer, mode: number): Promise<void> {
  const incoming = join(box, `${name}.tmp`);
  await writeFile(incoming, content, { mode });
  // The container's user is another one; a umask of the node must not be in the way.
  await chmod(incoming, mode);
  await rename(incoming, join(box, FILES, name));
}

export const removeBox = (box: string): Promise<void> => rm(box, { recursive: true, force: true });

/** Removes boxes of effects that no node followed to their end. For the start of a node. */
export async function sweepBoxes(root: string, clock: Clock): Promise<number> {
  let removed = 0;
  for (const name of await readdir(root).catch(() => [])) {
    const path = join(root, name);
    const made = await stat(path).catch(() => null);
    if (made === null || clock.now() - made.mtimeMs < FORGOTTEN_AFTER_MS) continue;
    await removeBox(path);
    removed += 1;
  }
  return removed;
}

/**
 * What a node that runs as root has made belongs to root, and agents' containers do not run as root: the top of a volume is
 * given to `uid:gid` when nobody else owns it.
 */
export async function giveAway(directory: string, user: string): Promise<void> {
  if (process.getuid?.() !== 0) return;
  const [uid = 0, gid = uid] = user.split(':').map(Number);
  const { uid: owner } = await stat(directory);
  if (owner === 0 && uid !== 0) await chown(directory, uid, gid);
}

/** Names the box that a container was made with: who adopts it serves that one. */
export const BOX_LABEL = 'dev.svc.box';

interface AgentWatchParts {
  readonly engine: EngineParts;
  readonly owner: ContainerOwner;
  readonly context: EffectContext;
  readonly handle: GatewayHandler;
  readonly secrets: readonly string[];
  /** Bytes of standard output that are told while it comes; 0: none. */
  readonly streamBytes: number;
}

/** What a node does beside a running agent: serves its mailbox, tells who it is and what it prints. */
export class AgentWatch {
  readonly #parts: AgentWatchParts;
  readonly #unwanted = new AbortController();
  readonly #over = new AbortController();
  readonly #flow: ProgressFlow;
  readonly #stdout: CapturedOutput;
  #relay: Promise<void> = Promise.resolve();
  #failure: unknown = null;
  /** Of the container that was made or found. */
  box: string | null = null;

  constructor(parts: AgentWatchParts) {
    this.#parts = parts;
    this.#flow = new ProgressFlow(
      (text) => parts.context.progress({ text }),
      () => this.#giveUp(),
    );
    this.#stdout = new CapturedOutput(parts.streamBytes, parts.secrets, (text) => this.#flow.push(text));
  }

  /** Aborted when the actor says that nobody waits any more. */
  get unwanted(): AbortSignal {
    return this.#unwanted.signal;
  }

  get onStdout(): ((chunk: Buffer) => void) | null {
    return this.#parts.streamBytes === 0 ? null : (chunk) => this.#stdout.push(chunk);
  }

  /** Durable before the container begins: an agent that attests at once is known by its container. */
  async onContainer(state: ContainerState): Promise<void> {
    this.box = state.labels[BOX_LABEL] ?? null;
    if (!(await this.#parts.context.progress({ container_id: state.id }))) this.#giveUp();
    this.#unwanted.signal.throwIfAborted();
    if (this.box === null || state.phase === 'ended') return;
    this.#relay = this.#serve(state.id, this.box);
  }

  async #serve(id: string, directory: string): Promise<void> {
    const { engine, handle, context } = this.#parts;
    const signal = AbortSignal.any([this.#over.signal, this.#unwanted.signal, context.signal]);
    try {
      await startMailbox({ directory, handle, signal, clock: engine.clock });
    } catch (error) {
      if (signal.aborted) return;
      // An agent that nobody answers would wait for its whole time.
      this.#failure = error;
      await killContainer(engine.engine, id, signal).catch((left: unknown) => {
        if (!signal.aborted) engine.warn(`container ${id} could not be killed`, left);
      });
    }
  }

  /** Resolves when all that was printed is told. Throws what ended the mailbox. */
  async finish(): Promise<void> {
    if (this.#parts.streamBytes > 0) this.#stdout.end();
    await this.#flow.finish();
    this.#unwanted.signal.throwIfAborted();
    if (this.#failure !== null) throw this.#failure;
  }

  async close(): Promise<void> {
    this.#over.abort();
    await this.#relay;
  }

  #giveUp(): void {
    this.#unwanted.abort(new SvcError('cancelled', 'nobody waits for this agent any more'));
  }
}
