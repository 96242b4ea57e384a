import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { type ClientReadableStream, credentials, loadPackageDefinition, type StatusObject } from '@grpc/grpc-js';
import { fromJSON } from '@grpc/proto-loader';
import protobuf from 'protobufjs';
import { manifest, node, type TestNode } from './node.ts';
import { fieldsOf, SPEC_EVENTS, SPEC_MESSAGES, SPEC_METHODS, SPEC_STRATEGIES } from './spec-tables.ts';

const SERVICE = 'svc.runtime.v1.SvcRuntime';

describe('the .proto agrees with the tables of the specification', () => {
  const { root } = protobuf.parse(readFileSync('proto/svc/runtime/v1/runtime.proto', 'utf8'), { keepCase: true });
  const ours = (name: string): protobuf.Type => root.lookupType(`svc.runtime.v1.${name}`);

  const shown = (field: protobuf.Field): string => {
    const type = field instanceof protobuf.MapField ? `map<${field.keyType},${field.type}>` : field.type;
    const rule = field.repeated ? 'repeated ' : field.getOption('proto3_optional') === true ? 'optional ' : '';
    return `${field.name} ${rule}${type} ${field.id}`;
  };
  const told = (line: string): string[] =>
    fieldsOf(line).map(({ name, rule, type, number }) => `${name} ${rule === '' ? '' : `${rule} `}${type} ${number}`);

  for (const [name, line] of Object.entries(SPEC_MESSAGES)) {
    test(`${name} has the fields, types and numbers of the page, and no others`, () => {
      assert.deepEqual(ours(name).fieldsArray.map(shown), told(line));
    });
  }

  test('ExecutionEvent is the oneof of the page', () => {
    const event = ours('ExecutionEvent');
    assert.deepEqual(event.fieldsArray.map(shown), told(SPEC_EVENTS));
    assert.deepEqual(
      event.oneofs.event?.oneof,
      fieldsOf(SPEC_EVENTS).map(({ name }) => name),
    );
  });

  test('the strategies have the numbers of the page', () => {
    assert.deepEqual(root.lookupEnum('svc.runtime.v1.ConsensusConfig.Strategy').values, SPEC_STRATEGIES);
  });

  test('StoreMemoryPatternRequest never uses number 6', () => {
    const reserved = ours('StoreMemoryPatternRequest').reserved ?? [];
    assert.ok(reserved.some((range) => range[0] === 6 && range[1] === 6));
  });

  test('the service has the methods of the page', () => {
    const { methods } = root.lookupService(SERVICE);
    const seen = Object.entries(methods).map(([name, { requestType, responseType, requestStream, responseStream }]) => {
      assert.ok(requestStream !== true);
      return [name, [requestType, responseType, ...(responseStream === true ? ['stream'] : [])]];
    });
    assert.deepEqual(Object.fromEntries(seen), SPEC_METHODS);
  });
});

/** A client made of the tables of the specification alone. */
function strangersClient(address: string) {
  const known = (type: string): boolean => type in SPEC_MESSAGES || !/^[A-Z]/.test(type);
  const fields = (line: string) =>
    Object.fromEntries(
      fieldsOf(line)
        // Messages whose fields the specification does not show are omitted.
        .filter(({ type }) => known(type))
        .map(({ name, type, number }) => [name, { type, id: number }]),
    );
  const messages = Object.fromEntries(
    ['ExecuteAgentRequest', ...fieldsOf(SPEC_EVENTS).map(({ type }) => type), 'IterationError']
      .filter((name) => name in SPEC_MESSAGES)
      .map((name) => [name, { fields: fields(SPEC_MESSAGES[name] ?? '') }]),
  );
  const events = fields(SPEC_EVENTS);
  const definition = fromJSON(
    {
      nested: {
        svc: {
          nested: {
            runtime: {
              nested: {
                v1: {
                  nested: {
                    ...messages,
                    ExecutionEvent: { fields: events, oneofs: { event: { oneof: Object.keys(events) } } },
                    SvcRuntime: {
                      methods: {
                        ExecuteAgent: {
                          requestType: 'ExecuteAgentRequest',
                          responseType: 'ExecutionEvent',
                          responseStream: true,
                          comment: '',
                        },
                      },
                    },
                  },
                },
              },
            },
          },
        },
      },
    },
    { keepCase: true, oneofs: true },
  );
  const loaded = loadPackageDefinition(definition);
  const found = SERVICE.split('.').reduce<unknown>((at, name) => Object(at)[name], loaded);
  if (typeof found !== 'function') throw new Error('the service was not loaded');
  return Reflect.construct(found, [address, credentials.createInsecure()]);
}

describe('an independent client', () => {
  let at: TestNode;
  before(async () => {
    at = await node();
    await at.deploy(
      manifest('picky', { execution: { max_iterations: 2, validation: [{ type: 'regex', pattern: '^yes$' }] } }),
    );
  });
  after(() => at[Symbol.asyncDispose]());

  test('runs an agent and understands the stream, knowing only the tables of the specification', async () => {
    at.script({ chunks: ['no'] }, { chunks: ['yes'] });
    const client = strangersClient(at.address);
    const call: ClientReadableStream<Record<string, Record<string, unknown>> & { event?: string }> =
      client.ExecuteAgent({ agent_id: 'picky', input: 'hi' });
    const seen: { name: string; fields: Record<string, unknown> }[] = [];
    call.on('data', (message) => {
      if (message.event !== undefined) seen.push({ name: message.event, fields: message[message.event] ?? {} });
    });
    const status = await new Promise<StatusObject>((resolve) => call.once('status', resolve));
    assert.equal(status.code, 0);
    assert.deepEqual(
      seen.map(({ name }) => name),
      [
        'execution_started',
        'iteration_started',
        'iteration_failed',
        'refinement_applied',
        'iteration_started',
        'execution_completed',
      ],
    );
    const by = (name: string): Record<string, unknown> => seen.find((event) => event.name === name)?.fields ?? {};
    assert.equal(by('iteration_failed').iteration_number, 1);
    assert.equal(Object(by('iteration_failed').error).error_type, 'validation_failed');
    assert.equal(by('execution_completed').final_output, 'yes');
    assert.equal(by('execution_completed').total_iterations, 2);
    assert.match(String(by('execution_started').started_at), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    client.close();
  });
});
