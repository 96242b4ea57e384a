import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { QueryMemoryRequest, StoreMemoryPatternRequest } from '../../../proto/gen/svc/runtime/v1/runtime.ts';
import { svc } from '../../cli/svc-run.ts';
import { clientOf, metadataOf, unary } from './call.ts';
import { node, type TestNode } from './node.ts';

const SIGNATURE = "TypeError: cannot read properties of undefined (reading 'name')";
const APPROACH = 'check the value before it is read';

describe('learned patterns over gRPC, REST and the command line of one node', () => {
  let at: TestNode;
  let client: ReturnType<typeof clientOf>;
  before(async () => {
    at = await node();
    client = clientOf(at.address);
  });
  after(async () => {
    client.close();
    await at[Symbol.asyncDispose]();
  });

  const store = async (request: Partial<StoreMemoryPatternRequest> = {}) => {
    const whole = {
      error_signature: SIGNATURE,
      error_type: 'TypeError',
      error_message: '',
      solution_approach: APPROACH,
    };
    const answered = await unary((callback) =>
      client.storeMemoryPattern({ ...whole, tags: [], ...request }, metadataOf({}), callback),
    );
    return { ...answered, answer: Object(answered.answer) };
  };
  const query = async (request: Partial<QueryMemoryRequest> = {}) => {
    const answered = await unary((callback) =>
      client.queryMemoryPatterns({ error_signature: SIGNATURE, ...request }, metadataOf({}), callback),
    );
    return { ...answered, patterns: Object(answered.answer).patterns };
  };
  const rest = async (method: string, query: string, body?: unknown) => {
    const response = await fetch(`${at.restUrl}/v1/cortex/patterns${query}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
    return { status: response.status, body: Object(await response.json()) };
  };
  const run = (...args: string[]) => svc(['pattern', ...args], { SVC_URL: at.restUrl });

  test('no match is an empty list', async () => {
    const { code, patterns } = await query();
    assert.deepEqual([code, patterns], ['OK', []]);
  });

  test('a second store of the same meaning is deduplicated, over each interface', async () => {
    const first = await store({ solution_code: 'a?.name' });
    assert.deepEqual([first.code, first.answer.deduplicated, first.answer.new_frequency], ['OK', false, 1]);
    const { pattern_id } = first.answer;
    const again = SIGNATURE.replace('name', 'id');
    assert.deepEqual((await store({ error_signature: again })).answer, {
      pattern_id,
      deduplicated: true,
      new_frequency: 2,
    });
    const posted = await rest('POST', '', {
      error_signature: `${again} at line 7`,
      error_type: 'typeerror',
      solution_approach: APPROACH,
    });
    assert.deepEqual(posted, { status: 200, body: { pattern_id, deduplicated: true, new_frequency: 3 } });
    const typed = await run('store', SIGNATURE, '--type', 'TypeError', '--solution', APPROACH, '--tag', 'cli');
    assert.deepEqual([typed.code, typed.stdout], [0, `${pattern_id}\n`]);
  });

  test('every interface finds the same', async () => {
    const { patterns } = await query({ error_type: '', limit: 5, min_success_score: 0.5 });
    const [found] = patterns;
    assert.equal(patterns.length, 1);
    assert.equal(found.frequency, 4);
    assert.equal(found.solution_code, 'a?.name');
    assert.ok(Math.abs(found.success_score - 5 / 6) < 1e-3);
    for (const path of [`?error_signature=${encodeURIComponent(SIGNATURE)}&min_success_score=0.5`, '?limit=1']) {
      const { body } = await rest('GET', path);
      assert.equal(body.patterns[0].pattern_id, found.pattern_id);
      assert.equal(body.patterns[0].solution_approach, APPROACH);
    }
    for (const args of [['query', SIGNATURE], ['list']]) {
      const { code, stdout } = await run(...args, '--output', 'json');
      assert.equal(code, 0);
      assert.equal(JSON.parse(stdout)[0].pattern_id, found.pattern_id);
    }
    assert.deepEqual((await query({ error_type: 'ValueError' })).patterns, []);
    assert.deepEqual((await query({ min_success_score: 0.9 })).patterns, []);
  });

  test('a malformed request is INVALID_ARGUMENT or 400, and names the field', async () => {
    const calls = [
      [await query({ error_signature: '' }), 'error_signature'],
      [await query({ limit: 0 }), 'limit'],
      [await query({ limit: 101 }), 'limit'],
      [await query({ min_success_score: 2 }), 'min_success_score'],
      [await store({ error_type: '' }), 'error_type'],
      [await store({ solution_approach: '' }), 'solution_approach'],
      [await store({ tags: [''] }), 'tags'],
    ] as const;
    for (const [{ code, details }, field] of calls) {
      assert.equal(code, 'INVALID_ARGUMENT');
      assert.match(details, new RegExp(`^${field}: expected`));
    }
    assert.equal((await rest('GET', '?error_signature=x&min_success_score=abc')).status, 400);
    assert.equal((await rest('POST', '', { error_signature: 'x' })).status, 400);
    assert.equal((await run('query', 'x', '--min-success', '7')).code, 2);
  });
});

test('a node whose memory is switched off answers FAILED_PRECONDITION, Cortex not configured', async () => {
  await using at = await node({ spec: { cortex: { enabled: false } } });
  const client = clientOf(at.address);
  const { code, details } = await unary((callback) =>
    client.queryMemoryPatterns({ error_signature: 'E' }, metadataOf({}), callback),
  );
  assert.deepEqual([code, details], ['FAILED_PRECONDITION', 'Cortex not configured']);
  client.close();
});
