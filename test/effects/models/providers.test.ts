import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { ToolNames } from '../../../effects/models/ai-sdk.ts';
import { excerpt } from '../../../effects/models/ai-sdk-failure.ts';
import { ModelInput } from '../../../effects/models/call.ts';
import { costOf } from '../../../effects/models/model-effect.ts';
import { retryAfterMs, retryDelayMs } from '../../../effects/models/target-tries.ts';
import { detectProvider } from '../../../examples/demo/detect-provider.ts';
import { ModelSelection, ProviderConfig, ProviderConfigs } from '../../../manifests/node/models.ts';
import { systemRandom } from '../../../runtime/random.ts';

describe('detectProvider', () => {
  test('finds no provider without settings', () => {
    assert.equal(detectProvider({}), null);
    assert.equal(detectProvider({ OPENAI_API_KEY: '', OLLAMA_HOST: '' }), null);
  });

  test('makes a provider with alias default from each key, and keeps the key a reference', () => {
    const types = { ANTHROPIC_API_KEY: 'anthropic', OPENAI_API_KEY: 'openai', GOOGLE_GENERATIVE_AI_API_KEY: 'gemini' };
    for (const [name, type] of Object.entries(types)) {
      const provider = detectProvider({ [name]: 'top-secret' });
      assert.equal(provider?.type, type);
      assert.equal(provider?.api_key, `env:${name}`);
      assert.equal(provider?.models[0]?.alias, 'default');
      assert.ok(!JSON.stringify(provider).includes('top-secret'));
    }
  });

  test('reads OLLAMA_HOST in all its notations', () => {
    const ways = {
      'localhost:1234': 'http://localhost:1234',
      '0.0.0.0': 'http://127.0.0.1:11434',
      ':9999': 'http://127.0.0.1:9999',
      'http://gpu:80': 'http://gpu',
      'https://gpu.example.com': 'https://gpu.example.com',
    };
    for (const [host, url] of Object.entries(ways))
      assert.equal(detectProvider({ OLLAMA_HOST: host })?.endpoint, url, host);
    assert.equal(detectProvider({ OLLAMA_HOST: 'x', SVC_MODEL: 'qwen3' })?.models[0]?.model, 'qwen3');
  });
});

describe('settings of models', () => {
  const base = { name: 'p', type: 'openai', models: [{ alias: 'a', model: 'm' }] };

  test('have the defaults that are documented', () => {
    const provider = ProviderConfig.parse(base);
    assert.equal(provider.enabled, true);
    assert.deepEqual(provider.models[0], {
      alias: 'a',
      model: 'm',
      capabilities: [],
      cost_per_1k_tokens: 0,
      max_output_tokens: 8_192,
      temperature: 0.4,
    });
    assert.deepEqual(ModelSelection.parse({}), {
      strategy: 'prefer-local',
      max_retries: 3,
      retry_delay_ms: 1_000,
      llm_overall_timeout_secs: 30,
    });
  });

  test('an error in the settings names the key', () => {
    const wrong: [object, string][] = [
      [{ ...base, endpont: 'http://x' }, 'endpont'],
      [{ ...base, type: 'openai-compatible' }, 'endpoint'],
      [{ ...base, endpoint: 'ftp://x' }, 'endpoint'],
      [{ ...base, endpoint: 'http://user:pass@x' }, 'endpoint'],
      [{ ...base, models: [] }, 'models'],
      [{ ...base, models: [base.models[0], base.models[0]] }, 'models'],
      [{ ...base, models: [{ alias: 'a', model: 'm', cost_per_1k_tokens: -1 }] }, 'cost_per_1k_tokens'],
      [{ ...base, script: 'x.yaml' }, 'script'],
      [{ ...base, type: 'scripted' }, 'script'],
      [{ ...base, headers: { 'bad name': 'x' } }, 'headers'],
    ];
    for (const [config, key] of wrong) {
      const { error } = ProviderConfig.safeParse(config);
      assert.ok(JSON.stringify(error?.issues).includes(key), `${key}: ${JSON.stringify(error?.issues)}`);
    }
    assert.match(
      JSON.stringify(ProviderConfigs.safeParse([base, base]).error?.issues),
      /already used by llm_providers\[0\]/,
    );
  });
});

