/**
 * The API for authors of actors, the package's export `svc-runtime/actor`: define kinds of actors and effects, start a
 * runtime on files or on servers, call actors. It loads nothing outside this folder, and the clients of Redis, BullMQ
 * and MongoDB only when the options name those servers.
 */
import type { MailboxClient } from './calls/mailbox-client.ts';
import type { ActorDefinition } from './define-actor.ts';
import type { EffectHandler } from './effect.ts';
import { type Meter, noMeter } from './meter.ts';
import { type OpenStores, openStores, type StoreLocation } from './open-stores.ts';
import { startRuntime as startKernel } from './runtime.ts';
import type { RuntimeSettings } from './runtime-settings.ts';

export { type Address, addressOf } from './address.ts';
export type { ActorHandle } from './calls/actor-handle.ts';
export type { ActorEvent, ActorSnapshot, CallOptions, FollowOptions } from './client.ts';
export {
  type ActorDefinition,
  defineActor,
  type EffectRequest,
  type Immutable,
  message,
  type RetryPolicy,
  type Turn,
} from './define-actor.ts';
export { defineEffect, type EffectContext, type EffectHandler, EffectProgress, EffectResult } from './effect.ts';
export { type ErrorCode, SvcError } from './errors.ts';
export type { Identity } from './identity.ts';
export { type Json, type JsonObject, jsonField } from './json.ts';
export { type OpenStores, openStores, type StoreLocation } from './open-stores.ts';
export type { RuntimeSettings } from './runtime-settings.ts';
export type { MailboxClient };

/** Open adapters of the ports. `svc-runtime/testing/stores` has the contract suites that an adapter must pass. */
export type RuntimeStores = Pick<OpenStores, 'store' | 'documents' | 'blobs' | 'effects'>;

export interface RuntimeOptions {
  /** Folder of the embedded stores. Created when missing. Required without `stores`. */
  readonly dataDir?: string;
  /** Stores of your own in place of those of `dataDir`, `redis` and `mongodb`. You close them after `stop`. */
  readonly stores?: RuntimeStores;
  /** Redis URLs: one server, or the nodes of a cluster. Requires `mongodb`. Default: files in `dataDir`. */
  readonly redis?: readonly string[];
  readonly mongodb?: string;
  readonly actors: readonly ActorDefinition[];
  readonly effects?: readonly EffectHandler[];
  /**
   * Name of this process. It survives restarts, and only one live process may use it. Required with `redis`. Default:
   * `local`.
   */
  readonly node?: string;
  readonly settings?: Partial<RuntimeSettings>;
  /**
   * Receives faults from which the runtime recovers by itself, and each turn that failed because its handler threw or
   * returned a wrong state. Default: standard error.
   */
  readonly warn?: (message: string, error: unknown) => void;
}

/** A running runtime. It keeps the process alive until `stop`, as a server does. */
export interface ActorRuntime {
  readonly client: MailboxClient;
  /** True while the runtime holds leases that it renewed in time and reads their logs. */
  ready(): boolean;
  /** Commits running turns, releases the leases and closes the stores. */
  stop(): Promise<void>;
}

const LONGEST_TIMER_MS = 2 ** 31 - 1;

/**
 * Opens the stores and serves the actors. Throws an `SvcError` when a store cannot be opened, or not be read by this
 * version.
 */
export async function startRuntime(options: RuntimeOptions): Promise<ActorRuntime> {
  const { actors, effects = [], settings = {}, warn = toStandardError, node = 'local' } = options;
  const { close, ...stores } =
    options.stores === undefined ? await openOwn(options, warn) : { ...options.stores, close: async () => {} };
  try {
    const meter = warningOfTurns(warn);
    const runtime = await startKernel({
      ...stores,
      definitions: actors,
      handlers: effects,
      node,
      settings,
      warn,
      meter,
    });
    // Its own timers do not, and files have no open connection: a program that waits for a timer or a retry would end.
    const alive = setInterval(() => {}, LONGEST_TIMER_MS);
    return {
      client: runtime.client,
      ready: () => runtime.ready(),
      async stop() {
        try {
          await runtime.stop();
          await close();
        } finally {
          clearInterval(alive);
        }
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Opens what the options name: embedded files, or servers. */
function openOwn({ dataDir, redis, mongodb, node }: RuntimeOptions, warn: StoreLocation['warn']): Promise<OpenStores> {
  if (dataDir === undefined) throw new Error('dataDir: name a folder, or give stores');
  if ((redis === undefined) !== (mongodb === undefined))
    throw new Error('redis and mongodb belong together: name both, or neither');
  if (redis === undefined || mongodb === undefined) return openStores({ dataDir, warn });
  if (node === undefined) throw new Error('node: with redis each process needs its own name');
  return openStores({ dataDir, warn, redis, mongodb });
}

/** The caller of a failing handler does not get the reason, so the author of the handler gets it. */
const warningOfTurns = (warn: StoreLocation['warn']): Meter => ({
  ...noMeter,
  turnFailed(address, outcome, { error }) {
    warn(
      `${address}: a turn failed${outcome === 'retried' ? ' and is retried' : ', its message is a dead letter'}`,
      error,
    );
  },
});

const toStandardError = (message: string, error: unknown): void => {
  process.stderr.write(`${message}${error === undefined ? '' : `: ${String(error)}`}\n`);
};
