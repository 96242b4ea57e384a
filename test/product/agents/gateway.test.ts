import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { grpcurl, grpcurlMissing } from '../../support/grpcurl.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { writtenWhole } from '../../support/written-whole.ts';
import { AgentNode, type Members, members } from './agent-node.ts';
import { PROGRAMS } from './programs.ts';

const cmd = (command: string, ...args: readonly string[]): Members => ({
  name: 'cmd.run',
  arguments: { command, args },
});
const verdict = (score: number): string => JSON.stringify({ score, confidence: 1, reasoning: 'as the test wants it' });
const TEE = cmd('tee', '-a', 'ran');
const RULES = [
  { match: { contains: ['verdict', '"secret"'] }, reply: verdict(0) },
  { match: { contains: 'verdict' }, reply: verdict(1) },
  { match: { contains: 'the secret', round: 1 }, reply: { text: '', tool_calls: [cmd('tee', '-a', 'secret')] } },
  { match: { contains: 'reboot', round: 1 }, reply: { text: '', tool_calls: [cmd('reboot')] } },
  { match: { tool_contains: 'JudgeRejected' }, reply: 'a judge rejected it' },
  { match: { tool_contains: 'CommandNotAllowed' }, reply: 'it is not allowed' },
  { match: { contains: 'slowly', round: 1 }, reply: { text: '', delay_ms: 1_500, tool_calls: [TEE] } },
  { match: { round: 1 }, reply: { text: 'I run it. ', tool_calls: [TEE] } },
  { match: { tool_contains: 'in_doubt' }, reply: 'outcome unknown' },
  { match: { tool_contains: 'ran' }, reply: 'it ran' },
  { reply: 'it did not run' },
];
const MiB = 1_048_576;
const GRPC = grpcurlMissing();

interface Held {
  readonly id: string;
  readonly agent: string;
  readonly url: string;
  readonly token: string;
}

