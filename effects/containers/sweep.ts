import type { Clock } from '../../runtime/clock.ts';
import { containerName, EFFECT_LABEL, KEEP_LABEL, ownerOf, REALM_LABEL } from './create-options.ts';
import type { ContainerEngine } from './engine.ts';
import type { ContainerOwner } from './settings.ts';
import { type ContainerStarts, removeContainer } from './state.ts';

export interface ContainerSweepOptions {
  readonly engine: ContainerEngine;
  readonly realm: string;
  /** Whether the effect is still open. Once false it never becomes true again. */
  readonly isWanted: (owner: ContainerOwner) => Promise<boolean>;
  readonly starts: ContainerStarts;
  readonly clock: Clock;
  readonly intervalMs?: number;
  readonly warn: (message: string, error: unknown) => void;
}

interface ContainerSweep {
  /** Checks the container of an effect soon, because its result is about to be delivered. */
  soon(owner: ContainerOwner): void;
  /** One pass; returns the number of removed containers. */
  pass(): Promise<number>;
  /** Resolves when all work has ended. */
  stop(): Promise<void>;
}

const INTERVAL_MS = 60_000;
/** First pass after the start of the node, for containers that it left behind before. */
const FIRST_MS = 5_000;
/** Delays of the checks after a result; an effect still open then is left to the next pass. */
const SOON_MS = [250, 1_000, 4_000];

/**
 * Removes containers whose effect is closed: its result was delivered or it was cancelled. Kills running ones. Only
 * containers of this realm are removed; every node of the realm may sweep a shared engine.
 */
export function startContainerSweep(options: ContainerSweepOptions): ContainerSweep {
  const { clock, intervalMs = INTERVAL_MS, warn } = options;
  const stopped = new AbortController();
  const timers = new Set<() => void>();
  const working = new Set<Promise<unknown>>();

  const later = (delayMs: number, work: () => Promise<unknown>): void => {
    if (stopped.signal.aborted) return;
    const cancel = clock.after(delayMs, () => {
      timers.delete(cancel);
      const doing = work()
        .catch((error: unknown) => {
          if (!stopped.signal.aborted) warn('sweeping containers failed', error);
        })
        .finally(() => working.delete(doing));
      working.add(doing);
    });
    timers.add(cancel);
  };
  const check = (owner: ContainerOwner, tries: readonly number[]): void => {
    const [delayMs, ...rest] = tries;
    if (delayMs === undefined) return;
    later(delayMs, async () => {
      if (await options.isWanted(owner)) check(owner, rest);
      else await removeOf(options, owner, containerName(owner.effectId), stopped.signal);
    });
  };
  const round = (delayMs: number): void =>
    later(delayMs, () => sweepContainers(options, stopped.signal).finally(() => round(intervalMs)));
  round(Math.min(FIRST_MS, intervalMs));
  return {
    soon: (owner) => check(owner, SOON_MS),
    pass: () => sweepContainers(options, stopped.signal),
    async stop() {
      stopped.abort();
      for (const cancel of timers) cancel();
      await Promise.allSettled(working);
    },
  };
}

async function sweepContainers(options: ContainerSweepOptions, signal: AbortSignal): Promise<number> {
  const { engine, realm, isWanted, warn } = options;
  const filters = { label: [`${REALM_LABEL}=${realm}`, EFFECT_LABEL] };
  const found = await engine.call(signal, (docker) => docker.listContainers({ all: true, filters }));
  let removed = 0;
  for (const { Id, Labels } of found) {
    const owner = ownerOf(Labels);
    // Checked again because engines interpret filters differently.
    if (owner === null || Labels[REALM_LABEL] !== realm || KEEP_LABEL in Labels) continue;
    try {
      if (await isWanted(owner)) continue;
      await removeOf(options, owner, Id, signal);
      removed += 1;
    } catch (error) {
      if (signal.aborted) throw error;
      warn(`the container of effect ${owner.effectId} could not be swept`, error);
    }
  }
  return removed;
}

async function removeOf(
  { engine, starts }: ContainerSweepOptions,
  owner: ContainerOwner,
  nameOrId: string,
  signal: AbortSignal,
): Promise<void> {
  await removeContainer(engine, nameOrId, signal);
  await starts.forget(owner.tenant, owner.effectId);
}
