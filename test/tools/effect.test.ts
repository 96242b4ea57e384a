import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { STORED_ABOVE_BYTES } from '../../manifests/tool/call.ts';
import { HandlerWaits } from '../../runtime/effect.ts';
import { beforeActing, SvcError } from '../../runtime/errors.ts';
import { domainProblem } from '../../security/policy/policy.ts';
import { fsDelete, fsEdit, fsRead } from '../../tools/files/contracts.ts';
import { defineTool } from '../../tools/tool.ts';
import { webTools } from '../../tools/web/tools.ts';
import { serve, webOver } from '../effects/web/page-server.ts';
import { TENANT, type ToolsUnderTest, toolsUnderTest } from './granted-tools.ts';

describe('a call of a tool', () => {
  let bench: ToolsUnderTest;
  before(async () => {
    bench = await toolsUnderTest();
  });
  after(async () => bench[Symbol.asyncDispose]());

  test('that is not what was offered is not run', async () => {
    const outcome = await bench.call('fs.write', { path: 'a', content: 'x' }, { schemaHash: '0'.repeat(64) });
    assert.deepEqual([outcome.is_error, outcome.error?.code, outcome.error?.class], [true, 'ToolChanged', 'policy']);
    assert.match(outcome.error?.message ?? '', /not available.*do not try it again/);
    assert.equal((await bench.call('fs.read', { path: 'a' })).error?.code, 'NOT_FOUND');
  });

  test('that this node does not know is a result', async () => {
    assert.equal((await bench.call('everything.echo', {}, { server: 'everything' })).error?.code, 'ToolNotAvailable');
  });

  test('checks its arguments again', async () => {
    const { error } = await bench.call('fs.read', { path: 1 });
    assert.deepEqual([error?.code, error?.message], ['InvalidArguments', 'fs.read: path: expected text']);
  });

  test('over its rate limit is refused, counted for the execution alone', async () => {
    const limits = { rate_limits: [{ key: 'ctx:fs.*', calls: 2, per_seconds: 86_400 }] };
    await bench.text('fs.list', {}, { limits });
    await bench.text('fs.list', {}, { limits });
    const { error } = await bench.call('fs.list', {}, { limits });
    assert.deepEqual([error?.code, error?.class], ['RateLimitExceeded', 'policy']);
    const other = { limits, subject: { execution_id: '22222222-2222-4222-8222-222222222222' } };
    await bench.text('fs.list', {}, other);
  });

  test('that waits is counted once: it was admitted before its wait', async () => {
    const waits = defineTool(fsRead, async (_input, call) => ({ text: String(call.waitedFor(async () => true)) }));
    await using waiting = await toolsUnderTest({ effect: { tools: [waits] } });
    const limits = { rate_limits: [{ key: 'ctx:fs.read', calls: 1, per_seconds: 86_400 }] };
    await assert.rejects(waiting.call('fs.read', { path: 'a' }, { limits }), HandlerWaits);
    const resumed = { resumed: { startedAtMs: Date.now() - 60_000 }, waitedFor: () => true };
    const outcome = await waiting.call('fs.read', { path: 'a' }, { limits, context: resumed });
    assert.deepEqual(outcome.content, [{ type: 'text', text: 'true' }]);
    assert.ok(outcome.duration_ms >= 60_000, 'its wait is part of its time');
  });

  test('over any of several rate limits is refused, and takes from none of them then', async () => {
    const bound = (key: string, calls: number) => ({ key, calls, per_seconds: 86_400 });
    const both = { limits: { rate_limits: [bound('many', 3), bound('few', 1)] } };
    await bench.text('fs.list', {}, both);
    assert.match((await bench.call('fs.list', {}, both)).error?.message ?? '', /at most 1 call in 86400 s/);
    const many = { limits: { rate_limits: [bound('many', 3)] } };
    await bench.text('fs.list', {}, many);
    await bench.text('fs.list', {}, many);
    assert.equal((await bench.call('fs.list', {}, many)).error?.code, 'RateLimitExceeded');
  });

  test('over the tier’s limit is refused; a store that is down fails the effect', async () => {
    const refusing = (error: SvcError) => ({ take: async () => Promise.reject(error) });
    const limited = new SvcError('rate_limited', 'tool:fs.list: 10 a minute', { retryAfterMs: 1_500 });
    await using tier = await toolsUnderTest({ effect: { tierLimits: refusing(limited) } });
    const { error } = await tier.call('fs.list', {});
    assert.equal(error?.code, 'RateLimitExceeded');
    assert.match(error?.message ?? '', /in 2 s/);
    await using down = await toolsUnderTest({ effect: { tierLimits: refusing(new SvcError('unavailable')) } });
    await assert.rejects(down.call('fs.list', {}), { code: 'unavailable' });
  });

  test('that is cut off while it runs is retried only where it may be repeated', async () => {
    const broken = async (): Promise<never> => Promise.reject(new SvcError('unavailable', 'the store is down'));
    const tools = [defineTool(fsRead, broken), defineTool(fsDelete, broken)];
    await using breaking = await toolsUnderTest({ effect: { tools } });
    await assert.rejects(breaking.call('fs.read', { path: 'a' }), { code: 'unavailable' });
    const { error } = await breaking.call('fs.delete', { path: 'a' });
    assert.deepEqual([error?.code, error?.class], ['ToolFailed', 'recoverable']);
    assert.match(error?.message ?? '', /may have been executed/);
  });

  test('that could not begin because a store was down is tried again, also where it may not be repeated', async () => {
    const away = new SvcError('unavailable', 'the store did not answer', { store: 'documents' });
    const looking = async (): Promise<never> => beforeActing(Promise.reject(away));
    const acting = async (): Promise<never> => Promise.reject(away);
    const tools = [defineTool(fsDelete, looking), defineTool(fsEdit, acting)];
    await using breaking = await toolsUnderTest({ effect: { tools } });
    await assert.rejects(breaking.call('fs.delete', { path: 'a' }), { code: 'unavailable', notBegun: true });
    const edit = { path: 'a', target_content: 'x', replacement_content: 'y' };
    assert.match((await breaking.call('fs.edit', edit)).error?.message ?? '', /may have been executed/);
  });

  test('that is cancelled fails with the signal’s reason', async () => {
    const reason = new SvcError('cancelled', 'enough');
    await assert.rejects(bench.call('fs.list', {}, { signal: AbortSignal.abort(reason) }), reason);
  });

  test('answers at most its limit, and the whole of a large answer is stored separately', async () => {
    const content = 'é'.repeat(STORED_ABOVE_BYTES);
    await bench.text('fs.write', { path: 'large', content });
    const { error } = await bench.call('fs.read', { path: 'large' }, { limits: { max_response_bytes: 1_000 } });
    assert.deepEqual([error?.code, error?.class], ['OutputSizeLimitExceeded', 'recoverable']);
    const outcome = await bench.call('fs.read', { path: 'large' });
    assert.equal(outcome.is_error, false);
    const head = String(outcome.content[0]?.text);
    assert.ok(content.startsWith(head) && Buffer.byteLength(head) <= STORED_ABOVE_BYTES && head.length > 1_000);
    assert.ok(outcome.stored !== undefined);
    const whole: unknown = JSON.parse(Buffer.from(await bench.blobs.get(TENANT, outcome.stored.ref)).toString());
    assert.deepEqual(whole, { content: [{ type: 'text', text: content }] });
    const small = 'x'.repeat(1_000);
    await bench.text('fs.write', { path: 'small', content: small });
    assert.equal((await bench.call('fs.read', { path: 'small' })).stored, undefined);
  });
});

