import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mongoMissing, startMongo } from '../../test/support/ferretdb.ts';
import { startRedis } from '../../test/support/redis.ts';
import { CALLS, type Variant } from '../inner-loop/agent.ts';
import { type LoopAnswer, type LoopQuestion, type LoopSizes, middleOf } from '../inner-loop/measure.ts';
import { type Plan, type Section, table, whole } from '../report.ts';
import { type RoleProcess, startRole } from '../role.ts';

const CALLED: Readonly<Record<Variant, string>> = {
  rounds: 'a round each',
  listing: 'a round each, reading',
  writing: 'a round each, writing',
  'one-turn': 'in one turn',
  long: 'a round each, long',
};
/** Most overhead of a call at p50, one loop at a time, by what its tool does. */
const BARS: Partial<Record<Variant, number>> = { listing: 3, writing: 3.6 };
const AT_ONCE = 16;

type Node = RoleProcess<Exclude<LoopQuestion, { readonly sizes: true }>, LoopAnswer>;
type Store = 'everysec' | 'always' | 'embedded';

const STORES: Readonly<Record<Store, string>> = {
  everysec: 'Redis, appendfsync everysec',
  always: 'Redis, appendfsync always',
  embedded: 'embedded store',
};

/** Ten tool calls of an agent, durable, beside the same calls in a plain loop over the same handlers. */
export async function innerLoop(plan: Plan): Promise<Section> {
  const overheads: string[][] = [];
  const parts: string[][] = [];
  const sizes: string[] = [];
  const missing = mongoMissing();
  if (missing !== false) console.error(`MongoDB’s wire protocol is MISSING, so Redis is omitted: ${missing}`);
  for (const store of missing === false ? (['everysec', 'always', 'embedded'] as const) : (['embedded'] as const)) {
    await withNode(store, async (node, sized) => {
      for (const variant of ['rounds', 'listing', 'writing', 'one-turn', 'long'] as const)
        for (const inFlight of variant === 'rounds' || variant === 'one-turn' ? [1, AT_ONCE] : [1]) {
          const { durable, plain } = await both(node, variant, inFlight, plan);
          overheads.push(overheadRow(store, variant, inFlight, durable, plain));
          if (variant === 'rounds' && inFlight === 1) parts.push(partsRow(store, durable));
        }
      if (store === 'everysec') sizes.push(sizesText(await sized()));
    });
  }
  return { title: 'Inner loop: ten tool calls, durable and plain', text: textOf(overheads, parts, sizes) };
}

function textOf(overheads: string[][], parts: string[][], sizes: readonly string[]): string {
  const head = [
    'store',
    'calls',
    'loops in flight',
    'durable p50 ms',
    'p99',
    'plain p50 ms',
    'p99',
    'overhead p50 ms',
    'p99',
  ];
  return [
    table([...head, 'durable calls/s', 'plain calls/s', 'bar'], overheads),
    table(['store', 'whole round p50 ms', 'tool', 'tool to model', 'model', 'model to tool'], parts),
    ...sizes,
    NOTES,
  ].join('\n\n');
}

const NOTES = `Per tool call. \`a round each\`: the model asks for one call in each of ten rounds, so a call is a model's answer too;
the time is from one call's beginning to the next one's. \`in one turn\`: from the model's answer to its next question, by ten. Five
calls write a file of a thousand characters, five read one; of ten thousand where it says long. Where it says reading all list a folder, where it says
writing all write a file: these are of mode \`once\`. Durable: the execution's actor, effect queue and commits in one
node process, documents over MongoDB's wire protocol (FerretDB, on this machine too). Plain: the same scripted provider, policy,
grant and handlers called one after the other in the same process, nothing kept. Overhead p99: the durable p99 less the plain p50.
Calls/s count whole executions: start, grant and end included.`;

