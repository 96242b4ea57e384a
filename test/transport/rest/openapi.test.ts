import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { z } from 'zod';
import { withDevTools } from '../../../.ci/tools/dev-tool.ts';
import { executionEvents } from '../../../actors/execution/events.ts';
import { workflowEvents } from '../../../actors/workflow/events.ts';
import { namedUsers, restServer } from './rest-server.ts';
import { describedNode } from './whole-node.ts';

interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly responses: Record<string, { description: string; content?: Record<string, { schema: object }> }>;
  readonly requestBody?: { content: Record<string, { schema: object }> };
  readonly parameters?: { name: string; in: string; required?: boolean; schema: object }[];
}

async function documentOf() {
  await using at = await restServer({ authenticator: namedUsers });
  const { body, status } = await at.call('GET', '/v1/openapi.json');
  assert.equal(status, 200);
  const operations = Object.entries<Record<string, Operation>>(body.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
  );
  return { body, operations };
}

const LintReport = z.object({
  problems: z.array(z.object({ ruleId: z.string(), severity: z.string(), message: z.string() })),
});

describe('OpenAPI document', () => {
  it('is 3.1, says how to authenticate, and describes every route', async () => {
    const { body, operations } = await documentOf();
    assert.match(body.openapi, /^3\.1\./);
    assert.deepEqual(body.security, [{ bearer: [] }]);
    assert.equal(operations.length, 24);
    for (const { name, operation } of operations) assert.ok(operation.summary, name);
    const ids = operations.map(({ operation }) => operation.operationId);
    assert.equal(new Set(ids).size, operations.length, 'an operationId names one operation');
    assert.ok(ids.every((id) => id !== undefined));
  });

  it('of a node with and without an identity provider has no error for the linter of Redocly', async () => {
    const { body } = await documentOf();
    const { document } = await describedNode();
    for (const [name, described] of Object.entries({ admitted: body, open: document })) {
      assert.deepEqual(await lintErrors(described), [], name);
    }
  });

  it('describes every status a route can answer', async () => {
    const { operations } = await documentOf();
    const of = (name: string) =>
      Object.keys(operations.find((entry) => entry.name === name)?.operation.responses ?? {});
    const everywhere = ['200', '400', '401', '403', '408', '429', '431', '500', '503', '504'];
    assert.deepEqual(of('GET /health'), ['200', '400', '408', '431', '500']);
    assert.deepEqual(of('GET /health/ready'), ['200', '400', '408', '431', '500', '503']);
    assert.deepEqual(of('GET /v1/agents'), everywhere);
    assert.deepEqual(of('POST /v1/agents'), [...everywhere, '409', '413', '415', '422'].sort());
    assert.deepEqual(of('GET /v1/agents/{id}'), [...everywhere, '404'].sort());
    assert.deepEqual(of('POST /v1/executions'), [...everywhere, '404', '409', '413', '415'].sort());
    assert.deepEqual(of('GET /v1/executions/{id}/stream'), [...everywhere, '204', '404', '406'].sort());
    assert.deepEqual(of('DELETE /v1/executions/{id}'), [...everywhere, '404', '409', '413', '415'].sort());
  });

  it('describes bodies, parameters and streams with the types that are really taken', async () => {
    const { operations } = await documentOf();
    const find = (name: string) => operations.find((entry) => entry.name === name)?.operation ?? assert.fail(name);
    const deploy = find('POST /v1/agents').requestBody?.content ?? {};
    assert.deepEqual(Object.keys(deploy), ['application/json', 'application/yaml']);
    const stream = find('GET /v1/executions/{id}/stream');
    assert.deepEqual(Object.keys(stream.responses['200']?.content ?? {}), ['text/event-stream']);
    assert.equal(stream.responses['204']?.content, undefined);
    const parameters = (stream.parameters ?? []).map((parameter) => `${parameter.in} ${parameter.name}`).sort();
    assert.deepEqual(parameters, [
      'header last-event-id',
      'header traceparent',
      'header x-tenant-id',
      'path id',
      'query last_event_id',
    ]);
    const limit = find('GET /v1/executions').parameters?.find(({ name }) => name === 'limit');
    assert.deepEqual(
      { ...limit?.schema, description: undefined },
      { type: 'integer', minimum: 1, maximum: 2_147_483_647, description: undefined },
    );
    assert.notEqual(limit?.required, true);
  });
});

