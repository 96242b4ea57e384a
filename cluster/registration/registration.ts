import os from 'node:os';
import { type Clock, systemClock } from '../../runtime/clock.ts';
import { type SvcError, toSvcError } from '../../runtime/errors.ts';
import { backoffMs } from '../../runtime/kit/waits.ts';
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

/** Share of its interval by which a heartbeat may be early, so that nodes that start together do not send theirs together. */
const BEAT_JITTER = 0.1;

/** Maximum time for which the node's own part delays a stop. */
const STOP_GRACE_MS = 1_000;

/**
 * Registers this node with its controllers and keeps it registered (G17): it attests, registers, sends heartbeats, renews the
 * token and executes commands. Returns immediately and waits for controllers that are down. Throws `invalid_config` or
 * `invalid_argument` for invalid addresses.
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
    const { clock = systemClock, callTimeoutMs, log } = options;
    this.#options = options;
    this.#clock = clock;
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
      // A lost sync_config would not be repeated. A lost drain or shutdown is visible to the operator.
      beatUnanswered: this.#commands.wantConfig,
      renewalFailed: (error) =>
        log.warn({ reason: error.message }, 'the node token could not be renewed; the next heartbeat tries again'),
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
      this.#options.log.warn(line, 'the node stops and could not deregister; controllers see it as unhealthy');
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
        waitMs = this.#options.heartbeatIntervalMs * (1 - BEAT_JITTER * systemRandom.fraction());
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
      // It may have changed while this node was not registered.
      this.#commands.wantConfig();
    }
    const draining = this.#isDraining();
    const beat = { ...this.#readLoad(), activeExecutions: activeExecutions(), draining };
    this.#commands.take(await this.#session.beat(beat));
    this.#lastHeartbeatAt = this.#clock.now();
    if (this.#problem !== null) log.info({ controller: this.#controllers.first() }, 'the node is registered again');
    this.#phase = 'registered';
    this.#problem = null;
    // Reports a change by a command immediately.
    if (this.#isDraining() !== draining) this.heartbeatNow();
  }

  /** Handles a failure and returns the delay until the next attempt. */
  #failed(error: SvcError, failures: number): number {
    const { log, refusedPauseMs = REFUSED_PAUSE_MS } = this.#options;
    const step = retryDecision(error, { attested: this.#session.hasToken, failures });
    if (step.forgetToken) this.#session.forgetToken();
    if (step.forgetRegistration) this.#session.forgetRegistration();
    this.#phase = PHASES[step.again];
    // The same error again is not logged again.
    if (this.#problem !== error.message) {
      if (step.again === 'slowly')
        log.error(lineOf(error), 'the controllers refuse this node: an operator must correct what the error names');
      else log.warn(lineOf(error), 'the node is not registered; it tries again');
    }
    this.#problem = error.message;
    if (step.again === 'at once') return 0;
    return step.again === 'slowly' ? refusedPauseMs : pauseMs(failures, systemRandom);
  }

  /** Fetches the configuration. A failure is retried with the next heartbeat and does not stop heartbeats. */
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

/** Fields of an error for the log; for a bug with its cause. */
const lineOf = (error: SvcError): Readonly<Record<string, unknown>> => ({
  code: error.code,
  reason: error.message,
  ...(error.row.kind === 'bug' ? { err: error.cause } : {}),
});

const BACKOFF_BASE_MS = 250;

const BACKOFF_CAP_MS = 10_000;

/** Backoff with full jitter: between 0 and a bound that doubles with each failure, up to 10 s. `failures` starts at 1. */
export function pauseMs(failures: number, random: Random): number {
  return random.fraction() * backoffMs(failures, BACKOFF_BASE_MS, BACKOFF_CAP_MS);
}

/** A wait that can be ended early. */
interface Pause {
  /** Resolves after `durationMs` or at the next `end`; immediately when `end` was called since the last wait. */
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

/** How a node continues after a failure. */
interface RetryDecision {
  readonly forgetToken: boolean;
  readonly forgetRegistration: boolean;
  /** `slowly`: only an operator can resolve it, so it is retried once a minute. */
  readonly again: 'at once' | 'soon' | 'slowly';
}

/**
 * Decides how to continue after a refusal. The first lost token or registration is renewed at once; the second in a row waits,
 * since renewing did not help.
 */
export function retryDecision(
  error: SvcError,
  at: { readonly attested: boolean; readonly failures: number },
): RetryDecision {
  const once = at.failures <= 1 ? 'at once' : 'soon';
  switch (error.row.grpc) {
    case 'PERMISSION_DENIED':
      // Another key is pinned to this id, or the registration belongs to another node: both start again.
      return { forgetToken: true, forgetRegistration: true, again: 'slowly' };
    case 'INVALID_ARGUMENT':
      return { forgetToken: false, forgetRegistration: true, again: 'slowly' };
    case 'UNAUTHENTICATED':
      // Without a token, the join token was refused.
      if (!at.attested) return { forgetToken: true, forgetRegistration: false, again: 'slowly' };
      return { forgetToken: true, forgetRegistration: at.failures > 1, again: once };
    case 'FAILED_PRECONDITION':
    case 'NOT_FOUND':
      return { forgetToken: false, forgetRegistration: true, again: at.attested ? once : 'soon' };
    default:
      return { forgetToken: false, forgetRegistration: false, again: 'soon' };
  }
}

/** Load of the machine in a heartbeat, percent from 0 to 100. */
interface MachineLoad {
  readonly cpuPercent: number;
  readonly memoryPercent: number;
}

/**
 * Measures the load of the machine. Processor time is counted since the previous call, for the first call since the gauge was
 * created.
 */
export function createLoadGauge(): () => MachineLoad {
  let last = processorTimes();
  return () => {
    const now = processorTimes();
    const total = now.total - last.total;
    const busy = now.busy - last.busy;
    // Two calls within one tick of the system's counters: report 0.
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
 * The token of a controller, which issues it to itself (G20): issued at the first use and again 120 s before it expires. Throws
 * what `NodeTokens.issue` throws.
 */
export function createControllerToken(given: {
  readonly tokens: Pick<NodeTokens, 'issue'>;
  readonly nodeId: string;
  readonly publicKeyPem: string;
  readonly clock: Clock;
}): () => Promise<string> {
  const { tokens, nodeId, publicKeyPem, clock } = given;
  let current: Promise<{ readonly token: string; readonly expiresAt: number }> | null = null;
  let goodUntil = 0;
  return async () => {
    if (current === null || clock.now() >= goodUntil) {
      const asked = tokens.issue({ nodeId, role: 'CONTROLLER', publicKeyPem });
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
