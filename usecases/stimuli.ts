import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { type Receive, Received, type Routing, stimulusEvents } from '../actors/stimulus/messages.ts';
import type { Duplicate, StimulusDocument, StimulusRecord } from '../actors/stimulus/view.ts';
import { type Address, addressOf } from '../runtime/address.ts';
import type { ActorClient, ActorEvent, CallOptions } from '../runtime/client.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { type Page, type PageAsked, pageOf, shownPage } from '../runtime/documents/pages.ts';
import type { Collection } from '../runtime/documents.ts';
import { isErrorCode, SvcError } from '../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../runtime/identity.ts';
import { type Random, systemRandom } from '../runtime/random.ts';

export interface StimulusContent {
  readonly source: string;
  readonly content: string;
  /** `base64`: what came were bytes and no text. */
  readonly contentEncoding?: 'base64';
  readonly idempotencyKey?: string;
  /** Of the key; by default a repeat is refused for 24 hours (G14, H22). */
  readonly repeats?: RepeatRules;
  /** Forwarded HTTP headers; those that could carry secrets are left out here. */
  readonly headers: Readonly<Record<string, string>>;
}

/** What becomes of a stimulus whose key came before. */
interface RepeatRules {
  /** How long it is a repeat, from the first one on. */
  readonly windowMs: number;
  /** As the first one, once that has its workflow; otherwise it is refused. */
  readonly answered: boolean;
}

export interface IngestStimulus extends StimulusContent {
  readonly identity: Identity;
}

interface StimulusStarted {
  readonly stimulus_id: string;
  readonly workflow_execution_id: string;
  /** Both ids are those of an earlier delivery, and nothing was started now. */
  readonly duplicate?: true;
}

interface IngestOptions extends CallOptions {
  /** Told when it is durably received and an agent is asked where it goes: that takes as long as the agent takes. */
  readonly onBegun?: () => void;
}

/** Stimuli: idempotency, direct route, router agent (G14, H22, H23). */
export interface StimulusApi {
  /**
   * Resolves when its workflow is durably started. Throws `idempotent_duplicate` (see `duplicateOf`),
   * `classification_failed`, `no_router_configured`, `workflow_error`, `validation_failed`. Once it is received it goes
   * on without its caller. A repeat whose rules say that it is answered resolves, or throws, as the first one does.
   */
  ingest(request: IngestStimulus, options?: IngestOptions): Promise<StimulusStarted>;
  /** The same for a webhook whose signature was verified; the route names the tenant. Throws `not_found` without route and router. */
  ingestWebhook(request: StimulusContent, options?: IngestOptions): Promise<StimulusStarted>;
  /** Newest first. */
  list(tenant: string, page: PageAsked): Promise<Page<StimulusRecord>>;
  /** Throws `not_found`. */
  get(tenant: string, stimulusId: string): Promise<StimulusRecord>;
}

/** Null for every error but `idempotent_duplicate`. */
export function duplicateOf(thrown: unknown): Duplicate | null {
  if (!(thrown instanceof SvcError) || thrown.code !== 'idempotent_duplicate') return null;
  const of = (name: keyof Duplicate): string => thrown.details?.find(({ path }) => path === name)?.message ?? '';
  return {
    original_stimulus_id: of('original_stimulus_id'),
    workflow_execution_id: of('workflow_execution_id'),
  };
}

/** `spec.stimulus` without its routes. */
export interface StimulusSettings {
  readonly router_agent?: string | undefined;
  readonly classification_confidence_threshold: number;
  readonly classification_timeout_secs: number;
}

/** The table of direct routes, as far as routing reads it. */
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

/** How long a key is remembered (G14, H22). */
const IDEMPOTENCY_WINDOW_MS = 24 * 3_600_000;

/** Nobody can repeat one without a key; it stays a while for whoever still reads its end. */
const KEYLESS_WINDOW_MS = 600_000;

const MAX_CONTENT_BYTES = 2 * 1024 * 1024;

const MAX_SOURCE_CHARS = 200;

