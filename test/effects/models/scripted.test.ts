import assert from 'node:assert/strict';
import { utimesSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ModelInput } from '../../../effects/models/call.ts';
import { answerFromScript } from '../../../effects/models/scripted.ts';
import { ProviderConfig } from '../../../manifests/node/models.ts';
import { systemClock } from '../../../runtime/clock.ts';
import { type Ask, ask, failureOf } from './generate.ts';

describe('the scripted provider', () => {
  let folder: string;
  let documented: Ask;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'svc-script-'));
    const page = await readFile(new URL('../../../docs/guides/scripted-provider.md', import.meta.url), 'utf8');
    const example = page.split('```yaml\n').find((block) => block.startsWith('rules:'));
    assert.ok(example !== undefined, 'docs/guides/scripted-provider.md has an example that starts with `rules:`');
    documented = await scripted(example.slice(0, example.indexOf('```')));
  });
  after(() => rm(folder, { recursive: true }));

  let files = 0;
  async function scripted(yaml: string): Promise<Ask> {
    files += 1;
    const script = `script-${files}.yaml`;
    await writeFile(join(folder, script), yaml);
    const models = ['default', 'smart'].map((alias) => ({ alias, model: 'script', cost_per_1k_tokens: 1 }));
    const provider = ProviderConfig.parse({ name: 'demo', type: 'scripted', script, models });
    return { providers: [provider], scriptDir: folder };
  }
  const say = (content: string, more: object = {}): object => ({ messages: [{ role: 'user', content }], ...more });

  test('the example of the documentation answers, and reports that no model was called', async () => {
    const { result, chunks } = await ask(documented);
    assert.equal(result.provider, 'scripted');
    assert.equal(result.text, 'Hello from the script, no model was asked.');
    assert.equal(chunks.join(''), result.text);
    assert.deepEqual(result.usage, { input_tokens: 12, output_tokens: 9, cost: 0.021, estimated: false });
  });

  test('the example of the documentation: a 429 is tried again within the attempt', async () => {
    assert.match((await ask({ ...documented, input: say('flaky JSON', { iteration: 2 }) })).result.text, /^\{"answer"/);
    const error = await failureOf({ ...documented, input: say('flaky'), selection: { max_retries: 0 } });
    assert.equal(error.code, 'model_unavailable');
    assert.match(error.message, /it answered 429: slow down/);
  });

  test('the example of the documentation: a cut stream is a new attempt, which succeeds', async () => {
    const input = say('a broken line');
    const chunks: string[] = [];
    assert.equal((await failureOf({ ...documented, input, chunks })).code, 'model_unavailable');
    assert.deepEqual(chunks, ['The answer ']);
    assert.match((await ask({ ...documented, input, attempt: 2 })).result.text, /^Hello/);
  });

  test('the example of the documentation: tool calls and iterations', async () => {
    const call = await ask({ ...documented, input: { ...say('Please Read the README.md'), model: 'smart' } });
    assert.deepEqual(call.result.tool_calls, [
      { id: 'call_1', name: 'fs.read', arguments: { path: '/workspace/README.md' } },
    ]);
    assert.equal(call.result.finish_reason, 'tool-calls');
    assert.match((await ask({ ...documented, input: say('JSON', { iteration: 1 }) })).result.text, /^Certainly/);
    assert.match((await ask({ ...documented, input: say('JSON', { iteration: 2 }) })).result.text, /^\{/);
    const messages = [
      { role: 'user', content: 'JSON' },
      { role: 'assistant', content: 'Certainly!' },
      { role: 'user', content: 'Only JSON please.' },
    ];
    assert.match((await ask({ ...documented, input: { messages } })).result.text, /^\{/);
  });

  test('the same call gets the same answer however often it is made, in a fresh handler too', async () => {
    const texts = [];
    for (let n = 0; n < 5; n += 1) texts.push((await ask({ ...documented, input: say('JSON') })).result.text);
    assert.equal(new Set(texts).size, 1);
  });

  test('without a matching rule a call is model_failed, and the error shows the input', async () => {
    const error = await failureOf({
      ...(await scripted('rules: [{match: {contains: a}, reply: b}]')),
      input: say('zzz'),
    });
    assert.equal(error.code, 'model_failed');
    assert.match(error.message, /no rule of its script matches model "default" and message "zzz"/);
  });

  test('a broken file is refused with the place and what was expected', async () => {
    const broken: [string, RegExp][] = [
      ['rules: [{reply: {txet: hi}}]', /rules\.0\.reply.*/],
      ['rules: [{match: {regex: "("}, reply: x}]', /rules\.0\.match\.regex.*regular expression/],
      ['rules: []', /rules/],
      ['rules: [{reply: a, reply: b}]', /not YAML/],
      ['a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\nrules: 1', /breaks a rule/],
    ];
    for (const [yaml, expected] of broken) assert.match((await failureOf(await scripted(yaml))).message, expected);
    const missing = ProviderConfig.parse({
      name: 's',
      type: 'scripted',
      script: 'no.yaml',
      models: [{ alias: 'default', model: 's' }],
    });
    assert.match(
      (await failureOf({ providers: [missing], scriptDir: folder })).message,
      /script file no\.yaml cannot be read/,
    );
  });

  test('a pattern that is exponential in a backtracking engine ends at once', async () => {
    const options = await scripted("rules: [{match: {regex: '^(a+)+$'}, reply: x}, {reply: other}]");
    const startedAt = performance.now();
    const { result } = await ask({ ...options, input: say(`${'a'.repeat(50_000)}!`) });
    assert.equal(result.text, 'other');
    assert.ok(performance.now() - startedAt < 15_000);
  });

  test('a changed file is used from the next call on', async () => {
    const options = await scripted('rules: [{reply: old}]');
    assert.equal((await ask(options)).result.text, 'old');
    const path = join(folder, `script-${files}.yaml`);
    await writeFile(path, 'rules: [{reply: new}]');
    await utimes(path, new Date(), new Date(Date.now() + 5_000));
    assert.equal((await ask(options)).result.text, 'new');
  });

  test('concurrent calls: each sees a change of the file that was made before it', async () => {
    const { providers, scriptDir = folder } = await scripted('rules: [{reply: before}]');
    const path = join(folder, `script-${files}.yaml`);
    const source = answerFromScript({ clock: systemClock, scriptDir });
    const [provider] = providers;
    const [model] = provider?.models ?? [];
    assert.ok(provider !== undefined && model !== undefined);
    const input = ModelInput.parse({ model: 'default', ...say('Say hello.') });
    const { signal } = new AbortController();
    const access = { apiKey: undefined, headers: {}, signal };
    const call = { target: { provider, model }, input, ...access, attempt: 1, tryNumber: 1 };
    const said = async (): Promise<string> => {
      let text = '';
      for await (const part of source(call)) if (part.kind === 'text') text += part.text;
      return text;
    };
    for (let round = 0; round < 40; round += 1) {
      const others = [said(), said()];
      // Another number of steps each time: in one of them the file is being read for the others.
      for (let step = 0; step < round; step += 1) await Promise.resolve();
      writeFileSync(path, `rules: [{reply: round ${round}}]`);
      utimesSync(path, new Date(), new Date(Date.now() + round * 1_000));
      assert.equal(await said(), `round ${round}`);
      await Promise.all(others);
    }
  });

  test('a cancel ends a slow script', async () => {
    const options = await scripted('rules: [{reply: {text: never, delay_ms: 60000}}]');
    const cancel = new AbortController();
    const failing = failureOf({ ...options, signal: cancel.signal });
    setImmediate(() => cancel.abort());
    assert.equal((await failing).code, 'cancelled');
  });
});
