import type { Address } from '../../runtime/address.ts';
import type { EffectError, EffectRow } from '../../runtime/effect-ledger.ts';
import { isoTime } from '../traces/reader-view.ts';
import type { AwaitedEffects } from '../waits/execution-wait.ts';
import { type LinkOf, timeText, type WhyLink } from './links.ts';
import type { Reading } from './reading.ts';
import { mailboxLink } from './turn-links.ts';

interface Found {
  readonly id: string;
  readonly kind: string;
  readonly row: EffectRow | undefined;
}

/** Of several effects, the explanation follows the one that says most about the wait. */
const rank = ({ row }: Found): number => {
  if (row === undefined) return 3;
  if (row.status === 'started') return 2;
  return row.attempt === 0 ? 1 : 0;
};

/** Ends the chain at the effect that an actor waits for, or at the cause that delays that effect. */
export async function effectLinks(reading: Reading, address: Address, { ids, what }: AwaitedEffects): Promise<never> {
  const rows = await reading.ask('actors', () => reading.lookups.effects(address, [...ids.keys()]));
  const byId = new Map(rows.map((row) => [row.id, row]));
  const found = [...ids].map(([id, kind]): Found => ({ id, kind, row: byId.get(id) }));
  const [one] = found.sort((a, b) => rank(a) - rank(b));
  if (one === undefined) {
    await mailboxLink(reading, address);
    return reading.end({ kind: 'turn', id: address, until: null, reason: what });
  }
  const link = effectLink(one, what, found.length - 1);
  if (one.row === undefined) {
    reading.add(link);
    await mailboxLink(reading, address);
    return reading.end({ kind: 'turn', id: address, until: null, reason: 'its result is about to be handled' });
  }
  const cause = causeOf(reading, one.row);
  if (cause === undefined) return reading.end(link);
  reading.add(link);
  return reading.end(cause);
}

function effectLink({ id, kind, row }: Found, what: string, others: number): LinkOf<'effect'> {
  const last_error = row?.lastError ?? null;
  const common = { kind: 'effect', id, effect: kind, last_error, others } as const;
  // Its record is removed with its result: the answer came after the state was read, or waits in the mailbox.
  if (row === undefined)
    return {
      ...common,
      status: 'answered',
      attempt: 0,
      node: null,
      until: null,
      reason: `${what}, which has answered`,
    };
  const { attempt } = row;
  if (row.status === 'started') {
    const node = nodeOf(row.runner);
    const after = last_error === null ? '' : ` after ${errorText(last_error)}`;
    const reason = `${what}, attempt ${attempt} on node ${node}${after}`;
    return { ...common, status: 'started', attempt, node, until: null, reason };
  }
  if (attempt === 0)
    return { ...common, status: 'open', attempt, node: null, until: null, reason: `${what}, which no node has begun` };
  const until = isoTime(row.until);
  const failed =
    last_error === null ? `attempt ${attempt} ended` : `attempt ${attempt} failed with ${errorText(last_error)}`;
  const reason = `${what}, whose ${failed}; attempt ${attempt + 1} begins at ${timeText(until)}`;
  return { ...common, status: 'retrying', attempt, node: null, until, reason };
}

/** The cause that delays an effect; undefined when the effect itself is the last cause. */
function causeOf({ lookups }: Reading, row: EffectRow): WhyLink | undefined {
  const { heldBy, fleet } = lookups;
  if (row.status === 'started') {
    const held = heldBy(row.id);
    if (held !== undefined) return { kind: 'target', id: null, until: null, reason: held };
    if (fleet.isLive(row.runner)) return undefined;
    const until = isoTime(row.until);
    const reason = `node ${nodeOf(row.runner)} is gone; another node takes the work over by ${timeText(until)}`;
    return { kind: 'failover', id: nodeOf(row.runner), until, reason };
  }
  if (row.attempt === 0) {
    const reason = 'the nodes already run the maximum of effects';
    return { kind: 'place', id: row.queue, until: null, reason };
  }
  return row.lastError === undefined ? undefined : limitOf(row.lastError, isoTime(row.until));
}

const QUOTAS: ReadonlySet<string> = new Set(['quota_exceeded', 'limit_reached']);

function limitOf({ code, message }: EffectError, until: string): WhyLink | undefined {
  if (code === 'rate_limited')
    return { kind: 'rate_limit', id: null, until, reason: `a rate limit (${withoutStop(message)})` };
  if (QUOTAS.has(code)) return { kind: 'quota', id: null, until, reason: `a quota (${withoutStop(message)})` };
  return undefined;
}

const nodeOf = (runner: string): string => runner.split('/')[0] ?? runner;

const withoutStop = (message: string): string => message.replace(/[.\s]+$/, '');

const errorText = ({ code, message }: EffectError): string => `${code} (${withoutStop(message)})`;
