import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { type Receive, Received, type Routing, stimulusEvents } from '../actors/stimulus/messages.ts';
import type { Duplicate, StimulusDocument, StimulusRecord } from '../actors/stimulus/view.ts';
import { type Address, addressOf } from '../runtime/address.ts';
import type { ActorClient, ActorEvent, CallOptions } from '../runtime/client.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { newestFirst, type Page, type PageAsked, pageOf, shownPage } from '../runtime/documents/pages.ts';
import type { Collection } from '../runtime/documents.ts';
import { invalidField, isErrorCode, SvcError } from '../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../runtime/identity.ts';
import { sleep } from '../runtime/kit/waits.ts';
import { type Random, systemRandom } from '../runtime/random.ts';
import type { RepeatRules } from '../security/api.ts';

export interface StimulusContent {
  readonly source: string;
  readonly content: string;
  /** `base64`: the request body was bytes and not valid text. */
  readonly contentEncoding?: 'base64';
  readonly idempotencyKey?: string;
  /** Rules for a repeated key. Default: a repeat is refused for 24 hours (G14, H22). */
  readonly repeats?: RepeatRules;
  /** Forwarded HTTP headers. Headers that could carry secrets are dropped here. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface IngestStimulus extends StimulusContent {
  readonly identity: Identity;
}

interface StimulusStarted {
  readonly stimulus_id: string;
  readonly workflow_execution_id: string;
  /** True when both ids are those of an earlier delivery and this one started nothing. */
  readonly duplicate?: true;
}

interface IngestOptions extends CallOptions {
  /**
   * Called when the stimulus is durably received and a router agent is asked, which takes as long as the agent takes.
   */
  readonly onBegun?: () => void;
}

/** Accepts stimuli: idempotency, direct routes, router agent (G14, H22, H23). */
export interface StimulusApi {
  /**
   * Resolves when the stimulus's workflow is durably started. Throws `idempotent_duplicate` (see `duplicateOf`),
   * `classification_failed`, `no_router_configured`, `workflow_error`, `validation_failed`. A received stimulus goes on
   * without its caller. A repeat whose rules say `answered` resolves or throws like the first one.
   */
  ingest(request: IngestStimulus, options?: IngestOptions): Promise<StimulusStarted>;
  /**
   * Like `ingest`, for a webhook whose signature was verified; the route names the tenant. Throws `not_found` when
   * there is neither a route nor a router.
   */
  ingestWebhook(request: StimulusContent, options?: IngestOptions): Promise<StimulusStarted>;
  /** Newest first. */
  list(tenant: string, page: PageAsked): Promise<Page<StimulusRecord>>;
  /** Throws `not_found`. */
  get(tenant: string, stimulusId: string): Promise<StimulusRecord>;
}

/** The earlier delivery that an `idempotent_duplicate` names; null for every other error. */
export function duplicateOf(thrown: unknown): Duplicate | null {
  if (!(thrown instanceof SvcError) || thrown.code !== 'idempotent_duplicate') return null;
  const of = (name: keyof Duplicate): string => thrown.details?.find(({ path }) => path === name)?.message ?? '';
  return {
    original_stimulus_id: of('original_stimulus_id'),
    workflow_execution_id: of('workflow_execution_id'),
  };
}

/** The settings of `spec.stimulus` without its routes. */
export interface StimulusSettings {
  readonly router_agent?: string | undefined;
  readonly classification_confidence_threshold: number;
  readonly classification_timeout_secs: number;
}

/** The part of the table of direct routes that routing reads. */
interface StimulusRouteTable {
  find(tenant: string, source: string): Promise<string | null>;
  findWebhook(source: string): Promise<{ readonly tenant: string; readonly workflow: string } | null>;
}

interface StimulusParts {
  readonly client: Pick<ActorClient, 'ask' | 'follow'>;
  readonly stimuli: Collection<StimulusDocument>;
  readonly routes: StimulusRouteTable;
  readonly settings: StimulusSettings;
  readonly clock?: Clock;
  readonly random?: Pick<Random, 'uuid'>;
}

/** How long a key counts as used, ms (G14, H22). */
const IDEMPOTENCY_WINDOW_MS = 24 * 3_600_000;

/** How long a delivery without a key is kept, ms. It cannot be repeated, but readers may still need its result. */
const KEYLESS_WINDOW_MS = 600_000;

const MAX_CONTENT_BYTES = 2 * 1024 * 1024;

const MAX_SOURCE_CHARS = 200;

const CONTROL = /\p{Cc}/u;

const MAX_KEY_CHARS = 1_024;