async function withNode(
  store: Store,
  work: (node: Node, sized: () => Promise<LoopSizes>) => Promise<void>,
): Promise<void> {
  await using opened = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), 'svc-bench-'));
  opened.defer(() => rm(directory, { recursive: true, force: true }));
  const options: Record<string, string> = { directory };
  if (store !== 'embedded') {
    const redis = await startRedis({ appendfsync: store });
    opened.defer(() => redis.stop());
    const mongo = await startMongo();
    opened.defer(() => mongo.stop());
    Object.assign(options, { url: redis.url, uri: mongo.uri });
  }
  const node: RoleProcess<object, unknown> = await startRole('inner-loop-node', options);
  opened.defer(() => node.stop());
  // The role declares the type of its answer; both sides are in this folder.
  await work(node as Node, async () => (await node.ask({ sizes: true })) as LoopSizes);
}

/** Both loops take turns; all rounds of a loop are one sample, and its rate is the median's. */
async function both(node: Node, variant: Variant, inFlight: number, { repetitions, warmUpMs, runMs }: Plan) {
  const rounds: Record<'durable' | 'plain', LoopAnswer[]> = { durable: [], plain: [] };
  for (let round = 0; round < repetitions; round += 1) {
    for (const way of ['durable', 'plain'] as const) {
      const share = way === 'plain' ? 4 : 2;
      const plan = { inFlight, warmUpMs: round === 0 ? warmUpMs / share : 100, runMs: runMs / share };
      rounds[way].push(await node.ask({ way, variant, plan }));
    }
  }
  return { durable: merged(rounds.durable), plain: merged(rounds.plain) };
}

function merged(answers: readonly LoopAnswer[]): LoopAnswer {
  const all = (pick: (answer: LoopAnswer) => readonly number[]): number[] =>
    answers.flatMap(pick).sort((a, b) => a - b);
  const byRate = answers.map(({ measured }) => measured).sort((a, b) => a.perSecond - b.perSecond);
  const measured = byRate[byRate.length >> 1];
  if (measured === undefined) throw new Error('nothing was measured');
  return {
    ...{ measured, calls: all(({ calls }) => calls), tools: all(({ tools }) => tools) },
    ...{
      models: all(({ models }) => models),
      toModel: all(({ toModel }) => toModel),
      toTool: all(({ toTool }) => toTool),
    },
  };
}

function overheadRow(
  store: Store,
  variant: Variant,
  inFlight: number,
  durable: LoopAnswer,
  plain: LoopAnswer,
): string[] {
  const overheadMs = middleOf(durable.calls) - middleOf(plain.calls);
  const bar = BARS[variant];
  return [
    ...[STORES[store], CALLED[variant], `${inFlight}`],
    ...[ms(middleOf(durable.calls)), ms(middleOf(durable.calls, 0.99))],
    ...[ms(middleOf(plain.calls)), ms(middleOf(plain.calls, 0.99))],
    ...[ms(overheadMs), ms(middleOf(durable.calls, 0.99) - middleOf(plain.calls))],
    ...[durable, plain].map(({ measured }) => whole(measured.perSecond * CALLS)),
    bar === undefined ? '' : `≤ ${bar}: ${overheadMs <= bar ? 'reached' : '**missed**'}`,
  ];
}

function partsRow(store: Store, { calls, tools, toModel, models, toTool }: LoopAnswer): string[] {
  return [STORES[store], ...[calls, tools, toModel, models, toTool].map((times) => ms(middleOf(times)))];
}

function sizesText({ commits, grant, models, tools }: LoopSizes): string {
  const parts = Object.entries(commits.parts).filter(([, chars]) => chars > CALLS * 100);
  const named = parts.map(([part, chars]) => `${part} ${whole(chars / 1_000)}`).join(', ');
  return (
    `One execution of ten rounds makes ${commits.commits} commits, in thousands of characters: ${named}; the largest ` +
    `${whole(commits.largest / 1_000)}. The grant has ${whole(grant / 1_000)}; inputs of the model ` +
    `${whole((models[0] ?? 0) / 1_000)} to ${whole((models.at(-1) ?? 0) / 1_000)}, of tools ${whole((tools[0] ?? 0) / 1_000)}.`
  );
}

const ms = (value: number): string => value.toFixed(2);
