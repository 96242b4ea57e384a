import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe } from 'node:test';
import { promisify } from 'node:util';
import { eachNth, sample } from '../support/size.ts';
import { agentYaml, ProductNode } from './product-node.ts';
import { Realms } from './realms.ts';
import { makeTenantObjects } from './tenant-objects.ts';

const run = promisify(execFile);
const VERSION = '4.32.5';
const HOME = join(import.meta.dirname, '..', '..', '.cache', `schemathesis-${VERSION}`);
const PROGRAM = join(HOME, 'bin', 'schemathesis');
/** The bounds and wrong types of every operation. A run that is cut leaves operations untested, and that is a failure. */
const COVERAGE = { phases: 'examples,coverage', seconds: 360 };
/** Random examples, and chains of operations by their links: as many as there is time for. */
const RANDOM = { phases: 'fuzzing,stateful', seconds: sample({ normal: 2, long: 900 }) };
/** Of each operation. */
const EXAMPLES = sample({ normal: 4, long: 25 });
/** In a normal run one of the nodes takes a 24th of the paths, both by chance; in a long run each takes all. */
const SHARES = sample({ normal: 24, long: 1 });
const FIRST = randomInt(SHARES);

/** False when the program is installed; otherwise the reason why not. In CI that is an error. */
async function missing(): Promise<string | false> {
  if (existsSync(PROGRAM)) return false;
  try {
    await rm(HOME, { recursive: true, force: true });
    await mkdir(join(HOME, '..'), { recursive: true });
    await run('python3', ['-m', 'venv', HOME]);
    await run(join(HOME, 'bin', 'pip'), ['install', '--quiet', `schemathesis==${VERSION}`], { timeout: 300_000 });
    return false;
  } catch (error) {
    // An incomplete installation must not be used.
    await rm(HOME, { recursive: true, force: true });
    const reason = 'schemathesis cannot be had: it needs python3 with venv, and its package';
    if (process.env.CI === 'true') throw new Error(reason, { cause: error });
    process.stderr.write(`SKIPPED: ${reason}\n`);
    return reason;
  }
}

