import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import {
  generateRequest,
  IntentStarted,
  IntentStatus,
  intentRequest,
  promptRequest,
} from '../../../usecases/intent-request.ts';
import type { IntentApi, Starter } from '../../../usecases/management.ts';
import { RunStarted } from '../../../usecases/operations/schemas/executions.ts';
import { CallerHeaders, ExecutionId } from '../../../usecases/operations/schemas/fields.ts';
import { IdempotencyKey, type StartKey, type StartKeys, startIdFor } from '../../../usecases/starts/start-keys.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { callerOf } from '../request-context.ts';
import { problemSchemas } from '../schemas/problems.ts';

/** Adds /v1/execute on nodes with the intent pipeline. */
export function executeRoutes(app: RestApp, { intents, startKeys }: RestParts): void {
  if (intents === undefined) return;
  startIntentRoutes(app, intents, startKeys);
  getPipelineRoute(app, intents);
}

/** The tool of the same name has its own schema, which refers to no component. */
const PipelineStarted = IntentStarted.meta({ id: 'PipelineStarted' });

const shared = {
  tags: ['execute'],
  headers: CallerHeaders.extend({ 'idempotency-key': IdempotencyKey.optional() }),
  response: { 200: PipelineStarted, ...problemSchemas({ style: 'coded', hasBody: true, also: [403, 404, 409] }) },
};

const startIntentConfig = { access: 'run', problems: 'coded', texts: { notFound: 'volume not found' } } as const;

/** POST /v1/execute/intent (svc.execute.intent) and POST /v1/execute (svc.execute). */
function startIntentRoutes(app: RestApp, intents: IntentApi, startKeys: StartKeys | undefined): void {
  const intent = {
    ...shared,
    operationId: 'execute.intent',
    summary: 'Reach a goal by a program',
    description:
      'An agent writes the program, a container without a network runs it. Answers as soon as the start is durable; read the ' +
      'result at /v1/execute/{id}, follow the run at `stream_url`.',
    body: z.strictObject(intentRequest),
  };
  app.post('/v1/execute/intent', { config: startIntentConfig, schema: intent }, async (request) =>
    intents.start(request.body, await starterOf(request, 'intent', startKeys)),
  );
  const prompt = {
    ...shared,
    operationId: 'execute.start',
    summary: 'Reach a goal by a program, with defaults',
    description: 'POST /v1/execute/intent with nothing but the goal.',
    body: z.strictObject(promptRequest),
  };
  app.post('/v1/execute', { config: startIntentConfig, schema: prompt }, async (request) =>
    intents.start({ intent: request.body.prompt, language: 'python' }, await starterOf(request, 'intent', startKeys)),
  );
}

const schema = {
  operationId: 'execute.get',
  tags: ['execute'],
  summary: 'Show how a pipeline execution stands',
  description: 'Running, completed with its result, or failed with the reason and the state that failed.',
  headers: CallerHeaders,
  params: z.object({ id: ExecutionId }),
  response: { 200: IntentStatus, ...problemSchemas({ style: 'coded', also: [404] }) },
};

const getPipelineConfig = {
  access: 'read',
  problems: 'coded',
  texts: { notFound: 'pipeline execution not found' },
} as const;

/** GET /v1/execute/{id}: svc.execute.status (W40). */
function getPipelineRoute(app: RestApp, intents: IntentApi): void {
  app.get('/v1/execute/:id', { config: getPipelineConfig, schema }, (request) =>
    intents.status(callerOf(request), request.params.id),
  );
}

const GenerateBody = z.strictObject(generateRequest).meta({ id: 'GenerateRequest' });

const schemaOf = (kind: 'agent' | 'workflow') => ({
  operationId: `${kind}s.generate`,
  tags: [`${kind}s`],
  summary: `Have ${kind === 'agent' ? 'an agent' : 'a workflow'} written and deployed`,
  description:
    `Says in plain words what the ${kind} should do; an agent writes the manifest, corrects what is refused, and deploys it. ` +
    'Starts an execution of the authoring agent and answers with its id. Its final output names what was deployed.',
  headers: CallerHeaders.extend({ 'idempotency-key': IdempotencyKey.optional() }),
  body: GenerateBody,
  response: { 200: RunStarted, ...problemSchemas({ style: 'coded', hasBody: true, also: [403, 409] }) },
});

const generateConfig = { access: 'run', problems: 'coded' } as const;

/** POST /v1/agents/generate and POST /v1/workflows/generate: svc.agent.generate, svc.workflow.generate (W34, W35). */
export function generateRoutes(app: RestApp, { authors, startKeys }: RestParts): void {
  if (authors === undefined) return;
  app.post('/v1/agents/generate', { config: generateConfig, schema: schemaOf('agent') }, async (request) =>
    authors.agent(request.body.input, await starterOf(request, 'generate agent', startKeys)),
  );
  app.post('/v1/workflows/generate', { config: generateConfig, schema: schemaOf('workflow') }, async (request) =>
    authors.workflow(request.body.input, await starterOf(request, 'generate workflow', startKeys)),
  );
}

/** The starter with the id that its key names; `what` separates the keys of different calls. Throws `conflict`. */
async function starterOf(
  request: FastifyRequest,
  what: StartKey['what'],
  keys: StartKeys | undefined,
): Promise<Starter> {
  const identity = callerOf(request);
  const given = request.headers['idempotency-key'];
  const key = typeof given === 'string' ? given : undefined;
  return { identity, trace: request.trace, executionId: await startIdFor(keys, { identity, what, key }, request.body) };
}
