import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { type Address, addressOf } from '../../../runtime/address.ts';
import { type Cluster, startCluster } from '../../support/cluster/cluster.ts';
import { Faults } from '../../support/cluster/faults.ts';
import { Unanswered } from '../../support/cluster/fleet-client.ts';
import { Nemesis } from '../../support/cluster/nemesis.ts';
import { seeded } from '../../support/faulty-store.ts';
import { TENANT } from '../addresses.ts';
import { checkRegister, type Operation, type RegisterCall } from '../linearizability.ts';
import { committersOf } from '../one-committer.ts';
import { type ScenarioReport, timeLines } from '../report.ts';

export interface RegisterOptions {
  readonly nodes: number;
  readonly registers: number;
  /** Clients of each register, each with one call at a time. */
  readonly clients: number;
  readonly forMs: number;
  /** Share of store calls whose answer is dropped. */
  readonly ambiguity: number;
  readonly leaseTtlMs: number;
  readonly seed: number;
}

const Value = z.number();
const Swapped = z.boolean();
const State = z.object({ value: z.number() });
/** A client without an answer continues after this time; its call may still take effect. */
const GIVE_UP_MS = 3_000;
const TRY_MS = 1_000;

/** Several clients read, write and swap registers while nodes are killed, frozen and cut off: 0 anomalies. */
export async function registerUnderFaults(options: RegisterOptions): Promise<ScenarioReport> {
  const { nodes, seed, ambiguity, leaseTtlMs } = options;
  const kernel = { lease_ttl_ms: leaseTtlMs, lease_renew_ms: Math.floor(leaseTtlMs / 3) };
  const workload = new URL('../workload.ts', import.meta.url);
  const cluster = await startCluster({ nodes, adapters: 2, seed, ambiguity, workload, config: { kernel } });
  try {
    return await cluster.explained(run(cluster, options));
  } finally {
    await cluster.destroy();
  }
}

async function run(cluster: Cluster, options: RegisterOptions): Promise<ScenarioReport> {
  const { registers, clients, forMs, seed, leaseTtlMs } = options;
  await cluster.settled('before the faults');
  const faults = new Faults(cluster);
  // Each fault occurs after one and a half of its mean time at the latest, so a short run has the first of each.
  const every = (meanMs: number): number => Math.min(meanMs, forMs / 2);
  const nemesis = new Nemesis(seed, [
    faults.killNode(every(4_000), 500),
    faults.freezeNode(every(5_000), leaseTtlMs * 1.5),
    faults.cutNode(every(5_000), leaseTtlMs * 1.2),
    faults.killAdapter(9_000),
  ]);
  const until = performance.now() + forMs;
  const histories = await Promise.all(
    Array.from({ length: registers }, async (_, index) => {
      const address = addressOf('register', TENANT, randomUUID());
      const lanes = Array.from({ length: clients }, (_none, client) =>
        new RegisterClient(cluster, address, client, seed + index * 1_000 + client).run(until),
      );
      return { address, operations: (await Promise.all(lanes)).flat() };
    }),
  );
  await nemesis.end();
  await cluster.settled('after the faults');
  const broken = histories.flatMap(({ address, operations }) => anomalyOf(address, operations));
  const seen = await Promise.all(cluster.names.map((name) => cluster.local(name)));
  const locals = seen.filter((local) => local !== null);
  const all = histories.flatMap(({ operations }) => operations);
  const answered = all.flatMap(({ calledAt, answeredAt }) => (answeredAt === null ? [] : [answeredAt - calledAt]));
  const sum = (pick: (local: (typeof locals)[number]) => number): number =>
    locals.reduce((total, local) => total + pick(local), 0);
  return {
    title: `${registers} registers, ${clients} clients each, ${Math.round(forMs / 1_000)} s`,
    seed,
    lines: [
      `faults: ${nemesis.summary()}; answers that the last processes of the nodes dropped: ${sum(({ ambiguous }) => ambiguous)}`,
      `${all.length} calls, ${all.length - answered.length} unanswered; commits refused by the last processes: ${sum(({ fenced }) => fenced)}`,
      ...timeLines('call to answer', answered),
      ...(broken.length === 0 ? ['0 anomalies'] : []),
    ],
    broken: [
      ...broken,
      ...committersOf(locals),
      ...(nemesis.struck.length === 0 ? ['no fault occurred, so the run shows nothing'] : []),
      ...(await cluster.livenessBroken()),
      ...cluster.crashed.map((name) => `${name} ended by itself`),
    ],
  };
}

function anomalyOf(address: Address, operations: readonly Operation[]): string[] {
  const verdict = checkRegister(operations);
  if (verdict.kind === 'linearizable') return [];
  if (verdict.kind === 'undecided') return [`${address}: undecided after ${verdict.looked} configurations`];
  const show = (list: readonly Operation[]): string => list.map((one) => JSON.stringify(one)).join('\n    ');
  return [
    `${address}: an anomaly after\n    ${show(verdict.longest.slice(-30))}\n  none of these calls fits\n    ${show(verdict.next)}`,
  ];
}

/** One client: one call at a time, with values that no other client writes. */
class RegisterClient {
  readonly #cluster: Cluster;
  readonly #address: Address;
  readonly #client: number;
  readonly #random: () => number;
  #writes = 0;
  #lastSeen = 0;

  constructor(cluster: Cluster, address: Address, client: number, seed: number) {
    this.#cluster = cluster;
    this.#address = address;
    this.#client = client;
    this.#random = seeded(seed);
  }

  async run(until: number): Promise<Operation[]> {
    const operations: Operation[] = [];
    while (performance.now() < until) operations.push(await this.#one());
    return operations;
  }

  async #one(): Promise<Operation> {
    const call = this.#choose();
    const calledAt = performance.now();
    const client = this.#client;
    try {
      const answer = await this.#do(call);
      return { client, call, calledAt, answeredAt: performance.now(), answer };
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      return { client, call, calledAt, answeredAt: null, answer: null };
    }
  }

  #choose(): RegisterCall {
    const chance = this.#random();
    if (chance < 0.4) return { kind: 'read' };
    this.#writes += 1;
    const value = this.#writes * 100 + this.#client + 1;
    return chance < 0.7 ? { kind: 'write', value } : { kind: 'swap', from: this.#lastSeen, to: value };
  }

  async #do(call: RegisterCall): Promise<number | boolean | null> {
    const { client } = this.#cluster;
    const patience = { withinMs: GIVE_UP_MS, tryMs: TRY_MS };
    switch (call.kind) {
      case 'read': {
        // Reads in both ways: by a message to the actor, and from its committed state.
        if (this.#random() < 0.3) {
          this.#lastSeen = (await client.state(this.#address, State, patience))?.value ?? 0;
        } else {
          this.#lastSeen = Value.parse(await client.ask(this.#address, 'Read', {}, patience));
        }
        return this.#lastSeen;
      }
      case 'write':
        await client.ask(this.#address, 'Write', { value: call.value }, patience);
        return null;
      case 'swap': {
        const { from, to } = call;
        return Swapped.parse(await client.ask(this.#address, 'Swap', { from, to }, patience));
      }
    }
  }
}
