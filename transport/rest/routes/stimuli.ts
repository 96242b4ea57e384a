import { isUtf8 } from 'node:buffer';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ERRORS, SvcError } from '../../../runtime/errors.ts';
import { SCHEMES, type SignedDelivery, type Webhooks } from '../../../security/api.ts';
import { CallerHeaders } from '../../../usecases/operations/schemas/fields.ts';
import {
  DuplicateProblem,
  SourceParams,
  StimulusAnswer,
  StimulusBody,
  WebhookAnswer,
} from '../../../usecases/operations/schemas/stimuli.ts';
import { duplicateOf, type StimulusApi, type StimulusContent } from '../../../usecases/stimuli.ts';
import type { RestApp, RestParts } from '../parts.ts';
import { answerError } from '../problem.ts';
import { callerOf, hasBegun } from '../request-context.ts';
import { problemSchemas } from '../schemas/problems.ts';
import { SignedBodies, type SignedBodyLimits } from '../signed-body.ts';

/** Adds the routes under /v1/stimuli and /v1/webhooks that this node has the parts for. */
export function stimulusRoutes(app: RestApp, { stimuli, webhooks, limits }: RestParts): void {
  if (stimuli === undefined) return;
  ingestStimulusRoute(app, stimuli);
  if (webhooks !== undefined) ingestWebhookRoute(app, { stimuli, webhooks, limits });
}

const content = { 'application/json': { schema: DuplicateProblem } };

/** The 409 answer of the two routes that accept stimuli. */
const duplicateSchema = { 409: { description: 'The same delivery was processed within 24 hours.', content } };

const ingestStimulusSchema = {
  operationId: 'stimuli.ingest',
  tags: ['stimuli'],
  summary: 'Route a stimulus to a workflow and start it',
  description: 'Answers when the workflow execution is durably started.',
  headers: CallerHeaders,
  body: StimulusBody,
  response: {
    200: StimulusAnswer,
    ...problemSchemas({ style: 'coded', hasBody: true, also: [422] }),
    ...duplicateSchema,
  },
};

/** POST /v1/stimuli (H22). */
function ingestStimulusRoute(app: RestApp, stimuli: StimulusApi): void {
  const options = {
    config: { access: 'run' as const },
    schema: ingestStimulusSchema,
    errorHandler: answerStimulusError,
  };
  app.post('/v1/stimuli', options, async (request) => {
    const { source, content, idempotency_key: idempotencyKey } = request.body;
    const { trace } = request;
    const stimulus = { source, content, headers: {}, identity: callerOf(request), idempotencyKey };
    return stimuli.ingest(stimulus, { trace, onBegun: () => hasBegun(request) });
  });
}

/** Answers a duplicate with the id of the first delivery (H22) and every other error as all routes do. */
function answerStimulusError(thrown: Error, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const first = duplicateOf(thrown);
  if (first === null) return answerError(thrown, request, reply);
  return reply
    .code(ERRORS.idempotent_duplicate.http)
    .type('application/json; charset=utf-8')
    .serializer(JSON.stringify)
    .send({ error: 'idempotent_duplicate', message: thrown.message, ...first });
}

/** The headers that the signature schemes need, from the schemes themselves. */
const headerFields = Object.fromEntries(
  Object.entries(SCHEMES).flatMap(([scheme, { headers }]) =>
    Object.entries(headers).map(([name, expected]) => [
      name.toLowerCase(),
      z.string().optional().describe(`Scheme ${scheme}: ${expected}.`),
    ]),
  ),
);

const webhookSchema = {
  operationId: 'webhooks.receive',
  tags: ['stimuli'],
  summary: 'Take a webhook and start its workflow',
  description: `The raw body is signed with a secret of the source, in the scheme that \`spec.stimulus.webhooks\` of the
node gives it: \`svc\` unless another one is set. The secret is the environment variable SVC_WEBHOOK_SECRET_<SOURCE> of the
node unless others are set. Answers when the workflow execution is durably started. A repeat is 409, with schemes stripe and slack
200 with \`duplicate\`.`,
  security: [],
  params: SourceParams,
  headers: z.looseObject(headerFields),
  body: { content: { '*/*': { schema: z.string().describe('Any content up to 1 MiB.') } } },
  response: {
    200: WebhookAnswer,
    ...problemSchemas({ style: 'coded', isPublic: true, also: [401, 404, 413, 422, 429, 503, 504] }),
    ...duplicateSchema,
  },
};

/** The data in the headers, kept while the body is read. */
interface Claim {
  readonly delivery: SignedDelivery;
  /** Headers unchanged from the request. */
  readonly headers: Readonly<Record<string, string>>;
}

interface WebhookParts {
  readonly stimuli: StimulusApi;
  readonly webhooks: Webhooks;
  readonly limits: SignedBodyLimits;
}

/**
 * POST /v1/webhooks/{source} (H25). In a plugin of its own, since only this route takes every content type as raw
 * bytes. The signature replaces a bearer token: it is checked before anything else is looked up.
 */
function ingestWebhookRoute(app: RestApp, { stimuli, webhooks, limits }: WebhookParts): void {
  const claims = new WeakMap<FastifyRequest, Claim>();
  const claimOf = (request: FastifyRequest): Claim => {
    const claim = claims.get(request);
    if (claim === undefined) throw new SvcError('missing_signature');
    return claim;
  };
  const bodies = new SignedBodies(limits);
  const options = {
    config: { access: 'public' as const, takesForms: true },
    schema: webhookSchema,
    bodyLimit: limits.webhookBytes,
    errorHandler: answerStimulusError,
    // Runs before the body is read: a caller without a signature cannot make the node hold a payload.
    onRequest: async (request: FastifyRequest<{ Params: { source: string } }>) => {
      const delivery = await webhooks.open(request.params.source, request.raw.headersDistinct);
      claims.set(request, { delivery, headers: headersOf(request) });
      // Fastify refuses an invalid content type before a parser sees it; this route does not depend on the type.
      request.raw.headers['content-type'] = 'application/octet-stream';
    },
  };
  app.register((scope: RestApp, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', async (request: FastifyRequest) =>
      bodies.read(request.raw, claimOf(request).delivery),
    );
    scope.post('/v1/webhooks/:source', options, async (request) => {
      const claim = claimOf(request);
      const body = bytesOf(request.body, claim);
      const { trace } = request;
      return stimuli.ingestWebhook(contentOf(request.params.source, claim, body), {
        trace,
        onBegun: () => hasBegun(request),
      });
    });
    done();
  });
}

/** The bytes of a body. No parser runs for a request without a body; its signature is that of zero bytes. */
function bytesOf(body: unknown, { delivery }: Claim): Buffer {
  if (Buffer.isBuffer(body)) return body;
  delivery.verify();
  return Buffer.alloc(0);
}

function contentOf(source: string, { delivery, headers }: Claim, body: Buffer): StimulusContent {
  return {
    source,
    headers,
    idempotencyKey: delivery.key(body),
    repeats: delivery.repeats,
    // The content of a stimulus is text; other bytes are sent as base64.
    ...(isUtf8(body)
      ? { content: body.toString('utf8') }
      : { content: body.toString('base64'), contentEncoding: 'base64' }),
  };
}

/** The headers of a request; repeated headers are joined, as HTTP does. */
function headersOf({ headers }: FastifyRequest): Record<string, string> {
  const all: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) all[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return all;
}