describe('cmd.run', () => {
  let bench: ToolsUnderTest;
  before(async () => {
    bench = await toolsUnderTest();
  });
  after(async () => bench[Symbol.asyncDispose]());
  const sh = (script: string, limits: object = {}) =>
    bench.call(
      'cmd.run',
      { command: 'sh', args: ['-c', script] },
      {
        limits: {
          command: { timeout_secs: 10, max_output_bytes: 100_000, env_denylist: [], max_concurrent: 1, ...limits },
        },
      },
    );

  test('answers stdout, stderr and exit_code; another code than 0 is no error', async () => {
    const { is_error, structured, content } = await sh('echo out; echo err >&2; exit 3');
    assert.equal(is_error, false);
    assert.deepEqual(structured, { stdout: 'out\n', stderr: 'err\n', exit_code: 3 });
    assert.deepEqual(JSON.parse(String(content[0]?.text)), structured);
  });

  test('works on the files that fs.* see', async () => {
    await bench.text('fs.write', { path: 'in.txt', content: 'from a tool' });
    assert.equal((await sh('cat in.txt; echo made > out.txt')).structured?.stdout, 'from a tool');
    assert.equal(await bench.text('fs.read', { path: 'out.txt' }), 'made\n');
  });

  test('over its ceilings is an error with the code of the ceiling', async () => {
    const slow = await sh('echo begun; sleep 30', { timeout_secs: 0.5 });
    assert.equal(slow.error?.code, 'ExecTimeoutCeilingExceeded');
    const loud = await sh('while true; do echo 0123456789; done', { max_output_bytes: 2_000 });
    assert.equal(loud.error?.code, 'OutputSizeLimitExceeded');
  });

  test('that does not exist, or that this caller may not run, ends with an error that says so', async () => {
    assert.equal((await bench.call('cmd.run', { command: 'no-such-program-here' })).error?.code, 'CommandNotFound');
    const { error } = await bench.call('cmd.run', { command: 'ls' }, { subject: { execution_id: null } });
    assert.deepEqual([error?.code, error?.class], ['ToolNotAllowed', 'policy']);
  });

  test('of an agent in a container never runs on the host, even where its container is not known', async () => {
    const lost = { subject: { isolation: 'docker' as const } };
    assert.equal((await bench.call('cmd.run', { command: 'ls' }, lost)).error?.code, 'ToolNotAvailable');
  });
});