const MOST_LISTED = 1_000;

const NEWEST_FIRST = newestFirst('received_at');

/**
 * Attempts to find a stimulus in the list. Lists lag some 250 ms (R2), and a sender may look for its stimulus at once.
 */
const LOOKS = 4;

const LOOK_AGAIN_MS = 100;

/** Implements `StimulusApi` over messages and the collection `STIMULI`. Has no state of its own. */
export function createStimulusApi(parts: StimulusParts): StimulusApi {
  const { client, stimuli, routes, settings, clock = systemClock, random = systemRandom } = parts;

  const routingOf = (workflow: string | null): Routing => {
    if (workflow !== null) return { kind: 'direct', workflow };
    const { router_agent: agent, classification_confidence_threshold, classification_timeout_secs } = settings;
    if (agent === undefined) return { kind: 'none' };
    const threshold = classification_confidence_threshold;
    return { kind: 'router', agent, threshold, timeout_ms: classification_timeout_secs * 1_000 };
  };

  async function route(
    request: IngestStimulus,
    routing: Routing,
    { onBegun, ...options }: IngestOptions,
  ): Promise<StimulusStarted> {
    const { identity, idempotencyKey: key } = request;
    const payload = receiveOf(request, routing);
    const id = key === undefined ? random.uuid() : keyedId(identity.tenant, request.source, key);
    const address = addressOf('stimulus', identity.tenant, id);
    const received = Received.parse(await receive(address, payload, { ...options, identity }));
    const { stimulus_id, workflow_execution_id, first } = received;
    if (first === 'routed') return { stimulus_id, workflow_execution_id, duplicate: true };
    if (routing.kind === 'router') onBegun?.();
    const waitMs = ROUTING_WAIT_MS + (routing.kind === 'router' ? routing.timeout_ms : 0);
    const started = await followRouting({ client, clock }, address, received, { waitMs, signal: options.signal });
    return first === undefined ? started : { ...started, duplicate: true };
  }

  /** An actor whose window is over is removed within a moment; after that the key is free again. */
  async function receive(address: Address, payload: Receive, options: CallOptions) {
    for (let look = 1; ; look += 1) {
      try {
        return await client.ask(address, 'Receive', payload, options);
      } catch (thrown) {
        const leaving = thrown instanceof SvcError && thrown.code === 'failed_precondition';
        if (!leaving || look >= LOOKS * 2) throw thrown;
        await sleep(clock, LOOK_AGAIN_MS);
      }
    }
  }

  return {
    async ingest(request, options = {}) {
      checkSource(request.source);
      const workflow = await routes.find(request.identity.tenant, request.source);
      return route(request, routingOf(workflow), options);
    },

    async ingestWebhook(request, options = {}) {
      checkSource(request.source);
      const found = await routes.findWebhook(request.source);
      const routing = routingOf(found?.workflow ?? null);
      if (routing.kind === 'none')
        throw new SvcError('not_found', 'this source has no route for webhooks: add one with svc stimulus route add');
      return route(
        { ...request, identity: webhookIdentity(request, found?.tenant ?? SYSTEM_TENANT) },
        routing,
        options,
      );
    },

    async list(tenant, page) {
      const asked = { ...page, limit: Math.min(page.limit, MOST_LISTED) };
      return shownPage(await pageOf(stimuli, 'stimuli', { tenant, sort: NEWEST_FIRST }, asked), recordOf);
    },

    async get(tenant, stimulusId) {
      for (let look = 1; look <= LOOKS; look += 1) {
        const found = await stimuli.get(tenant, stimulusId);
        if (found !== null) return recordOf(found);
        if (look < LOOKS) await sleep(clock, LOOK_AGAIN_MS);
      }
      throw new SvcError('not_found', 'stimulus not found');
    },
  };
}

/** The identity of a webhook's sender, which has proved only that it knows the secret of the source. */
const webhookIdentity = ({ source }: StimulusContent, tenant: string): IngestStimulus['identity'] => ({
  kind: 'service_account',
  subject: `webhook:${source}`,
  tenant,
  roles: [],
  tier: 'enterprise',
});

/** A source names a route (catalog/stimulus-routes.ts), so it must be a valid name. */
function checkSource(source: string): void {
  if (source.trim() === '' || source.length > MAX_SOURCE_CHARS || CONTROL.test(source))
    throw invalidField('source', `expected 1 to ${MAX_SOURCE_CHARS} characters, none of them a control character`);
  if (!source.isWellFormed()) throw invalidField('source', 'expected Unicode text without lone surrogates');
}