describe('the dispatch gateway of a running node', () => {
  let setup: AgentNode;
  const tokens: string[] = [];
  before(async () => {
    setup = await AgentNode.start({ rules: RULES, containers: false, programs: PROGRAMS });
  });
  after(() => setup?.[Symbol.asyncDispose]());

  const deploy = (name: string, program: string, execution: Members = {}) =>
    setup.deploy(name, {
      runtime: { isolation: 'process' },
      tools: [{ name: 'cmd.run', executor: 'builtin:cmd', config: { subcommand_allowlist: { tee: [] } } }],
      advanced: { bootstrap_path: program },
      execution: { max_iterations: 1, ...execution },
    });
  const heldBy = async (id: string, agent: string): Promise<Held> => {
    const env = await setup.written(id, 'env');
    const url = /^SVC_ORCHESTRATOR_URL=(\S+)$/m.exec(env)?.[1] ?? assert.fail(env);
    const token = url.split('/x/')[1] ?? assert.fail(url);
    tokens.push(token);
    return { id, agent, url, token };
  };
  const hold = async (name: string, execution?: Members): Promise<Held> => {
    const agent = await deploy(name, 'holder', execution);
    return heldBy(await setup.node.run(agent, name), agent);
  };
  const release = (id: string) => writtenWhole(join(setup.data, 'volumes/svc-system', id, 'go'), 'let go');

  for (const kind of ['curl', 'node', 'python'] as const) {
    test(`a bootstrap in ${kind} runs the whole conversation, and its output is what it prints`, async () => {
      const agent = await deploy(`whole-${kind}`, `in-${kind}`);
      const id = await setup.node.run(agent, 'please');
      const status = await setup.ended(id);
      assert.deepEqual([status.status, status.last_output], ['completed', `${kind}: it ran`], JSON.stringify(status));
      assert.equal(status.tool_calls_executed, 1);
      const text = JSON.stringify(await setup.events(id));
      assert.match(text, /"action":"run"/);
      assert.doesNotMatch(text, /I run it/, 'what it prints is the stream');
      assert.equal((await setup.workspace(id))['/ran'], 'ran\n');
      const kinds = (await setup.audit(id)).map(({ kind: what }) => what);
      assert.deepEqual(kinds, ['opened', 'decided', 'ended', 'closed']);
    });
  }

  test('a forbidden caller and an invalid request are refused with status and field; over gRPC too', async () => {
    const own = await hold('refused');
    const other = await hold('other');
    const { url: base, grpcAddress } = await setup.node.process.internal;
    const rows: readonly (readonly [string, Members, number, string, RegExp, string?])[] = [
      ['no token', ask(own), 401, 'Unauthenticated', /token/i, ''],
      ['no token that holds', ask(own), 401, 'Unauthenticated', /./, `${own.token.slice(0, -4)}AAAA`],
      ["another execution's token", ask(own), 403, 'PermissionDenied', /execution_id/, other.token],
      ['another execution', ask(own, { execution_id: other.id }), 403, 'PermissionDenied', /execution_id/],
      [
        'an execution that never existed',
        ask(own, { execution_id: randomUUID() }),
        403,
        'PermissionDenied',
        /execution_id/,
      ],
      ['another agent', ask(own, { agent_id: other.agent }), 403, 'PermissionDenied', /agent_id/],
      ['another iteration', ask(own, { iteration_number: 2 }), 409, 'FailedPrecondition', /iteration_number/],
      ['iteration 0', ask(own, { iteration_number: 0 }), 400, 'InvalidArgument', /iteration_number/],
      ['a dispatch that is not open', resultOf(own, 'd-1'), 409, 'FailedPrecondition', /dispatch_id/],
      ['a message of no role', ask(own, { messages: [{}] }), 400, 'InvalidArgument', /messages/],
    ];
    for (const [what, message, status, code, field, token = own.token] of rows) {
      const answer = await post(token === '' ? base : `${base}/x/${token}`, message);
      assert.equal(answer.status, status, `${what}: ${answer.text}`);
      assert.match(String(answer.body.message), field, what);
      if (GRPC !== null) continue;
      const { stderr } = await overGrpc(grpcAddress, token, message);
      assert.match(stderr, new RegExp(`Code: ${code}\\b`), `${what}: ${stderr}`);
      assert.match(stderr, field, what);
    }
    const odd: readonly (readonly [string, string, number])[] = [
      ['half a message', '{"type":"generate"', 400],
      ['a list', '[]', 400],
      ['null', 'null', 400],
      ['an unknown key', JSON.stringify(ask(own, { colour: 'red' })), 400],
      ['a number for a text', JSON.stringify(ask(own, { prompt: 7 })), 400],
      ['a text for a number', JSON.stringify(ask(own, { iteration_number: '1' })), 400],
      ['an answer for a question', JSON.stringify({ type: 'final', content: '' }), 400],
    ];
    for (const [what, body, status] of odd) {
      const answer = await post(own.url, body);
      assert.equal(answer.status, status, `${what}: ${answer.text.slice(0, 300)}`);
    }
    assert.equal(await statusByCurl(own.url, sized(ask(own), 16 * MiB + 1)), 413);
    for (const { id } of [own, other]) {
      assert.equal((await setup.node.statusOf(id)).status, 'running', 'a refusal changes nothing');
      await release(id);
      assert.equal((await setup.ended(id)).last_output, 'let go');
    }
    const late = await post(own.url, ask(own));
    assert.equal(late.status, 409, late.text);
  });

  test('a repeated request gets the same answer, also after its client disconnected, and nothing runs twice', async () => {
    const own = await hold('again');
    const leaving = new AbortController();
    const left = post(own.url, ask(own, { prompt: 'slowly' }), leaving.signal).catch(() => 'left');
    await waitUntil('the model is called', async () => {
      const { body } = await setup.node.call('GET', `/v1/seal/sessions/${own.id}/audit`);
      return Array.isArray(body.records) && body.records.length > 0;
    });
    leaving.abort();
    assert.equal(await left, 'left');
    const two = await Promise.all([1, 2].map(() => post(own.url, ask(own, { prompt: 'slowly' }))));
    const [first, second] = two;
    assert.equal(first?.body.type, 'dispatch', first?.text);
    assert.deepEqual(second?.body, first?.body);
    const refused = await post(own.url, ask(own, { prompt: 'something else' }));
    assert.equal(refused.status, 409, refused.text);
    const result = resultOf(own, String(first?.body.dispatch_id), { stdout: 'ran' });
    const [over, twice] = await Promise.all([1, 2].map(() => post(own.url, result)));
    assert.equal(over?.body.content, 'it ran', over?.text);
    assert.deepEqual(twice?.body, over?.body);
    const otherwise = await post(own.url, { ...result, stdout: 'changed my mind' });
    assert.deepEqual(otherwise.body, over?.body, 'the first answer is kept');
    assert.deepEqual((await post(own.url, ask(own, { prompt: 'slowly' }))).body, over?.body);
    await release(own.id);
    const status = await setup.ended(own.id);
    assert.deepEqual([status.tool_calls_executed, status.last_output], [1, 'let go']);
    const ends = (await setup.audit(own.id)).filter(({ kind }) => kind === 'ended');
    assert.equal(ends.length, 1);
  });

  test('a call is decided and judged before dispatch: what a judge or the policy refuses is never dispatched', async () => {
    await setup.deploy('critic', { task: { prompt_template: 'verdict {{input}}' }, execution: { mode: 'one-shot' } });
    const own = await hold('judged', { tool_validation: [{ type: 'semantic', judge_agent: 'critic' }] });
    for (const [prompt, content] of [
      ['the secret', 'a judge rejected it'],
      ['reboot', 'it is not allowed'],
    ]) {
      const { body, text } = await post(own.url, ask(own, { prompt }));
      assert.deepEqual([body.type, body.content, body.tool_calls_executed], ['final', content, 0], text);
    }
    const { body, text } = await post(own.url, ask(own));
    assert.deepEqual([body.type, body.command, body.args], ['dispatch', 'tee', ['-a', 'ran']], text);
    await post(own.url, resultOf(own, String(body.dispatch_id), { stdout: 'ran' }));
    await release(own.id);
    await setup.ended(own.id);
    const decided = (await setup.audit(own.id)).filter(({ kind }) => kind === 'decided');
    assert.deepEqual(
      decided.map(({ reason = null }) => reason),
      ['JudgeRejected', 'CommandNotAllowed', null],
    );
  });

  test('the conversation is the same over gRPC', { skip: GRPC ?? false }, async () => {
    const own = await hold('grpc');
    const { grpcAddress } = await setup.node.process.internal;
    const first = await overGrpc(grpcAddress, own.token, ask(own));
    const dispatch = members(members(JSON.parse(first.stdout)).dispatch);
    assert.deepEqual([dispatch.action, dispatch.command, dispatch.args], ['exec', 'tee', ['-a', 'ran']], first.stderr);
    const id = String(dispatch.dispatchId ?? dispatch.dispatch_id);
    const over = await overGrpc(grpcAddress, own.token, resultOf(own, id, { stdout: 'ran' }));
    assert.equal(members(members(JSON.parse(over.stdout)).final).content, 'it ran', over.stderr);
    assert.equal((await post(own.url, ask(own))).body.content, 'it ran', 'one loop behind both');
    await release(own.id);
    await setup.ended(own.id);
  });

  test('large results are transferred completely', async () => {
    const own = await hold('large');
    const first = await post(own.url, ask(own));
    const stdout = `${'x'.repeat(2 * MiB)} ran`;
    const over = await post(own.url, resultOf(own, String(first.body.dispatch_id), { stdout }));
    assert.equal(over.status, 200, over.text.slice(0, 300));
    assert.equal(over.body.type, 'final');
    await release(own.id);
    await setup.ended(own.id);
  });

  test('a gateway killed with -9 and started again continues, and the open command is in doubt', async () => {
    const own = await hold('killed');
    const first = await post(own.url, ask(own));
    assert.equal(first.body.type, 'dispatch', first.text);
    await writeFile(join(setup.data, 'volumes/svc-system', own.id, 'env'), '');
    await setup.node.process.kill();
    await setup.node.spawn();
    await waitUntil('the program is started again', async () => (await setup.written(own.id, 'env')) !== '', 30_000);
    const again = await heldBy(own.id, own.agent);
    const over = await post(again.url, ask(again));
    assert.deepEqual([over.status, over.body.content], [200, 'outcome unknown'], over.text);
    const late = await post(again.url, resultOf(again, String(first.body.dispatch_id), { stdout: 'ran' }));
    assert.equal(late.status, 409, 'no caller waits for it any more');
    await release(own.id);
    const status = await setup.ended(own.id);
    assert.equal(status.last_output, 'let go');
    assert.deepEqual(listedDoubts(status), ['cmd.run']);
  });

  test('the capability token is in no event, log, error, journal or audit', async () => {
    const own = await hold('secret');
    const answers = [await post(own.url, ask(own)), await post(own.url, '{'), await post(`${own.url}/nothing`, '{}')];
    await release(own.id);
    await setup.ended(own.id);
    const { text } = await setup.node.call('GET', `/v1/seal/sessions/${own.id}/audit`);
    await setup.node.process.stop();
    const kept = await setup.kept();
    assert.ok(
      kept.some(([, content]) => content.includes(own.id)),
      'the journal was read',
    );
    assert.ok(tokens.length > 5);
    for (const token of tokens) {
      // The part between its header, which all tokens share, and the end of its signature.
      const part = token.slice(80, 300);
      const seen = [text, setup.node.process.log, ...answers.map((answer) => answer.text)];
      assert.ok(!seen.some((one) => one.includes(part)));
      const [leak] = kept.find(([, content]) => content.includes(part)) ?? [];
      assert.equal(leak, undefined);
    }
  });
});

