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
import { openTap } from '../tracing/tap.ts';

const TENANT = 'bench';

const VARIANTS = ['off', 'OTLP', 'tap'] as const;

interface Measure {
  readonly asks: Measured;
  /** Processor time of this process for each ask; on a busy machine it is a better figure than the rate. */
  readonly cpuUs: number;
  /** Spans or deliveries that were sent to the receiver, and those that were not. */
  readonly sent: number;
  readonly dropped: number;
}

const spanExport = (endpoint: string): SpanExport =>
  new SpanExport({
    open: async () =>
      openExporter({ serviceName: 'svc', node: 'bench', version: '0', headers: async () => ({}), endpoint }),
    mostWaiting: 4_096,
    clock: systemClock,
    log: { warn() {} },
  });

async function measure(
  plan: Plan,
  inFlight: number,
  variant: (typeof VARIANTS)[number],
  receiver: string,
): Promise<Measure> {
  const spans = variant === 'OTLP' ? spanExport(receiver) : null;
  const node = await startEmbedded([counter], [], {}, { tracing: { sink: spans, samples: () => true } });
  const tap = variant === 'tap' ? await openTap(node, TENANT, receiver) : null;
  const addresses = Array.from({ length: KEYS }, (_, key) => addressOf('counter', TENANT, `${key}`));
  const begun = process.cpuUsage();
  const asks = await closedLoop({ inFlight, warmUpMs: plan.warmUpMs, runMs: plan.runMs }, async (index) => {
    const address = addresses[(index * 7_919) % KEYS];
    if (address !== undefined) await node.runtime.client.ask(address, 'Add', { payload: PAYLOAD });
  });
  const { user, system } = process.cpuUsage(begun);
  const counts = { sent: spans?.counts.exported ?? 0, dropped: spans?.counts.dropped ?? 0, ...tap?.counts };
  await tap?.close();
  await node.stop();
  await spans?.close();
  return { asks, cpuUs: (user + system) / asks.calls, ...counts };
}

/**
 * Asks on the embedded store, without readers of traces, with spans exported over OTLP, and with a tap that follows all
 * deliveries; the receiver is a process of its own. The three take turns, so that a noisy minute hits all of them.
 */
export async function otlp(plan: Plan): Promise<Section> {
  const process = fork(join(import.meta.dirname, '..', 'tracing', 'receiver.ts'));
  const [port] = await once(process, 'message');
  const receiver = `http://127.0.0.1:${port}`;
  const rows: string[][] = [];
  try {
    for (const inFlight of plan.inFlight) {
      const rounds: Record<(typeof VARIANTS)[number], Measure[]> = { off: [], OTLP: [], tap: [] };
      for (let round = 0; round < plan.repetitions; round += 1) {
        for (const variant of VARIANTS) rounds[variant].push(await measure(plan, inFlight, variant, receiver));
      }
      const off = medianOf(rounds.off.map(({ asks }) => asks));
      const seconds = (plan.warmUpMs + plan.runMs) / 1_000;
      for (const variant of VARIANTS) {
        const measured = rounds[variant];
        const asks = medianOf(measured.map((one) => one.asks));
        const cpuUs = measured.map((one) => one.cpuUs).sort((a, b) => a - b);
        const perSecond = (count: 'sent' | 'dropped'): string =>
          variant === 'off'
            ? ''
            : whole(measured.reduce((sum, one) => sum + one[count], 0) / measured.length / seconds);
        rows.push([
          variant,
          `${inFlight}`,
          whole(asks.perSecond),
          `${whole(asks.low)}–${whole(asks.high)}`,
          asks.p50Ms.toFixed(2),
          asks.p99Ms.toFixed(2),
          (asks.perSecond / off.perSecond).toFixed(2),
          (cpuUs[Math.floor(cpuUs.length / 2)] ?? 0).toFixed(1),
          perSecond('sent'),
          perSecond('dropped'),
        ]);
      }
    }
  } finally {
    process.kill();
  }
  const head = [
    'reader',
    'in flight',
    'asks/s',
    'low–high',
    'p50 ms',
    'p99 ms',
    'of off',
    'CPU µs/ask',
    'sent/s',
    'dropped/s',
  ];
  return {
    title: 'Asks on the embedded store with spans exported over OTLP, and with a tap',
    text: `${table(head, rows)}\n\nLoad of the machine at the end: ${loadavg()
      .map((load) => load.toFixed(1))
      .join(', ')}.`,
  };
}