const Stream = z.object({
  responses: z.object({
    200: z.object({
      content: z.object({
        'text/event-stream': z.object({
          schema: z.object({ properties: z.object({ data: z.looseObject({ description: z.string() }) }) }),
        }),
      }),
    }),
  }),
});
const Choices = z.object({
  anyOf: z.array(z.object({ properties: z.record(z.string(), z.object({ $ref: z.string() })) })),
});
const Content = z.record(z.string(), z.looseObject({ example: z.unknown().optional() }));
const Exampled = z.looseObject({
  requestBody: z.looseObject({ content: Content }).optional(),
  responses: z.record(z.string(), z.looseObject({ content: Content.optional() })),
  parameters: z.array(z.looseObject({ in: z.string(), name: z.string(), example: z.unknown().optional() })).optional(),
});
const Bodied = z.looseObject({
  requestBody: z
    .looseObject({ content: z.record(z.string(), z.looseObject({ schema: z.looseObject({}) })) })
    .optional(),
});
const Body = z.looseObject({
  $ref: z.string().optional(),
  anyOf: z.array(z.looseObject({})).optional(),
  oneOf: z.array(z.looseObject({})).optional(),
  type: z.unknown().optional(),
  additionalProperties: z.unknown().optional(),
});
const Fields = z.object({ properties: z.record(z.string(), z.unknown()) });

/** A schema without its description. */
const shapeOf = (schema: object): string => JSON.stringify({ ...schema, description: undefined });

/** Every object with fields of its own below a part of the description, and that part too. */
function objectsIn(part: unknown): object[] {
  if (typeof part !== 'object' || part === null) return [];
  const below = Object.values(part).flatMap(objectsIn);
  return 'type' in part && part.type === 'object' && 'properties' in part ? [part, ...below] : below;
}

const refsIn = (part: unknown): string[] =>
  [...JSON.stringify(part).matchAll(/"\$ref":"([^"]*)"/g)].map(([, ref = '']) => ref);