function receiveOf(request: IngestStimulus, routing: Routing): Receive {
  const { source, content, contentEncoding, headers, idempotencyKey: key, repeats } = request;
  if (key !== undefined && (key === '' || key.length > MAX_KEY_CHARS))
    throw invalidField('idempotency_key', `expected 1 to ${MAX_KEY_CHARS} characters`);
  if (Buffer.byteLength(content) > MAX_CONTENT_BYTES) {
    throw new SvcError('payload_too_large', `content: expected at most ${MAX_CONTENT_BYTES} bytes`, {
      field: 'content',
    });
  }
  return {
    source,
    content,
    ...(contentEncoding === undefined ? {} : { content_encoding: contentEncoding }),
    headers: forwardedHeaders(headers),
    window_ms: key === undefined ? KEYLESS_WINDOW_MS : (repeats?.windowMs ?? IDEMPOTENCY_WINDOW_MS),
    ...(repeats?.answered === true ? { repeat: 'answer' } : {}),
    routing,
  };
}

/**
 * Id of a delivery with a key. The same source and key in a tenant always give the same actor. Sources ignore case,
 * keys do not.
 */
const keyedId = (tenant: string, source: string, key: string): string =>
  createHash('sha256')
    .update(JSON.stringify([tenant, source.toLowerCase(), key]))
    .digest('hex');

const recordOf = ({
  id,
  source,
  status,
  workflow_execution_id,
  reason,
  received_at,
}: StimulusDocument): StimulusRecord => ({
  id,
  source,
  status,
  workflow_execution_id,
  reason,
  received_at,
});

/**
 * Header names that may carry credentials, sessions or signatures: these never reach a message, a blackboard or a log.
 */
const SECRET = /auth|cookie|signature|token|secret|password|credential|session|api-?key|^x-tenant-id$/;

const MOST = 100;

const MAX_CHARS = 32_768;

/**
 * The headers that the workflow gets: lower-case names, without those that could carry a secret. Throws
 * `invalid_argument` for too many.
 */
function forwardedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(headers)
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name]) => name !== '' && name !== '__proto__' && !SECRET.test(name));
  const chars = kept.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (kept.length <= MOST && chars <= MAX_CHARS) return Object.fromEntries(kept);
  throw invalidField('headers', `expected at most ${MOST}, with ${MAX_CHARS} characters together`);
}

/** How long a caller waits for the start of the workflow, ms, before it gets `deadline_exceeded`. */
const ROUTING_WAIT_MS = 30_000;

const HEARTBEAT_MS = 1_000;

/**
 * Waits for the outcome of one delivery. Throws the error that it was rejected with, and `deadline_exceeded` while it
 * is still on its way: the delivery goes on without its caller.
 */
async function followRouting(
  parts: { readonly client: Pick<ActorClient, 'follow'>; readonly clock: Clock },
  address: Address,
  received: z.output<typeof Received>,
  wait: { readonly waitMs: number; readonly signal: AbortSignal | undefined },
): Promise<StimulusStarted> {
  const { stimulus_id, workflow_execution_id, after } = received;
  const patience = new AbortController();
  const disarm = parts.clock.after(wait.waitMs, () => patience.abort());
  const signal = wait.signal === undefined ? patience.signal : AbortSignal.any([patience.signal, wait.signal]);
  try {
    for await (const event of parts.client.follow(address, after, { signal, heartbeatMs: HEARTBEAT_MS })) {
      if (event !== null && isEnd(event, stimulus_id)) return { stimulus_id, workflow_execution_id };
    }
  } finally {
    disarm();
  }
  throw new SvcError(
    'deadline_exceeded',
    `stimulus ${stimulus_id} was received and its workflow has not started yet: read the stimulus`,
  );
}

/** Whether this event gives a delivery its workflow. Throws when the event means that it will have none. */
function isEnd({ name, payload }: ActorEvent, stimulusId: string): boolean {
  switch (name) {
    case 'StimulusClassified':
      return stimulusEvents.StimulusClassified.parse(payload).stimulus_id === stimulusId;
    case 'StimulusRejected': {
      const { stimulus_id, code, reason } = stimulusEvents.StimulusRejected.parse(payload);
      if (stimulus_id === stimulusId) throw new SvcError(isErrorCode(code) ? code : 'internal', reason);
      return false;
    }
    case 'ClassificationFailed': {
      const { stimulus_id, code, error } = stimulusEvents.ClassificationFailed.parse(payload);
      if (stimulus_id === stimulusId) throw new SvcError(isErrorCode(code) ? code : 'internal', error);
      return false;
    }
    default:
      return false;
  }
}