/** Statuses that are an answer to what fits the schema, and why. */
const EXCEPTIONS: Readonly<Record<string, readonly (number | string)[]>> = {
  // A text need not be a manifest or a configuration, and another manifest may have its name and version.
  'POST /v1/agents': [422],
  'POST /v1/workflows': [422],
  'PUT /v1/cluster/config': [422],
  // An agent is named by its id or its name.
  'GET /v1/agents/{id}': [400],
  'PATCH /v1/agents/{id}': [400],
  'DELETE /v1/agents/{id}': [400],
  'GET /v1/agents/{id}/versions': [400],
  'GET /v1/agents/{id}/export': [400],
  'GET /v1/agents/{id}/logs': [400],
  'POST /v1/agents/{id}/scope': [400],
  'POST /v1/agents/{id}/execute': [400],
  // A page token must come from the same list.
  'GET /v1/executions/{id}/events': [400],
  'GET /v1/workflows/executions/{id}/logs': [400],
  'GET /v1/agents': [400],
  'GET /v1/workflows': [400],
  'GET /v1/executions': [400],
  'GET /v1/workflows/executions': [400],
  'GET /v1/human-approvals': [400],
  'GET /v1/stimuli': [400],
  'GET /v1/volumes': [400],
  'GET /v1/secrets': [400],
  'GET /v1/seal/sessions': [400],
  'GET /v1/api-keys': [400],
  'GET /v1/cortex/patterns': [400],
  'GET /v1/admin/rate-limits/overrides': [400],
  'GET /v1/actors/{kind}/{id}/mailbox': [400],
  'GET /v1/actors/{kind}/{id}/history': [400],
  'GET /v1/actors/{kind}/{id}/recording': [400],
  'GET /v1/audit': [400],
  'GET /v1/cluster/plan': [400],
  'GET /v1/chaos/faults': [400],
  'GET /v1/cluster/takeovers': [400],
  'GET /v1/dead-letters': [400],
  'GET /v1/feed': [400],
  'GET /v1/runs': [400],
  'GET /v1/traces': [400],
  'GET /v1/traces/{trace_id}': [400],
  // A message of another run, a field of the other kind of run, or a text that is no manifest.
  'POST /v1/runs/{id}/fork': [400, 422],
  // An agent is named by its id or its name; one with an instruction takes an empty input, another one does not.
  'POST /v1/executions': [400],
  // A generated source has no route, and the name of a source has no control characters.
  'POST /v1/stimuli': [400, 422],
  'PUT /v1/stimuli/routes/{source}': [400],
  'DELETE /v1/stimuli/routes/{source}': [400],
  // The form of the signature has a code of its own (H24).
  'POST /v1/webhooks/{source}': [400],
  // A size or a time may not be for this class of volume or this node; a path may be a directory, or leave the volume.
  'POST /v1/volumes': [400],
  'GET /v1/volumes/{id}/events': [400],
  'GET /v1/volumes/{id}/files': [400],
  'GET /v1/volumes/{id}/files/content': [400],
  'PUT /v1/volumes/{id}/files/content': [400],
  'DELETE /v1/volumes/{id}/files': [400],
  'POST /v1/volumes/{id}/files/mkdir': [400],
  // A name has no control characters, and the limit of a value counts bytes, not characters.
  'POST /v1/api-keys': [400],
  // Names, tags and addresses have forms; a page token is of one list.
  'POST /v1/cluster/join-tokens': [400],
  'GET /v1/cluster/join-tokens': [400],
  'PUT /v1/secrets/{path}': [400],
  // An endpoint has no query; some types need one, and an alias is there once.
  'PUT /v1/cluster/providers/{name}': [400],
  // A key must be a point of the curve, an envelope signed.
  'POST /v1/seal/attest': [400],
  'POST /v1/seal/invoke': [400],
  'POST /v1/invoke': [400],
};

/** What any operation may answer to what fits the schema: an example of the limits' own route may set one to 0. */
const ACCEPTED = ['2xx', 401, 403, 404, 409, 429, '5xx'];

const EXCEPTION = Object.entries(EXCEPTIONS)
  .map(([name, also]) => {
    const statuses = JSON.stringify([...ACCEPTED, ...also]);
    const checks = `[operations.checks.positive_data_acceptance]\nexpected-statuses = ${statuses}\n`;
    // A route that names a workflow that is not there: 500 workflow_error (H24).
    const served =
      name === 'POST /v1/stimuli'
        ? '[operations.checks.not_a_server_error]\nexpected-statuses = ["2xx", "3xx", "4xx", 500]\n'
        : '';
    return `[[operations]]\ninclude-name = "${name}"\n${checks}${served}`;
  })
  .join('\n');

/** A query too long for any route is refused before the route is known. */
const REFUSALS = `[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 428, 429, 431, "5xx"]

[checks.positive_data_acceptance]
expected-statuses = ${JSON.stringify(ACCEPTED)}
`;

/**
 * Operations that end the node under test, or stop it from serving: test/cli/fleet.test.ts and test/transport/rest have
 * them.
 */
const ENDING = '^/v1/cluster/nodes/\\{id\\}/(drain|shutdown)$';

/** Streams that go on until the caller leaves: test/transport/rest and test/product/walls have them. */
const ENDLESS = '^/v1/(feed|tap)$';

/** Real ids for what only reads, so that more than "not found" is checked. */
const known = (prefix: string, parameter: string, value: string, methods = ['GET']): string =>
  `[[operations]]\ninclude-path-regex = "^${prefix}/\\\\{${parameter}\\\\}"\ninclude-method = ${JSON.stringify(methods)}\nparameters = { ${parameter} = "${value}" }\n`;

