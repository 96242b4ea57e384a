import {
  secretName,
  type WebhookSettings,
  webhookSecretReferences,
  webhooksBySource,
} from '../manifests/node/rate-limits.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Collection, CollectionSpec, StoredDocument } from '../runtime/documents.ts';
import { SvcError } from '../runtime/errors.ts';
import { type Identity, SYSTEM_TENANT } from '../runtime/identity.ts';

/** A direct route: a stimulus from `source` starts `workflow` (H23). */
export interface StimulusRoute {
  /** Lower-case. */
  readonly source: string;
  /** Name or UUID. */
  readonly workflow: string;
  /** `settings`: from the node's configuration file, which must be edited to change it; `stored`: created by a call. */
  readonly origin: 'settings' | 'stored';
}

/** The table of direct routes. A stored route wins over one of the node's settings. Sources are case-insensitive. */
export interface StimulusRoutes {
  /** The workflow of a source in a tenant; null when there is no route. */
  find(tenant: string, source: string): Promise<string | null>;
  /**
   * The route of a webhook, which has no caller and so no tenant: a stored route of `svc-system`, else one of the settings in
   * the tenant that it names. Throws `conflict` when routes of several other tenants match, or when the settings give its
   * secret to another source too, which may belong to another tenant.
   */
  findWebhook(source: string): Promise<{ readonly tenant: string; readonly workflow: string } | null>;
  list(tenant: string): Promise<StimulusRoute[]>;
  /** Throws `invalid_argument`, and `conflict` beyond 1,000 routes or when another webhook would have the same secret. */
  put(identity: Identity, source: string, workflow: string): Promise<StimulusRoute>;
  /** Throws `not_found`, and `failed_precondition` for a route of the settings. */
  remove(tenant: string, source: string): Promise<void>;
}

export const STIMULUS_ROUTES: CollectionSpec = { name: 'stimulus_routes', unique: [], indexes: [] };

/** `id` is the lower-cased source. */
export interface StimulusRouteDocument extends StoredDocument {
  readonly workflow: string;
  readonly updated_at: string;
  readonly updated_by: string;
}

/** `spec.stimulus.routes`. */
export type ConfiguredRoute = {
  readonly source: string;
  readonly workflow: string;
  readonly tenant?: string | undefined;
};

const MOST_ROUTES = 1_000;
const MAX_CHARS = 200;
const CONTROL = /\p{Cc}/u;
const MAX_ATTEMPTS = 16;

/** The table of the collection `STIMULUS_ROUTES` and the node's settings. */
export function createStimulusRoutes(parts: {
  readonly documents: Collection<StimulusRouteDocument>;
  readonly configured: readonly ConfiguredRoute[];
  /** `spec.stimulus.webhooks`: the secrets of the sources. Default: the secret of each source's environment variable. */
  readonly webhooks?: readonly WebhookSettings[];
  readonly clock: Pick<Clock, 'now'>;
}): StimulusRoutes {
  const { documents, clock, webhooks = [] } = parts;
  const configured = parts.configured.map(({ source, workflow, tenant = SYSTEM_TENANT }) => ({
    source: source.toLowerCase(),
    workflow,
    tenant,
  }));
  const settingsOf = webhooksBySource(webhooks);
  const inSettings = (tenant: string, source: string) =>
    configured.find((route) => route.tenant === tenant && route.source === source);

  /** Refuses a source that shares a secret with another source. */
  function refuseSharedSecret(id: string, others: readonly string[]): void {
    const secrets = new Set(webhookSecretReferences(settingsOf(id)));
    for (const source of others) {
      if (source === id) continue;
      const shared = webhookSecretReferences(settingsOf(source)).find((reference) => secrets.has(reference));
      if (shared === undefined) continue;
      throw new SvcError(
        'conflict',
        `source ${id} would share the secret of source ${source}, ${secretName(shared)}: give each source its own`,
      );
    }
  }
  const sources = [...configured, ...webhooks].map(({ source }) => source.toLowerCase());

  async function find(tenant: string, source: string): Promise<string | null> {
    const id = source.toLowerCase();
    return (await documents.get(tenant, id))?.workflow ?? inSettings(tenant, id)?.workflow ?? null;
  }

  return {
    find,

    async findWebhook(source) {
      refuseSharedSecret(source.toLowerCase(), sources);
      const workflow = await find(SYSTEM_TENANT, source);
      if (workflow !== null) return { tenant: SYSTEM_TENANT, workflow };
      const [route, ...others] = configured.filter((one) => one.source === source.toLowerCase());
      if (others.some(({ tenant }) => tenant !== route?.tenant)) {
        throw new SvcError('conflict', 'spec.stimulus.routes names several tenants for this source: keep one');
      }
      return route === undefined ? null : { tenant: route.tenant, workflow: route.workflow };
    },

    async list(tenant) {
      const stored = await documents.find({ tenant, sort: [['id', 'asc']], limit: MOST_ROUTES });
      const known = new Set(stored.map(({ id }) => id));
      const others = configured.filter((route) => route.tenant === tenant && !known.has(route.source));
      const routes = [
        ...stored.map(({ id, workflow }) => ({ source: id, workflow, origin: 'stored' as const })),
        ...others.map(({ source, workflow }) => ({ source, workflow, origin: 'settings' as const })),
      ];
      return routes.sort((a, b) => (a.source < b.source ? -1 : 1));
    },

    async put(identity, source, workflow) {
      const id = checked('source', source).toLowerCase();
      const { tenant, subject } = identity;
      // Only routes of this tenant receive webhooks.
      if (tenant === SYSTEM_TENANT) {
        const stored = await documents.find({ tenant, sort: [['id', 'asc']], limit: MOST_ROUTES });
        refuseSharedSecret(id, [...sources, ...stored.map((route) => route.id)]);
      }
      const now = new Date(clock.now()).toISOString();
      const route = { tenant, id, workflow: checked('workflow', workflow), updated_at: now, updated_by: subject };
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
        const known = await documents.get(tenant, id);
        if (known === null && (await documents.count({ tenant })) >= MOST_ROUTES) {
          throw new SvcError('conflict', `the tenant has ${MOST_ROUTES} routes, the maximum; remove one first`);
        }
        const written =
          known === null
            ? await documents.insert({ ...route, version: 1 })
            : await documents.replace({ ...route, version: known.version + 1 }, known.version);
        if (written) return { source: id, workflow, origin: 'stored' };
      }
      throw new SvcError('unavailable', 'the route is being changed by other calls; try again', {
        retryAfterMs: 1_000,
      });
    },

    async remove(tenant, source) {
      const id = checked('source', source).toLowerCase();
      if (await documents.delete(tenant, id)) return;
      if (inSettings(tenant, id) === undefined) throw new SvcError('not_found', 'route not found');
      throw new SvcError('failed_precondition', 'the route is in spec.stimulus.routes of the node: remove it there');
    },
  };
}

function checked(field: string, text: string): string {
  if (text.trim() !== '' && text.length <= MAX_CHARS && !CONTROL.test(text)) return text;
  const rule = `${field}: expected 1 to ${MAX_CHARS} characters, none of them a control character`;
  throw new SvcError('invalid_argument', rule, { field });
}
