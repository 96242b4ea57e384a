import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { AuditExport, type AuditRecord } from '../../manifests/audit/record.ts';
import { type AuditVerdict, verifyAudit } from '../../manifests/audit/verify.ts';
import { deploy, type FinalStatus, finalStatus, start, untilAnswered } from '../kill/calls.ts';
import { type Followed, followExecution } from '../kill/follower.ts';
import type { RecoveryTimes } from '../kill/recovery.ts';
import type { ToolAgent } from './tool-kill-agents.ts';
import type { ToolKillSurroundings } from './tool-kill-surroundings.ts';

/** One execution from its start to its end, as its client saw it. */
export interface ToolRunSeen {
  readonly agent: ToolAgent;
  readonly key: string;
  readonly id: string;
  readonly followed: Followed;
  readonly status: FinalStatus;
  /** Its audit chain, and the result of a verifier that has only the public keys. */
  readonly records: readonly AuditRecord[];
  readonly verdict: AuditVerdict;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  /** Marks that its commands left, in order. */
  readonly marks: readonly string[];
}

const Jwks = z.object({ keys: z.array(z.looseObject({ kty: z.string() })) });
const AGAIN_MS = 20;
const CLOSED_MS = 60_000;

/** A client that starts agents and follows them to their end across restarts of the node. */
export class ToolRuns {
  /** Ids of the running executions. */
  readonly running = new Set<string>();
  readonly #surroundings: ToolKillSurroundings;
  readonly #recovery: RecoveryTimes;
  readonly #signal: AbortSignal;
  readonly #agentIds = new Map<string, string>();

  constructor(surroundings: ToolKillSurroundings, recovery: RecoveryTimes, signal: AbortSignal) {
    this.#surroundings = surroundings;
    this.#recovery = recovery;
    this.#signal = signal;
  }

  async deploy(): Promise<void> {
    const { node, agents } = this.#surroundings;
    for (const agent of agents) this.#agentIds.set(agent.name, await deploy(node, agent, this.#signal));
  }

  async run(agent: ToolAgent): Promise<ToolRunSeen> {
    const { node } = this.#surroundings;
    const key = randomUUID();
    const startedAtMs = Date.now();
    const id = await start(node, this.#agentIds.get(agent.name) ?? '', key, this.#signal);
    this.running.add(id);
    const followed = await followExecution(id, {
      url: () => node.url,
      onEvent: ({ atMs }) => this.#recovery.saw(id, atMs),
      signal: this.#signal,
    });
    this.running.delete(id);
    const endedAtMs = Date.now();
    const marks = await this.#surroundings.journalOf(id);
    const status = await finalStatus(node, id, this.#signal);
    const audit = await this.#audit(id);
    return { agent, key, id, followed, status, ...audit, startedAtMs, endedAtMs, marks };
  }

  /** The chain once it is closed, which may be a moment after the end of its execution. */
  async #audit(id: string): Promise<Pick<ToolRunSeen, 'records' | 'verdict'>> {
    const { node } = this.#surroundings;
    const deadline = performance.now() + CLOSED_MS;
    for (;;) {
      const answer = await untilAnswered(node, `/v1/seal/sessions/${id}/audit`, {}, this.#signal, [404]);
      const { success, data } = AuditExport.safeParse(answer);
      if (success && data.records.at(-1)?.body.kind === 'closed') {
        // Read after the export: a node makes its key when it first signs.
        const keys = await untilAnswered(node, '/.well-known/jwks.json', {}, this.#signal);
        return { records: data.records, verdict: await verifyAudit(answer, Jwks.parse(keys)) };
      }
      if (performance.now() > deadline)
        throw new Error(`the audit chain of ${id} did not close: ${JSON.stringify(answer)}`);
      await pause(AGAIN_MS, undefined, { signal: this.#signal });
    }
  }
}
