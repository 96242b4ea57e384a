import os from 'node:os';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { type SvcError, toSvcError } from '../../runtime/errors.ts';
import { type Random, systemRandom } from '../../runtime/random.ts';
import type { NodeTokens } from '../../security/api.ts';
import { memoryLimitBytes } from './attestation.ts';
import { type CommandHandler, createCommandHandler } from './commands.ts';
import { type Controllers, createControllers } from './controllers.ts';
import { syncConfig } from './managed-config.ts';
import { PeerSession } from './peer-session.ts';
import type { Registration, RegistrationOptions, RegistrationState } from './registration-options.ts';

export type { RegistrationLog } from './managed-config.ts';
export type { Registration, RegistrationOptions, RegistrationState } from './registration-options.ts';

const REFUSED_PAUSE_MS = 60_000;

/** How much of its interval a heartbeat may come early, so that a fleet started at once does not beat at once. */
const BEAT_JITTER = 0.1;

/** How long the node's own part in it may hold up a stop. */
const STOP_GRACE_MS = 1_000;

/**
 * Registers this node with its controllers and keeps it registered (G17): attests, registers,
 * heartbeats, renews the token, acts upon commands. Returns at once; controllers that are down are waited for. Throws
 * `invalid_config` or `invalid_argument` for addresses that are none.
 */
export function startRegistration(options: RegistrationOptions): Registration {
  const loop = new RegistrationLoop(options);
  let stopping: Promise<void> | undefined;
  return {
    state: () => loop.state(),
    heartbeatNow: () => loop.heartbeatNow(),
    async stop(reason = 'graceful_shutdown') {
      stopping ??= loop.stop(reason);
      await stopping;
    },
  };
}

class RegistrationLoop {
  readonly #options: RegistrationOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #ending = new AbortController();
  readonly #pause: Pause;
  readonly #controllers: Controllers;
  readonly #commands: CommandHandler;
  readonly #session: PeerSession;
  readonly #readLoad: () => MachineLoad = createLoadGauge();
  readonly #running: Promise<void>;
  #phase: RegistrationState['phase'] = 'joining';
  #problem: string | null = null;
  #lastHeartbeatAt: number | null = null;