describe('web.*', () => {
  test('what policy and addresses do not allow is DomainNotAllowed; no provider says so', async () => {
    await using bench = await toolsUnderTest();
    for (const url of ['http://127.0.0.1:1/', 'http://[::1]/', 'http://169.254.169.254/latest']) {
      const { error } = await bench.call('web.fetch', { url });
      assert.deepEqual([url, error?.code, error?.class], [url, 'DomainNotAllowed', 'policy']);
    }
    const none = { scope: { network: { mode: 'none' as const, allowlist: [], denylist: [] } } };
    assert.equal((await bench.call('web.fetch', { url: 'http://example.org/' }, none)).error?.code, 'DomainNotAllowed');
    const { error } = await bench.call('web.search', { query: 'x' });
    assert.deepEqual([error?.code, error?.class], ['SearchFailed', 'recoverable']);
  });

  test('a search shows nothing of hosts that the agent may not reach', async () => {
    const urls = ['https://docs.example.com/a', 'https://evil.example/b', 'no address', 'javascript:x'];
    await using server = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ results: urls.map((url) => ({ title: url, url, content: 'x' })) }));
    });
    const web = webOver({ search: { provider: 'searxng', endpoint: `http://127.0.0.2:${server.port}/` } });
    await using bench = await toolsUnderTest({ effect: { tools: webTools({ web, domainProblem }) } });
    const network = { mode: 'deny' as const, allowlist: ['example.com'], denylist: [] };
    const { structured, content } = await bench.call('web.search', { query: 'x' }, { scope: { network } });
    const results = [{ title: urls[0], url: urls[0], snippet: 'x' }];
    assert.deepEqual(structured, { results, left_out: 3 });
    assert.deepEqual(JSON.parse(String(content[0]?.text)), results);
  });
});