const CONTROL = /\p{Cc}/u;

const MAX_KEY_CHARS = 1_024;

const MOST_LISTED = 1_000;

const NEWEST_FIRST = [
  ['received_at', 'desc'],
  ['id', 'desc'],
] as const;

/** Lists lag some 250 ms (R2); who has just sent one looks for it at once. */
const LOOKS = 4;

const LOOK_AGAIN_MS = 100;

/** `StimulusApi` over messages and the collection `STIMULI`. Keeps nothing itself. */
export function createStimulusApi(parts: StimulusParts): StimulusApi {
  const { client, stimuli, routes, settings, clock = systemClock, random = systemRandom } = parts;
  const pause = (ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve));

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

  /** An actor whose window is over leaves within a moment; then the key is free. */
  async function receive(address: Address, payload: Receive, options: CallOptions) {
    for (let look = 1; ; look += 1) {
      try {
        return await client.ask(address, 'Receive', payload, options);
      } catch (thrown) {
        const leaving = thrown instanceof SvcError && thrown.code === 'failed_precondition';
        if (!leaving || look >= LOOKS * 2) throw thrown;
        await pause(LOOK_AGAIN_MS);
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
      if (routing.kind === 'none') throw new SvcError('not_found', 'nothing takes webhooks of this source');
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
        if (look < LOOKS) await pause(LOOK_AGAIN_MS);
      }
      throw new SvcError('not_found', 'stimulus not found');
    },
  };
}

/** The sender proved to know the secret of the source, and nothing else. */
const webhookIdentity = ({ source }: StimulusContent, tenant: string): IngestStimulus['identity'] => ({
  kind: 'service_account',
  subject: `webhook:${source}`,
  tenant,
  roles: [],
  tier: 'enterprise',
});

const expected = (field: string, what: string): SvcError =>
  new SvcError('invalid_argument', `${field}: expected ${what}`, { field });

/** It is the name of a route: see catalog/stimulus-routes.ts. */
function checkSource(source: string): void {
  if (source.trim() === '' || source.length > MAX_SOURCE_CHARS || CONTROL.test(source))
    throw expected('source', `1 to ${MAX_SOURCE_CHARS} characters, none of them a control character`);
}

function receiveOf(request: IngestStimulus, routing: Routing): Receive {
  const { source, content, contentEncoding, headers, idempotencyKey: key, repeats } = request;
  if (key !== undefined && (key === '' || key.length > MAX_KEY_CHARS))
    throw expected('idempotency_key', `1 to ${MAX_KEY_CHARS} characters`);
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

/** The same source and key in a tenant are the same actor. Sources know no case, keys do. */
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

/** Credentials, sessions and signatures never reach a message, a blackboard or a log. */
const SECRET = /auth|cookie|signature|token|secret|password|credential|session|api-?key|^x-tenant-id$/;

const MOST = 100;

const MAX_CHARS = 32_768;

/**
 * Headers as the workflow sees them: lower-case names, none that could carry a secret. Throws `invalid_argument` for
 * too many.
 */
function forwardedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(headers)
    .map(([name, value]) => [name.toLowerCase(), value] as const)
    .filter(([name]) => name !== '' && name !== '__proto__' && !SECRET.test(name));
  const chars = kept.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  if (kept.length <= MOST && chars <= MAX_CHARS) return Object.fromEntries(kept);
  throw new SvcError('invalid_argument', `headers: expected at most ${MOST}, with ${MAX_CHARS} characters together`, {
    field: 'headers',
  });
}

/** How long the start of a workflow may take before its caller is told to look later. */
const ROUTING_WAIT_MS = 30_000;

const HEARTBEAT_MS = 1_000;

/**
 * Waits for what becomes of one delivery. Throws what it was rejected with, and `deadline_exceeded` when it is still on
 * its way: it goes on without its caller.
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
  throw new SvcError('deadline_exceeded', `stimulus ${stimulus_id} was received and is not routed yet`);
}

/** Whether a delivery has its workflow with this event; throws when it will have none. */
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
