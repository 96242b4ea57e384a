import { systemClock } from '../../runtime/clock.ts';
import { type SvcError, toSvcError } from '../../runtime/errors.ts';
import { systemRandom } from '../../runtime/random.ts';
import { type CommandDesk, createCommandDesk } from './commands.ts';
import { syncConfig } from './config-sync.ts';
import { createControllers } from './controllers.ts';
import type { Enrolment, EnrolmentOptions, EnrolmentState } from './enrolment-options.ts';
import { createLoadGauge } from './load.ts';
import { nextStep } from './next-step.ts';
import { backoffMs, createPause } from './pause.ts';
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
  const { clock = systemClock, random = systemRandom, log } = options;
  const controllers = createControllers({
    addresses: options.controllers,
    credentials: options.credentials,
    ...(options.callTimeoutMs === undefined ? {} : { callTimeoutMs: options.callTimeoutMs }),
  });
  const ending = new AbortController();
  const pause = createPause(clock);
  const readLoad = createLoadGauge();
  const commands = createCommandDesk(options);
  const session = new PeerSession({
    attestant: { nodeId: options.nodeId, role: options.role, key: options.key, joinToken: options.joinToken },
    controllers,
    grpcAddress: options.grpcAddress,
    capabilities: options.capabilities,
    tokenRefreshMarginMs: options.tokenRefreshMarginMs,
    clock,
    signal: ending.signal,
    // A lost sync_config would be missed for good; an operator sees that a drain or shutdown did not happen.
    beatUnanswered: commands.wantConfig,
    renewalFailed: (error) => log.warn({ reason: error.message }, 'the node token could not be renewed yet'),
  });

  let phase: EnrolmentState['phase'] = 'joining';
  let problem: string | null = null;
  let lastHeartbeatAt: number | null = null;
  const isDraining = (): boolean => commands.draining || options.draining();

  const beat = async (): Promise<void> => {
    await session.attested();
    if (await session.registered()) {
      log.info({ controller: controllers.first(), peer: session.peerId }, 'the node is registered');
      // It may have been changed while this node was away.
      commands.wantConfig();
    }
    const saidDraining = isDraining();
    const load = { ...readLoad(), activeExecutions: options.activeExecutions(), draining: saidDraining };
    commands.take(await session.beat(load));
    lastHeartbeatAt = clock.now();
    if (problem !== null) log.info({ controller: controllers.first() }, 'the node is enrolled again');
    phase = 'enrolled';
    problem = null;
    if (isDraining() !== saidDraining) pause.end();
  };

  const failed = (error: SvcError, failures: number): number => {
    const step = nextStep(error, { attested: session.hasToken, failures });
    if (step.forgetToken) session.forgetToken();
    if (step.forgetRegistration) session.forgetRegistration();
    phase = step.again === 'slowly' ? 'refused' : step.again === 'soon' ? 'unreachable' : 'joining';
    // The same trouble again is one line, not one a second.
    if (problem !== error.message) {
      const line = {
        code: error.code,
        reason: error.message,
        ...(error.row.kind === 'bug' ? { err: error.cause } : {}),
      };
      if (phase === 'refused') log.error(line, 'the controllers refuse this node; an operator must help');
      else log.warn(line, 'the node is not enrolled at the moment');
    }
    problem = error.message;
    if (step.again === 'at once') return 0;
    return step.again === 'slowly' ? (options.refusedPauseMs ?? REFUSED_PAUSE_MS) : backoffMs(failures, random);
  };

  const keepEnrolled = async (): Promise<void> => {
    let failures = 0;
    while (!ending.signal.aborted) {
      try {
        await beat();
        failures = 0;
        await fetchConfig(commands, session, options);
        const nextMs = options.heartbeatIntervalMs * (1 - BEAT_JITTER * random.fraction());
        await pause.wait(Math.min(nextMs, session.renewInMs()));
      } catch (thrown) {
        if (ending.signal.aborted) return;
        failures += 1;
        await pause.wait(failed(toSvcError(thrown), failures));
      }
    }
  };

  const running = keepEnrolled();
  let stopping: Promise<void> | undefined;
  const stop = async (reason: string): Promise<void> => {
    ending.abort();
    pause.end();
    await Promise.race([running, createPause(clock).wait(STOP_GRACE_MS)]);
    await session.deregister(reason).catch((thrown: unknown) => {
      log.warn({ reason: toSvcError(thrown).message }, 'the node stops without having deregistered');
    });
    controllers.close();
    phase = 'stopped';
  };

  return {
    state: () => ({
      phase,
      peerId: session.peerId,
      controller: controllers.first(),
      lastHeartbeatAt,
      draining: isDraining(),
      problem,
    }),
    beatNow: () => pause.end(),
    async stop(reason = 'graceful_shutdown') {
      stopping ??= stop(reason);
      await stopping;
    },
  };
}

/** What fails here is tried again with the next heartbeat, and never keeps a node from heartbeating. */
async function fetchConfig(commands: CommandDesk, session: PeerSession, options: EnrolmentOptions): Promise<void> {
  if (!commands.configWanted) return;
  try {
    await syncConfig(() => session.config(), options.applyConfig, options.log);
    commands.configSettled();
  } catch (thrown) {
    const error = toSvcError(thrown);
    if (error.code === 'cancelled') return;
    const line = { code: error.code, reason: error.message, ...(error.row.kind === 'bug' ? { err: error.cause } : {}) };
    options.log.warn(line, 'configuration of the controllers could not be fetched; the next heartbeat tries again');
  }
}
