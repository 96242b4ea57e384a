import { fork } from 'node:child_process';
import { once } from 'node:events';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { openExporter } from '../../effects/otlp/readable-spans.ts';
import { SpanExport } from '../../effects/otlp/span-export.ts';
import { addressOf } from '../../runtime/address.ts';
import { systemClock } from '../../runtime/clock.ts';
import { counter, KEYS, PAYLOAD } from '../counter.ts';
import { startEmbedded } from '../embedded.ts';
import { closedLoop, type Measured, medianOf } from '../load.ts';
import { type Plan, type Section, table, whole } from '../report.ts';

interface Measure {
  readonly asks: Measured;
  /** Of this process, for each ask: on a busy machine it says more than the rate. */
  readonly cpuUs: number;
  readonly exported: number;
  readonly dropped: number;
}

/** Asks with the export of spans to this endpoint, or without one. */
async function measure(plan: Plan, inFlight: number, endpoint: string | null): Promise<Measure> {
  const settings = { serviceName: 'svc', node: 'bench', version: '0', headers: async () => ({}) };
  const spans =
    endpoint === null
      ? null
      : new SpanExport({
          open: async () => openExporter({ ...settings, endpoint }),
          mostWaiting: 4_096,
          clock: systemClock,
          log: { warn() {} },
        });
  const node = await startEmbedded([counter], [], {}, { sink: spans, samples: () => true });
  const addresses = Array.from({ length: KEYS }, (_, key) => addressOf('counter', 'bench', `${key}`));
  const begun = process.cpuUsage();
  const asks = await closedLoop({ inFlight, warmUpMs: plan.warmUpMs, runMs: plan.runMs }, async (index) => {
    const address = addresses[(index * 7_919) % KEYS];
    if (address !== undefined) await node.runtime.client.ask(address, 'Add', { payload: PAYLOAD });
  });
  const { user, system } = process.cpuUsage(begun);
  const { exported = 0, dropped = 0 } = spans?.counts ?? {};
  await node.stop();
  await spans?.close();
  return { asks, cpuUs: (user + system) / asks.calls, exported, dropped };
}

/** Asks on the embedded store with spans exported over OTLP, to a receiver in a process of its own, and without. */
export async function otlp(plan: Plan): Promise<Section> {
  const receiver = fork(join(import.meta.dirname, 'otlp-receiver.ts'));
  const [port] = await once(receiver, 'message');
  const endpoint = `http://127.0.0.1:${port}`;
  const rows: string[][] = [];
  try {
    for (const inFlight of plan.inFlight) {
      const off: Measure[] = [];
      const on: Measure[] = [];
      for (let round = 0; round < plan.repetitions; round += 1) {
        off.push(await measure(plan, inFlight, null));
        on.push(await measure(plan, inFlight, endpoint));
      }
      const without = medianOf(off.map(({ asks }) => asks));
      const withSpans = medianOf(on.map(({ asks }) => asks));
      const seconds = (plan.warmUpMs + plan.runMs) / 1_000;
      const perSecond = (count: 'exported' | 'dropped'): string =>
        whole(on.reduce((sum, one) => sum + one[count], 0) / on.length / seconds);
      for (const [name, one, rounds] of [
        ['off', without, off],
        ['on', withSpans, on],
      ] as const) {
        const cpuUs = rounds.map((round) => round.cpuUs).sort((a, b) => a - b);
        rows.push([
          name,
          `${inFlight}`,
          whole(one.perSecond),
          `${whole(one.low)}–${whole(one.high)}`,
          one.p50Ms.toFixed(2),
          one.p99Ms.toFixed(2),
          (one.perSecond / without.perSecond).toFixed(2),
          (cpuUs[Math.floor(cpuUs.length / 2)] ?? 0).toFixed(1),
          name === 'on' ? perSecond('exported') : '',
          name === 'on' ? perSecond('dropped') : '',
        ]);
      }
    }
  } finally {
    receiver.kill();
  }
  const head = [
    'OTLP',
    'in flight',
    'asks/s',
    'low–high',
    'p50 ms',
    'p99 ms',
    'of off',
    'CPU µs/ask',
    'exported/s',
    'dropped/s',
  ];
  return {
    title: 'Asks on the embedded store with spans exported over OTLP',
    text: `${table(head, rows)}\n\nLoad of the machine at the end: ${loadavg()
      .map((load) => load.toFixed(1))
      .join(', ')}.`,
  };
}
