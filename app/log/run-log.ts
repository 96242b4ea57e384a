import type { Logger } from 'pino';
import { type Address, type Log, parseAddress } from '../../runtime/address.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { AttemptAbout, EffectEnd, Meter, RunAbout } from '../../runtime/meter.ts';
import { withoutSecrets } from '../../usecases/traces/reader-view.ts';

/** Kinds of actors that are runs. Others, such as sessions of tools, would fill the log. */
const RUNS: ReadonlySet<string> = new Set(['execution', 'workflow']);

const MOST_TEXT = 300;
const GATHER_MS = 200;
const MOST_NAMED = 16;

/**
 * Writes a line for each event of runs on this node: start, retry, failure, end, takeover of partitions. Each names tenant, run
 * and trace, and never an input, an output or a secret. Passes everything on to `inner`, which counts it.
 */
export class RunLog implements Meter {
  readonly #logger: Pick<Logger, 'info' | 'warn'>;
  readonly #clock: Pick<Clock, 'after'>;
  readonly #inner: Meter;
  readonly #leases = new Map<'taken' | 'ended', Log[]>();

  constructor(parts: {
    readonly logger: Pick<Logger, 'info' | 'warn'>;
    readonly clock: Pick<Clock, 'after'>;
    readonly inner: Meter;
  }) {
    this.#logger = parts.logger;
    this.#clock = parts.clock;
    this.#inner = parts.inner;
  }

  delivered(kind: string, outcome: string, waitMs: number, turnMs: number): void {
    this.#inner.delivered(kind, outcome, waitMs, turnMs);
  }

  committed(): void {
    this.#inner.committed();
  }

  lease(change: 'taken' | 'ended', log: Log): void {
    this.#inner.lease(change, log);
    const logs = this.#leases.get(change);
    if (logs !== undefined) return void logs.push(log);
    // A start, a takeover or a drain changes many leases within a moment: they are one line.
    this.#leases.set(change, [log]);
    this.#clock.after(GATHER_MS, () => this.#tellLeases(change));
  }

  #tellLeases(change: 'taken' | 'ended'): void {
    const logs = this.#leases.get(change) ?? [];
    this.#leases.delete(change);
    const fields = { event: `leases_${change}`, count: logs.length, logs: logs.slice(0, MOST_NAMED) };
    this.#logger.info(
      fields,
      change === 'taken' ? 'this node serves more partitions' : 'this node serves fewer partitions',
    );
  }

  effectEnded(kind: string, outcome: EffectEnd, ms: number, about: AttemptAbout): void {
    this.#inner.effectEnded(kind, outcome, ms, about);
    if (outcome !== 'retried' && outcome !== 'failed' && outcome !== 'in_doubt') return;
    const { address, trace, attempt, effectId, error, retryAtMs } = about;
    const next = retryAtMs === null ? {} : { next_try_at: new Date(retryAtMs).toISOString() };
    const of = { ...runOf(address), trace, effect: kind, effect_id: effectId, attempt };
    const fields = { event: `effect_${outcome}`, ...of, ...next, ...errorOf(error) };
    // A node that stops returns its running attempts to the queue: they did not fail.
    if (outcome === 'retried' && error === null)
      this.#logger.info(fields, 'an attempt of an effect was returned to the queue and begins again');
    else this.#logger.warn(fields, TEXTS[outcome]);
  }

  actorStarted(address: Address, trace: string | null): void {
    this.#inner.actorStarted(address, trace);
    if (isRun(address)) this.#logger.info({ event: 'run_started', ...runOf(address), trace }, 'a run started');
  }

  turnFailed(
    address: Address,
    outcome: 'retried' | 'dead-lettered',
    about: { readonly trace: string | null; readonly error: string },
  ): void {
    this.#inner.turnFailed(address, outcome, about);
    const fields = { event: `turn_${outcome}`, ...runOf(address), trace: about.trace, error: short(about.error) };
    this.#logger.warn(
      fields,
      outcome === 'retried' ? 'a turn failed and is retried' : 'a message became a dead letter',
    );
  }

  runEnded(kind: string, status: string, ms: number, about: RunAbout): void {
    this.#inner.runEnded(kind, status, ms, about);
    const { address, name, trace, reason, outcome } = about;
    if (!isRun(address)) return;
    const ended = { event: 'run_ended', ...runOf(address), name, trace, status, reason, duration_ms: ms };
    if (status === 'failed') this.#logger.warn(ended, 'a run failed');
    else if (outcome === 'failed') this.#logger.warn({ ...ended, outcome }, 'a run ended as failed');
    else this.#logger.info(ended, `a run ended: ${status}`);
  }
}

const TEXTS = {
  retried: 'an attempt failed and is tried again',
  failed: 'an effect failed',
  in_doubt: 'it is unknown whether an effect acted',
} as const;

const isRun = (address: Address): boolean => RUNS.has(address.slice(0, address.indexOf('/')));

function runOf(address: Address): { readonly tenant: string; readonly run: string; readonly kind: string } {
  const { kind, tenant, id } = parseAddress(address);
  return { tenant, run: id, kind };
}

const errorOf = (error: AttemptAbout['error']) =>
  error === null ? {} : { code: error.code, error: short(error.message) };

/** Masks possible secrets in the text of an error, which may come from models and tools, and cuts a long one. */
function short(text: string): string {
  const shown = withoutSecrets(text);
  return shown.length > MOST_TEXT ? `${shown.slice(0, MOST_TEXT)}…` : shown;
}