async function fuzz(node: ProductNode, seed: number, headers: Readonly<Record<string, string>> = {}): Promise<void> {
  const described = (await node.call('GET', '/v1/openapi.json')).body.paths;
  const paths = Object.keys(Object(described)).filter((_path, at) => (at + seed) % SHARES === FIRST);
  assert.ok(paths.length > 40 / SHARES, `${paths.length} paths`);
  const agent = await node.deploy(agentYaml('known-agent', { task: { instruction: 'Answer.' } }), headers);
  const execution = await node.run(agent, 'hello', headers);
  const config = join(node.directory, 'schemathesis.toml');
  const examples = [
    known('/v1/agents', 'id', agent),
    known('/v1/agents/lookup', 'name', 'known-agent'),
    known('/v1/executions', 'id', execution),
  ];
  const own = await makeTenantObjects(
    (method, path, ask = {}) => node.call(method, path, { ...ask, headers: { ...headers, ...ask.headers } }),
    'known',
  );
  examples.push(
    known('/v1/workflows', 'name', own.workflow, ['GET', 'POST']),
    known('/v1/workflows/executions', 'id', own.run),
    known('/v1/human-approvals', 'id', own.approval, ['GET', 'POST']),
    known('/v1/stimuli', 'id', own.stimulus),
    known('/v1/volumes', 'id', own.volume, ['GET', 'PUT', 'POST']),
    known('/v1/api-keys', 'id', own.key),
    known('/v1/secrets', 'path', own.secret),
  );
  const token = headers.authorization?.replace('Bearer ', '');
  const auth = token === undefined ? [] : [`[auth.openapi.bearer]\nbearer = "${token}"\n`];
  await writeFile(config, [...auth, REFUSALS, EXCEPTION, ...examples].join('\n'));
  const coverage = await attempt(node, { config, seed, paths, part: COVERAGE });
  assert.match(coverage, /Selected: (\d+)\/\d+\s+Tested: \1\b/, `every operation is tested:\n${coverage}`);
  await attempt(node, { config, seed, paths, part: RANDOM });
  assert.ok(!node.process.crashed, node.process.log);
  assert.equal((await node.call('GET', '/health')).status, 200);
}

/** The last part of what the program printed, when all its checks held. */
async function attempt(
  node: ProductNode,
  given: {
    readonly config: string;
    readonly seed: number;
    readonly paths: readonly string[];
    readonly part: typeof COVERAGE;
  },
): Promise<string> {
  const { config, seed, paths, part } = given;
  const flags = [
    ['--config-file', config, 'run', `${node.url}/v1/openapi.json`],
    ['--checks', 'all', '--phases', part.phases, '--seed', String(seed), '--max-examples', String(EXAMPLES)],
    ['--max-time', String(part.seconds), '--workers', '1', '--no-color'],
    ['--exclude-path-regex', `${ENDING}|${ENDLESS}`],
    ...(SHARES === 1 ? [] : paths.map((path) => ['--include-path', path])),
  ].flat();
  const options = { cwd: node.directory, timeout: (part.seconds + 60) * 1000, maxBuffer: 64 * 1024 * 1024 };
  const outcome = await run(PROGRAM, flags, options).catch((error: { stdout?: string; message: string }) => ({
    stdout: error.stdout ?? error.message,
    failed: true,
  }));
  const summary = outcome.stdout.slice(-12_000);
  assert.ok(!('failed' in outcome), summary);
  return summary;
}

const skip = await missing();

describe('schemathesis, all checks over the served description', { skip }, () => {
  const test = eachNth(2);

  test('a node without authentication does what its description says', async () => {
    await using node = await ProductNode.start();
    await fuzz(node, 1);
  });

  test('a node with authentication does what its description says, with a token and without', async () => {
    await using realms = await Realms.open();
    await using node = await ProductNode.start({ spec: realms.spec });
    await fuzz(node, 2, await realms.headers('alphaAdmin'));
  });
});