describe('components of the API description of a node with every part', () => {
  it('are named by something, and everything named is there', async () => {
    const { document } = await describedNode();
    const named = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
    assert.deepEqual([...new Set(refsIn(document))].sort(), named.sort());
  });

  it('are written out nowhere else: what answers or takes one refers to it', async () => {
    const { document } = await describedNode();
    const { schemas } = document.components;
    const objects = Object.entries(schemas).filter(([, one]) => objectsIn(one).includes(one));
    const names = new Map(objects.map(([name, one]) => [shapeOf(one), name]));
    const parts = [document.paths, ...Object.values(schemas).flatMap((one) => Object.values(one))];
    const copies = objectsIn(parts).flatMap((one) => names.get(shapeOf(one)) ?? []);
    assert.deepEqual(copies, []);
    for (const name of [
      'Agent',
      'Workflow',
      'ExecutionStatus',
      'WorkflowExecutionStatus',
      'StartAnswer',
      'WaitReason',
    ]) {
      assert.ok(schemas[name] !== undefined, name);
    }
    for (const name of ['Volume', 'Approval', 'Secret', 'Stimulus', 'Problem', 'PlainProblem']) {
      assert.ok(schemas[name] !== undefined, name);
    }
  });

  it('have an example for every body, answer, record of a stream and path parameter, which fits its schema', async () => {
    const { document } = await describedNode();
    const ajv = new Ajv2020({ strict: false, validateFormats: false, unicodeRegExp: true });
    ajv.addSchema({ ...document, $id: 'svc:document' });
    const wrong: string[] = [];
    let examples = 0;
    const check = (where: string, pointer: string, example: unknown): void => {
      examples += 1;
      const isFit = ajv.compile({ $ref: `svc:document#${pointer}` });
      if (example === undefined) wrong.push(`${where}: none`);
      else if (!isFit(example)) wrong.push(`${where}: ${ajv.errorsText(isFit.errors)}`);
    };
    const escaped = (part: string): string => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'));
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        const at = `/paths/${escaped(path)}/${method}`;
        const { requestBody, responses, parameters } = Exampled.parse(operation);
        const json = 'application/json';
        const body = requestBody?.content[json];
        if (body !== undefined)
          check(`${method} ${path} body`, `${at}/requestBody/content/${escaped(json)}/schema`, body.example);
        for (const type of [json, 'text/event-stream']) {
          const answer = responses['200']?.content?.[type];
          if (answer !== undefined)
            check(`${method} ${path} ${type}`, `${at}/responses/200/content/${escaped(type)}/schema`, answer.example);
        }
        for (const [index, parameter] of (parameters ?? []).entries()) {
          if (parameter.in === 'path')
            check(`${method} ${path} ${parameter.name}`, `${at}/parameters/${index}/schema`, parameter.example);
        }
      }
    }
    assert.deepEqual(wrong, []);
    assert.ok(examples > 200, `${examples} examples`);
  });

  it('have no form that generators of clients refuse: several types in one schema, two parameters of one name', async () => {
    const { document } = await describedNode();
    const severalTypes = [...JSON.stringify(document).matchAll(/"type":\[[^\]]*\]/g)].filter(
      ([types]) => types.replace('"null"', '').split('","').length > 1,
    );
    assert.deepEqual(severalTypes, []);
    const { paths } = z
      .object({
        paths: z.record(
          z.string(),
          z.record(z.string(), z.object({ parameters: z.array(z.record(z.string(), z.unknown())).default([]) })),
        ),
      })
      .parse(document);
    for (const { parameters } of Object.values(paths).flatMap((methods) => Object.values(methods))) {
      const names = parameters.map((one) =>
        String(one['x-go-name'] ?? one.name)
          .replaceAll(/[^a-z]/gi, '')
          .toLowerCase(),
      );
      assert.equal(new Set(names).size, names.length, names.join());
    }
  });

  it('have one pagination: a list with a limit takes page_token and answers next_page_token', async () => {
    const { document, operationIds } = await describedNode();
    const others = Object.entries(document.paths).flatMap(([path, { get }]) => {
      const { parameters = [], responses } = Exampled.parse(get ?? { responses: {} });
      const names = parameters.filter((one) => one.in === 'query').map(({ name }) => name);
      const answer = responses['200']?.content?.['application/json']?.example;
      if (!names.includes('limit') || typeof answer !== 'object' || answer === null) return [];
      return names.includes('page_token') && 'next_page_token' in answer ? [] : [operationIds[`GET ${path}`]];
    });
    assert.deepEqual(others.sort(), [
      // Only the best matches are returned, so there is no next page.
      'agents.search',
      // In order of their number, behind `after`, as an export reads them.
      'audit.list_records',
      'workflows.search',
    ]);
  });

  it('refuse unknown members of every JSON body, but of those that are free-form', async () => {
    const { document } = await describedNode();
    const { schemas } = document.components;
    const choicesOf = (schema: object): object[] => {
      const { $ref, anyOf, oneOf } = Body.parse(schema);
      const named = $ref === undefined ? undefined : schemas[$ref.replace('#/components/schemas/', '')];
      if ($ref !== undefined) return choicesOf(named ?? assert.fail($ref));
      return (anyOf ?? oneOf)?.flatMap(choicesOf) ?? [schema];
    };
    const open = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods)
        .filter(([, operation]) => {
          const { requestBody } = Bodied.parse(operation);
          const schema = requestBody?.content['application/json']?.schema;
          if (schema === undefined) return false;
          return choicesOf(schema).some((one) => {
            const { type, additionalProperties } = Body.parse(one);
            return type !== 'null' && additionalProperties !== false;
          });
        })
        .map(([method]) => `${method.toUpperCase()} ${path}`),
    );
    // Arguments of a tool are checked against its own schema.
    assert.deepEqual(open.sort(), ['POST /v1/tools/{name}']);
  });

  it('say which events a stream has, and what each of them holds', async () => {
    const { document } = await describedNode();
    const streams = {
      '/v1/executions/{id}/stream': ['ExecutionEvent', executionEvents],
      '/v1/workflows/executions/{id}/stream': ['WorkflowEvent', workflowEvents],
      '/v1/workflows/executions/{id}/logs/stream': ['WorkflowEvent', workflowEvents],
    } as const;
    for (const [path, [name, events]] of Object.entries(streams)) {
      const { data } = Stream.parse(document.paths[path]?.get).responses['200'].content['text/event-stream'].schema
        .properties;
      assert.deepEqual(data, {
        type: 'string',
        description: data.description,
        contentMediaType: 'application/json',
        contentSchema: { $ref: `#/components/schemas/${name}` },
      });
      const choices = Choices.parse(document.components.schemas[name]).anyOf.map(({ properties }) => properties);
      assert.deepEqual(choices.flatMap(Object.keys), Object.keys(events));
      const fields = choices.flatMap(Object.values).map(({ $ref }) => $ref.replace('#/components/schemas/', ''));
      assert.deepEqual(
        fields.map((one) => Object.keys(Fields.parse(document.components.schemas[one]).properties)),
        Object.values(events).map(({ shape }) => Object.keys(shape)),
      );
    }
  });

  it('share one component between requests and answers unless these differ', async () => {
    const { schemas } = (await describedNode()).document.components;
    for (const name of Object.keys(schemas).filter((one) => one.endsWith('Input'))) {
      const answered = schemas[name.slice(0, -'Input'.length)];
      assert.ok(answered !== undefined, name);
      assert.notDeepEqual(schemas[name], answered);
    }
  });
});

