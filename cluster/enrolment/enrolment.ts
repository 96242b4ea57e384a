import { type Clock, systemClock } from '../../runtime/clock.ts';
import { type SvcError, toSvcError } from '../../runtime/errors.ts';
import { type Random, systemRandom } from '../../runtime/random.ts';
import { type CommandDesk, createCommandDesk } from './commands.ts';
import { syncConfig } from './config-sync.ts';
import { type Controllers, createControllers } from './controllers.ts';
import type { Enrolment, EnrolmentOptions, EnrolmentState } from './enrolment-options.ts';
import { createLoadGauge, type MachineLoad } from './load.ts';
import { nextStep } from './next-step.ts';
import { backoffMs, createPause, type Pause } from './pause.ts';
import { PeerSession } from './peer-session.ts';

export type { Enrolment, EnrolmentLog, EnrolmentOptions, EnrolmentState } from './enrolment-options.ts';

const REFUSED_PAUSE_MS = 60_000;
/** How much of its interval a heartbeat may come early, so that a fleet started at once does not beat at once. */
const BEAT_JITTER = 0.1;
/** How long the node's own part in it may hold up a stop. */
const STOP_GRACE_MS = 1_000;

/**
 * Enrols this node with its controllers and keeps it enrolled (spec 1, attestation sequence): attests, registers,
 * heartbeats, renews the token, acts upon commands. Returns at once; controllers that are down are waited for. Throws
 * `invalid_config` or `invalid_argument` for addresses that are none.
 */
export function startEnrolment(options: EnrolmentOptions): Enrolment {
  const loop = new EnrolmentLoop(options);
  let stopping: Promise<void> | undefined;
  return {
    state: () => loop.state(),
    beatNow: () => loop.beatNow(),
    async stop(reason = 'graceful_shutdown') {
      stopping ??= loop.stop(reason);
      await stopping;
    },
  };
}

class EnrolmentLoop {
  readonly #options: EnrolmentOptions;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #ending = new AbortController();
  readonly #pause: Pause;
  readonly #controllers: Controllers;
  readonly #commands: CommandDesk;
  readonly #session: PeerSession;
  readonly #readLoad: () => MachineLoad = createLoadGauge();
  readonly #running: Promise<void>;
  #phase: EnrolmentState['phase'] = 'joining';
  #problem: string | null = null;
  #lastHeartbeatAt: number | null = null;

  constructor(options: EnrolmentOptions) {
    const { clock = systemClock, random = systemRandom, callTimeoutMs, log } = options;
    this.#options = options;
    this.#clock = clock;
    this.#random = random;
    this.#pause = createPause(clock);
    this.#commands = createCommandDesk(options);
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
    this.#running = this.#keepEnrolled();
  }

  state(): EnrolmentState {
    return {
      phase: this.#phase,
      peerId: this.#session.peerId,
      controller: this.#controllers.first(),
      lastHeartbeatAt: this.#lastHeartbeatAt,
      draining: this.#isDraining(),
      problem: this.#problem,
    };
  }

  beatNow(): void {
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

  async #keepEnrolled(): Promise<void> {
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
    if (this.#problem !== null) log.info({ controller: this.#controllers.first() }, 'the node is enrolled again');
    this.#phase = 'enrolled';
    this.#problem = null;
    // What a command changed is told at once.
    if (this.#isDraining() !== draining) this.beatNow();
  }

  /** Draws the consequences; how long to wait until all is tried again. */
  #failed(error: SvcError, failures: number): number {
    const { log, refusedPauseMs = REFUSED_PAUSE_MS } = this.#options;
    const step = nextStep(error, { attested: this.#session.hasToken, failures });
    if (step.forgetToken) this.#session.forgetToken();
    if (step.forgetRegistration) this.#session.forgetRegistration();
    this.#phase = PHASES[step.again];
    // The same trouble again is one line, not one a second.
    if (this.#problem !== error.message) {
      if (step.again === 'slowly') log.error(lineOf(error), 'the controllers refuse this node; an operator must help');
      else log.warn(lineOf(error), 'the node is not enrolled at the moment');
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