const listedDoubts = ({ calls_in_doubt: doubts }: Members) =>
  Array.isArray(doubts) ? doubts.map((doubt) => members(doubt).tool) : doubts;

const ask = ({ id, agent }: Held, more: Members = {}): Members => ({
  ...{ type: 'generate', agent_id: agent, execution_id: id, iteration_number: 1, model_alias: '', prompt: 'please' },
  ...more,
});

const resultOf = ({ id }: Held, dispatch_id: string, more: Members = {}): Members => ({
  ...{ type: 'dispatch_result', execution_id: id, dispatch_id, exit_code: 0, stdout: '', stderr: '' },
  ...{ duration_ms: 1, truncated: false, ...more },
});

/** A result of the size that its prompt names. */
function sized(message: Members, bytes: number): string {
  const prompt = 'x'.repeat(bytes - JSON.stringify({ ...message, prompt: '' }).length);
  return JSON.stringify({ ...message, prompt });
}

async function post(url: string, body: Members | string, signal?: AbortSignal) {
  const response = await fetch(`${url}/v1/dispatch-gateway`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
  const text = await response.text();
  return { status: response.status, text, body: text.startsWith('{') ? members(JSON.parse(text)) : {} };
}

/** A client that reads an answer which arrives before the whole request is sent. */
async function statusByCurl(url: string, body: string): Promise<number> {
  const shown = ['-sS', '-o', '/dev/null', '-w', '%{http_code}', '-H', 'content-type: application/json'];
  const curl = spawn('curl', [...shown, '--data-binary', '@-', `${url}/v1/dispatch-gateway`], { stdio: 'pipe' });
  curl.stdin.on('error', () => {});
  curl.stdin.end(body);
  const [said] = await Promise.all([text(curl.stdout), once(curl, 'exit')]);
  return Number(said);
}

function overGrpc(address: string, token: string, { type, ...fields }: Members) {
  const data = JSON.stringify({ [String(type)]: fields });
  const header = token === '' ? [] : ['-H', `authorization: Bearer ${token}`];
  const proto = ['-import-path', 'proto', '-proto', 'svc/v1/inner_loop.proto'];
  return grpcurl(...proto, ...header, '-d', data, address, 'svc.v1.InnerLoop/Generate');
}
