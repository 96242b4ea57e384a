/**
 * The API for authors of actors, the package's export `svc-runtime/actor`: define kinds of actors and effects, start a
 * runtime on files or on servers, call actors. It loads nothing outside this folder, and the clients of Redis, BullMQ
 * and MongoDB only when the options name those servers.
 */
import type { Address } from './address.ts';
import type { MailboxClient } from './calls/mailbox-client.ts';
import type { ActorDefinition } from './define-actor.ts';
import type { EffectHandler } from './effect.ts';
import { SvcError } from './errors.ts';
import { type Meter, noMeter } from './meter.ts';
import { type OpenStores, openStores, type StoreLocation } from './open-stores.ts';
import { startRuntime as startKernel } from './runtime.ts';
import { type RuntimeSettings, runtimeDefaults } from './runtime-settings.ts';
import { checkDefinition, checkHandler } from './turns/check-definition.ts';

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
  /**
   * Folder of this process, created when missing: the files of the embedded stores; with `redis`, its lock and the note of
   * the format. Required without `stores`.
   */
  readonly dataDir?: string;
  /** Stores of your own in place of those of `dataDir`, `redis` and `mongodb`. You close them after `stop`. */
  readonly stores?: RuntimeStores;
  /** Redis URLs: one server, or the nodes of a cluster. Requires `mongodb`. Default: files in `dataDir`. */
  readonly redis?: readonly string[];
  /** MongoDB URI. Requires `redis`. */
  readonly mongodb?: string;
  /** The kinds of actors that this process serves, each from `defineActor`. */
  readonly actors: readonly ActorDefinition[];
  /** The handlers of the effects that these actors request, each from `defineEffect`. */
  readonly effects?: readonly EffectHandler[];
  /**
   * Name of this process. It survives restarts, and only one live process may use it. Required with `redis`. Default:
   * `local`.
   */
  readonly node?: string;
  /** Changes of the defaults, such as `{ partitions: 16 }`. */
  readonly settings?: Partial<RuntimeSettings>;
  /**
   * Receives faults from which the runtime recovers by itself, and each turn that failed because its handler threw or
   * returned a wrong state. Default: standard error.
   */
  readonly warn?: (message: string, error: unknown) => void;
}

/** A running runtime. It keeps the process alive until `stop`, as a server does. */
export interface ActorRuntime {
  /** Calls, reads and follows actors; it may be used until `stop`. */
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
  checkOptions(options);
  const { actors, effects = [], settings = {}, warn = toStandardError, node = 'local' } = options;
  const { close, ...stores } =
    options.stores === undefined ? await openOwn(options, warn) : { ...options.stores, close: async () => {} };
  try {
    const thrown = new ThrownErrors();
    const meter = warningOfTurns(warn, thrown);
    const runtime = await startKernel({
      ...stores,
      definitions: actors.map((definition) => thrown.keptFrom(definition)),
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

/** Checks what the types of the options say, for authors who write JavaScript. */
function checkOptions({ actors, effects = [], redis, settings = {} }: RuntimeOptions): void {
  if (!Array.isArray(actors)) throw new Error('actors: expected a list of definitions');
  if (!Array.isArray(effects)) throw new Error('effects: expected a list of handlers');
  for (const handler of effects) checkHandler(handler);
  if (redis !== undefined && !Array.isArray(redis)) throw new Error('redis: expected a list of URLs');
  const defaults: Readonly<Record<string, unknown>> = { ...runtimeDefaults };
  for (const [name, value] of Object.entries(settings)) {
    const known = defaults[name];
    if (known === undefined) throw new Error(`settings: there is no setting ${name}`);
    if (value !== undefined && typeof value !== typeof known)
      throw new Error(`settings.${name}: expected a ${typeof known}, got a ${typeof value}`);
  }
}

/** Opens what the options name: embedded files, or servers. */
function openOwn({ dataDir, redis, mongodb, node }: RuntimeOptions, warn: StoreLocation['warn']): Promise<OpenStores> {
  if (dataDir === undefined) throw new Error('dataDir: name a folder (with redis too), or give stores');
  if ((redis === undefined) !== (mongodb === undefined))
    throw new Error('redis and mongodb belong together: name both, or neither');
  if (redis === undefined || mongodb === undefined) return openStores({ dataDir, warn });
  if (node === undefined) throw new Error('node: with redis each process needs its own name');
  return openStores({ dataDir, warn, redis, mongodb });
}

/** The last error of each actor whose handler threw, at most this many. The ledger has only the texts of errors. */
const THROWN_KEPT = 100;

/** Keeps what handlers throw, with the stack, until the failed turn is reported. */
class ThrownErrors {
  readonly #errors = new Map<Address, Error>();

  /** The same definition, whose handlers note what they throw. */
  keptFrom(definition: ActorDefinition): ActorDefinition {
    checkDefinition(definition);
    const on = Object.entries(definition.on).map(([type, handler]): [string, typeof handler] => [
      type,
      (state, message, turn) => {
        try {
          return handler(state, message, turn);
        } catch (error) {
          if (error instanceof Error) this.#note(turn.self, error);
          throw error;
        }
      },
    ]);
    // Its other members stay those of the definition, which may be an instance of a class.
    const kept: ActorDefinition = Object.create(definition, {
      on: { value: Object.fromEntries(on), enumerable: true },
    });
    return kept;
  }

  /** The error of this text that a handler of the actor threw last; otherwise the text. */
  take(address: Address, text: string): Error | string {
    const error = this.#errors.get(address);
    if (error === undefined || !text.includes(error.message)) return text;
    if (text === error.message) return error;
    // The kernel has added what to do; the stack stays that of the handler.
    const explained = new Error(text, { cause: error });
    explained.stack = (error.stack ?? '').replace(error.message, () => text);
    return explained;
  }

  #note(address: Address, error: Error): void {
    this.#errors.delete(address);
    this.#errors.set(address, error);
    const oldest = this.#errors.keys().next();
    if (this.#errors.size > THROWN_KEPT && oldest.done !== true) this.#errors.delete(oldest.value);
  }
}

/** The caller of a failing handler does not get the reason, so the author of the handler gets it. */
const warningOfTurns = (warn: StoreLocation['warn'], thrown: ThrownErrors): Meter => ({
  ...noMeter,
  turnFailed(address, outcome, { error }) {
    warn(
      `${address}: a turn failed${outcome === 'retried' ? ' and is retried' : ', its message is a dead letter'}`,
      thrown.take(address, error),
    );
  },
});

/** Errors of the author's code with their stack; an `SvcError` says what to do, so its text is enough. */
const toStandardError = (message: string, error: unknown): void => {
  const cause = error instanceof SvcError && error.row.kind === 'bug' ? (error.cause ?? error) : error;
  const text = cause instanceof Error && !(cause instanceof SvcError) ? (cause.stack ?? String(cause)) : String(cause);
  process.stderr.write(`${message}${error === undefined ? '' : `: ${text}`}\n`);
};
