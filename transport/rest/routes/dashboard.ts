import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { SvcError } from '../../../runtime/errors.ts';
import type { DashboardParts, RestApp, RestParts } from '../parts.ts';
import type { ShownRecording } from '../read-only.ts';

/** First parts of the addresses of pages. Every other path that no route has is 404. */
const PAGES = [
  'actors',
  'approvals',
  'audit',
  'catalog',
  'dead-letters',
  'faults',
  'fleet',
  'keys',
  'limits',
  'patterns',
  'runs',
  'secrets',
  'stimuli',
  'traces',
  'volumes',
];

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
};

const ASSET_NAME = /^[\w-]+\.(js|css)$/;

const HTML = 'text/html; charset=utf-8';

const NOT_BUILT = `<!doctype html>
<html lang="en">
<title>svc</title>
<h1>The dashboard is not built</h1>
<p>This node runs from a clone. Build the dashboard there with <code>node dashboard/build.ts</code> after <code>npm ci</code>,
then load this page again. The node needs no restart.
<p>The API works without it: <a href="/docs">API description</a>.
</html>
`;

/** What a page needs before it can sign in; nothing here is secret. */
interface DashboardConfig {
  readonly sign_in: DashboardParts['signIn'];
  readonly oidc: { readonly issuer: string; readonly client_id: string; readonly scopes: readonly string[] } | null;
  readonly role_claim: string;
  readonly version: string;
  /** Set: the node shows a recorded run, and the pages offer nothing that changes something. */
  readonly recording: ShownRecording | null;
}

/**
 * Serves the dashboard: static files without a bearer, since they hold nothing of any tenant. Its pages call the API, which
 * checks every call.
 */
export function dashboardRoutes(app: RestApp, { dashboard, version, recording }: RestParts): void {
  if (dashboard === undefined) return;
  const options = { config: { access: 'public' }, schema: { hide: true } } as const;
  const { directory, oidc, signIn, roleClaim } = dashboard;
  const policy = policyOf(oidc?.issuer);
  const page = async (_request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const text = await fileOf(join(directory, 'index.html'));
    return reply
      .headers({ 'content-security-policy': policy, 'cache-control': 'no-cache' })
      .type(HTML)
      .send(text ?? NOT_BUILT);
  };
  for (const path of ['/', ...PAGES.flatMap((name) => [`/${name}`, `/${name}/*`])]) app.get(path, options, page);
  app.get('/dashboard', options, async (_request, reply) => reply.redirect('/'));
  app.get('/dashboard/config.json', options, async (_request, reply): Promise<DashboardConfig> => {
    reply.header('cache-control', 'no-cache');
    return { sign_in: signIn, oidc: oidc ?? null, role_claim: roleClaim, version, recording: recording ?? null };
  });
  const assets = new Assets(join(directory, 'assets'));
  app.get<{ Params: { name: string } }>('/assets/:name', options, (request, reply) =>
    sendAsset(assets, request, reply),
  );
}

/** Styles in elements and attributes of HTML are refused too: parts that bring their own use constructed style sheets. */
const policyOf = (issuer: string | undefined): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `connect-src ${["'self'", ...(issuer === undefined ? [] : [new URL(issuer).origin])].join(' ')}`,
    "img-src 'self' data:",
    "worker-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
  ].join('; ');

/** A worker is bound by the policy of its own file: the one that reads traces calls the node, and nothing else. */
const ASSET_POLICY = "default-src 'none'; connect-src 'self'; frame-ancestors 'none'";

/** Sends a file of the build. Its name has a hash of its content, so browsers keep it for good. */
async function sendAsset(
  assets: Assets,
  request: FastifyRequest<{ Params: { name: string } }>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { name } = request.params;
  const ending = ASSET_NAME.exec(name)?.[1];
  if (ending === undefined) throw new SvcError('not_found', 'There is no such path.');
  const zips = /\bgzip\b/.test(request.headers['accept-encoding'] ?? '');
  const content = await assets.read(zips ? `${name}.gz` : name);
  if (content === null) throw new SvcError('not_found', 'There is no such path.');
  if (zips) reply.header('content-encoding', 'gzip');
  return reply
    .headers({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-security-policy': ASSET_POLICY,
      vary: 'accept-encoding',
    })
    .type(TYPES[ending] ?? '')
    .send(content);
}

/**
 * The files of the build. Each is kept in memory after its first request, since its name contains a hash of its content. All
 * clients are sent the same bytes, so slow readers, which need no token, cost no memory of their own.
 */
class Assets {
  readonly #directory: string;
  readonly #files = new Map<string, Promise<Buffer | null>>();

  constructor(directory: string) {
    this.#directory = directory;
  }

  async read(name: string): Promise<Buffer | null> {
    const reading = this.#files.get(name) ?? fileOf(join(this.#directory, name));
    this.#files.set(name, reading);
    let found: Buffer | null = null;
    try {
      found = await reading;
    } finally {
      // A missing file may exist after the next build.
      if (found === null) this.#files.delete(name);
    }
    return found;
  }
}

/** Null when there is no such file. */
async function fileOf(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
}