  constructor(options: RegistrationOptions) {
    const { clock = systemClock, random = systemRandom, callTimeoutMs, log } = options;
    this.#options = options;
    this.#clock = clock;
    this.#random = random;
    this.#pause = createPause(clock);
    this.#commands = createCommandHandler(options);
    this.#controllers = createControllers({
      addresses: options.controllers,
      credentials: options.credentials,
      clock,
      ...(callTimeoutMs === undefined ? {} : { callTimeoutMs }),
    });
    this.#session = new PeerSession({
      ...options,
      clock,
      attestant: { nodeId: options.nodeId, role: options.role, key: options.key, joinToken: options.joinToken },
      controllers: this.#controllers,
      signal: this.#ending.signal,
      // A lost sync_config would be missed for good; an operator sees that a drain or shutdown did not happen.
      beatUnanswered: this.#commands.wantConfig,
      renewalFailed: (error) => log.warn({ reason: error.message }, 'the node token could not be renewed yet'),
    });
    this.#running = this.#keepRegistered();
  }

  state(): RegistrationState {
    return {
      phase: this.#phase,
      peerId: this.#session.peerId,
      controller: this.#controllers.first(),
      lastHeartbeatAt: this.#lastHeartbeatAt,
      draining: this.#isDraining(),
      problem: this.#problem,
    };
  }

  heartbeatNow(): void {
    this.#pause.end();
  }

  async stop(reason: string): Promise<void> {
    this.#ending.abort();
    this.#pause.end();
    await Promise.race([this.#running, createPause(this.#clock).wait(STOP_GRACE_MS)]);
    await this.#session.deregister(reason).catch((thrown: unknown) => {
      const line = { reason: toSvcError(thrown).message };
      this.#options.log.warn(line, 'the node stops without having deregistered');
    });
    this.#controllers.close();
    this.#phase = 'stopped';
  }

  async #keepRegistered(): Promise<void> {
    let failures = 0;
    while (!this.#ending.signal.aborted) {
      let waitMs: number;
      try {
        await this.#beat();
        failures = 0;
        await this.#fetchConfig();
        waitMs = this.#options.heartbeatIntervalMs * (1 - BEAT_JITTER * this.#random.fraction());
        waitMs = Math.min(waitMs, this.#session.renewInMs());
      } catch (thrown) {
        if (this.#ending.signal.aborted) return;
        failures += 1;
        waitMs = this.#failed(toSvcError(thrown), failures);
      }
      await this.#pause.wait(waitMs);
    }
  }

  async #beat(): Promise<void> {
    const { log, activeExecutions } = this.#options;
    await this.#session.attested();
    if (await this.#session.registered()) {
      log.info({ controller: this.#controllers.first(), peer: this.#session.peerId }, 'the node is registered');
      // It may have been changed while this node was away.
      this.#commands.wantConfig();
    }
    const draining = this.#isDraining();
    const beat = { ...this.#readLoad(), activeExecutions: activeExecutions(), draining };
    this.#commands.take(await this.#session.beat(beat));
    this.#lastHeartbeatAt = this.#clock.now();
    if (this.#problem !== null) log.info({ controller: this.#controllers.first() }, 'the node is registered again');
    this.#phase = 'registered';
    this.#problem = null;
    // What a command changed is told at once.
    if (this.#isDraining() !== draining) this.heartbeatNow();
  }

  /** Draws the consequences; how long to wait until all is tried again. */
  #failed(error: SvcError, failures: number): number {
    const { log, refusedPauseMs = REFUSED_PAUSE_MS } = this.#options;
    const step = retryDecision(error, { attested: this.#session.hasToken, failures });
    if (step.forgetToken) this.#session.forgetToken();
    if (step.forgetRegistration) this.#session.forgetRegistration();
    this.#phase = PHASES[step.again];
    // The same trouble again is one line, not one a second.
    if (this.#problem !== error.message) {
      if (step.again === 'slowly') log.error(lineOf(error), 'the controllers refuse this node; an operator must help');
      else log.warn(lineOf(error), 'the node is not registered at the moment');
    }
    this.#problem = error.message;
    if (step.again === 'at once') return 0;
    return step.again === 'slowly' ? refusedPauseMs : backoffMs(failures, this.#random);
  }

  /** What fails here is tried again with the next heartbeat, and never keeps a node from heartbeating. */
  async #fetchConfig(): Promise<void> {
    const { applyConfig, log } = this.#options;
    if (!this.#commands.configWanted) return;
    try {
      await syncConfig(() => this.#session.config(), applyConfig, log);
      this.#commands.configSettled();
    } catch (thrown) {
      const error = toSvcError(thrown);
      if (error.code === 'cancelled') return;
      log.warn(lineOf(error), 'configuration of the controllers could not be fetched; the next heartbeat tries again');
    }
  }

  #isDraining(): boolean {
    return this.#commands.draining || this.#options.draining();
  }
}

const PHASES = { 'at once': 'joining', soon: 'unreachable', slowly: 'refused' } as const;

/** Of a bug the cause as well, for whoever mends it. */
const lineOf = (error: SvcError): Readonly<Record<string, unknown>> => ({
  code: error.code,
  reason: error.message,
  ...(error.row.kind === 'bug' ? { err: error.cause } : {}),
});

const BACKOFF_BASE_MS = 250;

const BACKOFF_CAP_MS = 10_000;

/** Full jitter: anything between nothing and a bound that doubles with each failure, up to 10 s. `failures` from 1. */
export function backoffMs(failures: number, random: Random): number {
  return random.fraction() * Math.min(BACKOFF_CAP_MS, BACKOFF_BASE_MS * 2 ** Math.min(failures, 20));
}

/** A wait that can be cut short. */
interface Pause {
  /** Resolves after `durationMs` or with the next `end`; at once when `end` was called since the last wait. */
  wait(durationMs: number): Promise<void>;
  end(): void;
}

function createPause(clock: Clock): Pause {
  let ended = false;
  let finish: (() => void) | null = null;
  return {
    async wait(durationMs) {
      if (!ended) {
        await new Promise<void>((resolve) => {
          const cancel = clock.after(durationMs, resolve);
          finish = () => {
            cancel();
            resolve();
          };
        });
      }
      finish = null;
      ended = false;
    },
    end() {
      ended = true;
      finish?.();
    },
  };
}

/** What a failure means for what a node does next. */
interface RetryDecision {
  readonly forgetToken: boolean;
  readonly forgetRegistration: boolean;
  /** `slowly`: nobody but an operator can help, so it is tried again once a minute. */
  readonly again: 'at once' | 'soon' | 'slowly';
}

/**
 * Reads a refusal. The first lost token or registration is had again at once; the second in a row waits, since then
 * having it again does not help.
 */
export function retryDecision(
  error: SvcError,
  at: { readonly attested: boolean; readonly failures: number },
): RetryDecision {
  const once = at.failures <= 1 ? 'at once' : 'soon';
  switch (error.row.grpc) {
    case 'PERMISSION_DENIED':
      // Another key is pinned to this id, or the registration is another node's: both begin anew.
      return { forgetToken: true, forgetRegistration: true, again: 'slowly' };
    case 'INVALID_ARGUMENT':
      return { forgetToken: false, forgetRegistration: true, again: 'slowly' };
    case 'UNAUTHENTICATED':
      // Without a token it is the join token that is wrong.
      if (!at.attested) return { forgetToken: true, forgetRegistration: false, again: 'slowly' };
      return { forgetToken: true, forgetRegistration: at.failures > 1, again: once };
    case 'FAILED_PRECONDITION':
    case 'NOT_FOUND':
      return { forgetToken: false, forgetRegistration: true, again: at.attested ? once : 'soon' };
    default:
      return { forgetToken: false, forgetRegistration: false, again: 'soon' };
  }
}

/** Load of the machine as a heartbeat tells it, percent from 0 to 100. */
interface MachineLoad {
  readonly cpuPercent: number;
  readonly memoryPercent: number;
}

/** A gauge of the machine: processor time is counted from one reading to the next, the first since this call. */
export function createLoadGauge(): () => MachineLoad {
  let last = processorTimes();
  return () => {
    const now = processorTimes();
    const total = now.total - last.total;
    const busy = now.busy - last.busy;
    // Two readings within one tick of the system's counters: say what is known, nothing.
    if (total > 0) last = now;
    return {
      cpuPercent: total > 0 ? percent(busy / total) : 0,
      memoryPercent: percent(1 - process.availableMemory() / memoryLimitBytes()),
    };
  };
}

function processorTimes(): { readonly busy: number; readonly total: number } {
  let busy = 0;
  let total = 0;
  for (const { times } of os.cpus()) {
    busy += times.user + times.nice + times.sys + times.irq;
    total += times.user + times.nice + times.sys + times.irq + times.idle;
  }
  return { busy, total };
}

const percent = (share: number): number => Math.min(100, Math.max(0, Math.round(share * 1_000) / 10));

const MARGIN_MS = 120_000;

/**
 * The token of a controller, which signs itself one (G20): made when it is needed and again 120 s
 * before it ends. Throws what `NodeTokens.issue` throws.
 */
export function createControllerToken(given: {
  readonly tokens: Pick<NodeTokens, 'issue'>;
  readonly nodeId: string;
  readonly role: 'CONTROLLER' | 'WORKER' | 'HYBRID';
  readonly publicKeyPem: string;
  readonly clock: Clock;
}): () => Promise<string> {
  const { tokens, nodeId, role, publicKeyPem, clock } = given;
  let current: Promise<{ readonly token: string; readonly expiresAt: number }> | null = null;
  let goodUntil = 0;
  return async () => {
    if (current === null || clock.now() >= goodUntil) {
      const asked = tokens.issue({ nodeId, role, publicKeyPem });
      current = asked;
      goodUntil = Number.POSITIVE_INFINITY;
      try {
        goodUntil = (await asked).expiresAt - MARGIN_MS;
      } catch (thrown) {
        if (current === asked) current = null;
        throw thrown;
      }
    }
    return (await current).token;
  };
}
