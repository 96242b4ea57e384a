import { startBullmq } from './bullmq.ts';
import type { Kills } from './measure.ts';
import { startOurs } from './ours.ts';
import type { FailoverPeer } from './peer.ts';
import { startRestate } from './restate.ts';
import type { RestatePackages } from './restate-packages.ts';

/** One way to kill workers; `middle`: once, at half the time that the unkilled runs took just before. */
export interface Form {
  readonly kills: Kills | 'middle';
  readonly stepMs: number;
}

export interface Contestant {
  readonly name: string;
  readonly workers: number;
  readonly forms: readonly Form[];
  /** Slow peers run once, whatever the plan. */
  readonly once: boolean;
  start(): Promise<FailoverPeer>;
}

const MIDDLE: Form = { kills: 'middle', stepMs: 50 };
const AT_ONE_SECOND: Form = { kills: { kind: 'once', ms: 1_000 }, stepMs: 50 };
const EACH_TWO_SECONDS: Form = { kills: { kind: 'every', ms: 2_000 }, stepMs: 50 };
/** With steps of 50 ms all runs end before the second kill. */
const EACH_TWO_SECONDS_LONGER: Form = { kills: { kind: 'every', ms: 2_000 }, stepMs: 250 };

const TUNED = { lockDuration: 1_000, lockRenewTime: 300, stalledInterval: 500, maxStalledCount: 5 };

/** The peers to compare; `restate` is null where it could not be installed. */
export function contestants(
  appendfsync: 'always' | 'everysec',
  restate: RestatePackages | null,
  small: boolean,
): Contestant[] {
  const one = { workers: 1, forms: small ? [MIDDLE] : [MIDDLE, AT_ONE_SECOND], once: false };
  const three = {
    workers: 3,
    forms: small ? [EACH_TWO_SECONDS_LONGER] : [MIDDLE, EACH_TWO_SECONDS, EACH_TWO_SECONDS_LONGER],
    once: false,
  };
  const list: Contestant[] = [
    { name: 'svc', ...one, start: () => startOurs(appendfsync, 1) },
    { name: 'BullMQ, tuned', ...one, start: () => startBullmq(appendfsync, 1, TUNED) },
  ];
  if (restate !== null) {
    list.push(
      { name: 'Restate', ...one, start: () => startRestate(restate, {}) },
      {
        name: 'Restate, first retry after 50 ms',
        ...one,
        start: () => startRestate(restate, { RESTATE_DEFAULT_RETRY_POLICY__INITIAL_INTERVAL: '50ms' }),
      },
    );
  }
  list.push({ name: 'svc', ...three, start: () => startOurs(appendfsync, 3) });
  // The quick form only shows that everything runs; long cases are for the full one.
  if (small) return list;
  const tireless = { ...TUNED, maxStalledCount: 1_000 };
  list.push(
    { name: 'BullMQ, tuned', ...three, start: () => startBullmq(appendfsync, 3, tireless) },
    {
      name: 'BullMQ, defaults',
      ...one,
      forms: [MIDDLE],
      once: true,
      start: () => startBullmq(appendfsync, 1, {}),
    },
  );
  return list;
}
