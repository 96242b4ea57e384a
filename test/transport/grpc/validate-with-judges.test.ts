import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { pino } from 'pino';
import {
  type ConsensusConfig,
  type JudgeConfig,
  ConsensusConfig_Strategy as Strategy,
  type SvcRuntimeClient,
  type ValidateRequest,
  type ValidateResponse,
} from '../../../proto/gen/svc/runtime/v1/runtime.ts';
import type { Identity } from '../../../runtime/identity.ts';
import { createAuthenticator } from '../../../security/authenticator.ts';
import { createGrpcServer } from '../../../transport/grpc/svc-runtime.ts';
import { written } from '../../actors/judge-panel/driven-panel.ts';
import { panelRuntime } from '../../actors/judge-panel/panel-runtime.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { clientOf, metadataOf, text } from './call.ts';

/** Identity of callers at a loopback server without an identity provider. */
const TENANT = 'svc-system';
const operator: Identity = { kind: 'local', subject: 'test', tenant: TENANT, roles: [], tier: 'enterprise' };
const UNKNOWN = '00000000-0000-4000-8000-000000000000';

const SAID: Readonly<Record<string, string>> = {
  strict: written(0.6, 0.9),
  kind: written(0.9, 0.8),
  fair: written(0.8, 0.5),
  prose: 'It is fine, I think.',
};

/** The real gRPC server in front of real panels and executions. */
async function served() {
  const at = await panelRuntime({ says: (prompt) => SAID[/I am (\w+)\./.exec(prompt)?.[1] ?? ''] ?? 'hang' });
  const ids: Record<string, string> = {};
  for (const name of [...Object.keys(SAID), 'silent']) ids[name] = await at.deploy(operator, name);
  await at.deploy({ ...operator, tenant: 'acme' }, 'foreign');
  const server = createGrpcServer({
    agents: at.agents,
    executions: at.executions,
    judges: at.panels,
    authenticator: createAuthenticator({ realms: [] }),
    auth: { enabled: true, exempt_methods: [] },
    logger: pino({ level: 'silent' }),
    version: '0.0.1-test',
    health: { ready: async () => ({ ready: true }) },
    limits: { closeGraceMs: 500 },
  });
  const client = clientOf(await server.listen('127.0.0.1', 0));
  return { at, ids, server, client };
}

const judge = (agent_id: string, more: Partial<JudgeConfig> = {}): JudgeConfig => ({
  agent_id,
  input_template: '',
  weight: 0,
  ...more,
});

const request = (judges: readonly JudgeConfig[], more: Partial<ValidateRequest> = {}): ValidateRequest => ({
  output: 'Paris',
  task: 'Name the capital of France.',
  judges: [...judges],
  consensus: undefined,
  context_json: '',
  ...more,
});

type Answer =
  | { readonly ok: true; readonly value: ValidateResponse }
  | { readonly ok: false; readonly code: number; readonly details: string; readonly svcCode: string | undefined };

const ask = (client: SvcRuntimeClient, asked: ValidateRequest, deadlineMs = 30_000): Promise<Answer> =>
  new Promise((resolve) => {
    client.validateWithJudges(asked, metadataOf({}), { deadline: Date.now() + deadlineMs }, (error, value) =>
      resolve(
        error === null
          ? { ok: true, value }
          : { ok: false, code: error.code, details: error.details, svcCode: text(error.metadata, 'svc-error-code') },
      ),
    );
  });

const near = (actual: number, expected: number): void =>
  assert.ok(Math.abs(actual - expected) < 1e-6, `${actual} is not ${expected}`);

