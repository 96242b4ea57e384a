import { loadavg } from 'node:os';
import { addressOf } from '../../runtime/address.ts';
import type { PayloadEncryption } from '../../runtime/open-stores.ts';
import { TestPayloadKeys } from '../../test/support/payload-keys.ts';
import { counter, KEYS, PAYLOAD } from '../counter.ts';
import { startEmbedded } from '../embedded.ts';
import { closedLoop, type Measured, medianOf } from '../load.ts';
import { type Plan, type Section, table, whole } from '../report.ts';

interface Measure {
  readonly asks: Measured;
  /** Processor time of this process for each ask; on a busy machine it is a better figure than the rate. */
  readonly cpuUs: number;
}

const keysOf = (keys: TestPayloadKeys | null): PayloadEncryption => ({
  open: async () => keys,
  close: async () => {},
  searchFields: () => [],
});

const WAYS = [
  ['without the ports', () => undefined],
  ['off', () => keysOf(null)],
  ['on', () => keysOf(new TestPayloadKeys())],
] as const;

async function measure(plan: Plan, inFlight: number, encryption: PayloadEncryption | undefined): Promise<Measure> {
  const node = await startEmbedded([counter], [], {}, { encryption });
  const addresses = Array.from({ length: KEYS }, (_, key) => addressOf('counter', 'bench', `${key}`));
  const begun = process.cpuUsage();
  const asks = await closedLoop({ inFlight, warmUpMs: plan.warmUpMs, runMs: plan.runMs }, async (index) => {
    const address = addresses[(index * 7_919) % KEYS];
    if (address !== undefined) await node.runtime.client.ask(address, 'Add', { payload: PAYLOAD });
  });
  const { user, system } = process.cpuUsage(begun);
  await node.stop();
  return { asks, cpuUs: (user + system) / asks.calls };
}

const middle = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

/** Asks on the embedded store with every payload encrypted, and without. */
export async function encryption(plan: Plan): Promise<Section> {
  const rows: string[][] = [];
  for (const inFlight of plan.inFlight) {
    const measures = WAYS.map(([name, open]) => ({ name, open, rounds: [] as Measure[] }));
    for (let round = 0; round < plan.repetitions; round += 1) {
      for (const { open, rounds } of measures) rounds.push(await measure(plan, inFlight, open()));
    }
    const [plain] = measures.map(({ rounds }) => medianOf(rounds.map(({ asks }) => asks)));
    for (const { name, rounds } of measures) {
      const asks = medianOf(rounds.map((one) => one.asks));
      rows.push([
        name,
        `${inFlight}`,
        whole(asks.perSecond),
        `${whole(asks.low)}–${whole(asks.high)}`,
        asks.p50Ms.toFixed(2),
        asks.p99Ms.toFixed(2),
        (asks.perSecond / (plain?.perSecond ?? 0)).toFixed(2),
        middle(rounds.map((one) => one.cpuUs)).toFixed(1),
      ]);
    }
  }
  const head = ['encryption', 'in flight', 'asks/s', 'low–high', 'p50 ms', 'p99 ms', 'of the first', 'CPU µs/ask'];
  const load = loadavg().map((one) => one.toFixed(1));
  return {
    title: 'Asks on the embedded store with encrypted payloads',
    text: `${table(head, rows)}\n\nLoad of the machine at the end: ${load.join(', ')}.`,
  };
}
