import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { z } from 'zod';
import type { Schemas, Turn } from '../../runtime/define-actor.ts';
import {
  type Address,
  addressOf,
  defineActor,
  defineEffect,
  EffectResult,
  message,
  type RuntimeOptions,
  startRuntime,
} from '../../runtime/index.ts';
import { ActorDriver } from '../../runtime/testing/index.ts';
import { waitUntil } from '../support/wait-until.ts';

const tally = defineActor({
  kind: 'tally',
  version: 1,
  state: z.object({ n: z.number().optional() }),
  initial: () => ({ n: 0 }),
  messages: {
    Go: message(z.object({}), z.number()),
    Take: z.object({ x: z.unknown() }),
    Limit: z.object({ least: z.number().min(0) }),
    Done: EffectResult,
    Pass: z.object({ to: z.string() }),
  },
  events: { went: z.object({ n: z.number() }) },
  on: {
    Go: (state) => state,
    Take: () => ({ n: 1 }),
    Limit: (state) => state,
    Done: (state) => state,
    Pass(state, { to }, turn) {
      const address: Address = JSON.parse(JSON.stringify(to));
      turn.tell(address, 'Take', {});
      return state;
    },
  },
});

/** The kind above with another handler of `Go`, as JavaScript allows it. */
const withGo = (Go: unknown) => Object.assign({ ...tally }, { on: { ...tally.on, Go } });
const driven = (Go: unknown) => new ActorDriver(withGo(Go), 'acme', 'one').send('Go', {});

type AnyTurn = Turn<Schemas, Schemas>;
/** A handler that only calls the turn. */
const calling = (call: (turn: AnyTurn) => void) => (state: unknown, _: unknown, turn: AnyTurn) => {
  call(turn);
  return state;
};
const effect = (change: object) =>
  calling((turn) => {
    turn.effect({ ...{ kind: 'odd', mode: 'once', input: {}, replyAs: 'Done' }, ...change });
  });

/** Mistakes in a handler that the types refuse but JavaScript allows, each with the error of its turn. */
const MISTAKES: readonly (readonly [what: string, Go: unknown, said: RegExp])[] = [
  ['returns nothing', () => undefined, /the handler of Go returned nothing; return the next state/],
  ['returns a promise', () => Promise.reject(new Error('late')), /returned a promise; a turn does not wait/],
  ['returns a wrong state', () => ({ n: 'x' }), /the state that the handler of Go returned .*: n: .*expected number/],
  ['answers wrongly', calling((turn) => turn.reply('x')), /the answer to Go does not match .*expected number/],
  ['emits a wrong event', calling((turn) => turn.emit('went', {})), /payload of event went .*: n: /],
  ['emits an unknown event', calling((turn) => turn.emit('gone', {})), /has no event gone/],
  ['sets a timer for no message', calling((turn) => turn.after('t', 1, 'No', {})), /timer t: .* takes no message No/],
  ['refuses with no code', calling((turn) => turn.refuse(JSON.parse('"odd"'))), /table of errors has no code odd/],
  ['requests an effect in no mode', effect({ mode: 'twice' }), /effect odd: expected mode once or repeatable/],
  [
    'names no message for a result',
    effect({ replyAs: undefined }),
    /the result of effect odd: .* no message undefined/,
  ],
  ['names no message for progress', effect({ progressAs: 'Odd' }), /the progress of effect odd: .* no message Odd/],
];

for (const [what, Go, said] of MISTAKES)
  test(`a handler that ${what} fails its turn with an error that says so`, () => {
    assert.throws(() => driven(Go), said);
  });

test('a turn that sends a message to a text that is no address fails', () => {
  for (const to of ['tally/acme', 'tally/acme/a b', 'tally//x', ''])
    assert.throws(() => new ActorDriver(tally, 'acme', 'one').send('Pass', { to }), /of an address|an address is/);
});

/** Runs on a runtime in a directory of its own. */
async function onRuntime(
  change: Partial<RuntimeOptions>,
  use: (runtime: Awaited<ReturnType<typeof startRuntime>>, warned: readonly string[]) => Promise<void>,
): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'svc-mistakes-'));
  const warned: string[] = [];
  try {
    const runtime = await startRuntime({
      dataDir,
      actors: [tally],
      settings: { partitions: 1, systemPartitions: 1, retry: { maxAttempts: 1, initialDelayMs: 1, maxDelayMs: 1 } },
      warn: (text, error) => warned.push(`${text}: ${error instanceof Error ? error.stack : String(error)}`),
      ...change,
    });
    await use(runtime, warned).finally(() => runtime.stop());
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}