describe('page of the API description', () => {
  it('loads nothing from elsewhere: every file it names is served here, and its policy allows no other', async () => {
    await using at = await restServer();
    const page = await at.call('GET', '/docs/');
    assert.equal(page.status, 200);
    const policy = page.headers.get('content-security-policy') ?? '';
    assert.match(policy, /default-src 'self'/);
    assert.doesNotMatch(policy, /https?:|\*|unsafe|[a-z]\.[a-z]/);
    const files = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '');
    assert.ok(files.length >= 4);
    for (const file of files) {
      assert.doesNotMatch(file, /^(?:[a-z]+:)?\/\//i, file);
      assert.equal((await fetch(new URL(file, `${at.base}/docs/`))).status, 200, file);
    }
    const script = await at.call('GET', '/docs/static/swagger-initializer.js');
    assert.match(script.text, /\/v1\/openapi\.json/);
  });
});

/** Errors of `redocly lint` with its recommended rules. */
async function lintErrors(document: unknown): Promise<readonly string[]> {
  const directory = await mkdtemp(join(tmpdir(), 'svc-openapi-'));
  const file = join(directory, 'openapi.json');
  await writeFile(file, JSON.stringify(document));
  const env = { ...withDevTools(), REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const args = ['lint', file, '--format', 'json', '--max-problems', '1000'];
  // It ends with 1 when it finds errors.
  const report = await new Promise<string>((resolve) => {
    execFile('redocly', args, { cwd: directory, env, maxBuffer: 16 * 1024 * 1024 }, (_failed, stdout) =>
      resolve(stdout),
    );
  });
  await rm(directory, { recursive: true });
  const { problems } = LintReport.parse(JSON.parse(report));
  return problems.filter(({ severity }) => severity === 'error').map(({ ruleId, message }) => `${ruleId}: ${message}`);
}