describe('parts of a model call', () => {
  test('cost is counted by direction, without rounding noise of binary fractions', () => {
    assert.equal(costOf(0.1, 1_000, 2_000), 0.3);
    assert.equal(costOf({ input: 0.003, output: 0.015 }, 1_234, 567), 0.012207);
    assert.equal(costOf(0, 1e9, 1e9), 0);
  });

  test('pauses double, have jitter, and are never shorter than Retry-After', () => {
    const low = { ...systemRandom, fraction: () => 0 };
    const high = { ...systemRandom, fraction: () => 0.999 };
    assert.deepEqual(
      [1, 2, 3].map((n) => retryDelayMs(1_000, n, undefined, low)),
      [500, 1_000, 2_000],
    );
    assert.ok(retryDelayMs(1_000, 20, undefined, high) <= 30_000);
    assert.equal(retryDelayMs(1_000, 1, 7_000, low), 7_000);
  });

  test('Retry-After is read as seconds, milliseconds or a date, and capped', () => {
    assert.equal(retryAfterMs({ 'retry-after': '2' }, 0), 2_000);
    assert.equal(retryAfterMs({ 'retry-after-ms': '150', 'retry-after': '2' }, 0), 150);
    assert.equal(retryAfterMs({ 'retry-after': 'Thu, 01 Jan 1970 00:00:10 GMT' }, 4_000), 6_000);
    assert.equal(retryAfterMs({ 'retry-after': 'Thu, 01 Jan 1970 00:00:10 GMT' }, 60_000), 0);
    assert.equal(retryAfterMs({ 'retry-after': '999999' }, 0), 600_000);
    assert.equal(retryAfterMs({ 'retry-after': 'soon' }, 0), undefined);
    assert.equal(retryAfterMs(undefined, 0), undefined);
  });

  test('an excerpt shows no secret in any common form, and stays short', () => {
    const secret = 'p@ss/w+rd=1';
    const said = `${secret} ${encodeURIComponent(secret)} ${Buffer.from(secret).toString('base64')} sk-abc***def AIzaSyABCDEFGHIJK Bearer abcdefgh`;
    const shown = excerpt(said, [secret]);
    assert.equal(shown, Array(6).fill('[redacted]').join(' '));
    assert.ok(excerpt('x'.repeat(10_000), []).length < 310);
  });

  test('tool names that look alike on the wire stay apart', () => {
    const tool = (name: string): object => ({ name, input_schema: { type: 'object' } });
    const tools = ['fs.read', 'fs_read', 'fs-read'].map(tool);
    const names = new ToolNames(ModelInput.parse({ model: 'm', messages: [{ role: 'user', content: 'x' }], tools }));
    const wire = ['fs.read', 'fs_read', 'fs-read'].map((name) => names.toWire(name));
    assert.equal(new Set(wire).size, 3);
    assert.deepEqual(
      wire.map((name) => names.fromWire(name)),
      ['fs.read', 'fs_read', 'fs-read'],
    );
  });

  test('an idle node has loaded no package of the AI SDK', () => {
    const script = `
      import { registerHooks } from 'node:module';
      const loaded = [];
      registerHooks({ resolve: (name, context, next) => { loaded.push(name); return next(name, context); } });
      await import(new URL(process.argv[1], 'file://' + process.cwd() + '/').href);
      console.log(JSON.stringify(loaded.filter((name) => name === 'ai' || name.startsWith('@ai-sdk/'))));`;
    const cwd = new URL('../../..', import.meta.url);
    const child = spawnSync(
      process.execPath,
      ['--input-type=module', '-e', script, './effects/models/model-effect.ts'],
      { cwd, encoding: 'utf8' },
    );
    assert.equal(child.stdout.trim(), '[]', child.stderr);
  });
});