test('a call to a text that is no address is refused and keeps no lists from being written', () =>
  onRuntime({}, async ({ client }, warned) => {
    const wrong: Address = JSON.parse('"tally/acme"');
    await assert.rejects(client.ask(wrong, 'Go', {}), { code: 'invalid_argument' });
    await assert.rejects(client.tell(wrong, 'Take', {}), { code: 'invalid_argument' });
    await client.tell(addressOf('tally', 'acme', 'one'), 'Take', { x: 1 });
    await waitUntil('the turn', async () => (await client.read(addressOf('tally', 'acme', 'one'))) !== null);
    assert.deepEqual(warned, []);
  }));

test('a call whose handler does not reply is refused, and so is one whose payload is not JSON or does not fit', () =>
  onRuntime({}, async ({ client }) => {
    const one = client.actor(tally, 'acme', 'one');
    await assert.rejects(
      one.Go(),
      /tally\.Go has no answer of the declared form: its handler did not call turn\.reply/,
    );
    await assert.rejects(one.Limit({ least: -1 }), { code: 'invalid_argument', message: /^Limit: least: Too small/ });
    await assert.rejects(one.Take({ x: 1n }), {
      code: 'invalid_argument',
      message: /payload of tally\.Take is not JSON/,
    });
  }));

test('an author gets the stack of what a handler threw', () => {
  const failing = withGo(function odd() {
    throw new TypeError('no such thing');
  });
  return onRuntime({ actors: [failing] }, async ({ client }, warned) => {
    await assert.rejects(client.actor(tally, 'acme', 'one').Go(), { code: 'dead_lettered' });
    await waitUntil('the warning', () => warned.length > 0);
    assert.match(warned[0] ?? '', /a turn failed.*: TypeError: no such thing\n\s+at .*author-mistakes\.test\.ts/);
  });
});

test('an author whose handler changes its state in place gets the advice and the stack', () => {
  const failing = withGo(function odd(state: object) {
    return Object.assign(state, { n: 2 });
  });
  return onRuntime({ actors: [failing] }, async ({ client }, warned) => {
    await assert.rejects(client.actor(tally, 'acme', 'one').Go(), { code: 'dead_lettered' });
    await waitUntil('the warning', () => warned.length > 0);
    assert.match(warned[0] ?? '', /return a new one instead: Cannot [^\n]*\n[\s\S]*at .*author-mistakes\.test\.ts/);
  });
});

test('wrong options of a runtime and wrong effects are refused by name', async () => {
  const wrong: readonly (readonly [change: string, said: RegExp])[] = [
    ['{"actors":{}}', /actors: expected a list of definitions/],
    ['{"effects":{}}', /effects: expected a list of handlers/],
    ['{"redis":"redis://127.0.0.1:1"}', /redis: expected a list of URLs/],
    ['{"settings":{"partition":3}}', /settings: there is no setting partition/],
    ['{"settings":{"partitions":"3"}}', /settings\.partitions: expected a number, got a string/],
    ['{"effects":[{"kind":"pay"}]}', /effect kind pay: input: expected a schema of zod; run: expected a function/],
  ];
  for (const [change, said] of wrong)
    await assert.rejects(startRuntime({ dataDir: '/nowhere', actors: [tally], ...JSON.parse(change) }), said);
  assert.throws(
    () => defineEffect(JSON.parse('{"kind":""}')),
    /^Error: a definition of an effect: kind: expected a text/,
  );
});

for (const [dataDir, why] of [
  [process.execPath, 'there is a file of that name (EEXIST)'],
  [join(process.execPath, 'below'), 'a part of the path is a file (ENOTDIR)'],
  ['/proc/svc-data', 'it cannot be created there (ENOENT)'],
] as const) {
  test(`startRuntime says of a data directory: ${why}`, async () => {
    const message = `the data directory ${dataDir}: ${why}; choose another for dataDir`;
    await assert.rejects(startRuntime({ dataDir, actors: [tally] }), { code: 'invalid_config', message });
  });
}