describe('ValidateWithJudges', () => {
  let setup: Awaited<ReturnType<typeof served>>;
  before(async () => {
    setup = await served();
  });
  after(async () => {
    setup.client.close();
    await setup.server.close();
    await setup.at[Symbol.asyncDispose]();
  });

  const valid = async (judges: readonly JudgeConfig[], consensus?: ConsensusConfig): Promise<ValidateResponse> => {
    const answer = await ask(setup.client, request(judges, { consensus }));
    assert.ok(answer.ok, answer.ok ? '' : answer.details);
    return answer.value;
  };

  test('gives one verdict and what each judge said, named as the caller named it', async () => {
    const id = setup.ids.kind ?? '';
    const response = await valid([judge('strict'), judge(id)]);
    // score (0.6 + 0.9) / 2; variance 0.15² = 0.0225, agreement 0.91; confidence 0.637 + 0.3 * 0.85
    near(response.score, 0.75);
    near(response.confidence, 0.892);
    assert.equal(response.binary_valid, true);
    assert.deepEqual(
      response.individual_results.map(({ judge_id, score }) => [judge_id, Number(score.toFixed(6))]),
      [
        ['strict', 0.6],
        [id, 0.9],
      ],
    );
    assert.match(
      response.reasoning,
      /2 of 2 judges gave a verdict, valid\nstrict \(score 0.6, confidence 0.9\): It does/,
    );
  });

  test('the threshold is 0.7 and weights are 1.0 unless said', async () => {
    // (0.6 * 3 + 0.9) / 4
    const heavy = await valid([judge('strict', { weight: 3 }), judge('kind')]);
    near(heavy.score, 0.675);
    assert.equal(heavy.binary_valid, false);
    // The smallest weight of the error text, which a float on the wire is a little below.
    near((await valid([judge('strict', { weight: 0.000001 }), judge('kind', { weight: 0.000001 })])).score, 0.75);
  });

  const RULES: readonly [what: string, ConsensusConfig, score: number, confidence: number, valid: boolean][] = [
    // judges 0.6/0.9, 0.9/0.8, 0.8/0.5
    ['MAJORITY_VOTE', { strategy: Strategy.MAJORITY_VOTE }, 1, 1 / 3, true],
    ['MAJORITY_VOTE with a higher threshold', { strategy: Strategy.MAJORITY_VOTE, threshold: 0.85 }, 0, 1 / 3, false],
    [
      'MAJORITY_VOTE at the threshold, though a float is not exact',
      { strategy: Strategy.MAJORITY_VOTE, threshold: 0.8 },
      1,
      1 / 3,
      true,
    ],
    ['UNANIMOUS', { strategy: Strategy.UNANIMOUS }, 0, 0.5, false],
    // (0.6 + 0.9 + 0.8) / 3
    ['UNANIMOUS with a low threshold', { strategy: Strategy.UNANIMOUS, threshold: 0.6 }, 2.3 / 3, 0.5, true],
    ['ANY_APPROVED', { strategy: Strategy.ANY_APPROVED, threshold: 0.85 }, 0.9, 0.8, true],
    ['ANY_APPROVED without any', { strategy: Strategy.ANY_APPROVED, threshold: 0.95 }, 0.9, 0.8, false],
    ['agreement asked for and not reached', { strategy: Strategy.ANY_APPROVED, agreement: 0.81 }, 0.9, 0.8, false],
    // products 0.54, 0.72, 0.4: the best is 0.9; confidence 0.7 + 0.3 * 0.8
    ['the best 1 judge', { strategy: Strategy.WEIGHTED_AVERAGE, n: 1 }, 0.9, 0.94, true],
  ];
  for (const [what, consensus, score, confidence, ok] of RULES) {
    test(`${what} is counted as decided`, async () => {
      const response = await valid([judge('strict'), judge('kind'), judge('fair')], consensus);
      near(response.score, score);
      near(response.confidence, confidence);
      assert.equal(response.binary_valid, ok);
    });
  }

  test('a judge without a template gets task, output, criteria and context as JSON', async () => {
    const context_json = '{"criteria":"be right","lang":"fr"}';
    const answer = await ask(setup.client, request([judge('kind')], { context_json }));
    assert.ok(answer.ok);
    const prompt = setup.at.prompts.at(-1) ?? '';
    const input: unknown = JSON.parse(prompt.slice(prompt.indexOf('{')));
    assert.deepEqual(input, {
      task: 'Name the capital of France.',
      output: 'Paris',
      criteria: 'be right',
      context: { criteria: 'be right', lang: 'fr' },
    });
  });

  test('a template is rendered with task, output and context, unescaped', async () => {
    const input_template = 'T={{task}} O={{output}} L={{lang}} C={{context.lang}} M={{nothing}}';
    const asked = request([judge('kind', { input_template })], { output: '<b>&"', context_json: '{"lang":"fr"}' });
    assert.ok((await ask(setup.client, asked)).ok);
    const prompt = setup.at.prompts.at(-1) ?? '';
    assert.match(prompt, /T=Name the capital of France. O=<b>&" L=fr C=fr M=\[missing: nothing in /);
  });

  test('a judge without a verdict is skipped; when none has one the call fails and says why', async () => {
    const some = await valid([judge('prose'), judge('kind')]);
    assert.equal(some.individual_results.length, 1);
    assert.match(some.reasoning, /1 of 2 judges gave a verdict/);
    const none = await ask(setup.client, request([judge('prose')]));
    assert.ok(!none.ok);
    assert.equal(none.svcCode, 'failed_precondition');
    assert.match(none.details, /0 of 1 judges.*expected JSON/);
  });

  const REFUSED: readonly [what: string, ValidateRequest, svcCode: string, details: RegExp][] = [
    ['no judge', request([]), 'invalid_argument', /^judges: /],
    [
      'a hundred and one judges',
      request(Array.from({ length: 101 }, () => judge('kind'))),
      'invalid_argument',
      /^judges: .*100/,
    ],
    ['a judge without a name', request([judge('kind'), judge('')]), 'invalid_argument', /^judges\[1\]\.agent_id/],
    ['a name that is too long', request([judge('x'.repeat(200))]), 'invalid_argument', /^judges\[0\]\.agent_id/],
    [
      'an unknown judge',
      request([judge('kind'), judge('nobody')]),
      'not_found',
      /judges\[1\]\.agent_id: no agent nobody/,
    ],
    ['an unknown UUID', request([judge(UNKNOWN)]), 'not_found', /judges\[0\]\.agent_id/],
    ['a judge of another tenant', request([judge('foreign')]), 'not_found', /judges\[0\]\.agent_id/],
    ['a negative weight', request([judge('kind', { weight: -1 })]), 'invalid_argument', /^judges\[0\]\.weight/],
    [
      'a weight that is no number',
      request([judge('kind', { weight: Number.NaN })]),
      'invalid_argument',
      /^judges\[0\]\.weight/,
    ],
    [
      'an infinite weight',
      request([judge('kind', { weight: Number.POSITIVE_INFINITY })]),
      'invalid_argument',
      /^judges\[0\]\.weight/,
    ],
    [
      'a broken template',
      request([judge('kind', { input_template: '{{#if x}}' })]),
      'invalid_argument',
      /^judges\[0\]\.input_template/,
    ],
    ['broken context', request([judge('kind')], { context_json: '{' }), 'invalid_argument', /context_json/],
    ['context that is a list', request([judge('kind')], { context_json: '[]' }), 'invalid_argument', /context_json/],
    [
      'an output beyond what an execution takes',
      request([judge('kind')], { output: 'x'.repeat(1_100_000) }),
      'invalid_argument',
      /^judges\[0\]/,
    ],
    ...(
      [
        ['a threshold over 1', { strategy: 0, threshold: 1.5 }, /^consensus\.threshold/],
        ['a threshold below 0', { strategy: 0, threshold: -0.1 }, /^consensus\.threshold/],
        ['a threshold that is no number', { strategy: 0, threshold: Number.NaN }, /^consensus\.threshold/],
        ['an agreement over 1', { strategy: 0, agreement: 2 }, /^consensus\.agreement/],
        ['an n of 0', { strategy: 0, n: 0 }, /^consensus\.n/],
        ['an n of MAJORITY_VOTE', { strategy: Strategy.MAJORITY_VOTE, n: 2 }, /^consensus\.n: expected none/],
        ['an n of UNANIMOUS', { strategy: Strategy.UNANIMOUS, n: 2 }, /^consensus\.n: expected none/],
        ['an n of ANY_APPROVED', { strategy: Strategy.ANY_APPROVED, n: 2 }, /^consensus\.n: expected none/],
      ] as const
    ).map(([what, consensus, details]): [string, ValidateRequest, string, RegExp] => [
      what,
      request([judge('kind')], { consensus }),
      'invalid_argument',
      details,
    ]),
  ];
  for (const [what, asked, svcCode, details] of REFUSED) {
    test(`${what} is refused as ${svcCode}, naming the field, and no judge is asked`, async () => {
      const before = setup.at.prompts.length;
      const answer = await ask(setup.client, asked);
      assert.ok(!answer.ok);
      assert.equal(answer.svcCode, svcCode);
      assert.match(answer.details, details);
      assert.equal(setup.at.prompts.length, before);
    });
  }

  test('a deadline ends the call, the panel and its judges', async () => {
    const stopped = setup.at.stopped.length;
    const answer = await ask(setup.client, request([judge('silent')]), 500);
    assert.ok(!answer.ok);
    // DEADLINE_EXCEEDED
    assert.equal(answer.code, 4);
    await waitUntil('the judge was stopped', () => setup.at.stopped.length === stopped + 1);
  });

  test('a caller who cancels ends the panel and its judges', async () => {
    const stopped = setup.at.stopped.length;
    const asked = setup.at.prompts.length;
    const ended = new Promise<number | undefined>((resolve) => {
      const call = setup.client.validateWithJudges(request([judge('silent')]), (error) => resolve(error?.code));
      void waitUntil('the judge was asked', () => setup.at.prompts.length > asked).then(() => call.cancel());
    });
    // CANCELLED
    assert.equal(await ended, 1);
    await waitUntil('the judge was stopped', () => setup.at.stopped.length === stopped + 1);
  });
});

test('without panels ValidateWithJudges is not served', async () => {
  const at = await panelRuntime({ says: () => 'hang' });
  const server = createGrpcServer({
    agents: at.agents,
    executions: at.executions,
    authenticator: createAuthenticator({ realms: [] }),
    auth: { enabled: true, exempt_methods: [] },
    logger: pino({ level: 'silent' }),
    version: '0.0.1-test',
    health: { ready: async () => ({ ready: true }) },
  });
  const client = clientOf(await server.listen('127.0.0.1', 0));
  const answer = await ask(client, request([judge('kind')]));
  assert.ok(!answer.ok && answer.svcCode === 'unimplemented');
  client.close();
  await server.close();
  await at[Symbol.asyncDispose]();
});

test('a server that closes ends the panels of its callers', async () => {
  const { at, server, client } = await served();
  const answer = ask(client, request([judge('silent')]));
  await waitUntil('the judge was asked', () => at.prompts.length === 1);
  await server.close();
  const ended = await answer;
  assert.ok(!ended.ok);
  await waitUntil('the judge was stopped', () => at.stopped.length === 1);
  client.close();
  await at[Symbol.asyncDispose]();
});
