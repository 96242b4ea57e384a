import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { type ClientReadableStream, credentials, loadPackageDefinition, type StatusObject } from '@grpc/grpc-js';
import { fromJSON } from '@grpc/proto-loader';
import protobuf from 'protobufjs';
import { manifest, node, type TestNode } from './node.ts';

/**
 * The messages of both services, typed by hand from the specification and not taken from the product's .proto.
 * One line a message: `name type number; …`, with `optional`, `repeated` and `map<…>`. Messages that clients
 * seldom need are not here.
 */
const SPEC_MESSAGES: Readonly<Record<string, string>> = {
  ExecuteAgentRequest: `agent_id string 1; input string 2; context_json string 3;
    security_policy optional SecurityPolicy 4; workflow_execution_id optional string 5`,
  ExecutionStarted: 'execution_id string 1; agent_id string 2; started_at string 3',
  IterationStarted: 'execution_id string 1; iteration_number uint32 2; action string 3; started_at string 4',
  IterationFailed: 'execution_id string 1; iteration_number uint32 2; error IterationError 3; failed_at string 4',
  IterationError: 'error_type string 1; message string 2; stacktrace optional string 3',
  RefinementApplied: 'execution_id string 1; iteration_number uint32 2; code_diff string 3; applied_at string 4',
  ExecutionCompleted: 'execution_id string 1; final_output string 2; total_iterations uint32 3; completed_at string 4',
  ExecutionFailed: 'execution_id string 1; reason string 2; total_iterations uint32 3; failed_at string 4',
  ExecuteSystemCommandRequest: `command string 1; env map<string,string> 2; workdir optional string 3;
    timeout_seconds optional uint32 4`,
  ExecuteSystemCommandResponse: 'exit_code int32 1; stdout string 2; stderr string 3; duration_ms uint64 4',
  ValidateRequest: `output string 1; task string 2; judges repeated JudgeConfig 3; consensus ConsensusConfig 4;
    context_json string 5`,
  JudgeConfig: 'agent_id string 1; input_template string 2; weight float 3',
  ConsensusConfig: `strategy Strategy 1; threshold optional float 2; agreement optional float 3;
    n optional uint32 4`,
  ValidateResponse: `score float 1; confidence float 2; reasoning string 3; binary_valid bool 4;
    individual_results repeated JudgeResult 5`,
  QueryMemoryRequest: `error_signature string 1; error_type optional string 2; limit optional uint32 3;
    min_success_score optional float 4`,
  QueryMemoryResponse: 'patterns repeated MemoryPattern 1',
  StoreMemoryPatternRequest: `error_signature string 1; error_type string 2; error_message string 3;
    solution_approach string 4; solution_code optional string 5; tags repeated string 7`,
  StoreMemoryPatternResponse: 'pattern_id string 1; deduplicated bool 2; new_frequency uint32 3',
  AttestAgentRequest: 'agent_id string 1; execution_id string 2; container_id string 3; public_key_pem string 4',
  AttestAgentResponse: 'security_token string 1',
  InvokeToolRequest: `protocol string 1; security_token string 2; signature string 3; payload bytes 4;
    timestamp string 5`,
  InvokeToolResponse: 'result_json bytes 1',
  IngestStimulusRequest: `source_name string 1; content string 2; idempotency_key optional string 3;
    headers map<string,string> 4`,
  IngestStimulusResponse: 'stimulus_id string 1; workflow_execution_id string 2',
};

/** Members of the oneof `event` of ExecutionEvent. */
const SPEC_EVENTS = `execution_started ExecutionStarted 1; iteration_started IterationStarted 2;
  iteration_output IterationOutput 3; iteration_completed IterationCompleted 4; iteration_failed IterationFailed 5;
  refinement_applied RefinementApplied 6; execution_completed ExecutionCompleted 7; execution_failed ExecutionFailed 8`;

const SPEC_STRATEGIES = { WEIGHTED_AVERAGE: 0, MAJORITY_VOTE: 1, UNANIMOUS: 2, ANY_APPROVED: 3 };

/** Request and response of each method; `stream` marks a server stream. */
const SPEC_METHODS: Readonly<Record<string, readonly [request: string, response: string, stream?: 'stream']>> = {
  ExecuteAgent: ['ExecuteAgentRequest', 'ExecutionEvent', 'stream'],
  ExecuteSystemCommand: ['ExecuteSystemCommandRequest', 'ExecuteSystemCommandResponse'],
  ValidateWithJudges: ['ValidateRequest', 'ValidateResponse'],
  QueryMemoryPatterns: ['QueryMemoryRequest', 'QueryMemoryResponse'],
  StoreMemoryPattern: ['StoreMemoryPatternRequest', 'StoreMemoryPatternResponse'],
  AttestAgent: ['AttestAgentRequest', 'AttestAgentResponse'],
  InvokeTool: ['InvokeToolRequest', 'InvokeToolResponse'],
  IngestStimulus: ['IngestStimulusRequest', 'IngestStimulusResponse'],
};

interface SpecField {
  readonly name: string;
  readonly rule: 'optional' | 'repeated' | '';
  readonly type: string;
  readonly number: number;
}

/** A line of a table, field by field. */
function fieldsOf(line: string): SpecField[] {
  return line.split(';').map((field) => {
    const match = /^\s*(\w+) (?:(optional|repeated) )?(\S+) (\d+)\s*$/.exec(field);
    const [, name, rule, type, number] = match ?? [];
    if (name === undefined || type === undefined) throw new Error(`not a field: ${field}`);
    return { name, rule: rule === 'optional' || rule === 'repeated' ? rule : '', type, number: Number(number) };
  });
}

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
