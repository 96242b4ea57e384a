import assert from 'node:assert/strict';
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { CliNode } from './cli-node.ts';
import { type SvcResult, svc } from './svc-run.ts';

describe('svc key, svc limits, svc secret', () => {
  let at: CliNode;
  before(async () => {
    at = await CliNode.open();
  });
  after(() => at.close());
  const run = (args: readonly string[], input = '', env = {}): Promise<SvcResult> =>
    svc(args, { SVC_URL: at.url, ...env }, input);

  test('a key is printed once, alone on standard output, works as SVC_TOKEN, and ends when it is revoked', async () => {
    const made = await run(['key', 'create', 'ci', '--scope', 'agents:read', '--expires-in', '12h']);
    assert.equal(made.code, 0, made.stderr);
    assert.match(made.stdout, /^svc_[A-Za-z0-9_-]{49}\n$/);
    const id = /API key ([0-9a-f-]{36}), valid until/.exec(made.stderr)?.[1] ?? assert.fail(made.stderr);
    const key = made.stdout.trim();
    assert.equal((await run(['agent', 'list'], '', { SVC_TOKEN: key })).code, 0);
    const beyond = await run(['task', 'list'], '', { SVC_TOKEN: key });
    assert.deepEqual([beyond.code, beyond.stderr], [3, 'svc: The API key lacks scope executions:read.\n']);
    const valid = await run(['key', 'validate'], `${key}\n`);
    assert.match(valid.stdout, new RegExp(`^API key ${id} \\(ci\\), scopes agents:read, valid until `));
    assert.match((await run(['key', 'list'])).stdout, new RegExp(`ci +${id} +active +local-operator +agents:read`));
    assert.equal((await run(['key', 'revoke', id])).stdout, `revoked API key ${id} (ci)\n`);
    const refused = await run(['agent', 'list'], '', { SVC_TOKEN: key });
    assert.equal(refused.code, 3);
    assert.equal((await run(['key', 'validate'], key)).code, 1);
    assert.equal((await run(['key', 'revoke', '00000000-0000-4000-8000-000000000000'])).code, 1);
    assert.equal((await run(['key', 'create', 'x', '--expires-in', 'soon'])).code, 2);
    assert.equal((await run(['key', 'create', 'x', '--scope', 'everything'])).code, 2);
  });

  test('rates are set, listed, shown in usage and taken back', async () => {
    const rates = '{"model_calls": {"hour": 7}, "concurrent_executions": 3}';
    const set = await run(['limits', 'override', 'set', 'acme', 'ada', '--rates', rates]);
    assert.deepEqual([set.code, set.stdout], [0, 'set rates of ada of acme\n']);
    assert.match((await run(['limits', 'override', 'list', 'acme'])).stdout, /acme +ada +\{"model_calls":\{"hour":7\}/);
    const used = await run(['limits', 'usage', '--of', 'acme', '--subject', 'ada', '--tier', 'pro']);
    assert.match(used.stdout, /model_calls +hour +0 +7 /);
    assert.match(used.stdout, /concurrent_executions +- +0 +3 /);
    assert.equal((await run(['limits', 'usage'])).stdout, 'NAME  WINDOW  USED  LIMIT  RESETS_AT\n', 'no limits here');
    assert.equal((await run(['limits', 'override', 'remove', 'acme', 'ada'])).stdout, 'removed rates of ada of acme\n');
    assert.equal((await run(['limits', 'override', 'remove', 'acme', 'ada'])).code, 1);
    assert.equal((await run(['limits', 'override', 'set', 'acme', '--rates', '{"cookies": 1}'])).code, 2);
    assert.equal((await run(['limits', 'usage', '--of', 'acme'])).code, 2);
  });

  test('a secret is created, rotated, shown and deleted, and its value is printed by nothing', async () => {
    const created = await run(['secret', 'create', 'db/password'], 'hunter2\n');
    assert.deepEqual([created.code, created.stdout], [0, 'created secret:db/password, version 1\n']);
    assert.equal((await run(['secret', 'create', 'db/password'], 'x')).code, 4);
    const file = join(at.directory, 'value');
    await writeFile(file, 'hunter3');
    const rotated = await run(['secret', 'rotate', 'db/password', '--value', `@${file}`]);
    assert.equal(rotated.stdout, 'rotated secret:db/password, version 2\n');
    assert.equal((await run(['secret', 'rotate', 'never'], 'x')).code, 1);
    const shown = await run(['secret', 'get', 'db/password', '--output', 'json']);
    assert.deepEqual(JSON.parse(shown.stdout).earlier, [{ version: 1, reference: 'secret:db/password@1' }]);
    const listed = await run(['secret', 'list', '--prefix', 'db/']);
    assert.match(listed.stdout, /db\/password +secret:db\/password +2 +\S+ +local-operator/);
    for (const { stdout, stderr } of [created, rotated, shown, listed]) assert.doesNotMatch(stdout + stderr, /hunter/);
    assert.equal((await run(['secret', 'delete', 'db/password', '--version-number', '1'])).code, 0);
    assert.equal((await run(['secret', 'delete', 'db/password'])).stdout, 'deleted secret db/password\n');
    assert.equal((await run(['secret', 'get', 'db/password'])).code, 1);
    assert.equal((await run(['secret', 'create', '../etc'], 'x')).code, 2);
  });

  test('the key of secrets is shown and rotated, and a key file for a fleet is made', async () => {
    await run(['secret', 'create', 'of/key'], 'hunter2');
    const before = JSON.parse((await run(['secret', 'keys', '--output', 'json'])).stdout);
    assert.deepEqual([before[0].version, before[0].secrets], [1, 1]);
    const rotated = await run(['secret', 'rotate-key']);
    assert.deepEqual(
      rotated.stdout,
      'key version 2 is in use; existing secrets are encrypted with it in small steps\n',
      rotated.stderr,
    );
    assert.match(
      (await run(['secret', 'keys'])).stdout,
      /^VERSION +MADE_AT +SECRETS +PAYLOAD_KEYS\n2 +\S+ +\d+ +\d+\n/,
    );
    const file = join(at.directory, 'keys.json');
    for (const version of [1, 2]) {
      assert.equal((await run(['secret', 'add-key', file])).stdout, `added key version ${version} to ${file}\n`);
    }
    assert.equal((await stat(file)).mode & 0o777, 0o600);
  });

  test('a secret or a key among the arguments is refused and not repeated in the error', async () => {
    const refused = [
      await run(['secret', 'create', 'db/password', '--value', 'hunter4']),
      await run(['secret', 'rotate', 'db/password', '--value', 'hunter4']),
      await run(['key', 'validate', 'svc_hunter4']),
    ];
    for (const { code, stdout, stderr } of refused) {
      assert.equal(code, 2, stderr);
      assert.match(stderr, /expected - for standard input, or @FILE/);
      assert.doesNotMatch(stdout + stderr, /hunter4/);
    }
  });
});
