import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { ProviderConfig } from '../../../manifests/node/models.ts';
import { type ModelServer, startModelServer } from '../../support/model-server.ts';
import { type Ask, ask, failureOf, providerAt } from './generate.ts';

const DOWN = { status: 503, body: '' };

describe('aliases, retries and fallbacks', () => {
  let first: ModelServer;
  let second: ModelServer;
  before(async () => {
    first = await startModelServer();
    second = await startModelServer();
  });
  after(async () => {
    await first.stop();
    await second.stop();
  });

  const model = (alias: string, more: object = {}) => ({ alias, model: `${alias}-model`, ...more });
  const two = (a: object[], b: object[]): ProviderConfig[] => [
    providerAt(first, 'openai-compatible', { name: 'a', models: a }),
    providerAt(second, 'anthropic', { name: 'b', models: b }),
  ];

  test('an unknown alias is not_found and names the known ones', async () => {
    const error = await failureOf({ providers: two([model('fast')], [model('smart')]), input: { model: 'clever' } });
    assert.equal(error.code, 'not_found');
    assert.match(error.message, /"clever"; known: fast, smart/);
    const none = await failureOf({ providers: [] });
    assert.match(none.message, /no model provider is configured/);
  });

  test('default is the first model of the default provider unless a model is called default', async () => {
    second.script({ chunks: ['b'] });
    const selection = { default_provider: 'b' };
    const { result } = await ask({ providers: two([model('x')], [model('y'), model('z')]), selection });
    assert.deepEqual([result.provider, result.model], ['b', 'y-model']);
    first.script({ chunks: ['a'] });
    const named = await ask({ providers: two([model('x'), model('default')], [model('y')]), selection });
    assert.equal(named.result.model, 'default-model');
  });

  test('a disabled provider is never called', async () => {
    const [a, b] = two([model('m')], [model('m')]);
    assert.ok(a !== undefined && b !== undefined);
    second.script({ chunks: ['b'] });
    const { result } = await ask({ providers: [{ ...a, enabled: false }, b], input: { model: 'm' } });
    assert.equal(result.provider, 'b');
  });

  test('the fallback alias answers after the retries of the first alias are used up', async () => {
    first.script(DOWN);
    second.script({ chunks: ['from b'] });
    const providers = two([model('main', { fallback_alias: 'spare' })], [model('spare')]);
    const { result, chunks } = await ask({ providers, input: { model: 'main' }, selection: { max_retries: 2 } });
    assert.equal(first.calls.length, 3);
    assert.deepEqual([result.provider, result.text, chunks.join('')], ['b', 'from b', 'from b']);
  });

  test('the fallback provider answers last, with its own model', async () => {
    first.script(DOWN);
    second.script({ chunks: ['from b'] });
    const selection = { max_retries: 0, fallback_provider: 'b' };
    const { result } = await ask({
      providers: two([model('main')], [model('other')]),
      input: { model: 'main' },
      selection,
    });
    assert.equal(result.model, 'other-model');
  });

  test('after the timeout of a silent provider the fallback answers', async () => {
    first.script({ silent: true });
    second.script({ chunks: ['from b'] });
    const selection = { llm_overall_timeout_secs: 1, fallback_provider: 'b' };
    const { result } = await ask({
      providers: two([model('main')], [model('b')]),
      input: { model: 'main' },
      selection,
    });
    assert.equal(result.provider, 'b');
  });

  test('wrong credentials are not hidden by a fallback', async () => {
    first.script({ status: 401, body: '{}' });
    second.script({ chunks: ['from b'] });
    const selection = { fallback_provider: 'b' };
    const options: Ask = { providers: two([model('main')], [model('b')]), input: { model: 'main' }, selection };
    assert.equal((await failureOf(options)).code, 'model_refused');
    assert.equal(second.calls.length, 0);
  });

  test('when all providers fail the error lists every attempt', async () => {
    first.script(DOWN);
    second.script({ status: 529, body: '' });
    const selection = { max_retries: 0, fallback_provider: 'b' };
    const error = await failureOf({
      providers: two([model('main')], [model('b')]),
      input: { model: 'main' },
      selection,
    });
    assert.equal(error.code, 'model_unavailable');
    assert.match(error.message, /Provider "a".*answered 503.*; then Provider "b".*answered 529/);
  });

  test('a model whose streams always break hands over to its fallback in a later attempt', async () => {
    first.script({ chunks: ['half of', ' it'], cutAfter: 1, delayMs: 20 });
    second.script({ chunks: ['whole'] });
    const selection = { fallback_provider: 'b' };
    const options = { providers: two([model('main')], [model('b')]), input: { model: 'main' }, selection };
    for (const attempt of [1, 2]) {
      assert.equal((await failureOf({ ...options, attempt })).code, 'model_unavailable');
    }
    const { result, chunks } = await ask({ ...options, attempt: 3 });
    assert.deepEqual([result.provider, chunks.join('')], ['b', 'whole']);
    second.script(DOWN);
    first.script({ chunks: ['mended'] });
    assert.equal((await ask({ ...options, attempt: 4 })).result.text, 'mended');
  });

  test('the strategy orders providers that serve the same alias, the default provider first', async () => {
    first.script({ chunks: ['a'] });
    second.script({ chunks: ['b'] });
    const providers = two(
      [model('m', { cost_per_1k_tokens: 3 })],
      [model('m', { cost_per_1k_tokens: { input: 1, output: 2 } })],
    );
    const who = async (selection: object): Promise<string> =>
      (await ask({ providers, selection, input: { model: 'm' } })).result.provider;
    assert.equal(await who({ strategy: 'cost-optimized' }), 'b');
    assert.equal(await who({ strategy: 'prefer-local' }), 'a');
    assert.equal(await who({ strategy: 'cost-optimized', default_provider: 'a' }), 'a');
  });

  test('a configuration that names an unknown alias or provider is refused at start', async () => {
    const broken = { providers: two([model('m', { fallback_alias: 'nobody' })], [model('n')]) };
    assert.match((await failureOf(broken)).message, /fallback_alias: no model has the alias "nobody"/);
    const selection = { fallback_provider: 'ghost' };
    const error = await failureOf({ providers: two([model('m')], [model('n')]), selection });
    assert.equal(error.code, 'invalid_config');
    assert.match(error.message, /no provider is called "ghost"/);
  });

  test('fallback aliases in a circle end', async () => {
    first.script(DOWN);
    const models = [model('p', { fallback_alias: 'q' }), model('q', { fallback_alias: 'p' })];
    const options: Ask = { providers: two(models, [model('z')]), input: { model: 'p' }, selection: { max_retries: 0 } };
    assert.equal((await failureOf(options)).code, 'model_unavailable');
    assert.equal(first.calls.length, 2);
  });
});
